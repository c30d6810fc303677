"""The records that pass between stages: small, frozen, without behaviour that depends on other modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pinakes.core.graph_paths import PathStep
from pinakes.core.late import LazyRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JSON: TypeAlias = Any
"""A value that ``json.dumps`` accepts: str, int, float, bool, None, list or dict of these."""

Metadata: TypeAlias = Mapping[str, JSON]
Float32: TypeAlias = "NDArray[np.float32]"
Int32: TypeAlias = "NDArray[np.int32]"
Int64: TypeAlias = "NDArray[np.int64]"
Bool: TypeAlias = "NDArray[np.bool_]"

Span: TypeAlias = tuple[int, int]
"""A range of a text: the offsets of its first character and of the character after its last."""

Evidence = Literal["chunks", "documents", "definitions", "phrases"]
"""The evidence of a keyword search: words of chunks, words of whole documents, defined names, or phrases."""

SearchMode = Literal["hybrid", "vector", "keyword", "auto"]
MatchKind = Literal["hybrid", "semantic", "keyword", "graph"]
ConfidenceWord = Literal["excellent", "good", "moderate", "weak"]
SourceState = Literal["current", "changed", "missing", "unknown"]
"""The state of a document's origin since it was read: unchanged, changed, removed; or unknown."""

DocumentKind = Literal["markdown", "code", "text"]


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a source, before it is read.

    ``path`` is relative to the root of the source, with POSIX separators. ``uri`` identifies the item globally.
    ``fingerprint`` changes whenever the content may have changed (size and mtime, or a git blob id).
    """

    path: str
    uri: str
    size_bytes: int
    fingerprint: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was deliberately not read, and the reason as text for users.

    A ``path`` that ends with ``/`` stands for everything below it; ``"."`` for the total that rules excluded. ``code``
    is that of the error that caused it, "" if there was none.
    """

    path: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """The content of a source.

    ``items``: those that may have changed since the state passed to ``Source.scan``; all of them if ``complete``.
    ``removed``: paths that were removed since then; with a trailing slash everything below it, except ``items`` and
    everything below folders in ``skipped``, which could not be read. ``state``: the argument of the next scan. If
    ``complete``, a known path that is neither in ``items`` nor in ``skipped`` was removed. ``replaced``: the place
    holds other content than at ``state``, such as an empty folder where a disk is not mounted.
    """

    items: tuple[Item, ...]
    state: str
    complete: bool = True
    removed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """Something that a reader dropped, doubted or masked, as text for users.

    ``code`` is the kind, such as "doubtful-encoding" or "secret". ``line``: line number in the file of the first
    occurrence, from 1. ``count``: number of occurrences.
    """

    code: str
    message: str
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        """Return the message, with the line number if known."""
        return self.message if self.line is None else f"{self.message} (line {self.line:,})"


@dataclass(frozen=True, slots=True)
class Document:
    """A text produced by a reader: ``\\n`` newlines, no NUL, metadata from inside the file.

    ``title`` comes from the content, ``""`` if it has none. ``kind`` selects the chunker; ``language`` is the
    programming language of ``code`` ("python", "c"). ``pages``: offsets of the beginnings of pages, slides or sheets,
    () if the file has none. ``notes``: what was dropped, doubted or masked. ``lines``: line numbers in the file of the
    lines of ``text``, () if they are equal. ``reader``: name and version, "pdf:2"; "" if nothing was read.
    """

    text: str
    title: str = ""
    kind: DocumentKind = "markdown"
    language: str | None = None
    metadata: Metadata = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    notes: tuple[ReadingNote, ...] = ()
    lines: tuple[int, ...] = ()
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of one document: ``document.text[start:end] == text``.

    ``start``/``end`` are character offsets; lines count from 1 and are inclusive. ``header`` is the context that
    precedes the text when it is embedded; ``token_count`` is the size of the embedded text in the unit of the
    collection. ``symbols``: names that the code of this chunk defines.
    """

    ordinal: int
    text: str
    start: int
    end: int
    start_line: int
    end_line: int
    token_count: int
    header: str = ""
    heading_path: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()

    @property
    def embedded_text(self) -> str:
        """The text for the embedder: the header line, then the text."""
        return with_header(self.header, self.text)


def with_header(header: str, text: str) -> str:
    """Return the text for the embedder of a chunk: the header line, if it has one, then the text."""
    return f"{header}\n{text}" if header else text


SummaryWriter = Literal["given", "extractive", "chat", "none"]
"""The writer of a summary: given = the caller, extractive = sentences of the text, chat = a chat model; or none."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of a document in a few sentences, and its writer."""

    text: str
    by: SummaryWriter


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading or definition of a document with its section ``text[start:end]``.

    ``level`` counts from 1; a section includes the following ones of higher levels. Lines count from 1, inclusive.
    """

    level: int
    title: str
    start: int
    end: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on a document's metadata; text is compared without regard to case.

    ``any_of``: a value of the field equals one of these. ``none_of``: no value equals any of these, or there is no
    value. ``glob``: a value matches one of these patterns. ``low``/``high``: a value is in this range, inclusive unless
    ``low_open``/``high_open``. Exactly one of the four is used.
    """

    field: str
    any_of: tuple[JSON, ...] = ()
    glob: tuple[str, ...] = ()
    low: float | str | None = None
    high: float | str | None = None
    low_open: bool = False
    high_open: bool = False
    none_of: tuple[JSON, ...] = ()


