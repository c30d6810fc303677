"""What each exchangeable part must do. Implementations live in the shelf of the same name."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pinakes.core.errors import InvalidInput
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
    """A place documents come from. Never runs what it finds."""

    def scan(self, state: str | None) -> Scan:
        """Say what there is; ``state`` is what an earlier scan returned, None the first time.

        Raises:
            SourceError: the place cannot be reached.
        """
        ...

    def read(self, item: Item) -> bytes:
        """Return the content of ``item`` as it is now.

        Raises:
            Unreadable: it vanished, cannot be opened, or grew over the size limit.
        """
        ...

    def close(self) -> None:
        """Release what the source holds."""
        ...


@runtime_checkable
class Lookable(Source, Protocol):
    """What a source can also do when it need not look through everything to tell what changed."""

    def look(self, paths: Collection[str], state: str | None) -> Scan:
        """Say what there is at ``paths`` and below them; ``state`` is what an earlier scan returned.

        The scan is complete where these paths alone do not tell what is to be read.

        Raises:
            SourceError: the place cannot be reached.
        """
        ...


@runtime_checkable
class Gradual(Source, Protocol):
    """What a source can also do when looking takes long: say how far it is."""

    def scanning(self, state: str | None) -> Generator[tuple[int, int], None, Scan]:
        """Do what ``scan`` does; yield now and then how many were looked at, and how many there are as far as is known.

        Raises:
            SourceError: the place cannot be reached.
        """
        ...


class Reader(Protocol):
    """Turns the bytes of one format into a document."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``; ``path`` helps with the format and is the last resort for a title.

        Raises:
            Unreadable: with the reason in words; ``Empty`` and ``Binary`` for those cases.
        """
        ...


class Embedder(Protocol):
    """Turns text into vectors. Thread-safe after construction."""

    @property
    def fingerprint(self) -> str:
        """Name provider, model, revision, precision and dimension: equal fingerprints, equal vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of text that ``embed`` reads of one text, special tokens not counted."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given.

        Raises:
            ModelUnavailable: the model cannot be loaded or the provider does not answer.
        """
        ...

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length. A query longer than the model reads is cut."""
        ...

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: the character offset at which each token of ``text`` starts."""
        ...


@runtime_checkable
class Vocabulary(Protocol):
    """What an embedder can also do when its model runs here: tell what it makes of single tokens."""

    def vocabulary_size(self) -> int:
        """How many tokens there are."""
        ...

    def token_ids(self, texts: Sequence[str]) -> tuple[Int32, Int64]:
        """Return the tokens of all texts as numbers below the size of the vocabulary, special ones left out.

        ids int32 (m,), and offsets int64 (n + 1,): text i has ``ids[offsets[i]:offsets[i + 1]]``, in no order.
        """
        ...

    def prior(self) -> Float32:
        """Return float32 (vocabulary, dim): the vector of each token by itself, unit length. Slow once, then kept."""
        ...


@runtime_checkable
class Loadable(Protocol):
    """An embedder whose model can be loaded before it is needed."""

    def load(self) -> None:
        """Load the model if its files are on this machine; what is to be fetched is fetched when it is needed.

        Raises:
            ModelUnavailable: it cannot be loaded.
        """
        ...


@runtime_checkable
class Remote(Protocol):
    """What an embedder can also do when its model runs elsewhere, where each text may have to be paid for."""

    @property
    def price_per_million(self) -> float | None:
        """US dollars for a million tokens; 0 = nothing, None = not known."""
        ...

    @property
    def hosted(self) -> bool:
        """Whether somebody else runs it, and may want money for it."""
        ...

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | InvalidInput], None, None]:
        """Yield answers as they come: the positions of some of ``texts``, and their vectors as of ``embed``.

        In place of vectors there is an error where these texts are refused, whichever others stand beside them.

        Raises:
            ModelUnavailable: the provider does not answer; what was yielded before that stays good.
        """
        ...

    def spent(self) -> Spent:
        """Return what the calls of this thread took so far."""
        ...

    def close(self) -> None:
        """Close its connections; it opens others when it is asked again."""
        ...


class Reranker(Protocol):
    """Scores chunks by reading each together with the question. Thread-safe after construction."""

    @property
    def fingerprint(self) -> str:
        """Name provider, model, revision and precision: equal fingerprints, equal scores.

        Raises:
            ModelUnavailable: that cannot be told, the model's files not being there.
        """
        ...

    @property
    def at_once(self) -> int:
        """How many chunks a call should have so that time is used well; 0 = all there are."""
        ...

    @property
    def logits(self) -> bool:
        """Whether scores may be any number, 0 being as likely as not; else they are 0 to 1. Asked after scoring."""
        ...

    def load(self) -> None:
        """Make ready what the first call would otherwise wait for. Cheap when it is.

        Raises:
            ModelUnavailable: the model's files are not there; none are fetched.
        """
        ...

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        """Return float32 (n,), higher is better, in the order given; each whatever chunks are beside it.

        ``within_s``: a reranker that runs elsewhere gives up after so many seconds. One that runs here is asked for
        few chunks at a time instead.

        Raises:
            TimeoutError: it gave up.
            ModelUnavailable: the model cannot be loaded, or the endpoint does not answer as it should.
        """
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class Summarizer(Protocol):
    """Says in a few sentences what a document is about. Thread-safe."""

    def summarize(self, document: Document, symbols: Sequence[str] = ()) -> Summary:
        """Return a summary, and who wrote it; ``symbols`` are the names that code defines.

        One that asks a model falls back to sentences of the text when that fails: ``by`` says so.
        """
        ...


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """One question to the keyword engine of an index: see ``Index.keyword``."""

    text: str
    limit: int
    where: Filter | None = None
    among: Int64 | None = None
    evidence: Evidence = "chunks"


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """One question to the vector engine of an index: what is nearest to ``vector`` float32 (dim,), of unit length."""

    vector: Float32
    limit: int
    where: Filter | None = None
    among: Int64 | None = None


@dataclass(frozen=True, slots=True)
class Vectors:
    """What an index scores by: ``own`` float32 (n, dim) are the vectors of chunks, NaN where one has none.

    ``exact`` bool (n,): which are not approximate; None = all. ``sums`` float32 (m, dim): of the vectors of documents'
    chunks.
    """

    own: Float32
    exact: Bool | None
    sums: Float32


class Engine(Protocol):
    """What a keyword and a vector engine have in common: both follow the chunks of one collection generation.

    Opened by ``indexes.open_index`` with a folder of its own, and a function from filters to the documents that pass,
    for engines that cannot filter by themselves. Thread-safe. What one keeps elsewhere may be away: then any method but
    ``close`` raises ``IndexUnavailable``, which is no damage; an answer is never empty for that.
    """

    def position(self) -> int:
        """Return the change number up to which every change has been applied."""
        ...

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        """Drop all chunks of the ``removed`` documents, add ``added``, then stand at ``position``.

        ``vectors`` are those that chunks already there get, in place of what they had or of none; cheap, since the
        keywords stay. Doing it twice is harmless; a crash in the middle leaves an older position.
        """
        ...

    def contents(self) -> Mapping[str, Int64]:
        """Return the sorted ids each part of the index holds, for ``verify``.

        Of chunks "keyword", "vector", and "exact": those whose vector is the model's own. "documents": of those that
        it ranks as a whole. Each engine returns its own parts.
        """
        ...

    def describe(self) -> Mapping[str, str | int]:
        """Say what the index is made of and how large it is, for ``status``."""
        ...

    def close(self) -> None:
        """Write what is unwritten and release files."""
        ...


class KeywordEngine(Engine, Protocol):
    """Finds chunks and documents by their words.

    Of a query, ``where`` is applied before the best ``limit`` are taken; with ``among``, only these ids are ranked. All
    scores: higher is better. A search asks each engine at most twice: for candidates, then for what is known of them.
    """

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        """Answer each of ``queries``, all in one call of the engine: rank chunks by BM25.

        With the evidence "documents" whole documents are ranked, and all ids are those of documents. With "definitions"
        ``text`` is names separated by blanks, which compare as they are written; a chunk's score is how many of them it
        defines, and ``records.HELD`` for each of several words (RFC-0011, max_retries) that its text has as a whole,
        whatever its case. With "phrases" every chunk with the words of ``text`` in a row scores 1.
        """
        ...


class VectorEngine(Engine, Protocol):
    """Finds chunks by their vectors; ``where``, ``limit`` and ``among`` as for a keyword engine."""

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        """Answer each of ``queries``, all in one call of the engine: rank chunks by cosine."""
        ...

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        """Return the vectors of these chunks and those of these documents, in one call of the engine."""
        ...


class Index(KeywordEngine, VectorEngine, Protocol):
    """Both engines of a collection generation; one object may be both, or ``indexes.combined`` joins two."""


@runtime_checkable
class Checkable(Protocol):
    """What an engine can also do when it can tell whether what it keeps is as it was written."""

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Return by the part of the index (name, what is wrong) of the files that are not as they were written."""
        ...

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:
        """Return the ids of those chunks, all of some documents, that a search for their own words would not find."""
        ...


