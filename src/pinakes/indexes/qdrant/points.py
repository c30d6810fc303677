"""The points of an index in a Qdrant collection: one for each chunk, one for each document, one for the index.

A chunk is the point of its own number, a document that of its number above ``_DOCUMENTS``, the index is point 0. Its
payload is the ``Head``: up to which change the index stands, and what made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, TypeAlias

import numpy as np
from qdrant_client import models

from pinakes.core.records import Float32, IndexEntry, Int64
from pinakes.indexes.keyword.stored_terms import StoredTerms
from pinakes.indexes.qdrant import sparse
from pinakes.settings import QdrantSettings
from pinakes.text.identifiers import has_parts

DENSE, SUM, WORDS, DOCUMENT_WORDS = "dense", "sum", "words", "document_words"
"""The vectors of a point: of a chunk; the sum of a document's; the words of either."""

KIND, DOCUMENT, TERMS, LENGTH, VECTOR, SCALE = "kind", "document", "terms", "length", "vector", "scale"
SYMBOLS = "symbols"
"""The payload: what the point is, whose, its terms in a row, how many, which vector it has, the ``Head.scale`` of its
words, and the names that it defines."""

CHUNK, WHOLE, HEAD = "chunk", "document", "index"
NONE, APPROXIMATE, OWN = 0, 1, 2
"""Which vector a chunk has: none, an approximate one, that of the model."""

HEAD_ID: Final = 0
_SOURCE: Final = "sourceIdentifier"
"""The field of the metadata by which clients of platform teams name a source."""

_DOCUMENTS: Final = 1 << 62
FORMAT: Final = 1
"""The version of all this; another one is built anew."""

Names: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class Head:
    """An index as a whole. ``made_by`` differs where its points cannot be used any more.

    ``turn`` counts the changes that were written. ``averages``: the average lengths of chunks and documents, by which
    the points with this ``scale`` are weighted; ``before``: those of the scale before it, while points have that.
    ``counts`` and ``tokens``: how many chunks and documents there are, and how many terms those have. ``begun``:
    changes are being written, or whoever did so was killed at it; then these are not right.
    """

    made_by: Mapping[str, Any]
    position: int = 0
    turn: int = 0
    scale: int = 1
    averages: tuple[float, float] = (0.0, 0.0)
    before: tuple[float, float] | None = None
    counts: tuple[int, int] = (0, 0)
    tokens: tuple[int, int] = (0, 0)
    writer: str = ""
    begun: bool = False

    def point(self) -> models.PointStruct:
        return models.PointStruct(id=HEAD_ID, vector={}, payload={KIND: HEAD, HEAD: asdict(self)})

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Head:
        """Return what ``point`` wrote.

        Raises:
            KeyError, TypeError: it is something else.
        """
        given = {field.name: payload[HEAD][field.name] for field in fields(cls)}
        pairs = {name: tuple(given[name]) for name in ("averages", "counts", "tokens")}
        before = None if given["before"] is None else tuple(given["before"])
        return cls(**{**given, **pairs, "before": before})

    def counting(self, chunks: Sequence[int], documents: Sequence[int], sign: int) -> Head:
        """Return this with texts of these lengths more, or less."""
        counts = self.counts[0] + sign * len(chunks), self.counts[1] + sign * len(documents)
        tokens = self.tokens[0] + sign * sum(chunks), self.tokens[1] + sign * sum(documents)
        return replace(self, counts=counts, tokens=tokens)

    def now(self) -> tuple[float, float]:
        """Return the average lengths as they are."""
        return self.tokens[0] / max(1, self.counts[0]), self.tokens[1] / max(1, self.counts[1])


def number_of(document_id: int) -> int:
    """Return the number of the point of a document."""
    return _DOCUMENTS + document_id


def plain(number: int) -> int:
    """Return the number of a chunk or document by that of its point."""
    return number - _DOCUMENTS if number >= _DOCUMENTS else number


def vectors_config(dimension: int, settings: QdrantSettings) -> dict[str, models.VectorParams]:
    """Return how the vectors of chunks and of documents are kept. Both have unit length, so a product is the cosine.

    Vectors of documents are only looked up, so they have no graph.
    """
    of_chunks = models.VectorParams(
        size=max(1, dimension),
        distance=models.Distance.DOT,
        hnsw_config=models.HnswConfigDiff(m=settings.hnsw_m, ef_construct=settings.hnsw_ef_construct),
        quantization_config=_quantization(settings),
        on_disk=settings.on_disk,
        datatype=models.Datatype.FLOAT16 if settings.half_precision else models.Datatype.FLOAT32,
    )
    of_documents = models.VectorParams(
        size=max(1, dimension), distance=models.Distance.DOT, hnsw_config=models.HnswConfigDiff(m=0), on_disk=True
    )
    return {DENSE: of_chunks, SUM: of_documents}


