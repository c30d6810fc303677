"""Documents that pass a filter, and the rows of chunks that hits show."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
from sqlalchemy import (
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    not_,
    null,
    or_,
    select,
    tuple_,
)

from pinakes.catalog.dialects.functions import among, is_shared, json_ids, json_texts, text_list
from pinakes.catalog.manifest import STAMP, STAMPED, Stamp, stamp_in
from pinakes.catalog.path_conditions import is_below
from pinakes.catalog.references import absolute
from pinakes.catalog.schema import chunks, documents, fields
from pinakes.core.batching import batches
from pinakes.core.errors import InvalidFilter
from pinakes.core.filters import COMPARE, FILE_TYPES, in_words, limits, listed, nearest, normal_text, paths_meant
from pinakes.core.records import JSON, Condition, Filter, Int64

_MAGIC = "*?[\\!"
_WILDCARDS = frozenset("*?")
UPDATED_AT = "@updated_at"
"""What filters call the time of a document's last change; ``@created_at`` is that when it was put."""

BY_ID = "@id"
"""What filters call the id of a document."""

_TIMES = {UPDATED_AT: documents.c.updated_at, "@created_at": documents.c.created_at}
_SPAN = 1_000_000
"""Characters of a text that are read at once for all chunks that begin in them."""
_BATCH = 1000
_MOST_VARIABLES = 30_000
_MOST_COMPARED = 10
"""Of so many values that nothing has those are looked for that are like them."""

_MOST_DISTINCT = 2000
"""So many names or values are compared with one that nothing has."""

_COUNTED_DOCUMENTS = 2000
"""Counting the fields of all the documents of a large collection would take seconds."""


def matching(connection: Connection, collection_id: int, where: Filter) -> Int64:
    """Return the ids of the documents that meet every condition, int64 (n,), sorted."""
    found: Int64 | None = None
    for condition in where:
        query = _documents_with(connection, collection_id, condition)
        ids = np.unique(np.fromiter(connection.scalars(query), np.int64))
        found = ids if found is None else np.intersect1d(found, ids, assume_unique=True)
    if found is None:
        every = select(documents.c.id).where(documents.c.collection_id == collection_id).order_by(documents.c.id)
        found = np.fromiter(connection.scalars(every), np.int64)
    return found


def doubts(connection: Connection, collection_id: int, where: Filter, passed: int) -> list[str]:
    """Return in words what is probably wrong with ``where``, which ``passed`` documents or chunks passed.

    A field that no document has is named with those that are like it, a value that nothing has with those there are,
    also where it is one of several of which others have something. Costs nothing where something passed, unless there
    are several values, or a condition is met by documents without the field.
    """
    notes, is_explained = list[str](), False
    for condition in (one for one in where if one.field not in (BY_ID, *_TIMES)):
        is_asked = not passed or condition.none_of
        note = _note_on_condition(connection, collection_id, condition) if is_asked else None
        is_explained = is_explained or note is not None
        if note := note or _note_on_values(connection, collection_id, condition):
            notes.append(note)
    if not passed and not is_explained and len(where) > 1 and _has(connection, collection_id):
        notes.append("each filter lets something pass, but nothing passes all of them")
    return notes


def field_names(connection: Connection, collection_id: int) -> list[str]:
    """Return the names of the metadata fields that documents of a collection have, sorted."""
    return _distinct(connection, fields.c.name, fields.c.collection_id == collection_id)


def common_field_names(connection: Connection, collection_id: int) -> list[str]:
    """Return what ``field_names`` does, first the names that most of the latest documents have."""
    latest = select(documents.c.id).where(documents.c.collection_id == collection_id)
    latest = latest.order_by(documents.c.id.desc()).limit(_COUNTED_DOCUMENTS)
    having = func.count(fields.c.document_id.distinct())
    query = select(fields.c.name).where(fields.c.document_id.in_(latest)).group_by(fields.c.name)
    common = connection.scalars(query.order_by(having.desc(), fields.c.name).limit(_MOST_DISTINCT))
    return list(dict.fromkeys([*common, *field_names(connection, collection_id)]))


