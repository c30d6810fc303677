"""The text of a document: whole or some lines, current or of an older version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.catalog import Connection, document_queries, documents, history, references
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import DocumentRecord as DocumentRecord
from pinakes.catalog.history import State
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.search.as_of import held_at, moment
from pinakes.settings import IngestSettings
from pinakes.text.file_lines import FileLines
from pinakes.text.secrets.masking import NOTHING_MASKED, Masking, masking_of


@dataclass(frozen=True, slots=True)
class Text:
    """A document's text, or a range of its lines (those of the file, from 1, ends included).

    ``numbers`` are the numbers in the file of the lines of ``text``, () where they count up from ``start_line``.
    Of an older version ``document`` has title, place, metadata, version and time of then, the rest as it is now.
    """

    document: DocumentRecord
    text: str
    start_line: int
    end_line: int
    total_lines: int
    numbers: tuple[int, ...] = ()


def read_in(
    connection: Connection,
    records: Sequence[CollectionRecord],
    reference: str,
    lines: tuple[int, int] | None,
    version: int | None = None,
    as_of: str | None = None,
    settings: IngestSettings | None = None,
) -> Text:
    """Return the document that goes by ``reference`` in one of these collections; see ``read``.

    Where several have one, that counts which it names to the letter: by its id, uri or path.

    Raises:
        NotFound: as ``read``.
        InvalidInput: as ``read``, or several collections have one.
    """
    if len(records) == 1:
        return read(connection, records[0], reference, lines, version, as_of, settings)
    there = [one for one in records if references.find(connection, one.id, reference)]
    if not there and as_of is None:
        raise _nothing(connection, records, reference)
    found: dict[str, Text] = {}
    failed: list[NotFound | InvalidInput] = []
    for record in records if as_of else there:
        try:
            text = read(connection, record, reference, lines, version, as_of, settings)
        except (NotFound, InvalidInput) as error:
            failed.insert(0 if record in there else len(failed), error)
        else:
            found.setdefault(text.document.uid, text)
    texts = list(found.values())
    best = [one for one in texts if reference in (one.document.uid, one.document.uri, one.document.path)] or texts
    if len(best) > 1:
        names = {one.id: one.name for one in records}
        places = ", ".join(names.get(one.document.collection_id, one.document.uid) for one in best)
        raise InvalidInput(f"{len(best)} collections have a document {reference!r}.", hint=f"Name one: {places}.")
    if not best:
        raise failed[0]
    return best[0]


def read(
    connection: Connection,
    record: CollectionRecord,
    reference: str,
    lines: tuple[int, int] | None,
    version: int | None = None,
    as_of: str | None = None,
    settings: IngestSettings | None = None,
) -> Text:
    """Return the document that goes by ``reference``, in a ``version`` or ``as_of`` a day or time, else as it is.

    What was stored before credentials were masked is masked here.

    Raises:
        NotFound: nothing goes by that name, or it has no such lines, or it is not kept what it was.
        InvalidInput: several documents go by that name, or a version and a time are named.
    """
    masking = masking_of(settings) if settings else NOTHING_MASKED
    if version is not None and as_of is not None:
        raise InvalidInput("A document is read in a version or as of a time, not both.", hint="Leave one out.")
    if as_of is not None and (there := held_at(connection, record, as_of)) is not None:
        return read(connection, there, reference, lines, settings=settings)
    if as_of is not None:
        return _as_of(connection, record, reference, lines, moment(as_of), masking)
    document = _single_document(connection, record, reference)
    if version in (None, document.version):
        return _current_text(connection, document, masking, lines)
    state = history.state(connection, record.id, document.uid, version or 0)
    if state is None:
        raise NotFound(
            f"Version {version} of {document.path!r} cannot be read.",
            hint=f"See which can: pinakes document history {document.uid}",
        )
    return _cut(_record_of_state(record.id, state, document), masking.text(state.text), lines)


def _as_of(
    connection: Connection,
    record: CollectionRecord,
    reference: str,
    lines: tuple[int, int] | None,
    at: str,
    masking: Masking,
) -> Text:
    then = history.states_at(connection, record.id, at)
    there = references.find(connection, record.id, reference)
    names = {one.uid for one in there}
    names_of = {reference, *references.spellings(reference)}
    found = [one for one in then if one.uid in names or names_of.intersection((one.uid, one.uri, one.path))]
    still = [one for one in there if one.updated_at <= at]
    if len(found) + len(still) > 1:
        paths = ", ".join([*(one.path for one in found), *(one.path for one in still)][:5])
        raise InvalidInput(f"Several documents went by {reference!r} then.", hint=f"Name one of them: {paths}.")
    if still:
        return _current_text(connection, still[0], masking, lines)
    if not found:
        raise NotFound(
            f"There was no document {reference!r} at {at[:19]}Z, or it is not kept what it was.",
            hint="Use its id, and see its history: pinakes document history ID",
        )
    known = next((one for one in there if one.uid == found[0].uid), None)
    return _cut(_record_of_state(record.id, found[0], known), masking.text(found[0].text), lines)


def _record_of_state(collection_id: int, state: State, now: DocumentRecord | None) -> DocumentRecord:
    """Return a document as it was; one that is not there ``now`` has no row and no chunks any more."""
    return DocumentRecord(
        id=now.id if now else 0,
        uid=state.uid,
        collection_id=collection_id,
        uri=state.uri,
        path=state.path,
        title=state.title,
        kind=state.kind,
        language=state.language,
        metadata=state.metadata,
        group_key=state.group_key,
        content_hash=state.content_hash,
        token_count=now.token_count if now else 0,
        chunk_count=now.chunk_count if now else 0,
        version=state.number,
        created_at=(now or state).created_at,
        updated_at=state.at,
        summary=state.summary,
        summary_by=state.summary_by,
    )


def _single_document(connection: Connection, record: CollectionRecord, reference: str) -> DocumentRecord:
    found: Sequence[DocumentRecord] = references.find(connection, record.id, reference)
    if len(found) == 1:
        return found[0]
    if not found:
        raise _nothing(connection, [record], reference)
    names = ", ".join(document.path for document in found[:5])
    raise InvalidInput(f"{len(found)} documents go by {reference!r}.", hint=f"Name one of them: {names}.")


def _nothing(connection: Connection, records: Sequence[CollectionRecord], reference: str) -> NotFound:
    """Return the error that says that nothing in these collections goes by ``reference``, with what is called alike."""
    paths = [path for record in records for path in documents.paths(connection, record.id)]
    from rapidfuzz import process

    near = [path for path, _, _ in process.extract(reference, paths, limit=3, score_cutoff=60)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "`pinakes search` shows paths and ids."
    return NotFound(f"There is no document {reference!r}.", hint=hint, ids=[reference])


def _current_text(
    connection: Connection, document: DocumentRecord, masking: Masking, lines: tuple[int, int] | None
) -> Text:
    """Return a document as it is now, or these lines of it."""
    text = masking.text(documents.text(connection, document.id))
    return _cut(document, text, lines, document_queries.lines_of_document(connection, document.id))


def _cut(document: DocumentRecord, text: str, lines: tuple[int, int] | None, numbers: Sequence[int] = ()) -> Text:
    """Return these lines of a text; of one that was kept of then the file's numbers are not known: its own count."""
    there = FileLines(text, numbers)
    total = there.total
    first, last = lines or (1, total)
    if not 1 <= first <= last or first > total:
        what = f"line {first}" if first > total else f"lines {first} to {last}"
        raise NotFound(f"{document.path} has no {what}.", hint=f"It has {total} lines from 1.")
    if lines is None:
        return Text(document, text, 1, total, total, tuple(numbers))
    start, end = there.span(first, last)
    shown = text[start:end] if last > total else text[start:end].removesuffix("\n")
    row = text.count("\n", 0, start)
    return Text(document, shown, first, min(last, total), total, tuple(numbers[row : row + shown.count("\n") + 1]))
