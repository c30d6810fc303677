"""Segments of postings: made of the terms of texts, merged, and read.

A text is a chunk or a whole document. Within its segment it has a number, from 0 on; what is said of all texts of a
segment are arrays by these numbers. Postings of a term are the numbers of its texts, ascending, and how often it stands
there, both uint16; positions follow text by text, uint16. A position beyond that is not kept.

Postings are packed in blocks (``blocks``): of numbers that ascend the differences are kept, and of all of these first
the low bytes, then the high ones, compressed by zlib.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from pinakes.catalog.index_tables.word_table import SEPARATOR, Block
from pinakes.core.records import Bool, Int64
from pinakes.indexes.keyword.clauses import EXACT, METADATA, SPELLED, TEXT, VARIANTS
from pinakes.indexes.keyword.stored_terms import StoredTerms

UInt16: TypeAlias = npt.NDArray[np.uint16]

CHUNKS, DOCUMENTS = 0, 1
"""Kinds of segments: their texts are chunks, or whole documents."""

MOST_TEXTS: Final = 1 << 16
FIELDS: Final = (TEXT, "title", "path", VARIANTS, METADATA, EXACT, "symbols", SPELLED)
"""A term is kept with the place of its field in here."""

MEASURED: Final = (TEXT, "title", "path", VARIANTS, METADATA)
"""The fields in which a term counts less in a long text."""

_OF_KIND: Final = {CHUNKS: (*MEASURED, EXACT, "symbols"), DOCUMENTS: (*MEASURED, SPELLED)}
_LONGEST_TERM: Final = 200
_MOST_WORDS: Final = MOST_TEXTS - 1
"""So many words of a text are kept: how often one stands there, and where, is uint16."""

_BLOCK_BYTES, _TERM_BYTES, _POSTING_BYTES = 1600, 3, 3
"""What a block takes at most unless it has one term, and about what a term adds to its name, and a posting."""

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


Fresh: TypeAlias = tuple[bytes, Postings]
"""A term with its postings."""


def key_of(kind: int, field: str, term: str) -> bytes:
    """Return the bytes by which a term of a field is kept: they sort as the term does, up to a length."""
    written = term.encode("utf-8", "surrogatepass")
    if len(written) > _LONGEST_TERM:
        written = written[:_LONGEST_TERM] + blake2b(written, digest_size=16).hexdigest().encode()
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
    """Return the rows of up to ``MOST_TEXTS`` texts, and their postings, by term."""
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
    return rows, sorted(found, key=itemgetter(0))


def merged(segments: Sequence[Segment], stored: Iterable[Sequence[Any]]) -> Iterator[Fresh]:
    """Yield the postings of one segment in place of several, whose removed texts are left out.

    ``stored``: their (segment, names, counts, postings, positions), by segment in the order of ``segments``, then by
    term.
    """
    moved: dict[int, npt.NDArray[np.int64]] = {}
    base = 0
    for segment in segments:
        moved[segment.number] = np.where(segment.alive, base + np.cumsum(segment.alive) - 1, -1)
        base += int(segment.alive.sum())
    streams = [_of_segment(number, list(rows)) for number, rows in groupby(stored, key=itemgetter(0))]
    for term, group in groupby(merge(*streams, key=itemgetter(0, 1)), key=itemgetter(0)):
        places, times, positions = [], [], []
        for _, number, one in group:
            now = moved[number][one.places]
            kept = now >= 0
            places.append(now[kept])
            times.append(one.times[kept])
            if one.positions is not None:
                positions.append(one.positions[np.repeat(kept, one.times)])
        if sum(map(len, places)):
            at = np.concatenate(positions) if positions else None
            yield term, Postings(np.concatenate(places).astype(np.uint16), np.concatenate(times), at)


def _of_segment(number: int, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[bytes, int, Postings]]:
    for _, names, counts, postings, positions in rows:
        read = read_block(counts, postings, positions)
        for term, one in zip(terms_of(names), read, strict=True):
            yield term, number, one


def blocks(fresh: Iterable[Fresh]) -> Iterator[Block]:
    """Pack terms with their postings, given in the order of terms, into blocks of one field each."""
    held: list[Fresh] = []
    size = 0
    for term, postings in fresh:
        more = len(term) + _TERM_BYTES + _POSTING_BYTES * len(postings.places)
        if held and (size + more > _BLOCK_BYTES or term[0] != held[0][0][0]):
            yield _block(held)
            held, size = [], 0
        held.append((term, postings))
        size += more
    if held:
        yield _block(held)


def terms_of(names: bytes) -> list[bytes]:
    """Return the terms of a block, ascending."""
    return bytes(names).split(SEPARATOR)[1:-1]


def counts_of(counts: bytes) -> Int64:
    """Return in how many texts each term of a block is, removed ones counted, int64 (n,)."""
    return np.frombuffer(counts, "<u2").astype(np.int64) + 1


def read_block(counts: bytes, postings: bytes, positions: bytes | None) -> list[Postings]:
    """Return the postings of each term of a block."""
    having = counts_of(counts)
    both = _unpacked(postings)
    half = len(both) // 2
    places, times = _summed(both[:half], having), both[half:]
    ends = np.cumsum(having)
    starts = ends - having
    if positions is None:
        return [Postings(places[a:b], times[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    at, until = _summed(_unpacked(positions), times), np.append(0, np.cumsum(times, dtype=np.int64))
    bounds = zip(starts.tolist(), ends.tolist(), until[starts].tolist(), until[ends].tolist(), strict=True)
    return [Postings(places[a:b], times[a:b], at[c:d]) for a, b, c, d in bounds]


def read_term(at: int, counts: bytes, postings: bytes, positions: bytes | None) -> Postings:
    """Return the postings of one term of a block, by its place there, without keeping the rest in memory."""
    having = counts_of(counts)
    start, end = int(having[:at].sum()), int(having[: at + 1].sum())
    every = _unpacked(postings)
    half = len(every) // 2
    places, times = np.cumsum(every[start:end], dtype=np.uint16), every[half + start : half + end].copy()
    if positions is None:
        return Postings(places, times)
    before = int(every[half : half + start].sum(dtype=np.int64))
    own = _unpacked(positions)[before : before + int(times.sum(dtype=np.int64))]
    return Postings(places, times, _summed(own, times))


def _block(held: Sequence[Fresh]) -> Block:
    names = SEPARATOR + SEPARATOR.join(term for term, _ in held) + SEPARATOR
    counts = np.array([len(one.places) for _, one in held], np.int64)
    places, times = (np.concatenate(all_) for all_ in ([one.places for _, one in held], [one.times for _, one in held]))
    packed = _packed(np.concatenate((_differences(places, counts), times)))
    positions = [one.positions for _, one in held if one.positions is not None]
    at = _packed(_differences(np.concatenate(positions), times)) if positions else None
    return held[0][0], names, (counts - 1).astype("<u2").tobytes(), packed, at


def _differences(values: UInt16, counts: npt.NDArray[np.integer]) -> UInt16:
    """Return each value less the one before it, in groups of so many ``counts`` that start anew."""
    found = np.diff(values, prepend=values[:1])
    starts = np.append(0, np.cumsum(counts[:-1], dtype=np.int64))
    found[starts] = values[starts]
    return found


def _summed(differences: UInt16, counts: npt.NDArray[np.integer]) -> UInt16:
    """Return what ``_differences`` was made of."""
    if not len(differences):
        return differences
    sums = np.cumsum(differences, dtype=np.int64)
    starts = np.append(0, np.cumsum(counts[:-1], dtype=np.int64))
    found: UInt16 = (sums - np.repeat(sums[starts] - differences[starts], counts)).astype(np.uint16)
    return found


def _packed(numbers: UInt16) -> bytes:
    return zlib.compress(np.concatenate((numbers & 255, numbers >> 8)).astype(np.uint8).tobytes(), 1)


def _unpacked(packed: bytes) -> UInt16:
    planes = np.frombuffer(zlib.decompress(packed), np.uint8).astype(np.uint16).reshape(2, -1)
    found: UInt16 = planes[0] | planes[1] << 8
    return found


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
    numbers = [known.setdefault(term, len(known)) for stream in streams for term in stream[:_MOST_WORDS]]
    if not numbers:
        return []
    lengths = [min(len(stream), _MOST_WORDS) for stream in streams]
    terms, places = np.array(numbers, np.int64), np.repeat(np.arange(len(streams)), lengths)
    order = np.argsort(terms * MOST_TEXTS + places, kind="stable")
    terms, places = terms[order], places[order]
    pairs, first, times = np.unique(terms * MOST_TEXTS + places, return_index=True, return_counts=True)
    of_term = np.searchsorted(pairs // MOST_TEXTS, np.arange(len(known) + 1))
    times = times.astype(np.uint16)
    at = np.concatenate([np.arange(length) for length in lengths])[order].astype(np.uint16) if in_rows else None
    starts = np.append(first, len(terms))
    found = []
    for term, number in known.items():
        begin, end = of_term[number], of_term[number + 1]
        where = None if at is None else at[starts[begin] : starts[end]]
        one = Postings((pairs[begin:end] % MOST_TEXTS).astype(np.uint16), times[begin:end], where)
        found.append((key_of(kind, field, term), one))
    return found
