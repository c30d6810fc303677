"""Scanners: FAISS indexes of short codes, which find the rows worth comparing; inverted files are kept on disk.

A flat scanner has codes of 8 bits a number. An inverted file has lists of rows near the same centroid, and codes of one
bit a number (RaBitQ; Gao and Long 2024, as in FAISS) of what a row adds to its centroid.

A scanner on disk belongs to a snapshot: its rows are those of the snapshot. It is mapped, so that opening it reads
nothing but its checksum; if it is lost or damaged, it is built again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pinakes.core.records import Bool, Float32, Int64
from pinakes.indexes.storage import checksums
from pinakes.indexes.vector.mapped_rows import blocks
from pinakes.indexes.vector.vector_arrays import float32, largest

ABOUT, CODES = "scanner.json", "scanner.faiss"

_FORMAT = 2
_EIGHT_BIT = 127
_TRAINED_ROWS = 50_000
_ITERATIONS = 5
_NLIST_PER_ROOT = 2
_BLOCK_BYTES = 1 << 20
_ASSIGNED_AT_ONCE = 4096
_SEED = 5
_RESCORED = 2
_RESCORED_BY_BITS = 1000
"""Rows that a scan returns: so many times those wanted, and so many more where a code has one bit a number."""

_QUERY_BITS = 8
_TRIED_QUERIES, _TRIED_NEAREST = 200, 10
_QUERY_NOISE = 1.2
_WANTED_RECALL = 0.985
_LEAST_SHARE = 0.02

Check: TypeAlias = Callable[[], object]
"""Called between the steps of a long build; raises to end it."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """A FAISS index over the rows 0 … n-1 of a matrix.

    ``scale``: of a flat one, whose numbers are times this, rounded to -127 … 127. Of an inverted file: ``share``, the
    share of its lists that a search reads to find nearly all of the nearest rows, measured when they were chosen;
    ``added``, rows that came after that. ``is_kept``: it is mapped from a file.
    """

    index: Any
    scale: float = 1.0
    share: float = 1.0
    added: int = 0
    is_kept: bool = False

    @property
    def is_approximate(self) -> bool:
        """Whether it is an inverted file, of which a search reads some lists only."""
        return hasattr(self.index, "nlist")

    @property
    def is_outgrown(self) -> bool:
        """Whether so many rows were added that other lists should be chosen."""
        return bool(self.added > self.index.ntotal // 2)

    def scan(self, query: Float32, limit: int, allowed: Bool, share: float) -> Int64:
        """Return enough rows near ``query`` float32 (dim,) for the best ``limit``, of those ``allowed``, bool (n,).

        ``share`` of the lists of an inverted file are read, 0: as measured; more with a stricter filter, to see as
        many rows.
        """
        faiss = faiss_module()
        selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        count, wanted = int(np.count_nonzero(allowed)), _RESCORED * limit
        if self.is_approximate:
            lists, wanted = self.index.nlist, wanted + _RESCORED_BY_BITS
            probed = max(1, round((share or self.share) * lists)) * len(allowed) // max(1, count)
            parameters = faiss.IVFRaBitQSearchParameters(sel=selector, nprobe=min(lists, probed), qb=_QUERY_BITS)
            asked = query.reshape(1, -1)
        else:
            parameters = faiss.SearchParameters(sel=selector)
            asked = _eight_bit(query.reshape(1, -1), _EIGHT_BIT / max(float(np.abs(query).max()), 1e-6))
        _, rows = self.index.search(asked, max(1, min(wanted, count)), params=parameters)
        found: Int64 = rows[0][rows[0] >= 0]
        return found


def faiss_module() -> Any:
    """Return FAISS, set to scan in the calling thread: starting other threads takes longer than a scan."""
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss


def flat(matrix: Any) -> Scanner:
    """Return a scanner that compares every row of ``matrix``, float16 (n, dim)."""
    faiss = faiss_module()
    kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
    made = Scanner(faiss.IndexScalarQuantizer(matrix.shape[1], kind, faiss.METRIC_INNER_PRODUCT), _scale(matrix))
    for block in blocks(matrix):
        made.index.add(_eight_bit(float32(block), made.scale))
    return made


def inverted_file(matrix: Any, check: Check = lambda: None) -> Scanner:
    """Return a scanner of some lists of the rows of ``matrix``, float16 (n, dim): those near the same centroid.

    The centroids are those of k-means by distance over a sample (Sivic and Zisserman 2003, as in FAISS): it does not
    change where all rows lie close together, as k-means by cosine does.
    """
    lists = max(1, min(len(matrix), int(_NLIST_PER_ROOT * len(matrix) ** 0.5)))
    sample = np.arange(0, len(matrix), max(1, len(matrix) // _TRAINED_ROWS))
    centroids = _centroids(float32(matrix[sample]), lists, check)
    made = Scanner(_empty(centroids))
    _add(made, centroids, matrix, np.arange(len(matrix)), check)
    return replace(made, share=_measured_share(centroids, matrix, check))


def followed(old: Scanner, places: Int64, matrix: Any, check: Check = lambda: None) -> Scanner:
    """Return the inverted file ``old`` for the rows of another ``matrix``, with the same lists.

    ``places``: int64 (rows of the old one,), the row of the new matrix that has the same vector, -1 where there is
    none. Rows of the matrix that no place names are added.
    """
    faiss = faiss_module()
    centroids = old.index.quantizer.reconstruct_n(0, old.index.nlist)
    made = _empty(centroids)
    source, size = old.index.invlists, old.index.code_size
    for number in range(old.index.nlist):
        if not (length := source.list_size(number)):
            continue
        rows = places[faiss.rev_swig_ptr(source.get_ids(number), length)]
        codes = faiss.rev_swig_ptr(source.get_codes(number), length * size).reshape(length, size)
        kept = rows >= 0
        rows, codes = rows[kept], np.ascontiguousarray(codes[kept])
        if len(rows):
            made.invlists.add_entries(number, len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(codes))
        check()
    fresh = np.ones(len(matrix), np.bool_)
    fresh[places[places >= 0]] = False
    made.ntotal = int(np.count_nonzero(~fresh))
    scanner = Scanner(made, share=old.share, added=old.added + int(np.count_nonzero(fresh)))
    _add(scanner, centroids, matrix, np.flatnonzero(fresh), check)
    return scanner


def save(folder: Path, scanner: Scanner, rows_crc: int) -> None:
    """Write the inverted file ``scanner`` beside the snapshot in ``folder`` whose checksum is ``rows_crc``.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / f"{CODES}.{os.getpid()}.tmp"
    try:
        try:
            faiss_module().write_index(scanner.index, str(path))
        except RuntimeError as error:
            raise OSError(str(error)) from error
        about = {
            "format": _FORMAT,
            "rows_crc": rows_crc,
            "rows": scanner.index.ntotal,
            "share": scanner.share,
            "added": scanner.added,
            "bytes": path.stat().st_size,
            "crc": _crc_of(path),
        }
        path.replace(folder / CODES)
        path.write_text(checksums.sealed(about), "utf-8")
        path.replace(folder / ABOUT)
    finally:
        path.unlink(missing_ok=True)


