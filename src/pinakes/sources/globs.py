"""Selects the paths of a source: include and exclude globs, ignore files, default exclusions.

Patterns are those of ``.gitignore``: ``*.md`` and ``docs/`` match at any depth, ``/docs`` and ``docs/*.md`` from the
top, ``**/`` any number of folders, a trailing ``/`` only folders, ``!`` re-includes; the last match decides, and
nothing inside of an excluded folder can be re-included. ``{a,b}`` stands for each of its parts. Case matters. If a
pattern, or its beginning, is an existing path, it is taken literally, whatever special characters it has
(``app/[id]/*.tsx``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pathspec import GitIgnoreSpec, PathSpec

from pinakes.core.errors import InvalidSetting
from pinakes.core.gitignore import MOST_CHARS, MOST_WILDCARDS, compiled
from pinakes.core.records import Skipped
from pinakes.core.wording import counted
from pinakes.settings.refusals import shortened

IGNORE_FILES = (".gitignore", ".pinakesignore")
"""Ignore files, read in every folder in this order: the second may re-include what the first excludes."""

DEFAULT_EXCLUDES = (
    # version control, caches, environments and other machine-made files
    *(".git", ".hg/", ".svn/", ".bzr/", "CVS/", "node_modules/", "bower_components/", "__pycache__/"),
    *(".venv/", "venv/", ".tox/", ".nox/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".hypothesis/"),
    *(".ipynb_checkpoints/", ".eggs/", "*.egg-info/", "*.dist-info/", ".gradle/", ".terraform/", ".idea/"),
    *(".pinakes/", ".Trash*/", "$RECYCLE.BIN/", "System Volume Information/", "lost+found/"),
    *(".DS_Store", "Thumbs.db", "~$*", ".#*", ".*.swp"),
    # secrets
    *(".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", ".netrc", ".pgpass", ".git-credentials"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.pem", "*.p12", "*.pfx", "*.kdbx", ".ssh/", ".gnupg/", ".aws/"),
)
"""Excluded from every source. The exclude pattern ``!node_modules/`` re-includes one of them."""

Why = Literal["default", "ignore file", "exclude"]

_WORDS: dict[Why, str] = {
    "default": "Left out by default",
    "ignore file": "Left out by ignore files",
    "exclude": "Left out by exclude patterns",
}
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SPECIAL = re.compile(r"([\\\[\]*?!#])")
_ESCAPED = r"\\\1"
_MAGIC = re.compile(r"[*?\[{]|^[!#]")
_NAMES_SHOWN = 6
_MOST_LINES = 2000
"""Further lines of an ignore file are ignored."""

_MOST_ALTERNATIVES = 100
_HINT = (
    "Write it as in .gitignore: '**/*.md', 'docs/', '!drafts/'; a leading '#' or '!' as '\\#' or '\\!'. "
    f"At most {MOST_CHARS} characters, {MOST_WILDCARDS} wildcards and {_MOST_ALTERNATIVES} alternatives."
)


class Rules:
    """The patterns that apply to a folder and everything below.

    ``why_not`` checks an entry alone, not the folders above it: a walk goes top-down and does not enter excluded
    folders. ``why_not_listed`` also checks the folders above, for sources that list paths.

    Raises:
        InvalidSetting: a pattern in ``include`` or ``exclude`` is invalid.
    """

    def __init__(
        self,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        *,
        inside: str = "",
        exists: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """``inside``: path of the source's root below the top of its work tree, ``""`` if it is the top.

        ``exists``: returns whether there is a file or folder at a path below the root.
        """
        wanted = [text for given in include for text in _expand(given, "include", exists)]
        unwanted = [text for given in exclude for text in _expand(given, "exclude", exists)]
        self._top = f"{inside}/" if inside else ""
        self._unused = dict[str, list[str]]()
        # Matched against whole file paths: a pattern that matches a folder matches everything in it.
        self._include = PathSpec([compiled(text, inside) for text in wanted], backend="simple") if wanted else None
        self._exclude = [_Line(text, inside) for text in unwanted]
        self._use([])

    def with_ignore_file(self, folder: str, text: str) -> Rules:
        """Return these rules plus those of an ignore file with content ``text`` in ``folder``, relative to the root."""
        return self.with_ignore_file_above(self._top + folder, text)

    def with_ignore_file_above(self, folder: str, text: str) -> Rules:
        """Do the same for a ``folder`` relative to the top of the work tree."""
        written, unused = text.splitlines(), list[str]()
        lines = [_ignore_line(raw, folder.rstrip("/"), unused) for raw in written[:_MOST_LINES]]
        if len(written) > _MOST_LINES:
            unused.append(f"all behind line {_MOST_LINES}")
        if unused:
            self._unused[folder or "."] = unused
        usable = [line for line in lines if line is not None]
        return self._with([*self._ignore, *usable]) if usable else self

    def unused(self) -> list[Skipped]:
        """Return one record, with path ``"."``, for each folder whose ignore files have unused lines."""
        return [
            Skipped(".", f"Not used of the ignore files in {folder!r}: {'; '.join(lines[:_NAMES_SHOWN])}{more}")
            for folder, lines in sorted(self._unused.items())
            for more in [f" and {len(lines) - _NAMES_SHOWN} more" if len(lines) > _NAMES_SHOWN else ""]
        ]

    def for_root(self) -> Rules:
        """Return these rules without ignore lines that exclude the root itself: the user asked for it."""
        root = self._top.rstrip("/")
        return self._with([line for line in self._ignore if line.negative or line.folder.match_file(root) is None])

    def includes(self, path: str) -> bool:
        """Return whether include patterns select the file at ``path``; without any, every file is selected."""
        return self._include is None or self._include.match_file(self._top + path)

    def why_not(self, path: str, *, folder: bool) -> Why | None:
        """Return what excludes the entry at ``path`` (no trailing slash), None if nothing does."""
        spec, origins = self._folders if folder else self._files
        found = spec.check_file(self._top + path)
        return origins[found.index] if found.include and found.index is not None else None

    def why_not_listed(self, path: str, *, folder: bool = False) -> tuple[Why, str] | None:
        """Return what excludes the entry at ``path``, and which entry: itself or a folder above it; None if nothing."""
        for end in (index for index, char in enumerate(path) if char == "/"):
            above = path[:end]
            if above not in self._known:
                self._known[above] = self.why_not(above, folder=True)
            if why := self._known[above]:
                return why, above
        last = self.why_not(path, folder=folder)
        return (last, path) if last else None

    def _with(self, ignore: list[_Line]) -> Rules:
        rules = Rules()
        rules._top, rules._include, rules._exclude = self._top, self._include, self._exclude
        rules._unused = self._unused  # shared, so that the root's rules report it
        rules._use(ignore)
        return rules

    def _use(self, ignore: list[_Line]) -> None:
        self._ignore = ignore
        self._known: dict[str, Why | None] = {}
        # Ignore files come before the defaults, so that no repository can re-include files with secrets.
        rows: list[tuple[Why, _Line]] = [("ignore file", line) for line in ignore]
        rows += [("default", line) for line in _DEFAULTS]
        rows += [("exclude", line) for line in self._exclude]
        files = [(why, line.file) for why, line in rows if line.file is not None]
        self._folders = GitIgnoreSpec([line.folder for _, line in rows], backend="simple"), [why for why, _ in rows]
        self._files = GitIgnoreSpec([pattern for _, pattern in files], backend="simple"), [why for why, _ in files]


class Tally:
    """Counts what the rules excluded: a tree with a thousand caches is reported on one line."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules, self._entries = rules, dict[Why, set[str]]()

    def add(self, why: Why, path: str) -> None:
        """Count the entry at ``path`` once."""
        self._entries.setdefault(why, set()).add(path)

    def skipped(self) -> list[Skipped]:
        """Return one record, with path ``"."``, for each kind of rule that excluded something, or was unusable."""
        records = [Skipped(".", f"{_WORDS[why]}: {_summary(paths)}") for why, paths in sorted(self._entries.items())]
        return records + (self._rules.unused() if self._rules else [])