def _quantization(settings: QdrantSettings) -> Any:
    if settings.quantization == "scalar":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if settings.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def sparse_config() -> dict[str, models.SparseVectorParams]:
    """Return how words are kept: the server knows how rare each is."""
    by_rarity = models.SparseVectorParams(modifier=models.Modifier.IDF)
    return {WORDS: by_rarity, DOCUMENT_WORDS: by_rarity}


def payload_indexes(parts: Names) -> dict[str, Any]:
    """Return the fields of the payload that are filtered by."""
    of_words = {
        TERMS: models.TextIndexParams(
            type=models.TextIndexType.TEXT,
            tokenizer=models.TokenizerType.WHITESPACE,
            lowercase=False,
            phrase_matching=True,
        ),
        SCALE: models.PayloadSchemaType.INTEGER,
        SYMBOLS: models.PayloadSchemaType.KEYWORD,
    }
    every = {
        KIND: models.PayloadSchemaType.KEYWORD,
        DOCUMENT: models.PayloadSchemaType.INTEGER,
        VECTOR: models.PayloadSchemaType.INTEGER,
    }
    return {**every, **(of_words if "keyword" in parts else {})}


def of_chunk(
    entry: IndexEntry, words: StoredTerms | None, head: Head, *, dense: bool, content: bool
) -> models.PointStruct:
    """Return the point of a chunk; ``words`` are None where another engine has them. ``content``: for others."""
    vectors: dict[str, Any] = {}
    state = NONE
    if dense and entry.vector is not None:
        vectors[DENSE] = entry.vector.tolist()
        state = OWN if entry.exact else APPROXIMATE
    payload: dict[str, Any] = {KIND: CHUNK, DOCUMENT: entry.document_id, VECTOR: state}
    if words is not None:
        vectors[WORDS] = sparse.of_text(words, head.averages[0])
        terms = sparse.stream([*words.header.split(), *words.body.split()])
        payload |= {TERMS: terms, LENGTH: sparse.length(words), SCALE: head.scale}
        payload[SYMBOLS] = list(dict.fromkeys(entry.symbols))
    if content:
        source = entry.fields.get(_SOURCE, "")
        payload |= {"content": entry.text, "sourceId": source, "uri": entry.uri, "metadata": dict(entry.fields)}
    return models.PointStruct(id=entry.chunk_id, vector=vectors, payload=payload)


def of_document(document_id: int, words: StoredTerms | None, total: Float32 | None, head: Head) -> models.PointStruct:
    """Return the point of a document, with the sum of the vectors of its chunks where there is one."""
    vectors: dict[str, Any] = {} if total is None else {SUM: total.tolist()}
    payload: dict[str, Any] = {KIND: WHOLE, DOCUMENT: document_id}
    if words is not None:
        vectors[DOCUMENT_WORDS] = sparse.of_text(words, head.averages[1])
        payload |= {LENGTH: sparse.length(words), SCALE: head.scale}
    return models.PointStruct(id=number_of(document_id), vector=vectors, payload=payload)


def matches(field: str, value: int | str) -> models.FieldCondition:
    """Return what points are found by that have ``value`` in a field of their payload."""
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def is_any(field: str, values: Iterable[int]) -> models.FieldCondition:
    """Return what points are found by that have one of ``values`` there."""
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def only(documents: Int64 | None, among: Int64 | None, *, whole: bool = False) -> list[models.Condition]:
    """Return what restricts a question to these documents, or to ``among``: chunks, or ``whole`` documents."""
    if among is not None:
        ids = [number_of(one) for one in among.tolist()] if whole else among.tolist()
        return [models.HasIdCondition(has_id=ids)]
    return [] if documents is None else [is_any(DOCUMENT, documents.tolist())]


def in_a_row(readings: Iterable[Sequence[str]]) -> models.Filter | None:
    """Return what chunks with one of these runs of terms are found by, None where all are empty."""
    runs = dict.fromkeys(sparse.stream(terms) for terms in readings if terms)
    if not runs:
        return None
    return models.Filter(
        should=[models.FieldCondition(key=TERMS, match=models.MatchPhrase(phrase=run)) for run in runs]
    )


def defining(names: Sequence[str], least: int) -> models.Filter:
    """Return what chunks are found by that define ``least`` of ``names`` or more."""
    every = [matches(SYMBOLS, name) for name in names]
    return models.Filter(min_should=models.MinShould(conditions=every, min_count=least))


def wholes_of(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are several words."""
    return [name for name in names if has_parts(name)]


def dense_rows(records: Iterable[Any], numbers: Int64, name: str, dimension: int) -> Float32:
    """Return float32 (n, dim): the vector ``name`` of each of these points, NaN where there is none."""
    held = {one.id: one.vector[name] for one in records if one.vector and name in one.vector}
    found = np.full((len(numbers), dimension), np.nan, np.float32)
    for row, number in enumerate(numbers.tolist()):
        if number in held:
            found[row] = held[number]
    return found
