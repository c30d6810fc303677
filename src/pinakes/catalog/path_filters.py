"""What the paths of a filter mean: as they are, a place of a source, or the end of the only path that has it.

Each is taken by itself. What is absolute means what was read at that place, in no other source.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sqlalchemy import CompoundSelect, Connection, Select, and_, case, func, or_, select, union_all

from pinakes.catalog.dialects.functions import id_list, text_list
from pinakes.catalog.path_conditions import ends_with
from pinakes.catalog.references import absolute, roots, spellings
from pinakes.catalog.schema import documents, fields
from pinakes.core.filters import normal_text, paths_meant
from pinakes.core.records import Condition

MOST_ENDS: Final = 10
"""Of so many paths that no document has their ends are looked for, which reads every path of the collection once."""

_WILDCARDS: Final = frozenset("*?")
_PARTED: Final = re.compile(r"[/\\]")
_Places = Mapping[str, str]
"""Path as it was asked for → the place that it is, in the normal form."""


def documents_at(
    connection: Connection, collection_id: int, condition: Condition, values: Sequence[str] = ()
) -> Select[Any] | CompoundSelect[Any]:
    """Return the statement of the ids of documents that have one of the paths of ``condition``, its ``none_of``, too.

    ``values``: paths of documents among which are those that the patterns of ``condition`` may match.
    """
    texts = [str(one) for one in condition.any_of or condition.none_of or condition.glob]
    wanted = {text: _asked_place(text, place) for text in texts if (place := absolute(text))}
    in_sources, placed = list[Select[Any]](), set[str]()
    for source_id, lying_at in roots(connection, collection_id) if wanted else ():
        root = _normal(str(lying_at))
        near = {text: place for text, place in wanted.items() if _may_meet(place, root)}
        placed.update(near)
        in_sources.extend(_in_source(connection, source_id, root, near, bool(condition.glob)))
    plain = [text for text in texts if text not in placed]
    meant = _matched(connection, collection_id, plain, values) if condition.glob else None
    meant = _equal(connection, collection_id, plain) if meant is None else meant
    named = and_(fields.c.collection_id == collection_id, fields.c.name == "path")
    by_value = select(fields.c.document_id).where(named, fields.c.value.in_(text_list(sorted(meant))))
    return union_all(by_value, *in_sources) if in_sources else by_value


def _equal(connection: Connection, collection_id: int, texts: Sequence[str]) -> set[str]:
    """Return the paths of documents that ``texts`` are, each to the letter or by its end."""
    forms = {_normal(text): spellings(text) for text in texts}
    every = [form for these in forms.values() for form in these]
    named = and_(fields.c.collection_id == collection_id, fields.c.name == "path")
    found = set(connection.scalars(select(fields.c.value).where(named, fields.c.value.in_(text_list(every)))))
    missing = [text for text, these in forms.items() if found.isdisjoint(these)]
    return found | set(_by_end(connection, collection_id, missing))


def _matched(connection: Connection, collection_id: int, patterns: Sequence[str], values: Sequence[str]) -> set[str]:
    """Return those of ``values`` that ``patterns`` match, and what the others are by another spelling or their end."""
    found = paths_meant(patterns, values) if patterns else []
    ordered = sorted(map(_normal, found))
    plain = [one for text in patterns if _PARTED.search(one := _normal(text).strip("/")) and not text.endswith("/")]
    return {*found, *_equal(connection, collection_id, [one for one in plain if not _is_among(one, ordered)])}


def _is_among(path: str, ordered: Sequence[str]) -> bool:
    """Say whether ``ordered`` has a file ``path``, or one in a folder that is called so."""
    return any(
        ordered[at : at + 1] == [path] or "".join(ordered[at : at + 1]).startswith(f"{path}/")
        for at in (bisect_left(ordered, path), bisect_left(ordered, f"{path}/"))
    )


def _by_end(connection: Connection, collection_id: int, texts: Collection[str]) -> Iterator[str]:
    """Yield for each of ``texts`` the only path of the collection that ends so; nothing where there are several."""
    ends = [end for text in dict.fromkeys(texts) if (end := _bare(text)) and _WILDCARDS.isdisjoint(end)]
    if not 0 < len(ends) <= MOST_ENDS:
        return
    tests = [or_(*(ends_with(fields.c.value, form) for form in spellings(end))) for end in ends]
    those = [case((test, fields.c.value)) for test in tests]
    query = select(*(edge(one) for one in those for edge in (func.min, func.max)))
    named = and_(fields.c.collection_id == collection_id, fields.c.name == "path")
    first_and_last = tuple(connection.execute(query.where(named, or_(*tests))).one())
    for first, last in zip(first_and_last[::2], first_and_last[1::2], strict=True):
        if first is not None and first == last:
            yield first


def _may_meet(place: str, root: str) -> bool:
    """Say whether a place, or what a pattern of places matches, can lie in the folder ``root`` or around it."""
    parts, of_root = PurePosixPath(place).parts, PurePosixPath(root).parts
    return all(
        one == other or not _WILDCARDS.isdisjoint(one) or "[" in one for one, other in zip(parts, of_root, strict=False)
    )


def _in_source(
    connection: Connection, source_id: int, root: str, places: _Places, patterns: bool
) -> Iterator[Select[Any]]:
    """Yield statements of the ids of the documents of a source, which lies at ``root``, that are at ``places``."""
    of_source = select(documents.c.id).where(documents.c.source_id == source_id)
    if any(PurePosixPath(root).is_relative_to(place.removesuffix("/**")) for place in places.values()):
        yield of_source
        return
    inside = f"{root.rstrip('/')}/"
    forms = [
        form for place in places.values() if place.startswith(inside) for form in spellings(place.removeprefix(inside))
    ]
    files = select(documents.c.id, documents.c.path).where(documents.c.source_id == source_id)
    called = select(fields.c.document_id).where(fields.c.name == "path", fields.c.value.in_(text_list(forms)))
    exact = [
        (row.id, inside + _normal(row.path)) for row in connection.execute(files.where(documents.c.id.in_(called)))
    ]
    ids = {key for key, path in exact if path in places.values()}
    if rest := set(places.values()) - {path for _, path in exact}:
        those = [(row.id, inside + _normal(row.path)) for row in connection.execute(files)]
        ids.update(_lying_at(rest, those, patterns))
    yield of_source.where(documents.c.id.in_(id_list(ids)))


def _lying_at(places: Collection[str], those: Sequence[tuple[int, str]], patterns: bool) -> Iterable[int]:
    """Return the keys of ``those`` that lie below one of ``places``, or that match one of these patterns."""
    if not patterns:
        return [key for key, path in those if any(str(one) in places for one in PurePosixPath(path).parents)]
    meant = set(paths_meant(sorted(places), [path.lstrip("/") for _, path in those]))
    return [key for key, path in those if path.lstrip("/") in meant]


def _asked_place(text: str, place: Path) -> str:
    """Return the normal form of ``place``, with the slash of a pattern that matches folders only."""
    return _normal(str(place)) + ("/" if text.endswith("/") and not _WILDCARDS.isdisjoint(text) else "")


def _normal(text: str) -> str:
    """Return the form of a path that is compared in Python: small letters, accents composed."""
    return unicodedata.normalize("NFC", normal_text(text))


def _bare(text: str) -> str:
    return text.removeprefix("./").strip("/")
