"""The interface of each exchangeable part. Implementations are in the packages of the same names."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pinakes.core.errors import InvalidInput
from pinakes.core.graph_records import ExtractionSubject, Findings
from pinakes.core.records import (
    Bool,
    Document,
    Evidence,
    Filter,
    Float32,
    IndexEntry,
    Int32,
    Int64,
    Item,
    Ranking,
    Scan,
    Spent,
    Summary,
    VectorEntry,
)


class Source(Protocol):
    """A place that documents come from. It never executes its content."""

    def scan(self, state: str | None) -> Scan:
        """Return what the source contains; ``state`` is that of an earlier scan, None for the first one.

        Raises:
            SourceError: the source cannot be reached.
        """
        ...

    def read(self, item: Item) -> bytes:
        """Return the current content of ``item``.

        Raises:
            Unreadable: the item was removed, cannot be opened, or exceeds the size limit.
        """
        ...

    def close(self) -> None:
        """Release the resources of the source."""
        ...


@runtime_checkable
class Lookable(Source, Protocol):
    """A source that can also scan single paths without scanning everything."""

    def look(self, paths: Collection[str], state: str | None) -> Scan:
        """Return what there is at ``paths`` and below them; ``state`` is that of an earlier scan.

        The scan is complete if these paths alone do not determine what must be read.

        Raises:
            SourceError: the source cannot be reached.
        """
        ...


@runtime_checkable
class Gradual(Source, Protocol):
    """A source that can also report the progress of a long scan."""

    def scanning(self, state: str | None) -> Generator[tuple[int, int], None, Scan]:
        """Do the same as ``scan``, and yield the progress: items scanned so far, and the total as far as known.

        Raises:
            SourceError: the source cannot be reached.
        """
        ...


class Reader(Protocol):
    """Converts the bytes of one format to a document."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``; ``path`` helps to detect the format and is the last fallback for a title.

        Raises:
            Unreadable: the data cannot be read; the message gives the reason. ``Empty`` and ``Binary`` in these cases.
        """
        ...


class Embedder(Protocol):
    """Embeds texts. Thread-safe after construction."""

    @property
    def fingerprint(self) -> str:
        """Return provider, model, revision, precision and dimension as text: equal fingerprints mean equal vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        ...

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of a text that ``embed`` uses, without special tokens."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of ``texts``, float32 (n, dim), unit length, in the order of ``texts``.

        Raises:
            ModelUnavailable: the model cannot be loaded or the provider does not answer.
        """
        ...

    def embed_query(self, text: str) -> Float32:
        """Return the vector of a query, float32 (dim,), unit length. A query over the maximum length is cut."""
        ...

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: the character offset at which each token of ``text`` starts."""
        ...


@runtime_checkable
class Vocabulary(Protocol):
    """An embedder with a local model, which can also embed single tokens."""

    def vocabulary_size(self) -> int:
        """Return the size of the vocabulary."""
        ...

    def token_ids(self, texts: Sequence[str]) -> tuple[Int32, Int64]:
        """Return the token ids of all texts, without special tokens.

        ids int32 (m,), and offsets int64 (n + 1,): text i has ``ids[offsets[i]:offsets[i + 1]]``, in any order.
        """
        ...

    def prior(self) -> Float32:
        """Return the vector of each token, float32 (vocabulary, dim), unit length. Slow at first, then cached."""
        ...