def fields_with(
    connection: Connection, collection_id: int, names: Sequence[str], values: Sequence[str], most: int
) -> list[tuple[str, str]]:
    """Return up to ``most`` (field, value) of these ``names`` and ``values`` that some document has."""
    given = {"collection": collection_id, "names": json.dumps(names), "values": json.dumps(values), "most": most}
    return [(name, value) for name, value in connection.execute(_FIELDS_WITH, given)]


def count_chunks(connection: Connection, collection_id: int, document_ids: Int64 | None) -> int:
    """Return how many chunks these documents have; None means all of the collection."""
    # Both are read from indexes: documents hold their texts, which are ten times as much.
    query = select(func.count()).select_from(chunks).join(documents, documents.c.id == chunks.c.document_id)
    query = query.where(documents.c.collection_id == collection_id)
    if document_ids is None:
        return int(connection.execute(query).scalar_one())
    total = 0
    for part in np.array_split(document_ids, len(document_ids) // _BATCH + 1):
        total += int(connection.execute(query.where(documents.c.id.in_(part.tolist()))).scalar_one())
    return total


class ChunkRow(NamedTuple):
    """A chunk with what a hit shows of it and of its document.

    ``before``: in a shared catalogue, which is far, how many chunks the documents have that stand before its own in the
    same group; else None. ``stamp``: what its document was read from, None of one that was put by itself.
    """

    id: int
    ordinal: int
    start: int
    end: int
    start_line: int
    end_line: int
    heading_path: list[str]
    symbols: list[str]
    token_count: int
    header: str
    document_id: int
    uid: str
    uri: str
    path: str
    title: str
    group_key: str
    has_lines: bool
    before: int | None
    text: str
    metadata: dict[str, JSON]
    inherited: dict[str, JSON]
    pages: Any
    stamp: Stamp | None


def hit_rows(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, ChunkRow]:
    """Return chunk id → row with everything a hit shows, the chunk's text cut from the document's."""
    query = _CHUNKS_WITH_BEFORE if is_shared(connection) else _CHUNKS
    return {row.id: row for row in _cut(connection.execute(query, {"ids": json.dumps(list(chunk_ids))}).all())}


def hit_rows_at(connection: Connection, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], ChunkRow]:
    """Return (document id, ordinal) → row as of ``hit_rows``, of those of ``places`` that there are."""
    found = (connection.execute(_CHUNKS_AT, {"places": part}).all() for part in batches(places, _BATCH))
    return {(row.document_id, row.ordinal): row for part in found for row in _cut(part)}


def lines_of_chunks(connection: Connection, rows: Collection[ChunkRow]) -> dict[int, tuple[int, ...]]:
    """Return chunk id → the numbers in the file of the lines of its text.

    Those whose lines count up from the first one are left out.
    """
    last = {row.document_id: row.id for row in sorted(rows, key=attrgetter("start")) if row.has_lines}
    if not last:
        return {}
    those = {one: rest for one, *rest in connection.execute(_TO_CHUNKS, {"ids": json.dumps(list(last.values()))})}
    found: dict[int, tuple[int, ...]] = {}
    for row in rows:
        if row.document_id in those:
            numbers, before = those[row.document_id]
            first = before.count("\n", 0, row.start)
            found[row.id] = tuple(numbers[first : first + row.text.count("\n") + 1])
    return found


