"""Segments of postings: made of the terms of texts, merged, and read.

A text is a chunk or a whole document. Within its segment it has a number, from 0 on; what is said of all texts of a
segment are arrays by these numbers. Postings of a term are the numbers of its texts, ascending, and how often it stands
there, both uint16; positions follow text by text, uint16. A position beyond that is not kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from pinakes.core.records import Bool, Int64
from pinakes.indexes.keyword.clauses import EXACT, METADATA, SPELLED, TEXT, VARIANTS
from pinakes.indexes.keyword.stored_terms import StoredTerms

UInt16: TypeAlias = npt.NDArray[np.uint16]
UInt32: TypeAlias = npt.NDArray[np.uint32]

CHUNKS, DOCUMENTS = 0, 1
"""Kinds of segments: their texts are chunks, or whole documents."""

MOST_TEXTS: Final = 1 << 16
FIELDS: Final = (TEXT, "title", "path", VARIANTS, METADATA, EXACT, "symbols", SPELLED)
"""A term is kept with the place of its field in here."""

MEASURED: Final = (TEXT, "title", "path", VARIANTS, METADATA)
"""The fields in which a term counts less in a long text."""

_OF_KIND: Final = {CHUNKS: (*MEASURED, EXACT, "symbols"), DOCUMENTS: (*MEASURED, SPELLED)}
_LONGEST_TERM: Final = 200
_KINDS_BIT: Final = 16
_ROW: Final = np.dtype([("id", "<i8"), ("document", "<i8"), *((field, "<u4") for field in MEASURED)])


@dataclass(frozen=True, slots=True)
class Segment:
    """The texts of a segment: ``rows`` with id, document and lengths of fields; ``alive`` where not removed."""

    number: int
    kind: int
    rows: npt.NDArray[np.void]
    alive: Bool

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Int64:
        ids: Int64 = self.rows["id"]
        return ids

    @property
    def documents(self) -> Int64:
        documents: Int64 = self.rows["document"]
        return documents


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a term stands in one segment; ``positions`` only where they were asked for and are kept."""

    places: UInt16
    times: UInt16
    positions: UInt16 | None = None

    @classmethod
    def read(cls, stored: bytes, positions: bytes | None) -> Postings:
        """Return what ``packed`` made."""
        both = np.frombuffer(stored, "<u2")
        half = len(both) // 2
        return cls(both[:half], both[half:], None if positions is None else np.frombuffer(positions, "<u2"))


Fresh: TypeAlias = tuple[bytes, bytes, bytes | None]
"""A term with its packed postings and positions."""


def key_of(kind: int, field: str, term: str) -> bytes:
    """Return the bytes by which a term of a field is kept: they sort as the term does, up to a length."""
    written = term.encode("utf-8", "surrogatepass")
    if len(written) > _LONGEST_TERM:
        written = written[:_LONGEST_TERM] + blake2b(written, digest_size=16).digest()
    return bytes([FIELDS.index(field) + _KINDS_BIT * kind]) + written


def term_of(key: bytes) -> str:
    """Return the term that is kept by ``key``."""
    return key[1:].decode("utf-8", "surrogatepass")


def header_of(rows: npt.NDArray[np.void]) -> bytes:
    """Return ``Segment.rows`` as bytes."""
    return zlib.compress(rows.tobytes(), 1)


def rows_of(header: bytes) -> npt.NDArray[np.void]:
    """Return ``Segment.rows`` from what ``header_of`` made."""
    return np.frombuffer(zlib.decompress(header), _ROW)


def dead_of(alive: Bool) -> bytes:
    """Return ``Segment.alive`` as bytes."""
    return np.packbits(~alive).tobytes()


def alive_of(dead: bytes, count: int) -> Bool:
    """Return ``Segment.alive`` of so many texts from what ``dead_of`` made."""
    bits = np.unpackbits(np.frombuffer(dead, np.uint8), count=count)
    alive: Bool = bits == 0
    return alive