def load(folder: Path, rows_crc: int, shape: tuple[int, ...]) -> Scanner:
    """Map the scanner of the snapshot in ``folder``, for ``shape`` (n, dim).

    Raises:
        FileNotFoundError: there is none.
        OSError, ValueError, KeyError, TypeError: it cannot be used, or is of another snapshot or format.
    """
    about = checksums.unsealed((folder / ABOUT).read_text("utf-8"))
    if (about["format"], about["rows_crc"], about["rows"]) != (_FORMAT, rows_crc, shape[0]):
        raise ValueError("it is of another format, or of other rows")
    if wrong := problem(folder):
        raise ValueError(wrong)
    faiss = faiss_module()
    try:
        index = faiss.read_index(str(folder / CODES), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    if not hasattr(index, "nlist") or (index.ntotal, index.d) != shape:
        raise ValueError("it is no inverted file of as many rows")
    faiss.downcast_InvertedLists(index.invlists).prefetch_nthread = 0  # it starts 32 threads for each search
    return Scanner(index, share=float(about["share"]), added=int(about["added"]), is_kept=True)


def problem(folder: Path) -> str:
    """Return what is wrong with the files of a scanner in ``folder``, "" if they are as they were written."""
    try:
        about = checksums.unsealed((folder / ABOUT).read_text("utf-8"))
        path = folder / CODES
        if path.stat().st_size != about["bytes"]:
            return "it is of another size than was written"
        return "" if _crc_of(path) == about["crc"] else "its checksum differs"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"it cannot be read: {error}"


def remove(folder: Path) -> None:
    """Remove the scanner of the snapshot in ``folder``."""
    for name in (ABOUT, CODES):
        (folder / name).unlink(missing_ok=True)


def _empty(centroids: Float32) -> Any:
    faiss = faiss_module()
    lists, dimension = centroids.shape
    quantizer = faiss.IndexFlatL2(dimension)
    quantizer.add(centroids)
    index = faiss.IndexIVFRaBitQ(quantizer, dimension, lists, faiss.METRIC_INNER_PRODUCT)
    quantizer.this.disown()
    index.own_fields = True
    index.is_trained = True
    return index


def _add(scanner: Scanner, centroids: Float32, matrix: Any, rows: Int64, check: Check) -> None:
    """Add the rows with these indices. The products are numpy's, which are four times as fast as FAISS's."""
    faiss, index = faiss_module(), scanner.index
    for start in range(0, len(rows), _ASSIGNED_AT_ONCE):
        chosen = rows[start : start + _ASSIGNED_AT_ONCE]
        vectors = float32(matrix[chosen])
        nearest = _nearness(vectors, centroids).argmax(axis=1)
        pointers = map(faiss.swig_ptr, (vectors, chosen, nearest))
        index.add_core(len(chosen), *pointers)
        check()


def _centroids(sample: Float32, lists: int, check: Check) -> Float32:
    """Return float32 (lists, dim): the centroids of k-means."""
    random = np.random.default_rng(_SEED)
    centroids = sample[np.sort(random.choice(len(sample), lists, replace=len(sample) < lists))]
    for _ in range(_ITERATIONS):
        nearest = np.empty(len(sample), np.int64)
        for start in range(0, len(sample), _ASSIGNED_AT_ONCE):
            part = slice(start, start + _ASSIGNED_AT_ONCE)
            nearest[part] = _nearness(sample[part], centroids).argmax(axis=1)
            check()
        order = np.argsort(nearest, kind="stable")
        used, starts, counts = np.unique(nearest[order], return_index=True, return_counts=True)
        centroids = sample[random.choice(len(sample), lists)]  # a list that has no row begins elsewhere
        centroids[used] = np.add.reduceat(sample[order], starts, axis=0) / counts[:, None].astype(np.float32)
    return centroids


def _nearness(vectors: Float32, centroids: Float32) -> Float32:
    """Return float32 (n, lists), greater where a centroid is nearer."""
    nearness: Float32 = vectors @ centroids.T
    nearness -= np.vecdot(centroids, centroids) / 2
    return nearness


def _measured_share(centroids: Float32, matrix: Any, check: Check) -> float:
    """Return the share of the lists, nearest first, that hold nearly all of the nearest rows to each of some queries.

    A query is a row and noise: a question is about as far from what answers it.
    """
    random = np.random.default_rng(_SEED)
    tried = float32(matrix[random.choice(len(matrix), _TRIED_QUERIES)])
    noise = random.standard_normal(tried.shape, np.float32)
    queries = _unit(tried + np.float32(_QUERY_NOISE) * _unit(noise))
    best, rows = np.empty((_TRIED_QUERIES, 0), np.float32), np.empty((_TRIED_QUERIES, 0), np.int64)
    for start in range(0, len(matrix), _ASSIGNED_AT_ONCE):
        scores = queries @ float32(matrix[start : start + _ASSIGNED_AT_ONCE]).T
        found = np.broadcast_to(np.arange(start, start + scores.shape[1]), scores.shape)
        best, rows = np.concatenate([best, scores], axis=1), np.concatenate([rows, found], axis=1)
        kept = np.argpartition(-best, min(_TRIED_NEAREST, best.shape[1]) - 1, axis=1)[:, :_TRIED_NEAREST]
        best, rows = np.take_along_axis(best, kept, axis=1), np.take_along_axis(rows, kept, axis=1)
        check()
    nearness = _nearness(queries, centroids)
    lists = [_nearness(float32(matrix[some]), centroids).argmax(axis=1) for some in rows]
    read = [
        np.count_nonzero(near > near[held][:, None], axis=1) + 1 for near, held in zip(nearness, lists, strict=True)
    ]
    return max(_LEAST_SHARE, float(np.quantile(np.concatenate(read), _WANTED_RECALL)) / len(centroids))


def _unit(rows: Float32) -> Float32:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Float32 = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def _scale(matrix: Any) -> float:
    return _EIGHT_BIT / max(*map(largest, blocks(matrix)), 1e-6)


def _eight_bit(rows: Float32, scale: float) -> Float32:
    scaled: Float32 = rows * np.float32(scale)
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -_EIGHT_BIT, _EIGHT_BIT, out=scaled)


def _crc_of(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            found = zlib.crc32(block, found)
    return found
