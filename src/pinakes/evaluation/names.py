"""Mapping of golden names to documents, done once before the searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

from pinakes.catalog import Connection, document_queries, selection
from pinakes.catalog.document_queries import ListedDocument
from pinakes.core.errors import InvalidInput
from pinakes.core.filters import listed, nearest, normal_name, normal_text

_KeysOf: TypeAlias = Callable[[ListedDocument], Iterable[str]]

_NAMED, _SHOWN = 5, 60
"""Limits of a message about unknown names: number of names, and characters of each."""


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The documents for the golden names.

    ``members``: name → documents. ``called``: document uid → its golden names. ``units``: uid → what a document
    without a golden name is called, where the unit of the ranking is a group or the value of a field. ``paths``: uid →
    what it is called elsewhere, where no other document and no golden name is called so. ``unknown`` names stand for
    nothing, ``ambiguous`` ones for several documents (name → paths) though one was meant.
    """

    members: Mapping[str, Sequence[ListedDocument]]
    called: Mapping[str, Sequence[str]]
    units: Mapping[str, str]
    paths: Mapping[str, str]
    unknown: tuple[str, ...]
    ambiguous: Mapping[str, tuple[str, ...]]

    def name_of(self, uid: str, relevant: Mapping[str, float]) -> str:
        """Return a document's name in a question with these ``relevant`` names: its path if it has no such name."""
        names = self.called.get(uid, ())
        if names:
            return next((name for name in names if name in relevant), names[0])
        return self.units.get(uid) or self.paths.get(uid, uid)


def resolve(connection: Connection, collection_id: int, names: Iterable[str], by: str | None = None) -> DocumentNames:
    """Find the documents of a collection for ``names``.

    With ``by`` they are values of that metadata field. Else the first of these that fits any document: id, uri or path;
    group key; end of a path; end of a path without its extension (in corpora made of BEIR folders: the id); end of a
    uri (where a folder above the one that was added is named, too).

    Raises:
        InvalidInput: no document has a field ``by``, or none of the names stands for a document.
    """
    every = document_queries.list_all(connection, collection_id)
    return among(names, every, None if by is None else field_values(connection, collection_id, by))


def field_values(connection: Connection, collection_id: int, by: str) -> Mapping[int, Sequence[str]]:
    """Return document id → values of the metadata field ``by``, as filters compare them.

    Raises:
        InvalidInput: no document has it.
    """
    field = normal_name(by)
    values = document_queries.values(connection, collection_id, field)
    if not values:
        known = selection.common_field_names(connection, collection_id)
        raise InvalidInput(
            f"No document has a field {by!r}.", hint=f"There are {listed(nearest(field, known) or known, 10)}."
        )
    return values


def among(
    names: Iterable[str], every: Sequence[ListedDocument], values: Mapping[int, Sequence[str]] | None = None
) -> DocumentNames:
    """Find the documents among ``every`` for ``names``, as ``resolve`` does in a collection.

    ``values``: id → values of a field, as filters compare them, where names are those of a field.

    Raises:
        InvalidInput: none of the names stands for a document.
    """
    wanted = list(dict.fromkeys(names))
    return _by_place(wanted, every) if values is None else _by_field(wanted, every, values)


def _by_field(
    wanted: Sequence[str], every: Sequence[ListedDocument], values: Mapping[int, Sequence[str]]
) -> DocumentNames:
    found = _matches({normal_text(name) for name in wanted}, every, lambda one: values.get(one.id, ()))
    members = {name: found[normal_text(name)] for name in wanted if normal_text(name) in found}
    units = {one.uid: values[one.id][0] for one in every if one.id in values}
    return _names(wanted, every, members, units, {})


def _by_place(wanted: Sequence[str], every: Sequence[ListedDocument]) -> DocumentNames:
    members: dict[str, list[ListedDocument]] = {}
    ambiguous: dict[str, tuple[str, ...]] = {}
    grouped = False
    for keys_of, several in _LEVELS:
        left = {name: name.removeprefix("./").strip("/") for name in wanted if name not in members}
        found = _matches(set(left.values()), every, keys_of)
        for name, key in left.items():
            if key in found:
                members[name] = found[key]
                grouped |= several
                if len(found[key]) > 1 and not several:
                    ambiguous[name] = tuple(one.path for one in found[key])
    units = {one.uid: one.group_key for one in every if one.group_key} if grouped else {}
    return _names(wanted, every, members, units, ambiguous)


def _names(
    wanted: Sequence[str],
    every: Sequence[ListedDocument],
    members: Mapping[str, Sequence[ListedDocument]],
    units: Mapping[str, str],
    ambiguous: Mapping[str, tuple[str, ...]],
) -> DocumentNames:
    if wanted and not members:
        example = next(iter(units.values()), every[0].path if every else "")
        raise InvalidInput(
            f"The collection has none of the {len(wanted)} documents that the questions name: {_some(wanted)}.",
            hint="Name documents by path, end of a path, id, uri or group, or by a metadata field: --by FIELD. "
            + (f"Here one is {example!r}. " if example else "")
            + "Perhaps another collection (-c) was meant, or documents were not added yet.",
        )
    called: dict[str, list[str]] = {}
    for name in wanted:
        for one in members.get(name, ()):
            called.setdefault(one.uid, []).append(name)
    unknown = tuple(name for name in wanted if name not in members)
    counted = Counter(one.path for one in every)
    paths = {one.uid: one.path for one in every if one.path and counted[one.path] == 1 and one.path not in members}
    return DocumentNames(members, called, units, paths, unknown, ambiguous)


def _matches(wanted: set[str], every: Sequence[ListedDocument], keys_of: _KeysOf) -> dict[str, list[ListedDocument]]:
    found: dict[str, list[ListedDocument]] = {}
    if wanted:
        for one in every:
            for key in dict.fromkeys(keys_of(one)):
                if key in wanted:
                    found.setdefault(key, []).append(one)
    return found


def _some(names: Sequence[str]) -> str:
    """Return the first names; a long one is cut to its end, which distinguishes it from others."""
    few = [repr(name if len(name) <= _SHOWN else f"…{name[1 - _SHOWN :]}") for name in names[:_NAMED]]
    return ", ".join([*few, "…"] if len(names) > _NAMED else few)


def _ends(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[i:]) for i in range(len(parts)))


def _ends_without_extension(one: ListedDocument) -> Iterable[str]:
    folder, slash, name = one.path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    yield from _ends(f"{folder}{slash}{stem}")
    if "%" in stem:
        yield unquote(stem)


_LEVELS: Sequence[tuple[_KeysOf, bool]] = (
    (lambda one: (one.uid, one.uri, one.path), False),
    (lambda one: (one.group_key,) if one.group_key else (), True),
    (lambda one: _ends(one.path), False),
    (_ends_without_extension, False),
    (lambda one: _ends(unquote(one.uri)), False),
)
"""Ways to name a document, the most reliable first; whether such a name may be that of several documents."""