@runtime_checkable
class Loadable(Protocol):
    """An embedder whose model can be loaded in advance."""

    def load(self) -> None:
        """Load the model if its files are on this machine; a missing model is downloaded only at its first use.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        ...


@runtime_checkable
class Remote(Protocol):
    """An embedder whose model runs elsewhere, possibly at a price per token."""

    @property
    def price_per_million(self) -> float | None:
        """Price of a million tokens in US dollars; 0 = free, None = unknown."""
        ...

    @property
    def hosted(self) -> bool:
        """Whether a third party runs the model, and may charge for it."""
        ...

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | InvalidInput], None, None]:
        """Yield answers as they arrive: the indexes of some of ``texts``, and their vectors as from ``embed``.

        If the provider rejects these texts as such, there is an error in place of the vectors.

        Raises:
            ModelUnavailable: the provider does not answer; vectors yielded before remain valid.
        """
        ...

    def spent(self) -> Spent:
        """Return what the calls of this thread have used so far."""
        ...

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        ...


class Reranker(Protocol):
    """Scores pairs of query and chunk with a cross-encoder. Thread-safe after construction."""

    @property
    def fingerprint(self) -> str:
        """Return provider, model, revision and precision as text: equal fingerprints mean equal scores.

        Raises:
            ModelUnavailable: the fingerprint is unknown because the model's files are missing.
        """
        ...

    @property
    def at_once(self) -> int:
        """Number of chunks per call for the best throughput; 0 = all."""
        ...

    @property
    def logits(self) -> bool:
        """Whether scores are logits, else they are from 0 to 1. Valid after a call of ``score``."""
        ...

    def load(self) -> None:
        """Load what the first call would otherwise load. Cheap if already loaded.

        Raises:
            ModelUnavailable: the model's files are missing; they are not downloaded.
        """
        ...

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        """Return the score of each chunk, float32 (n,), higher is better; no score depends on other chunks.

        ``within_s``: time limit of a remote reranker, in seconds. A local one is given few chunks per call instead.

        Raises:
            TimeoutError: the time limit was exceeded.
            ModelUnavailable: the model cannot be loaded, or the answer of the endpoint is invalid or missing.
        """
        ...

    def close(self) -> None:
        """Release the resources of the reranker."""
        ...


class Extractor(Protocol):
    """Finds entities and the relations between them in a document. Thread-safe.

    Equal subjects give equal findings. The time is linear in the length of the text.
    """

    @property
    def fingerprint(self) -> str:
        """Return what the findings depend on besides the subject, as text: name, version, rules."""
        ...

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return what the subject says; spans are within its text, confidences from 0 to 1, names not empty."""
        ...


class Summarizer(Protocol):
    """Summarizes documents in a few sentences. Thread-safe."""

    def summarize(self, document: Document, symbols: Sequence[str] = ()) -> Summary:
        """Return a summary and its writer; ``symbols`` are the names that the code defines.

        If a chat model fails, the summary is made of sentences of the text; ``by`` gives the writer.
        """
        ...


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """A query to the keyword engine of an index: see ``KeywordEngine.keyword``."""

    text: str
    limit: int
    where: Filter | None = None
    among: Int64 | None = None
    evidence: Evidence = "chunks"


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A query to the vector engine of an index: the nearest neighbours of ``vector``, float32 (dim,), unit length.

    ``prefetch``: chunks whose vectors are asked for next, with those of the chunks found and of the documents of all;
    an engine in a database reads them at once.
    """

    vector: Float32
    limit: int
    where: Filter | None = None
    among: Int64 | None = None
    prefetch: Int64 | None = None


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors for scoring: ``own`` float32 (n, dim) of the chunks, NaN for a chunk without a vector.

    ``exact`` bool (n,): False for approximate vectors; None = all are exact. ``sums`` float32 (m, dim): the sum of the
    chunk vectors of each document.
    """

    own: Float32
    exact: Bool | None
    sums: Float32


class Engine(Protocol):
    """The common part of keyword and vector engines: both index the chunks of one collection generation.

    Opened by ``indexes.open_index`` with a folder of its own, and a function from filters to the documents that pass,
    for engines that cannot filter by themselves. Thread-safe. What one keeps elsewhere may be away: then any method but
    ``close`` raises ``IndexUnavailable``, which is no damage; an answer is never empty for that.
    """

    def position(self) -> int:
        """Return the number of the last applied change."""
        ...

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        """Remove all chunks of the ``removed`` documents, add ``added``, then set the position to ``position``.

        ``vectors``: new vectors of existing chunks; cheap, since the keywords are unchanged. Repeating a call is
        harmless; a crash in the middle leaves an older position.
        """
        ...

    def contents(self) -> Mapping[str, Int64]:
        """Return the sorted ids in each part of the index, int64, for ``verify``.

        Parts with chunk ids: "keyword", "vector", and "exact" (chunks with exact vectors). "documents" has the ids of
        documents that are ranked as a whole. Each engine returns its own parts.
        """
        ...

    def describe(self) -> Mapping[str, str | int]:
        """Return the composition and size of the index, for ``status``."""
        ...

    def close(self) -> None:
        """Write pending data and close files."""
        ...