Filter: TypeAlias = tuple[Condition, ...]
"""All conditions must hold. The empty tuple matches everything."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids with scores, best first: ``ids`` int64 (n,), ``scores`` float32 (n,).

    ``documents`` int64 (n,): the documents of the chunks; equal to ``ids`` if these are documents. ``exact`` bool (n,):
    False for scores from approximate vectors; None = all are exact.
    """

    ids: Int64
    documents: Int64
    scores: Float32
    exact: Bool | None = None

    def __len__(self) -> int:
        return len(self.ids)


HELD = 2.0**-10
"""The score for a compound name that a chunk contains as a whole; a name that it defines scores 1."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A chunk as stored in an index. ``vector`` is float32 (dim,), unit length, or None while pending.

    ``exact``: the vector is the model's own, not an approximate one. ``summary``: what was said of the document in
    other words than its own; ``metadata``: the values of its metadata. The first of its chunks has them, and is found
    by their words. ``is_code``: the document is source code. ``uri`` and ``fields``: of the document, and its metadata.
    """

    chunk_id: int
    document_id: int
    title: str
    path: str
    header: str
    text: str
    symbols: tuple[str, ...]
    vector: Float32 | None
    exact: bool = True
    summary: str = ""
    is_code: bool = False
    metadata: str = ""
    uri: str = ""
    fields: Metadata = field(default_factory=dict)

    @property
    def embedded_text(self) -> str:
        """The text for the embedder: the header line, then the text."""
        return with_header(self.header, self.text)


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """A new vector of a chunk, float32 (dim,), unit length; ``exact`` as in ``IndexEntry``."""

    chunk_id: int
    document_id: int
    vector: Float32
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Scores:
    """The raw score of each component; None if the component did not score the chunk.

    ``fused``: the score before reranking and boosts of preferred phrases. ``document_cosine`` and ``document_bm25`` are
    of the whole document. ``bm25_share`` and ``document_bm25_share``: effective BM25 divided by the best one.
    ``likeness``: similarity to the best chunks.
    """

    cosine: float | None = None
    bm25: float | None = None
    fused: float | None = None
    rerank: float | None = None
    document_cosine: float | None = None
    document_bm25: float | None = None
    bm25_share: float | None = None
    document_bm25_share: float | None = None
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class ContextLine:
    """A line of a chunk that shows why the chunk was found. ``number``: line number in the file, from 1.

    For a long line ``text`` is a part, with "…" for omissions. ``marks``: ranges of the query's words in ``text``.
    """

    number: int
    text: str
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk before or after a hit in its document.

    ``numbers``: line numbers in the file, () if they are consecutive from ``start_line``.
    """

    chunk_index: int
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    text: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The place of a chunk with the same content as a hit; ``score`` is the duplicate's own score.

    ``collection`` is "" if it is that of the hit.
    """

    chunk_id: str
    document_id: str
    uri: str
    path: str
    start_line: int
    end_line: int
    score: float
    collection: str = ""

    @property
    def place(self) -> str:
        """The place as text for users: ``path:3-7``, in another collection ``name › path:3-7``."""
        return f"{f'{self.collection} › ' if self.collection else ''}{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Blame:
    """Consecutive lines of a document, from 1, inclusive, and the commit that last changed them.

    ``date``: of the commit, ISO 8601 in UTC. An empty ``commit`` means unknown; ``subject`` then gives the reason.
    """

    start_line: int
    end_line: int
    commit: str
    author: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class Hit(LazyRecord):
    """A chunk that matches a query, with its place and the reasons for its rank.

    ``approximate``: the cosine is that of an approximate vector, since the chunk is not yet embedded. ``context``: the
    lines to show if ``text`` is too long. ``highlights``: ranges of the query's words in ``text``. ``match``:
    ``matched_by`` as one word. ``confidence`` (0 to 1), unlike ``score``, does not depend on other hits;
    ``explanation`` is one sentence. ``neighbours``: the requested surrounding chunks, in order, without chunks that the
    answer has elsewhere. ``duplicates``: chunks that were dropped as duplicates of this one. ``score_parts``: the
    summands of the score by name; empty for bare hits. ``boosts``: other changes of the score by name, as shares of it:
    ``{"vendor": 0.15}``. ``source_state``: state of the document's origin; ``changed``: whether its file was changed or
    removed; None if it has none, or if that is unknown. ``link``: URL of the lines on the forge of the repository, at
    the commit that was read; "" if unknown. ``blame``: commits of the lines; None if not requested or unknown.
    ``suspicious``: the text or its surroundings contain instructions aimed at a model (``suspicion``). ``page`` and
    ``page_end``: first and last page, slide or sheet, from 1; None if the file has none. ``phrases``: the query's
    phrases that the chunk contains. ``words``: the query's words in its text or headings. ``relationship_path``: the
    relations that lead from an entity of the query to a hit that the knowledge graph added; () if the search found it.
    ``named``: the name that the query calls its document by; "" without.
    """

    chunk_id: str
    document_id: str
    collection: str
    uri: str
    path: str
    title: str
    text: str
    chunk_index: int
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    symbols: tuple[str, ...]
    score: float
    scores: Scores
    matched_by: tuple[Literal["vector", "keyword"], ...]
    metadata: Metadata
    approximate: bool = False
    context: tuple[ContextLine, ...] = ()
    highlights: tuple[Span, ...] = ()
    match: MatchKind = "hybrid"
    confidence: float = 0.0
    confidence_word: ConfidenceWord = "weak"
    explanation: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    boosts: Mapping[str, float] = field(default_factory=dict)
    changed: bool | None = None
    suspicious: bool = False
    page: int | None = None
    page_end: int | None = None
    source_state: SourceState = "unknown"
    link: str = ""
    blame: tuple[Blame, ...] | None = None
    phrases: tuple[str, ...] = ()
    score_parts: Mapping[str, float] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    relationship_path: tuple[PathStep, ...] = ()
    named: str = ""

    @property
    def section(self) -> str:
        """The context of the text besides the title: headings, column names, keys of a record."""
        return " > ".join(part for part in self.heading_path if part != self.title)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search, with its duration."""

    name: str
    milliseconds: float
    detail: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """The steps of a search."""

    stages: tuple[Stage, ...]
    milliseconds: float


ANSWERABLE = 0.5
"""If an answer is less probable than this, it counts as "there is none", and answers say so."""


@dataclass(frozen=True, slots=True)
class Results:
    """The answer to a query. ``collection``: "a, b" if several were searched.

    ``notes``: changes made to the query. ``mode`` is the requested one; ``degraded`` gives the reason if a retriever
    did not contribute, else it is None. ``total_candidates``: number of chunks that match the filters. ``answerable``:
    probability (0 to 1) that the hits contain an answer; None if unknown: only one retriever answered, or there is no
    calibration for the embedding model. ``required``: the quoted phrases that every hit contains because they were
    required. ``total_found``: number of results before the cut at ``top_k``, as far as examined, without duplicates.
    ``query_id``: id of the query in the audit log, "" if it is not recorded.
    """

    query: str
    collection: str
    mode: SearchMode
    fusion: str
    hits: tuple[Hit, ...]
    total_candidates: int
    trace: Trace
    degraded: str | None = None
    notes: tuple[str, ...] = ()
    answerable: float | None = None
    required: tuple[str, ...] = ()
    total_found: int = 0
    query_id: str = ""

    @property
    def several(self) -> bool:
        """Whether more than one collection was searched; then each hit names its own."""
        return "," in self.collection

    @property
    def doubtful(self) -> bool:
        """Whether nothing was found, or the probability of an answer is below ``ANSWERABLE``."""
        return not self.hits or (self.answerable is not None and self.answerable < ANSWERABLE)


@dataclass(frozen=True, slots=True)
class Spent:
    """The use of a remote model: answered requests, and tokens as counted by the provider."""

    requests: int = 0
    tokens: int = 0

    def since(self, before: Spent) -> Spent:
        """Return the use since ``before``."""
        return Spent(self.requests - before.requests, self.tokens - before.tokens)