def made(kind: int, texts: Sequence[StoredTerms]) -> tuple[npt.NDArray[np.void], list[Fresh]]:
    """Return the rows of up to ``MOST_TEXTS`` texts, and their postings."""
    rows = np.zeros(len(texts), _ROW)
    rows["id"] = [words.chunk_id for words in texts]
    rows["document"] = [words.document_id for words in texts]
    found: list[Fresh] = []
    for field in _OF_KIND[kind]:
        streams = [_stream(words, field) for words in texts]
        lengths = np.array([len(stream) for stream in streams], np.int64)
        if field == VARIANTS:  # padded, so that a text is as long there as it is
            lengths = np.maximum(lengths, rows[TEXT])
        if field in MEASURED:
            rows[field] = lengths
        found += _inverted(kind, field, streams, in_rows=field == TEXT and kind == CHUNKS)
    return rows, found


def merged(segments: Sequence[Segment], stored: Iterable[tuple[bytes, int, bytes, bytes | None]]) -> Iterator[Fresh]:
    """Yield the postings of one segment in place of several, whose removed texts are left out.

    ``stored``: their (term, segment, postings, positions), those of a term adjacent, in the order of ``segments``.
    """
    moved: dict[int, npt.NDArray[np.int64]] = {}
    base = 0
    for segment in segments:
        moved[segment.number] = np.where(segment.alive, base + np.cumsum(segment.alive) - 1, -1)
        base += int(segment.alive.sum())
    for term, group in groupby(stored, key=lambda row: bytes(row[0])):
        places, times, positions = [], [], []
        for _, number, packed_postings, at in group:
            one = Postings.read(packed_postings, at)
            now = moved[number][one.places]
            kept = now >= 0
            places.append(now[kept])
            times.append(one.times[kept])
            if one.positions is not None:
                positions.append(one.positions[np.repeat(kept, one.times)])
        if sum(map(len, places)):
            yield term, _packed(np.concatenate(places), np.concatenate(times)), _joined(positions)


def _joined(positions: Sequence[UInt16]) -> bytes | None:
    return np.concatenate(positions).astype("<u2").tobytes() if positions else None


def merged_rows(segments: Sequence[Segment]) -> npt.NDArray[np.void]:
    """Return the rows of what ``merged`` makes."""
    return np.concatenate([segment.rows[segment.alive] for segment in segments])


def _stream(words: StoredTerms, field: str) -> Sequence[str]:
    if field == TEXT:
        return [*words.header.split(), *words.body.split()]
    if field == SPELLED:
        return sorted(words.spelled)
    given: Mapping[str, str] = {
        "title": words.title,
        "path": words.path,
        VARIANTS: words.variants,
        METADATA: words.metadata,
        EXACT: words.exact,
        "symbols": words.symbols,
    }
    return given[field].split()


def _inverted(kind: int, field: str, streams: Sequence[Sequence[str]], *, in_rows: bool) -> list[Fresh]:
    known: dict[str, int] = {}
    numbers = [known.setdefault(term, len(known)) for stream in streams for term in stream[:MOST_TEXTS]]
    if not numbers:
        return []
    lengths = [min(len(stream), MOST_TEXTS) for stream in streams]
    terms, places = np.array(numbers, np.int64), np.repeat(np.arange(len(streams)), lengths)
    order = np.argsort(terms * MOST_TEXTS + places, kind="stable")
    terms, places = terms[order], places[order]
    pairs, first, times = np.unique(terms * MOST_TEXTS + places, return_index=True, return_counts=True)
    of_term = np.searchsorted(pairs // MOST_TEXTS, np.arange(len(known) + 1))
    times = np.minimum(times, MOST_TEXTS - 1)
    at = np.concatenate([np.arange(length) for length in lengths])[order].astype("<u2") if in_rows else None
    starts = np.append(first, len(terms))
    found = []
    for term, number in known.items():
        begin, end = of_term[number], of_term[number + 1]
        one = _packed(pairs[begin:end] % MOST_TEXTS, times[begin:end])
        found.append(
            (key_of(kind, field, term), one, None if at is None else at[starts[begin] : starts[end]].tobytes())
        )
    return found


def _packed(places: npt.NDArray[np.integer], times: npt.NDArray[np.integer]) -> bytes:
    return places.astype("<u2").tobytes() + times.astype("<u2").tobytes()
