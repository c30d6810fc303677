"""Resolution of names in code to definitions, once all files of a collection are known.

A name that all files see means what is defined by that name: a macro where no function is. A name with the end of a
path (``load@*a/b``) means the only definition in such a file. What several definitions may be, or none, stays a name of
its own, which says so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from pinakes.catalog import Connection, code_symbols
from pinakes.catalog.code_symbols import AT, Reference, Symbol
from pinakes.core.graph_records import CLASS, FILE, FUNCTION, MACRO, STRUCT

UNDEFINED: Final = "no document defines it"
POINTER: Final = "what a variable holds: no definition is known"

_MEANT: Final = {
    FUNCTION: (FUNCTION, MACRO, CLASS, STRUCT),
    MACRO: (MACRO, FUNCTION),
    STRUCT: (STRUCT, CLASS),
    CLASS: (CLASS, STRUCT),
}
"""Type of a reference → the types of what it may mean, the likeliest first."""

_FAMILIES: Final = {
    ".pyi": ".py",
    **dict.fromkeys((".cjs", ".cts", ".jsx", ".mjs", ".mts", ".ts", ".tsx"), ".js"),
}
_NAMED: Final = 3
_MOST_BASES: Final = 8
_STEM: Final = re.compile(r"(?:/(?:__init__|index|mod))?(?:\.d)?\.\w{1,10}$")


def affected(connection: Connection, collection_id: int, touched: Collection[int]) -> set[int]:
    """Return the names in code whose meaning may change with entities that documents define or refer to, or did.

    Those are these, what has their name or a path that ends alike, what meant one of them, and inherited methods.
    """
    every = code_symbols.symbols(connection, collection_id, touched)
    if not every:
        return set()
    found = {one.id for one in every}
    found.update(code_symbols.meaning(connection, found))
    names = {one.name.partition(AT)[0] for one in every if one.type != FILE}
    found.update(one.id for one in code_symbols.symbols_named(connection, collection_id, names))
    stems = {_last(one.name) for one in every if one.type == FILE}
    named_files = code_symbols.of_type(connection, collection_id, FILE) if stems else ()
    found.update(one.id for one in named_files if _last(one.name) in stems)
    return found.union(code_symbols.inherited_names(connection, collection_id))


def resolve(connection: Connection, collection_id: int, some: Collection[int] | None) -> list[Mapping[str, Any]]:
    """Return what is to be changed of the references of a collection; see ``catalog.code_symbols.write``.

    ``some``: of these entities only, None = of all.
    """
    every = code_symbols.references(connection, collection_id, some)
    if not every:
        return []
    known = _Definitions(connection, collection_id, every)
    meant = {one.id: known.meant(one) for one in every}
    methods = [one for one in every if _is_method(one)]
    if methods:
        inherited = _Inherited(connection, collection_id, meant, some)
        meant |= inherited.methods(connection, collection_id, methods)
    found = list[Mapping[str, Any]]()
    for one in every:
        target, why = meant[one.id]
        if (target, why) != (one.canonical_id, one.why):
            found.append({"entity": one.id, "canonical": target, "because": why})
    return found


class _Definitions:
    """The definitions that references may mean."""

    def __init__(self, connection: Connection, collection_id: int, every: Sequence[Reference]) -> None:
        names = {one.name.partition(AT)[0] for one in every if one.type in _MEANT}
        self._public = code_symbols.defined(connection, collection_id, names)
        self.within = code_symbols.defined_within(connection, collection_id, names)
        self._files: dict[str, list[Symbol]] = defaultdict(list)
        for one in code_symbols.files(connection, collection_id) if any(one.type == FILE for one in every) else ():
            self._files[_last(one.name)].append(one)
        self._references = {(one.type, one.name): one.id for one in every}

    def meant(self, one: Reference) -> tuple[int | None, str]:
        """Return the id of the definition that a reference means, None for none, and why."""
        if one.type == FILE:
            return self._file(one.name)
        if one.type not in _MEANT:
            return None, UNDEFINED
        if one.name[:1] in "-.:?":
            return None, POINTER
        name, at, where = one.name.partition(AT)
        public = self._public.get(name, [])
        within = self.within.get(name, [])
        if not at:
            return self._chosen(one, public, f"{len(within)} files have one of their own" if within else "")
        if where.startswith("*"):
            tail = where[1:]
            # A text that only names it may mean any; code means what it imports.
            fitting = [each for each in within if _path_matches(each.name.partition(AT)[2], tail)]
            target, why = self._chosen(one, fitting, "", [] if tail else public)
            if why == UNDEFINED and not tail and (one.type, name) in self._references:
                return self._references[one.type, name], "the same name"
            return target, why
        return None, UNDEFINED

    def _chosen(
        self, one: Reference, candidates: Sequence[Symbol], aside: str, first: Sequence[Symbol] = ()
    ) -> tuple[int | None, str]:
        for some in (first, candidates):
            for kind in _MEANT[one.type]:
                fitting = [each for each in some if each.type == kind and each.id != one.id]
                if len(fitting) == 1:
                    return fitting[0].id, f"{fitting[0].type} {fitting[0].name} is defined"
                if fitting:
                    listed = ", ".join(each.name for each in fitting[:_NAMED])
                    return None, f"one of {len(fitting)} definitions: {listed}{'…' if len(fitting) > _NAMED else ''}"
        return None, f"{UNDEFINED} for all; {aside}" if aside else UNDEFINED

    def _file(self, name: str) -> tuple[int | None, str]:
        """Return the file that an include or an import means; of several the one with the shortest path."""
        if not name.startswith("*"):
            return None, UNDEFINED
        tail = name[1:].rstrip("/")
        fitting = [each for each in self._files.get(_last(name), ()) if _path_matches(each.name, tail)]
        ranked = sorted(fitting, key=lambda each: (each.name.count("/"), each.name))
        if not ranked:
            return None, UNDEFINED
        if len(ranked) > 1 and ranked[0].name.count("/") == ranked[1].name.count("/"):
            return None, f"one of {len(ranked)} files: {', '.join(each.name for each in ranked[:_NAMED])}"
        return ranked[0].id, "the file with this path"


class _Inherited:
    """Methods that a class does not define itself: ``self.run()`` of a class whose base has ``run``."""

    def __init__(
        self,
        connection: Connection,
        collection_id: int,
        meant: Mapping[int, tuple[int | None, str]],
        some: Collection[int] | None,
    ) -> None:
        """``meant``: id of a reference → that of its definition, of ``some`` entities; others are as they were."""
        self._bases: dict[int, list[int]] = defaultdict(list)
        for one, base, before in code_symbols.bases(connection, collection_id):
            is_new = some is None or base in some
            self._bases[one].append((meant[base][0] if base in meant else None) or base if is_new else before)
        ids = {*self._bases, *(base for some in self._bases.values() for base in some)}
        self._names = code_symbols.names(connection, ids)
        self._ids = {name: number for number, name in self._names.items()}

    def methods(
        self, connection: Connection, collection_id: int, every: Sequence[Reference]
    ) -> dict[int, tuple[int | None, str]]:
        """Return id of a reference → the method of the nearest base class that has it, and why."""
        likely = {one.id: self._likely(one.name) for one in every}
        known = code_symbols.defined(connection, collection_id, {name for some in likely.values() for name in some})
        found: dict[int, tuple[int | None, str]] = {}
        for number, candidates in likely.items():
            name = next((each for each in candidates if each in known), "")
            found[number] = (known[name][0].id, f"inherited: {name}") if name else (None, UNDEFINED)
        return found

    def _likely(self, method: str) -> list[str]:
        """Return the names of a method in the classes above its own, the nearest first."""
        name, _, path = method.partition(AT)
        separator = "::" if "::" in name else "."
        scope, _, simple = name.rpartition(separator)
        start = self._ids.get(f"{scope}{AT}{path}")
        front, found = ([start] if start is not None else []), dict[str, None]()
        while front and len(found) < _MOST_BASES:
            for base in self._bases.get(front.pop(0), ()):
                base_name, _, base_path = self._names.get(base, "").partition(AT)
                candidate = f"{base_name}{separator}{simple}{AT}{base_path}"
                if candidate not in found:
                    found[candidate] = None
                    front.append(base)
        return list(found)


def _is_method(one: Reference) -> bool:
    """Say whether a reference is to a method of a class that does not define it."""
    return one.type == FUNCTION and AT in one.name and f"{AT}*" not in one.name


def _path_matches(path: str, tail: str) -> bool:
    """Say whether a path ends with ``tail``, an extension aside, or lies in such a folder where that ends with "/"."""
    if not tail:
        return True
    if tail.endswith("/"):
        folder = f"/{PurePosixPath(path).parent}/"
        return folder.endswith(f"/{tail}") or (folder != "/./" and f"/{tail}".endswith(folder))
    if f"/{path}".endswith(f"/{tail}"):
        return True
    return _family(path) == _family(tail) and f"/{_stem(path)}".endswith(f"/{_stem(tail)}")


def _last(path: str) -> str:
    """Return the last name of a path, or of the end of one, without extension."""
    return PurePosixPath(_stem(path.removeprefix("*").rstrip("/"))).name


def _stem(path: str) -> str:
    """Return a path without extension; that of a package is its folder's."""
    return _STEM.sub("", path)


def _family(path: str) -> str:
    extension = PurePosixPath(path).suffix
    return _FAMILIES.get(extension, extension)
