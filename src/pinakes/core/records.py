"""The records that pass between stages: small, frozen, free of behaviour that needs anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pinakes.core.late import Late

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
"""Where something stands in a text: the offsets of its first character and of the one after its last."""

Evidence = Literal["chunks", "documents", "definitions", "phrases"]
"""What a keyword search looks at: the words of chunks or of whole documents, defined names, words in a row."""

SearchMode = Literal["hybrid", "vector", "keyword", "auto"]
MatchKind = Literal["hybrid", "semantic", "keyword"]
ConfidenceWord = Literal["excellent", "good", "moderate", "weak"]
SourceState = Literal["current", "changed", "missing", "unknown"]
"""How what a document was read from is now: as it was read, another, gone; or that cannot be known."""

DocumentKind = Literal["markdown", "code", "text"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing a source offers, before it is read.

    ``path`` is relative to the source's root, POSIX separators. ``uri`` names the item in the world.
    ``fingerprint`` changes whenever the content may have changed (size and mtime, or a git blob id).
    """

    path: str
    uri: str
    size_bytes: int
    fingerprint: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was deliberately not read, and why, in words for the user.

    A ``path`` that ends with ``/`` stands for everything below it; ``"."`` for what rules left out, counted.
    ``code`` is that of the error for which it was left out, "" where there was none.
    """

    path: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a source holds now.

    ``items`` are those that may have changed since the state given to ``Source.scan`` (all of them when
    ``complete``); ``removed`` are paths that vanished since then, with a trailing slash everything below one, but for
    what is in ``items`` and below folders in ``skipped``, which could not be looked into; ``state`` is what to give
    next time.
    When ``complete`` is true, a known path that is neither in ``items`` nor ``skipped`` is gone.
    ``replaced``: what stands there now is not what ``state`` was of, as an empty folder where a disk is not mounted.
    """

    items: tuple[Item, ...]
    state: str
    complete: bool = True
    removed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """Something that a reader dropped, doubted or masked, in words for the user.

    ``code`` names the kind, such as "doubtful-encoding" or "secret". ``line`` is that of the file, from 1, where the
    first one stands; ``count`` says how many there are.
    """

    code: str
    message: str
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        """Return the words, with the line where there is one."""
        return self.message if self.line is None else f"{self.message} (line {self.line:,})"


@dataclass(frozen=True, slots=True)
class Document:
    """A text as a reader made it: ``\\n`` newlines, no NUL, metadata from inside the file.

    ``title`` is what the content calls itself, ``""`` where it has no title of its own.
    ``kind`` chooses the chunker; ``language`` is the programming language of ``code`` ("python", "c").
    ``pages`` are the offsets at which its pages, slides or sheets begin, () where the file has none.
    ``notes`` say what was dropped, doubted or masked. ``lines`` are the numbers in the file of the lines of ``text``,
    () where they are the file's own. ``reader`` is the reader with its version, "pdf:2"; "" where nothing was read.
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

    ``start``/``end`` are character offsets, lines count from 1 and are inclusive. ``header`` is the
    context put before the text when it is embedded; ``token_count`` counts what is embedded, in the
    unit of the collection. ``symbols`` are the names that code in this chunk defines.
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
        """What the embedder reads: the header line, then the text."""
        return f"{self.header}\n{self.text}" if self.header else self.text


SummaryWriter = Literal["given", "extractive", "chat", "none"]
"""Who wrote a summary: whoever put the document; nobody, it is sentences of the text; a language model; none is."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a document is about, in a few sentences, and who says so."""

    text: str
    by: SummaryWriter


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading or definition of a document, with the part of the text under it: ``text[start:end]``.

    ``level`` counts from 1; a section holds the following ones of higher levels. Lines count from 1, ends included.
    """

    level: int
    title: str
    start: int
    end: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file that was read and cut into chunks by ``chunker`` ("markdown:2"), and how long either took, in seconds.

    ``tokens``: of the whole text, as budgets count them.
    """

    document: Document
    chunks: Sequence[Chunk]
    read_s: float
    chunk_s: float
    chunker: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on a document's metadata; text is compared without regard to case.

    ``any_of``: some value of the field equals one of these. ``none_of``: no value does, or there is none.
    ``glob``: some value matches one of these patterns. ``low``/``high``: some value lies between, ends included
    unless ``low_open``/``high_open``. Exactly one of the four is used.
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
"""All conditions must hold. The empty tuple lets everything pass."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids with their scores, best first: ``ids`` int64 (n,), ``scores`` float32 (n,).

    ``documents`` int64 (n,) are those the chunks belong to; where ``ids`` are documents, they are the same.
    ``exact`` bool (n,): which scores come from the model's own vectors, not from approximate ones; None = all do.
    """

    ids: Int64
    documents: Int64
    scores: Float32
    exact: Bool | None = None

    def __len__(self) -> int:
        return len(self.ids)


