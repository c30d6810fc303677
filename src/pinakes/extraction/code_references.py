"""What names in code refer to, as far as one file shows; the rest is resolved among all files of a collection.

A name that its file does not define is written with what is known of the place: ``load@*a/b.py`` is ``load`` in a file
whose path ends with ``a/b.py``, ``load@*a/b/`` in such a folder; ``load@*`` in any. ``graph.code_resolution`` finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from posixpath import join, normpath
from typing import Final

ANYWHERE: Final = "@*"
"""Stands between a name and the end of the path of its file."""

SELF: Final = frozenset({"self", "cls", "this", "Self", "super"})
"""Words that mean the object or the class around them."""

EXTENSIONS: Final = {
    "python": "py",
    "java": "java",
    "rust": "rs",
    "javascript": "js",
    "typescript": "js",
    "tsx": "js",
}
"""Language → the extension that ends the path of a module; those of JavaScript and TypeScript are one."""

STANDARD: Final = {"python": "builtins.py", "rust": "std.rs", "java": "java/lang.java"}
"""Language → where a name without import or definition is from."""

_NAME: Final = re.compile(r"[\w$]+")
_FROM: Final = re.compile(r"from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>.*)", re.DOTALL)
_AS: Final = re.compile(r"(?P<name>[\w.$*]+)(?:\s+as\s+(?P<alias>[\w$]+))?")
_STRING: Final = re.compile(r"[\"'`](?P<path>[^\"'`\n]{1,300})[\"'`]")
_USE_PART: Final = re.compile(r"[\w:]+(?:\s+as\s+\w+)?|[{},]")
_INCLUDE: Final = re.compile(r"#\s*include(?:_next)?\s*(?:<(?P<system>[^>\n]{1,300})>|\"(?P<own>[^\"\n]{1,300})\")")
_MOST_NAMES: Final = 2_000
_MOST_CHARS: Final = 20_000


def imports_of(statement: str, language: str, path: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the module that a statement imports, as the end of a path, and which names of the file it explains.

    Each name → (end of the path, name there; "" for the module itself). The module is "" where it is unknown.
    """
    folder = str(PurePosixPath(path).parent)
    if language in ("c", "cpp"):
        return _included(statement, folder), {}
    written = statement[:_MOST_CHARS]
    if language == "go":
        return _go_import(written)
    reader = {"python": _python, "java": _java, "rust": _rust}.get(language, _javascript)
    tail, names = reader(written, folder)
    extension = EXTENSIONS[language]
    known = {name: (f"{place}.{extension}" if place else "", there) for name, (place, there) in names.items()}
    return f"{tail}.{extension}" if tail else "", known


def _included(statement: str, folder: str) -> str:
    found = _INCLUDE.match(statement)
    if found is None:
        return ""
    return found["system"] or normpath(join(folder, found["own"]))


def _python(statement: str, folder: str) -> tuple[str, dict[str, tuple[str, str]]]:
    known: dict[str, tuple[str, str]] = {}
    if clause := _FROM.match(statement):
        dots = len(clause["module"]) - len(clause["module"].lstrip("."))
        module = clause["module"].lstrip(".").replace(".", "/")
        base = normpath(join(folder, *[".."] * (dots - 1))) if dots else ""
        tail = "/".join(part for part in (base if base != "." else "", module) if part)
        for one in _names(_AS.finditer(clause["names"])):
            name = one["name"]
            known[one["alias"] or name] = (tail, name) if name != "*" else (tail, "*")
        return tail, known
    module = ""
    for one in _names(_AS.finditer(statement.removeprefix("import"))):
        module = module or one["name"].replace(".", "/")
        known[one["alias"] or one["name"]] = one["name"].replace(".", "/"), ""
    return module, known


def _go_import(statement: str) -> tuple[str, dict[str, tuple[str, str]]]:
    found = _STRING.search(statement)
    if found is None:
        return "", {}
    tail = found["path"].strip("/") + "/"
    alias = statement[: found.start()].strip() or PurePosixPath(found["path"]).name
    return tail, {alias: (tail, "")}


def _java(statement: str, _folder: str) -> tuple[str, dict[str, tuple[str, str]]]:
    name = statement.removeprefix("import").strip(" ;\t\n").removeprefix("static ").strip()
    parts = [part for part in name.split(".") if part]
    if not parts or parts[-1] == "*":
        return "/".join(parts[:-1]), {}
    tail = "/".join(parts)
    return tail, {parts[-1]: (tail, parts[-1])}


