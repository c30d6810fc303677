"""Scanners: FAISS indexes of 8-bit codes, which find the rows worth comparing; inverted files are kept on disk.

A scanner on disk belongs to a snapshot: its rows are those of the snapshot. It is mapped, so that opening it reads
nothing but its checksum; if it is lost or damaged, it is built again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pinakes.core.records import Bool, Float32, Int64
from pinakes.indexes.storage import checksums
from pinakes.indexes.vector.float16 import float32, largest
from pinakes.indexes.vector.mapped_rows import blocks

ABOUT, CODES = "scanner.json", "scanner.faiss"

_FORMAT = 1
_EIGHT_BIT = 127
_TRAINED_ROWS = 50_000
_ITERATIONS = 5
_NLIST_PER_ROOT = 3
_BLOCK_BYTES = 1 << 20
_ASSIGNED_AT_ONCE = 4096
_SEED = 5

Check: TypeAlias = Callable[[], object]
"""Called between the steps of a long build; raises to end it."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """A FAISS index over the rows 0 … n-1 of a matrix, times ``scale``, rounded to -127 … 127.

    ``added``: rows that came after the lists of an inverted file were chosen. ``is_kept``: it is mapped from a file.
    """

    index: Any
    scale: float
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
        """Return about ``limit`` rows near ``query`` float32 (dim,), of those that are ``allowed``, bool (n,).

        ``share`` of the lists of an inverted file are read: more with a stricter filter, to see as many rows.
        """
        faiss = faiss_module()
        selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        if self.is_approximate:
            lists = self.index.nlist
            probed = max(1, int(share * lists)) * len(allowed) // max(1, int(np.count_nonzero(allowed)))
            parameters = faiss.SearchParametersIVF(sel=selector, nprobe=min(lists, probed))
        else:
            parameters = faiss.SearchParameters(sel=selector)
        scaled = _eight_bit(query.reshape(1, -1), _EIGHT_BIT / max(float(np.abs(query).max()), 1e-6))
        _, rows = self.index.search(scaled, limit, params=parameters)
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

    The centroids are those of k-means by cosine over a sample (Sivic and Zisserman 2003, as in FAISS).
    """
    lists = max(1, min(len(matrix), int(_NLIST_PER_ROOT * len(matrix) ** 0.5)))
    sample = np.arange(0, len(matrix), max(1, len(matrix) // _TRAINED_ROWS))
    centroids = _centroids(float32(matrix[sample]), lists, check)
    made = Scanner(_empty(centroids), _scale(matrix))
    _add(made, centroids, matrix, np.arange(len(matrix)), check)
    return made


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
    scanner = Scanner(made, old.scale, old.added + int(np.count_nonzero(fresh)))
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
            "scale": scanner.scale,
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
    return Scanner(index, float(about["scale"]), int(about["added"]), is_kept=True)


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
    quantizer = faiss.IndexFlatIP(dimension)
    quantizer.add(centroids)
    kind, inner = faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, inner, False)
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
        nearest = (vectors @ centroids.T).argmax(axis=1)
        codes = _eight_bit(vectors, scanner.scale)
        pointers = map(faiss.swig_ptr, (codes, chosen, nearest))
        index.add_core(len(chosen), *pointers)
        check()


def _centroids(sample: Float32, lists: int, check: Check) -> Float32:
    """Return float32 (lists, dim), of length 1: the centroids of spherical k-means."""
    random = np.random.default_rng(_SEED)
    centroids = _unit(sample[np.sort(random.choice(len(sample), lists, replace=len(sample) < lists))])
    for _ in range(_ITERATIONS):
        nearest = np.empty(len(sample), np.int64)
        for start in range(0, len(sample), _ASSIGNED_AT_ONCE):
            part = slice(start, start + _ASSIGNED_AT_ONCE)
            nearest[part] = (sample[part] @ centroids.T).argmax(axis=1)
            check()
        order = np.argsort(nearest, kind="stable")
        used, starts = np.unique(nearest[order], return_index=True)
        centroids = _unit(sample[random.choice(len(sample), lists)])  # a list that has no row begins elsewhere
        centroids[used] = _unit(np.add.reduceat(sample[order], starts, axis=0))
    return centroids


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
