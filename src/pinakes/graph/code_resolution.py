"""Which definition a name in code means, once all files of a collection are known.

A name that all files see means what is defined by that name: a macro where no function is. A name with the end of a
path (``load@*a/b``) means the only definition in such a file. What several definitions may be, or none, stays a name of
its own, which says so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
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

_NAMED: Final = 3
_MOST_BASES: Final = 8
_STEM: Final = re.compile(r"(?:/(?:__init__|index|mod))?(?:\.d)?\.\w{1,10}$")


def resolve(connection: Connection, collection_id: int) -> list[Mapping[str, Any]]:
    """Return what is to be changed of the references of a collection; see ``catalog.code_symbols.write``."""
    every = code_symbols.references(connection, collection_id)
    if not every:
        return []
    known = _Definitions(connection, collection_id, every)
    found = list[Mapping[str, Any]]()
    for one in every:
        target, why = known.meant(one)
        if (target, why) != (one.canonical_id, one.why):
            found.append({"entity": one.id, "canonical": target, "because": why})
    return found


class _Definitions:
    """The definitions that references may mean."""

    def __init__(self, connection: Connection, collection_id: int, every: Sequence[Reference]) -> None:
        names = {one.name.partition(AT)[0] for one in every if one.type in _MEANT}
        inner = {one.name.partition(AT)[0] for one in every if one.type in _MEANT}
        self._public = code_symbols.defined(connection, collection_id, names)
        self._within = code_symbols.defined_within(connection, collection_id, inner)
        self._files: dict[str, list[Symbol]] = defaultdict(list)
        for one in code_symbols.files(connection, collection_id):
            for name in {PurePosixPath(one.name).name, PurePosixPath(_stem(one.name)).name}:
                self._files[name].append(one)
        self._inherited = _Inherited(connection, collection_id, every)

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
        within = self._within.get(name, [])
        if not at:
            return self._chosen(one, public, f"{len(within)} files have one of their own" if within else "")
        if where.startswith("*"):
            tail = where[1:]
            # A text that only names it may mean any; code means what it imports.
            fitting = [each for each in within if _lies(each.name.partition(AT)[2], tail)]
            return self._chosen(one, fitting or ([] if tail else public), "", [] if tail else public)
        return self._inherited.method(one, self._within)

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
        fitting = [each for each in self._files.get(PurePosixPath(tail).name, ()) if _lies(each.name, tail)]
        ranked = sorted(fitting, key=lambda each: (each.name.count("/"), each.name))
        if not ranked:
            return None, UNDEFINED
        if len(ranked) > 1 and ranked[0].name.count("/") == ranked[1].name.count("/"):
            return None, f"one of {len(ranked)} files: {', '.join(each.name for each in ranked[:_NAMED])}"
        return ranked[0].id, "the file with this path"


class _Inherited:
    """Methods that a class does not define itself: ``self.run()`` of a class whose base has ``run``."""

    def __init__(self, connection: Connection, collection_id: int, every: Sequence[Reference]) -> None:
        self._wanted = any(AT in one.name and f"{AT}*" not in one.name for one in every if one.type == FUNCTION)
        self._bases = code_symbols.bases(connection, collection_id, "INHERITS") if self._wanted else {}
        self._names: dict[int, str] = {}
        self._ids: dict[str, int] = {}
        if self._bases:
            ids = {*self._bases, *(base for some in self._bases.values() for base in some)}
            self._names = code_symbols.names(connection, ids)
            self._ids = {name: number for number, name in self._names.items()}

    def method(self, one: Reference, within: Mapping[str, Sequence[Symbol]]) -> tuple[int | None, str]:
        """Return the method of the nearest base class that has it."""
        name, _, path = one.name.partition(AT)
        scope, separator, simple = name.rpartition("::") if "::" in name else name.rpartition(".")
        start = self._ids.get(f"{scope}{AT}{path}")
        front, seen = ([start] if start is not None else []), set[int]()
        while front and len(seen) < _MOST_BASES:
            number = front.pop(0)
            seen.add(number)
            for base in self._bases.get(number, ()):
                base_name, _, base_path = self._names.get(base, "").partition(AT)
                for each in within.get(f"{base_name}{separator}{simple}", ()):
                    if each.name.partition(AT)[2] == base_path:
                        return each.id, f"inherited from {base_name}"
                if base not in seen:
                    front.append(base)
        return None, UNDEFINED


def _lies(path: str, tail: str) -> bool:
    """Say whether a path ends with ``tail``, an extension aside, or lies in such a folder where that ends with "/"."""
    if not tail:
        return True
    if tail.endswith("/"):
        folder = f"/{PurePosixPath(path).parent}/"
        return folder.endswith(f"/{tail}")
    return any(f"/{one}".endswith(f"/{tail}") for one in (path, _stem(path)))


def _stem(path: str) -> str:
    return _STEM.sub("", path)
