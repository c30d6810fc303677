"""Opening what was found: documents within a budget of tokens, sections, lines, single chunks, outlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pinakes.app import App
from pinakes.catalog import document_queries, documents
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import ChunkSpan as ChunkSpan
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.chunking import headings
from pinakes.core.errors import InvalidInput, ModelUnavailable, NotFound
from pinakes.core.ports import KeywordQuery, VectorQuery
from pinakes.core.records import Document, Float32, Heading, Int64, Span
from pinakes.search.ranking import fusion
from pinakes.text.file_lines import FileLines

if TYPE_CHECKING:
    from pinakes.core.ports import Index

_LEAST_SHARE = 0.5
"""A border between sections is cut at when at least so much of what fits stands before it."""

MOST_DOCUMENTS = 100
"""Documents that may be opened at once."""

_ALIKE = 70
_NAMED = 12
MOST_NEIGHBOURS = 5


@dataclass(frozen=True, slots=True)
class Opened:
    """A document, or a part of it: ``text`` from ``start_line`` to ``end_line`` of the file, ends included.

    ``tokens`` are those of the text, as those of a chunk are. ``cut``: the budget ended before what was asked
    for; ``go_on`` is then the line, ``go_on_chunk`` the chunk, to read on from; the line is 0 where the cut is in one.
    ``outline`` are headings or definitions: all of them where they were asked for, of a document that was cut those
    not in ``text``. ``note`` says in words what could not be done.
    """

    document: DocumentRecord
    collection: str
    text: str
    start_line: int
    end_line: int
    total_lines: int
    tokens: int
    cut: bool = False
    go_on: int = 0
    go_on_chunk: int = 0
    outline: tuple[Heading, ...] = ()
    chunks: tuple[tuple[ChunkSpan, str], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Expanded:
    """Documents that were opened, in the order asked for; those there are no such documents of are left out.

    ``left_out`` are ids of those that the budget had no room for. ``tokens`` are those of the texts.
    ``full_tokens``: of all documents asked for, whole.
    """

    documents: tuple[Opened, ...]
    left_out: tuple[str, ...]
    tokens: int
    full_tokens: int


@dataclass(frozen=True, slots=True)
class ExpandedChunk:
    """One chunk of a document with those around it. ``score`` is 0 to 1, None where it was chosen by its number.

    ``pages`` are the offsets at which the pages of the document begin.
    """

    document: DocumentRecord
    collection: str
    mark: ChunkSpan
    text: str
    total: int
    score: float | None
    neighbours: tuple[tuple[ChunkSpan, str], ...]
    pages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """What of each document is wanted: a section by its heading, lines (first, last; 0 = to the end), or all of it."""

    section: str = ""
    lines: tuple[int, int] | None = None
    chunks: bool = False
    outline: bool = False


def expand(
    app: App, records: Sequence[CollectionRecord], uids: Sequence[str], wanted: ExpandRequest, max_tokens: int = 0
) -> Expanded:
    """Open documents of these collections, in the order of ``uids``; ``max_tokens`` 0 = whatever they have.

    The first that does not fit is cut, after a section where that is possible; those behind it are left out. Chunks
    that are wanted, too, count as well: those that do not end before the cut, or do not fit, are not there.

    Raises:
        InvalidInput: lines that cannot be, lines and a section at once, or more than ``MOST_DOCUMENTS``.
    """
    _check(wanted)
    if len(uids) > MOST_DOCUMENTS:
        raise InvalidInput(
            f"{len(uids)} documents are too many to be opened at once.", hint=f"At most {MOST_DOCUMENTS}."
        )
    names = {record.id: record.name for record in records}
    opened: list[Opened] = []
    left_out: list[str] = []
    used = full = 0
    with app.catalog.read() as connection:
        found = document_queries.of_uids(connection, list(names), uids)
        for brief in (found[uid] for uid in dict.fromkeys(uids) if uid in found):
            full += brief.token_count
            if max_tokens and (used >= max_tokens or (opened and opened[-1].cut)):
                left_out.append(brief.uid)
                continue
            text = documents.text(connection, brief.id)
            numbers = document_queries.lines_of_document(connection, brief.id)
            document = _OpenDocument(
                brief, names[brief.collection_id], text, document_queries.marks(connection, brief.id), numbers
            )
            opened.append(document.opened(wanted, max_tokens - used if max_tokens else 0))
            used += opened[-1].tokens
            used += sum(mark.token_count for mark, _ in opened[-1].chunks) if max_tokens else 0
    return Expanded(tuple(opened), tuple(left_out), sum(one.tokens for one in opened), full)


def outline(app: App, records: Sequence[CollectionRecord], uid: str) -> tuple[DocumentRecord, tuple[Heading, ...]]:
    """Return a document and its headings, or what its code defines, in the order of the text.

    Raises:
        NotFound: there is no such document in these collections.
    """
    with app.catalog.read() as connection:
        brief = only(document_queries.of_uids(connection, [record.id for record in records], [uid]), uid)
        text, numbers = documents.text(connection, brief.id), document_queries.lines_of_document(connection, brief.id)
    return brief, headings(_document(brief, text, numbers))


def chunk(
    app: App,
    records: Sequence[CollectionRecord],
    uid: str,
    *,
    number: int | None = None,
    query: str = "",
    neighbours: int = 0,
) -> ExpandedChunk:
    """Return one chunk of a document, by its number from 0 or as the one that fits ``query`` best.

    Nothing is embedded for that but the query. The number counts where both are given.

    Raises:
        NotFound: there is no such document in these collections.
        InvalidInput: neither number nor query is given, or there is no chunk of that number.
    """
    with app.catalog.read() as connection:
        brief = only(document_queries.of_uids(connection, [record.id for record in records], [uid]), uid)
        marks = _in_tokens_of(brief, document_queries.marks(connection, brief.id))
        text, pages = documents.text(connection, brief.id), documents.pages(connection, brief.id)
    record = next(record for record in records if record.id == brief.collection_id)
    score: float | None = None
    if number is None:
        if not query.strip():
            raise InvalidInput("Provide chunk_index or chunk_query")
        number, score = _fitting(app, record, query, marks)
    if not 0 <= number < len(marks):
        raise InvalidInput("chunk_index out of range", hint=f"The document has {len(marks)} chunks, counted from 0.")
    around = range(max(0, number - neighbours), min(len(marks), number + neighbours + 1))
    beside = tuple((marks[at], _slice(text, marks[at])) for at in around if at != number)
    mark = marks[number]
    return ExpandedChunk(brief, record.name, mark, _slice(text, mark), len(marks), score, beside, pages)


def only(found: dict[str, DocumentRecord], uid: str) -> DocumentRecord:
    """Return the one document of ``found``.

    Raises:
        NotFound: there is none.
    """
    if uid not in found:
        raise NotFound("Document not found")
    return found[uid]


def _fitting(app: App, record: CollectionRecord, query: str, marks: Sequence[ChunkSpan]) -> tuple[int, float]:
    """Return the number of the chunk that fits ``query`` best, and its score, 0 to 1."""
    with app.traffic.search():
        record, index = app.index(record.name, wait=False)
        ids = np.array(sorted(mark.id for mark in marks), np.int64)
        if not len(ids):
            return -1, 0.0
        meaning, words = _cosines(app, record, index, query, ids), _words(index, query, ids)
    settings = app.settings.search
    if meaning is None:
        scores = words
    else:
        scores = fusion.weighted(meaning, words, settings.semantic_weight, settings.keyword_weight)
    best = int(np.argmax(scores))
    return next(mark.ordinal for mark in marks if mark.id == ids[best]), min(max(float(scores[best]), 0.0), 1.0)


def _cosines(app: App, record: CollectionRecord, index: Index, query: str, ids: Int64) -> Float32 | None:
    """Return the cosine of each chunk, float32 (n,); None where there is no model or no vector."""
    try:
        vector = app.query_vectors_of(record).vector_of(query.strip()[: app.settings.search.max_query_chars])
    except ModelUnavailable:
        return None
    [ranked] = index.vector(VectorQuery(vector, len(ids), among=ids))
    return _scores_by_id(ids, ranked.ids, ranked.scores) if len(ranked) else None


def _words(index: Index, query: str, ids: Int64) -> Float32:
    """Return the BM25 of each chunk as a share of the best, float32 (n,)."""
    [ranked] = index.keyword(KeywordQuery(query.strip(), len(ids), among=ids))
    return fusion.relative(_scores_by_id(ids, ranked.ids, ranked.scores))


def _scores_by_id(ids: Int64, ranked: Int64, scores: Float32) -> Float32:
    found = np.zeros(len(ids), np.float32)
    found[np.searchsorted(ids, ranked)] = scores
    return found


class _OpenDocument:
    """The text of a document with what is known of its parts."""

    def __init__(
        self, brief: DocumentRecord, collection: str, text: str, marks: Sequence[ChunkSpan], numbers: Sequence[int]
    ) -> None:
        self._brief = brief
        self._collection = collection
        self._text = text
        self._marks = _in_tokens_of(brief, marks)
        self._numbers = numbers
        self._lines = FileLines(text, numbers)
        self._headings: tuple[Heading, ...] | None = None

    @property
    def headings(self) -> tuple[Heading, ...]:
        """The outline, found when first asked for."""
        if self._headings is None:
            self._headings = headings(_document(self._brief, self._text, self._numbers))
        return self._headings

    def opened(self, wanted: ExpandRequest, most: int) -> Opened:
        """Return what is wanted of the document, at most so many tokens of it; 0 = any number."""
        span, note = self._span(wanted)
        tokens = self._tokens(span)
        room = most // 2 if wanted.chunks else most  # with its chunks a text is there twice
        end = self._cut(span, room) if most and tokens > room else span[1]
        cut = end < span[1]
        tokens = self._tokens((span[0], end)) if cut else tokens
        outline = self.headings if wanted.outline or cut else ()
        if cut and not wanted.outline:
            outline = tuple(one for one in outline if end <= one.start < span[1])
        start_line, (go_on, within) = self._lines.number_at(span[0]), self._lines.place(end)
        return Opened(
            document=self._brief,
            collection=self._collection,
            text=self._text[span[0] : end],
            start_line=start_line,
            end_line=max(start_line, self._lines.number_at(max(span[0], end - 1))),
            total_lines=self._lines.total,
            tokens=tokens,
            cut=cut,
            go_on=go_on if cut and go_on > start_line and not within else 0,
            go_on_chunk=next((mark.ordinal for mark in self._marks if mark.end > end), 0) if cut else 0,
            outline=outline,
            chunks=self._chunks((span[0], end), cut, most - tokens if most else None) if wanted.chunks else (),
            note=note,
        )

    def _span(self, wanted: ExpandRequest) -> tuple[Span, str]:
        """Return what is wanted as offsets, and what there is to say where it is not there."""
        whole, nothing = (0, len(self._text)), (0, 0)
        if wanted.section:
            found = section_of(self.headings, wanted.section)
            if found is not None:
                return (found.start, found.end), ""
            names = ", ".join(one.title for one in self.headings[:_NAMED])
            return nothing, f"no section {wanted.section!r}: {f'there are {names}' if names else 'it has none'}"
        if wanted.lines is None:
            return whole, ""
        first, last = wanted.lines
        if first > self._lines.total:
            return nothing, f"no line {first}: it has {self._lines.total} lines"
        return self._lines.span(first, last or self._lines.total), ""

    def _tokens(self, span: Span) -> int:
        """Return how many tokens stand in a part of the text, as the chunks there tell."""
        start, end = span
        if (start, end) == (0, len(self._text)):
            return self._brief.token_count
        return round(sum(mark.token_count * _share(mark, start, end) for mark in self._marks))

    def _cut(self, span: Span, most: int) -> int:
        """Return where a part is to end that has at most so many tokens.

        That is before a heading, a chunk or a line that leaves ``_LEAST_SHARE`` of what fits, else within a line.
        """
        start, limit = span[0], self._reach(span, most)
        least = start + _LEAST_SHARE * (limit - start)
        starts = [mark.start for mark in self._marks if least <= mark.start <= limit]
        borders: tuple[Callable[[], int], ...] = (
            lambda: max((one.start for one in self.headings if least <= one.start <= limit), default=0),
            lambda: max((at for at in starts if not self._lines.place(at)[1]), default=0),
            lambda: self._lines.beginning(self._lines.number_at(limit)),
            lambda: max(starts, default=0),
            lambda: max(self._text.rfind(blank, start, limit) for blank in "\n ") + 1,
        )
        return next((at for border in borders if (at := border()) > start and at >= least), limit)

    def _reach(self, span: Span, most: int) -> int:
        """Return the offset up to which there are ``most`` tokens."""
        used = 0.0
        for mark in self._marks:
            cost = mark.token_count * _share(mark, *span)
            if used + cost > most:
                length = max(1, mark.end - mark.start)
                return max(mark.start, span[0]) + int((most - used) / max(mark.token_count, 1) * length)
            used += cost
        return span[1]

    def _chunks(self, span: Span, cut: bool, room: int | None) -> tuple[tuple[ChunkSpan, str], ...]:
        """Return the chunks of a part, where it was ``cut`` those that end in it; at most ``room`` tokens of them."""
        inside = [mark for mark in self._marks if mark.start < span[1] and mark.end > span[0]]
        if room is not None:
            fits = np.cumsum([mark.token_count for mark in inside]) <= room
            inside = [mark for mark, fit in zip(inside, fits, strict=True) if fit and not (cut and mark.end > span[1])]
        return tuple((mark, _slice(self._text, mark)) for mark in inside)


def section_of(found: Sequence[Heading], name: str) -> Heading | None:
    """Return the heading called ``name``: as it is written, else the only one that begins so, else one much alike.

    Names above it may stand before it: ``Install > Linux``, and signs of a heading before each: ``## Linux``.
    """
    whole = _folded(name)
    titles = [_folded(one.title) for one in found]
    if whole in titles:
        return found[titles.index(whole)]
    *above, wanted = (part.strip().lstrip("# ") for part in f" {whole} ".split(" > "))
    if not wanted:
        return None
    named = list(zip(found, titles, strict=True))
    exact = [one for one, title in named if title == wanted]
    if exact:
        return next((one for one in exact if _is_below(found, one, above)), exact[0])
    begun = [one for one, title in named if title.startswith(wanted)]
    if begun:
        begun = [one for one in begun if _is_below(found, one, above)] or begun
        return begun[0] if len(begun) == 1 else None
    from rapidfuzz import fuzz, process

    best = process.extractOne(wanted, titles, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return found[best[2]] if best else None


def _is_below(found: Sequence[Heading], one: Heading, above: Sequence[str]) -> bool:
    """Say whether the headings around ``one`` have all names in ``above``."""
    around = {_folded(other.title) for other in found if other.start < one.start and other.end >= one.end}
    return around.issuperset(above)


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _check(wanted: ExpandRequest) -> None:
    if wanted.section and wanted.lines is not None:
        raise InvalidInput("Give a section or lines, not both.")
    if wanted.lines is not None:
        first, last = wanted.lines
        if first < 1 or (last and last < first):
            raise InvalidInput(f"There are no lines {first} to {last}.", hint="They count from 1.")


def _in_tokens_of(brief: DocumentRecord, marks: Sequence[ChunkSpan]) -> tuple[ChunkSpan, ...]:
    """Return the chunks with the tokens of their document, which its chunker may count otherwise; they overlap."""
    counts = np.array([mark.token_count for mark in marks], np.int64)
    if not counts.sum() or not brief.token_count:
        return tuple(marks)
    ends = np.rint(np.cumsum(counts) * (brief.token_count / counts.sum())).astype(np.int64)
    shares = np.diff(ends, prepend=0).tolist()
    return tuple(replace(mark, token_count=share) for mark, share in zip(marks, shares, strict=True))


def _share(mark: ChunkSpan, start: int, end: int) -> float:
    """Return how much of a chunk stands between ``start`` and ``end``, 0 to 1."""
    inside = min(mark.end, end) - max(mark.start, start)
    return max(0.0, inside / max(1, mark.end - mark.start))


def _slice(text: str, mark: ChunkSpan) -> str:
    return text[mark.start : mark.end]


def _document(brief: DocumentRecord, text: str, numbers: Sequence[int]) -> Document:
    return Document(text, brief.title, brief.kind, brief.language, lines=tuple(numbers))  # type: ignore[arg-type]
