"""How fast files of many formats are read: the sample documents, and 1,000 PDFs beside pypdf.

Run ``python -m benchmarks.speed.formats``: JSON on stdout, without OCR. The PDFs are the samples that both can read,
again and again; Pinakes reads them as `pinakes add` does, in a process for each core, pypdf in the one it has. To be
reached: all samples in 20 s, ten times the pages of pypdf.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import tarfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import cycle, islice

from benchmarks.quality.sets import DATA
from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.parsing import pool
from pinakes.parsing.workers import WorkerProcesses
from pinakes.settings import IngestSettings

ARCHIVE = DATA / "documents" / "documents.tar.gz"
_MAX_CHARS = 20_000_000


@dataclass(frozen=True, slots=True)
class Formats:
    """What was measured: seconds for all files; then pages a second of wall time, by ``processes`` and by pypdf.

    ``cpu_times_pypdf``: how many times as fast PDFs are read where the processor's time is compared, core by core.
    """

    files: int
    read: int
    seconds: float
    pdfs: int
    pages: int
    processes: int
    pages_per_s: float
    pypdf_pages_per_s: float
    times_pypdf: float
    cpu_times_pypdf: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdfs", type=int, default=1000, help="How many PDFs are read.")
    print(json.dumps(asdict(measure(samples(), parser.parse_args().pdfs)), indent=2))


def samples() -> dict[str, bytes]:
    """Return the sample documents, name → content.

    Raises:
        FileNotFoundError: they are not there.
    """
    with tarfile.open(ARCHIVE) as archive:
        members = ((member.name.partition("/")[2], archive.extractfile(member)) for member in archive)
        return {name: file.read() for name, file in members if file is not None and name != "manifest.tsv"}


def measure(files: Mapping[str, bytes], wanted: int) -> Formats:
    """Read all files once, then ``wanted`` PDFs; pypdf reads each of these that is another once, twice over."""
    parsing.read(b"<p>words</p>", "warm.html", max_chars=100)  # loads the converter
    begun = time.perf_counter()
    read = sum(_pages(data, name) is not None for name, data in files.items())
    seconds = time.perf_counter() - begun
    pdfs = {name: data for name, data in files.items() if name.endswith(".pdf") and _pages(data, name)}
    pdfs = {name: data for name, data in pdfs.items() if _pages_of_pypdf(data)}
    theirs = [_timed(lambda: sum(map(_pages_of_pypdf, pdfs.values()))) for _ in range(2)]
    alone = _timed(lambda: sum(_pages(data, name) or 0 for name, data in pdfs.items()))
    processes, ours = _in_processes(list(islice(cycle(pdfs.items()), wanted)))
    pypdf = max(timed.pages / timed.wall_s for timed in theirs)
    return Formats(
        files=len(files),
        read=read,
        seconds=round(seconds, 2),
        pdfs=wanted,
        pages=ours.pages,
        processes=processes,
        pages_per_s=round(ours.pages / ours.wall_s, 1),
        pypdf_pages_per_s=round(pypdf, 1),
        times_pypdf=round(ours.pages / ours.wall_s / pypdf, 1),
        cpu_times_pypdf=round(min(timed.cpu_s for timed in theirs) / alone.cpu_s, 1),
    )


@dataclass(frozen=True, slots=True)
class _Timed:
    """So many pages in so much time of the clock, and of this process."""

    pages: int
    wall_s: float
    cpu_s: float


def _timed(read: Callable[[], int]) -> _Timed:
    wall, cpu = time.perf_counter(), time.process_time()
    pages = read()
    return _Timed(pages, time.perf_counter() - wall, time.process_time() - cpu)


def _in_processes(pdfs: Sequence[tuple[str, bytes]]) -> tuple[int, _Timed]:
    """Read ``pdfs`` in processes that have started; return how many there are, and what it took."""
    limits = IngestSettings()
    with closing(WorkerProcesses(limits)) as workers, ThreadPoolExecutor(workers.most) as threads:

        def pages(pdf: tuple[str, bytes]) -> int:
            return len(pool.read(pdf[1], pdf[0], limits, workers).pages)

        list(threads.map(pages, pdfs[: 8 * workers.most]))
        return workers.most, _timed(lambda: sum(threads.map(pages, pdfs)))


def _pages(data: bytes, name: str) -> int | None:
    """Read a file; return how many pages it has, None where it cannot be read."""
    try:
        document = parsing.read(data, name, max_chars=_MAX_CHARS)
    except Unreadable:
        return None
    return len(document.pages)


def _pages_of_pypdf(data: bytes) -> int:
    """Have pypdf extract the text of every page; return how many there are, 0 where it cannot."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        reader = pypdf.PdfReader(io.BytesIO(data))
        return sum(page.extract_text() is not None for page in reader.pages)
    return 0


if __name__ == "__main__":
    main()