@runtime_checkable
class Lexical(Protocol):
    """What a keyword engine can also do when it keeps the words of its documents as they are written."""

    def lexicon(self) -> Lexicon | None:
        """Return the words as they stand now, for one search; None where it has none after all."""
        ...


def lexicon_of(engine: object) -> Lexicon | None:
    """Return the words of an engine's documents as they are written, None where it does not keep them."""
    return engine.lexicon() if isinstance(engine, Lexical) else None


class Lexicon(Protocol):
    """The words of all documents of a collection. Thread-safe."""

    def holds_any(self) -> bool:
        """Say whether there is any document."""
        ...

    def has(self, word: str) -> bool:
        """Say whether some chunk, or its title or path, has ``word`` in any of its forms."""
        ...

    def documents(self) -> int:
        """Return how many documents there are; those that were replaced may count until the index is tidied."""
        ...

    def frequency(self, term: str) -> int:
        """Return in how many of them a term of the analyzer stands, or in their titles or paths."""
        ...

    def beginning(self, prefix: str) -> Sequence[tuple[str, int]]:
        """Return the words that begin with ``prefix``, lower-cased, each with the number of documents it stands in.

        Compounds and identifiers are there as a whole and by their parts. ``prefix`` has two letters or more. The
        numbers may include documents that were replaced; those of ``count`` do not.
        """
        ...

    def count(self, word: str) -> int:
        """Return in how many documents ``word`` stands as it is written, lower-cased."""
        ...