class _Line:
    """A pattern, compiled twice: for files (None if it can only exclude folders) and for folders.

    Folders are matched without their trailing slash. pathspec then ranks a match of the entry itself above a match of a
    folder around it, as git does; with the slash, ``*``, ``!*/``, ``!*.md`` would stop at the first folder.
    """

    __slots__ = ("file", "folder", "negative")

    def __init__(self, text: str, inside: str = "") -> None:
        self.negative = text.startswith("!")
        self.folder = compiled(text.rstrip("/"), inside)
        self.file = None if text.endswith("/") and not self.negative else compiled(text, inside)


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return ``paths`` and all folders above them."""
    found = set[str]()
    for path in paths:
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return found


def _expand(given: str, setting: str, exists: Callable[[str], bool]) -> list[str]:
    """Return the checked patterns of one include or exclude setting."""
    there, rest = _existing_prefix(given.strip(), exists)
    try:
        texts = [there + text for text in _alternatives(rest)]
        for text in texts:
            _Line(text)
    except ValueError as error:
        shown = shortened(given)
        raise InvalidSetting(f"{shown} cannot be used as an {setting} pattern: {error}.", hint=_HINT) from error
    return texts


def _alternatives(text: str) -> list[str]:
    """Return the patterns that a pattern with ``{a,b}`` stands for.

    Raises:
        ValueError: there are too many.
    """
    found = [text[:]] if len(text) <= MOST_CHARS else []
    while any(map(_BRACES.search, found)):
        found = [one for pattern in found for one in _first_alternatives(pattern)]
        if len(found) > _MOST_ALTERNATIVES:
            raise ValueError(f"it stands for more than {_MOST_ALTERNATIVES} patterns")
    return [one.strip().removeprefix("./") for one in found or [text]]


def _first_alternatives(text: str) -> list[str]:
    match = _BRACES.search(text)
    if match is None:
        return [text]
    return [f"{text[: match.start()]}{part}{text[match.end() :]}" for part in match[1].split(",")]


def _existing_prefix(given: str, exists: Callable[[str], bool]) -> tuple[str, str]:
    """Split a pattern into the longest existing path at its beginning, which is literal, and the rest."""
    negative = given.startswith("!") and not exists(given.rstrip("/"))
    sign, text = ("!", given[1:]) if negative else ("", given)
    place = text.removeprefix("./").lstrip("/")
    if not _MAGIC.search(place) or ".." in place.split("/"):
        return "", given
    whole = len(place.rstrip("/"))
    for end in reversed([*(at for at, char in enumerate(place[:whole]) if char == "/"), whole]):
        if _MAGIC.search(place[:end]) and exists(place[:end]):
            return f"{sign}/{_SPECIAL.sub(_ESCAPED, place[:end])}", place[end:]
    return "", given


def _ignore_line(raw: str, folder: str, unused: list[str]) -> _Line | None:
    """Return the pattern of an ignore line, None if blank or a comment; an unusable line is added to ``unused``."""
    text = raw if raw.endswith("\\ ") else raw.rstrip()
    if not text or text.startswith("#"):
        return None
    try:
        return _Line(text, folder)
    except ValueError as error:  # git ignores invalid lines, too
        unused.append(f"{shortened(text)}, {error}")
        return None


def _summary(paths: set[str]) -> str:
    names = sorted({path.rpartition("/")[2] for path in paths})
    more = ", …" if len(names) > _NAMES_SHOWN else ""
    return f"{counted(len(paths), 'entry', 'entries')} ({', '.join(names[:_NAMES_SHOWN])}{more})"


_DEFAULTS = [_Line(text) for text in DEFAULT_EXCLUDES]