HELD = 2.0**-10
"""What a name of several words counts that a chunk has as a whole, where a name that it defines counts 1."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One chunk as an index stores it. ``vector`` is float32 (dim,), unit length, or None while pending.

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
        """What the embedder reads: the header line, then the text."""
        return f"{self.header}\n{self.text}" if self.header else self.text


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """The vector a chunk gets, float32 (dim,), unit length; ``exact`` as in ``IndexEntry``."""

    chunk_id: int
    document_id: int
    vector: Float32
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Scores:
    """The raw score of each component; None where that component did not look at the chunk.

    ``fused``: the score before a reranker and preferred phrases changed it. ``document_cosine`` and ``document_bm25``
    are of the whole document. ``bm25_share`` and ``document_bm25_share``: BM25 divided by the best, as it counts.
    ``likeness``: to the best chunks.
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
    """A line of a chunk that shows why it was found. ``number`` is that in the file, from 1.

    Of a long line ``text`` is a part, with "…" where something is left out. ``marks`` are the words of the query in
    ``text``.
    """

    number: int
    text: str
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A chunk that stands before or after a hit in its document.

    ``numbers`` are those of its lines in the file, () where they count up from ``start_line``.
    """

    chunk_index: int
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    text: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Where a chunk stands that says no more than the hit it comes with; ``score`` is what it had itself.

    ``collection`` is "" where it is that of the hit.
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
        """Where it stands, as people are told: ``path:3-7``, in another collection ``name › path:3-7``."""
        return f"{f'{self.collection} › ' if self.collection else ''}{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Blame:
    """Lines in a row, counted in the document from 1, ends included, and the commit that wrote them last.

    ``date`` is when that was, ISO 8601 in UTC. Without a ``commit`` it is not known, and ``subject`` says why.
    """

    start_line: int
    end_line: int
    commit: str
    author: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class Hit(Late):
    """One chunk that answers a query, with where it stands and why it ranks there.

    ``approximate``: its cosine is that of an approximate vector; it is still to be embedded.
    ``context``: the lines to show where ``text`` is too much. ``highlights``: the words of the query in ``text``.
    ``match`` is ``matched_by`` in a word. ``confidence`` (0 to 1) does not depend on the other hits, as ``score`` does;
    ``explanation`` is one sentence. ``neighbours``: what was asked for of its surroundings, in order; chunks that
    the answer has elsewhere are left out. ``duplicates``: chunks that were left out because this one says the same.
    ``score_parts``: what its score is made of, by name; they add up to it. Bare hits have none.
    ``boosts``: what else changed its score, by name, as shares of it: ``{"vendor": 0.15}``.
    ``source_state``: how what its document was read from is now; ``changed``: whether its file is another now, or
    gone; None where it has none, or that cannot be known.
    ``link`` leads to its lines on the forge of its repository, at the commit that was read; "" where none is known.
    ``blame``: who wrote its lines, None where nobody asked, or that is not known.
    ``suspicious``: its text, or what stands around it, has instructions aimed at a model (``suspicion``).
    ``page`` and ``page_end``: its first and last page, slide or sheet, from 1; None where its file has none.
    ``phrases``: those of the query that it has. ``words``: those of the query that stand in its text or above it.
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

    @property
    def section(self) -> str:
        """What its text is to be understood by besides the title: headings, column names, keys of a record."""
        return " > ".join(part for part in self.heading_path if part != self.title)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search: what it did, and how long it took."""

    name: str
    milliseconds: float
    detail: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """What a search did, step by step."""

    stages: tuple[Stage, ...]
    milliseconds: float


ANSWERABLE = 0.5
"""Where an answer is less probable than this, it counts as "there is none", and people and agents are told so."""


@dataclass(frozen=True, slots=True)
class Results:
    """The answer to a query. ``collection``: "a, b" where several were asked.

    ``notes`` say what was done to the query. ``mode`` is what was asked for; ``degraded`` says in words why it
    could not be done in full (a retriever that did not contribute), None when everything contributed.
    ``total_candidates`` counts the chunks that passed the filters. ``answerable``: how probable it is, 0 to 1, that
    the hits hold an answer; None where that is not known: one retriever alone answered, or it was not measured with
    the embedding model. ``required``: the quoted phrases that each hit has, since they were required.
    ``total_found`` counts what was found, as far as it was looked at, before ``top_k`` cut it: chunks that repeat a
    hit left out. ``query_id``: by which the audit log has the question, "" where it is not recorded.
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
        """Whether more than one collection was asked; then each hit names its own."""
        return "," in self.collection

    @property
    def doubtful(self) -> bool:
        """Whether nothing was found, or what was found is less probable than ``ANSWERABLE`` to hold an answer."""
        return not self.hits or (self.answerable is not None and self.answerable < ANSWERABLE)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a model that runs elsewhere was asked: requests that it answered, and tokens as it counts them."""

    requests: int = 0
    tokens: int = 0

    def since(self, before: Spent) -> Spent:
        """Return what was spent after ``before``."""
        return Spent(self.requests - before.requests, self.tokens - before.tokens)