def _javascript(statement: str, folder: str) -> tuple[str, dict[str, tuple[str, str]]]:
    strings = list(_STRING.finditer(statement))
    if not strings:
        return "", {}
    found = strings[-1]
    tail = _stem(normpath(join(folder, found["path"]))) if found["path"].startswith(".") else found["path"]
    known: dict[str, tuple[str, str]] = {}
    clause = statement[: found.start()].removeprefix("import").strip()
    braces = re.search(r"\{([^{}]*)\}", clause)
    for one in _names(_AS.finditer(braces[1])) if braces else ():
        known[one["alias"] or one["name"]] = tail, one["name"]
    outside = clause.replace(braces[0], "") if braces else clause
    for one in _names(_AS.finditer(outside)):
        if one["name"] == "*" and one["alias"]:
            known[one["alias"]] = tail, ""
        elif one["name"] not in ("from", "type", "*"):
            known[one["name"]] = tail, one["name"]
    return tail, known


def _rust(statement: str, _folder: str) -> tuple[str, dict[str, tuple[str, str]]]:
    text = re.sub(r"^(?:pub(?:\([^)]*\))?\s+)?use\s+|;\s*$", "", statement)
    known: dict[str, tuple[str, str]] = {}
    first, prefixes, last = "", [""], ""
    for part in _USE_PART.findall(text)[:_MOST_NAMES]:
        if part == "{":
            prefixes.append(last)
        elif part == "}":
            prefixes = prefixes[:-1] or [""]
        elif part == ",":
            continue
        else:
            name, _, alias = (prefixes[-1] + part).partition(" as ")
            last = name
            scope, _, simple = name.strip(":").rpartition("::")
            tail = rust_path_end(scope)
            first = first or tail or simple
            if simple and simple != "self":
                known[alias.strip() or simple] = tail, simple
    return first, known


def rust_path_end(scope: str) -> str:
    """Return the end of the path of a module of Rust."""
    parts = [part for part in scope.split("::") if part and part not in ("crate", "self", "super")]
    return "/".join(parts)


def _names(found: Iterable[re.Match[str]]) -> list[re.Match[str]]:
    return [one for _, one in zip(range(_MOST_NAMES), found, strict=False)]


def _stem(path: str) -> str:
    return re.sub(r"(?:\.d)?\.[cm]?[jt]sx?$", "", path)


def parents_of(clause: str, language: str) -> list[str]:
    """Return the names of the classes that a clause names as bases."""
    text = re.sub(r"<[^<>]*>|\([^()]*\)$", " ", clause) if language != "python" else clause.strip("()")
    found = []
    for part in re.split(r"[,\s]+", text)[:_MOST_NAMES]:
        name = part.strip(":(){}")
        if "=" in part:
            continue
        if name and name not in _CLAUSE_WORDS and re.fullmatch(r"[\w$.:]+", name):
            found.append(name)
    return found


def referred(
    written: str, imported: Mapping[str, tuple[str, str]], language: str, separator: str, folder: str
) -> str | None:
    """Return what a name means that its file does not define: ``name@*end of path``; None where that is not clear."""
    if written in imported:  # import a.b; from a import b
        tail, name = imported[written]
        return f"{name or written}{ANYWHERE}{tail}"
    if separator in written:
        return _of_module(written, imported, language, separator)
    if language == "go":
        return f"{written}{ANYWHERE}{folder}/"
    stars = [tail for tail, name in imported.values() if name == "*"]
    if language == "python" and stars:
        return f"{written}{ANYWHERE}{stars[0]}"
    return f"{written}{ANYWHERE}{STANDARD.get(language, '')}"


def _of_module(written: str, imported: Mapping[str, tuple[str, str]], language: str, separator: str) -> str | None:
    """Return what a name of a module or a class means."""
    head, _, rest = written.partition(separator)
    module, _, last = written.rpartition(separator)
    if module in imported and not imported[module][1]:
        return f"{last}{ANYWHERE}{imported[module][0]}"
    if head in imported:
        tail, name = imported[head]
        return f"{name}{separator}{rest}{ANYWHERE}{tail}" if name else f"{rest}{ANYWHERE}{tail}"
    if head[:1].isupper() and language in ("java", "rust"):
        return f"{written}{ANYWHERE}"
    tail = rust_path_end(module)
    return f"{last}{ANYWHERE}{tail}{'.rs' if tail else ''}" if language == "rust" else None


_CLAUSE_WORDS: Final = frozenset({"extends", "implements", "public", "private", "protected", "virtual", "with"})