def _cut(found: Sequence[Any]) -> Iterator[ChunkRow]:
    """Yield the rows of a statement of ``_rows_of``, with what only the first row of each span of a document has."""
    firsts = {(row.document_id, row.start // _SPAN): row[:_OF_DOCUMENT] for row in found if row.begin is not None}
    for row in found:
        begin, text, metadata, inherited, pages, *stamp = firsts[row.document_id, row.start // _SPAN]
        cut = text[row.start - begin : row.end - begin]
        yield ChunkRow._make((*row[_OF_DOCUMENT:], cut, metadata, inherited, pages, stamp_in(stamp)))


def _documents_with(
    connection: Connection, collection_id: int, condition: Condition
) -> Select[Any] | CompoundSelect[Any]:
    if condition.field in _TIMES:
        return _in_time(collection_id, condition)
    if condition.field == BY_ID:
        return _with_ids(collection_id, condition)
    named = and_(fields.c.collection_id == collection_id, fields.c.name == condition.field)
    query = select(fields.c.document_id).where(named)
    values: Sequence[str] = ()
    if condition.glob:
        values = connection.scalars(select(fields.c.value).where(named, _possible(condition.glob)).distinct()).all()
    if condition.field == "path" and (condition.any_of or condition.none_of or condition.glob):
        from pinakes.catalog import path_filters  # few questions have such a filter

        equal = path_filters.documents_at(connection, collection_id, condition, values)
    elif condition.glob:
        matched = paths_meant(condition.glob, values)
        few = len(matched) < _MOST_VARIABLES
        equal = query.where(fields.c.value.in_(matched if few else text_list(matched)))
    else:
        equal = query.where(fields.c.value.in_(condition.any_of or condition.none_of))
    if condition.none_of:
        every = select(documents.c.id).where(documents.c.collection_id == collection_id)
        return every.where(documents.c.id.not_in(equal))
    if condition.any_of or condition.glob:
        return equal
    return query.where(*(_compared(sign, bound) for sign, bound in limits(condition)))


def _in_time(collection_id: int, condition: Condition) -> Select[Any]:
    """Return the documents that were made or changed between two times."""
    if condition.low is None and condition.high is None:
        raise InvalidFilter(f"{condition.field!r} is a time.", hint='Write {"@updated_at": {"gte": "2026-01-31"}}.')
    column = func.lower(_TIMES[condition.field])
    tests = []
    for sign, bound in limits(condition):
        end = normal_text(bound)
        tests.append(COMPARE[sign](func.substr(column, 1, len(end)) if sign in ("<=", ">") else column, end))
    return select(documents.c.id).where(documents.c.collection_id == collection_id, *tests)


def _with_ids(collection_id: int, condition: Condition) -> Select[Any]:
    """Return the documents that have these ids, or have none of them."""
    if not (condition.any_of or condition.none_of):
        raise InvalidFilter(f"{BY_ID!r} is the id of a document.", hint='Write {"@id": ["…", "…"]}.')
    named = documents.c.uid.in_(text_list(condition.any_of or condition.none_of))
    return select(documents.c.id).where(
        documents.c.collection_id == collection_id, named if condition.any_of else not_(named)
    )


def _compared(sign: str, bound: float | str) -> ColumnElement[bool]:
    """The same comparison as ``filters.match`` makes: numbers as numbers, the rest as text."""
    end = normal_text(bound)
    text = func.substr(fields.c.value, 1, len(end)) if sign in ("<=", ">") else fields.c.value
    as_text: ColumnElement[bool] = COMPARE[sign](text, end)
    if isinstance(bound, str):
        return as_text
    begins_with_digit = func.substr(fields.c.value, 1, 1).between("0", "9")
    return or_(COMPARE[sign](fields.c.number, bound), and_(fields.c.number.is_(None), begins_with_digit, as_text))


def _note_on_condition(connection: Connection, collection_id: int, condition: Condition) -> str | None:
    """Return why nothing can have been meant by ``condition``, None where something passes it."""
    from pinakes.catalog.filter_notes import DOUBT

    field = condition.field
    if not _has(connection, collection_id, fields.c.name == field):
        names = common_field_names(connection, collection_id)
        near = nearest(field, names)
        instead = f"did you mean {listed(near)}?" if near else f"there are {listed(names, 10)}"
        return f"{DOUBT} a field {listed([field])}: {instead}" if names else None
    if connection.execute(_documents_with(connection, collection_id, condition).limit(1)).first():
        return None
    if values := condition.any_of or condition.glob:
        return _doubt(connection, collection_id, field, [str(one) for one in values])
    there = _distinct(connection, fields.c.value, fields.c.collection_id == collection_id, fields.c.name == field)
    return f"{DOUBT} {in_words(condition)}: there are {listed(there)}"


def _doubt(connection: Connection, collection_id: int, field: str, values: Sequence[str]) -> str | None:
    """Return the note that no document has ``values``; None where none has the field."""
    from pinakes.catalog.filter_notes import doubt

    there = _distinct(connection, fields.c.value, fields.c.collection_id == collection_id, fields.c.name == field)
    names = dict.fromkeys(normalize("NFC", one) for one in values)
    if field in FILE_TYPES:  # where one was asked for by name, it is among them with its dot and without
        names = dict.fromkeys(one for one in names if not one.startswith(".") or one[1:] not in names)
    near = {one: _like(one, there) if place < _MOST_COMPARED else [] for place, one in enumerate(names)}
    return doubt(field, near, there[:_MOST_COMPARED]) if there else None


def _like(text: str, values: Sequence[str]) -> list[str]:
    """Return the paths among ``values`` of which ``text`` is the end; without any, what it may be a misspelling of."""
    return [one for one in values if one.endswith(f"/{text}")] or nearest(text, values)


def _note_on_values(connection: Connection, collection_id: int, condition: Condition) -> str | None:
    """Return a note on those of several values that no document has, None where each has some or is a pattern.

    Where some of those that are not there to the letter have documents, up to ten of the others are examined, and no
    folders and absolute paths: what each means takes a few statements.
    """
    values = [str(one) for one in condition.any_of or condition.none_of or condition.glob]
    if len(values) < 2:
        return None
    plain = [one for one in values if not condition.glob or _WILDCARDS.isdisjoint(one)]
    forms = {one: {normalize(form, one) for form in ("NFC", "NFD")} for one in plain}
    named = and_(fields.c.collection_id == collection_id, fields.c.name == condition.field)
    wanted = fields.c.value.in_(text_list([form for some in forms.values() for form in some]))
    there = set(connection.scalars(select(fields.c.value).where(named, wanted)))
    if condition.field in FILE_TYPES:
        there |= {form for one in there for form in (one.lstrip("."), f".{one.lstrip('.')}")}
    absent = [one for one in plain if forms[one].isdisjoint(there)]
    if absent and _some_have(connection, collection_id, condition, absent):
        absent = [one for one in absent if not one.endswith("/") and absolute(one) is None]
        few = absent if len(absent) <= _MOST_COMPARED else ()
        absent = [one for one in few if not _some_have(connection, collection_id, condition, [one])]
    return _doubt(connection, collection_id, condition.field, absent) if absent else None


def _some_have(connection: Connection, collection_id: int, condition: Condition, values: Sequence[str]) -> bool:
    """Return whether any document has one of ``values``, by another spelling or the end of its path, too."""
    some = tuple(values)
    one = Condition(condition.field, glob=some) if condition.glob else Condition(condition.field, any_of=some)
    return connection.execute(_documents_with(connection, collection_id, one).limit(1)).first() is not None


def _has(connection: Connection, collection_id: int, *tests: ColumnElement[bool]) -> bool:
    return bool(connection.scalar(select(exists().where(fields.c.collection_id == collection_id, *tests))))


def _distinct(connection: Connection, column: Column[str], *tests: ColumnElement[bool]) -> list[str]:
    """Return the first distinct values of ``column``, sorted, jumping from one to the next in the index."""
    found = select(func.min(column).label("value")).where(*tests).cte("found", recursive=True)
    following = select(func.min(column)).where(*tests, column > found.c.value).scalar_subquery()
    found = found.union_all(select(following).where(found.c.value.is_not(None)))
    some = select(found.c.value).where(found.c.value.is_not(None)).order_by(found.c.value).limit(_MOST_DISTINCT)
    return list(connection.scalars(some))


def _possible(patterns: Sequence[str]) -> ColumnElement[bool]:
    """A cheap test that every value passes which a single pattern, anchored by a slash within it, can match."""
    pattern = patterns[0].casefold().strip().removeprefix("./").lstrip("/")
    literal = pattern[: min((pattern.find(mark) for mark in _MAGIC if mark in pattern), default=len(pattern))]
    folder, _, rest = literal.partition("/")
    if len(patterns) == 1 and folder and folder.isascii() and (rest or len(literal) < len(pattern)) and "/" in literal:
        return is_below(fields.c.value, folder)
    return fields.c.value != ""


_OTHER = documents.alias()
_BEFORE = select(func.coalesce(func.sum(_OTHER.c.chunk_count), 0)).where(
    _OTHER.c.collection_id == documents.c.collection_id,
    _OTHER.c.group_key == documents.c.group_key,
    tuple_(_OTHER.c.path, _OTHER.c.id) < tuple_(documents.c.path, documents.c.id),
)


def _rows_of(where: ColumnElement[bool], before: ColumnElement[Any] | None = None) -> Select[Any]:
    """Return the statement of what ``_cut`` reads, of the chunks that pass ``where``.

    Only the first row of each document, or of each million characters of one, has its text, from the first of these
    chunks to the last, since each look into a text reads it from the beginning on.
    """
    by = (chunks.c.document_id, chunks.c.start // _SPAN)
    every = select(
        chunks.c.id,
        (chunks.c.id == func.min(chunks.c.id).over(partition_by=by)).label("is_first"),
        func.min(chunks.c.start).over(partition_by=by).label("begin"),
        func.max(chunks.c.end).over(partition_by=by).label("end"),
    )
    wanted = every.where(where).subquery("wanted")
    text = func.substr(documents.c.text, wanted.c.begin + 1, wanted.c.end - wanted.c.begin, type_=Text)
    of_document = (wanted.c.begin, text, documents.c.metadata, documents.c.inherited, documents.c.pages, *STAMP)
    return select(
        case((wanted.c.is_first, wanted.c.begin)).label("begin"),
        *(case((wanted.c.is_first, one)) for one in of_document[1:]),
        *(chunks.c[name] for name in ChunkRow._fields[:10]),
        documents.c.id.label("document_id"),
        *(documents.c[name] for name in ChunkRow._fields[11:16]),
        documents.c.lines.is_not(None).label("has_lines"),
        (null() if before is None else before).label("before"),
    ).select_from(wanted.join(chunks, chunks.c.id == wanted.c.id).join(STAMPED, documents.c.id == chunks.c.document_id))


_OF_DOCUMENT = 5 + len(STAMP)
"""Number of the columns of ``_rows_of`` that only the first row of each span has."""

_CHUNKS = _rows_of(among(chunks.c.id, json_ids("ids")))
_CHUNKS_WITH_BEFORE = _rows_of(
    among(chunks.c.id, json_ids("ids")), case((documents.c.group_key == "", 0), else_=_BEFORE.scalar_subquery())
)
_CHUNKS_AT = _rows_of(tuple_(chunks.c.document_id, chunks.c.ordinal).in_(bindparam("places", expanding=True)))
_TO_CHUNKS = (
    select(documents.c.id, documents.c.lines, func.substr(documents.c.text, 1, chunks.c.start))
    .select_from(chunks.join(documents))
    .where(among(chunks.c.id, json_ids("ids")))
)
_FIELDS_WITH = (
    select(fields.c.name, fields.c.value)
    .where(
        fields.c.collection_id == bindparam("collection"),
        among(fields.c.name, json_texts("names")),
        among(fields.c.value, json_texts("values")),
    )
    .distinct()
    .order_by(fields.c.name, fields.c.value)
    .limit(bindparam("most"))
)