class KeywordEngine(Engine, Protocol):
    """Finds chunks and documents by their words.

    A query's ``where`` is applied before the best ``limit`` are selected; with ``among``, only these ids are ranked.
    For all scores, higher is better. A search calls each engine at most twice: for candidates, then for their scores.
    """

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        """Return a ranking for each of ``queries``, in one call of the engine, by BM25.

        With the evidence "documents", whole documents are ranked, and all ids are document ids. With "definitions",
        ``text`` is names separated by blanks, compared case-sensitively; a chunk's score is the number of these names
        that it defines, plus ``records.HELD`` for each compound name (RFC-0011, max_retries) that its text contains as
        a whole, in any case. With "phrases", every chunk that contains the words of ``text`` as a phrase scores 1.
        """
        ...


class VectorEngine(Engine, Protocol):
    """Finds chunks by their vectors; ``where``, ``limit`` and ``among`` as in a keyword engine."""

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        """Return a ranking for each of ``queries``, in one call of the engine, by cosine."""
        ...

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        """Return the vectors of these chunks and documents, in one call of the engine."""
        ...


class Index(KeywordEngine, VectorEngine, Protocol):
    """Both engines of a collection generation; one object may be both, or ``indexes.combined`` joins two."""


@runtime_checkable
class Checkable(Protocol):
    """An engine that can verify its files."""

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Return the damaged files by part of the index, as (name, problem)."""
        ...

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:
        """Return the ids of chunks that a search for their words misses; ``entries``: all chunks of some documents."""
        ...


@runtime_checkable
class Lexical(Protocol):
    """A keyword engine that also has the written words of its documents."""

    def lexicon(self) -> Lexicon | None:
        """Return the current words, for one search; None if the index has none."""
        ...


def lexicon_of(engine: object) -> Lexicon | None:
    """Return the lexicon of an engine, None if it has none."""
    return engine.lexicon() if isinstance(engine, Lexical) else None


class Lexicon(Protocol):
    """The words of all documents of a collection. Thread-safe."""

    def holds_any(self) -> bool:
        """Return whether there are any documents."""
        ...

    def has(self, word: str) -> bool:
        """Return whether a chunk, title or path contains ``word`` in any of its inflected forms."""
        ...

    def documents(self) -> int:
        """Return the number of documents; replaced ones may count until the index is compacted."""
        ...

    def frequency(self, term: str) -> int:
        """Return the document frequency of an analyzed term, in texts, titles and paths."""
        ...

    def beginning(self, prefix: str) -> Sequence[tuple[str, int]]:
        """Return the words that begin with ``prefix``, lower-cased, each with its document frequency.

        Compounds and identifiers are included as a whole and by their parts. ``prefix`` must have at least two letters.
        The frequencies may include replaced documents; those of ``counts`` do not.
        """
        ...

    def counts(self, words: Sequence[str]) -> Sequence[int]:
        """Return for each of ``words`` the number of documents that contain it as written, lower-cased."""
        ...

    def prepare(self, text: str, words: Iterable[str] = ()) -> None:
        """Expect to be asked for the words of ``text``, and whether there are ``words``.

        An engine in a database reads all of them at once.
        """
        ...

    def prepare_near(self, words: Sequence[str], prefixes: Sequence[str]) -> None:
        """Expect to be asked for the ``counts`` of ``words``, and for ``beginning`` with each of ``prefixes``."""
        ...
