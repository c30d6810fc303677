"""From documents to a searchable index: the first time, again with nothing changed, and after one edit."""

from __future__ import annotations

import random
import string
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.bare import BareModel, ComparedEmbedder
from benchmarks.speed.home import Home
from benchmarks.speed.machine import MEGABYTE, Spread, memory_mb, spread
from pinakes.catalog import documents
from pinakes.ingestion.report import Event
from pinakes.library import Library

_COMPARED_EVERY = 25
_PROGRESS_S = 10.0


@dataclass(frozen=True, slots=True)
class FirstIngest:
    """A first ``add``. Rates are chunks per second; ``ratio`` is the embedder's rate over the bare session's.

    Seconds are wall time without the comparison with the bare session. ``peak_memory_mb`` includes that session.
    """

    files: int
    chunks: int
    tokens: int
    embedded: int
    seconds: float
    stages_s: Mapping[str, float]
    other_share: float
    embed_rate: float
    bare_rate: float
    ratio: float
    compared_chunks: int
    peak_memory_mb: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A second ``add`` of the same folder, in seconds: inside a process, and as a whole command."""

    library_s: float
    command_s: float


@dataclass(frozen=True, slots=True)
class Changed:
    """From saving one file to finding its new word: by adding the whole folder again, or that file alone."""

    folder: Spread
    file: Spread
    stages_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Size:
    """What an index takes on disk, in MB."""

    chunks: int
    catalogue_mb: float
    index_mb: float

    @property
    def per_1000_chunks_mb(self) -> float:
        return (self.catalogue_mb + self.index_mb) / max(self.chunks, 1) * 1000


def first(home: Home) -> FirstIngest:
    """Index the corpus into a new home, comparing a sample of the batches with the bare session."""
    with home.open(embedding__mode="full") as library:
        bare = BareModel(library.settings.embedding, library.settings.cache)
        bare.seconds(bare.rows(["warm"] * 8))
        compared = ComparedEmbedder(library.app.embedder, bare, _COMPARED_EVERY)
        library.app.embedder = compared
        compared.embed_query("load")
        began = time.perf_counter()
        report = library.add(str(home.corpus.folder), on_event=_Progress())
        seconds = time.perf_counter() - began - compared.paused_s
        memory = memory_mb()
        status = library.status(report.collection)[0]
    stages = dict(report.seconds)
    stages["embed"] = stages.get("embed", 0.0) - compared.paused_s
    ratio = compared.bare_s / compared.compared_s * compared.seconds / stages["embed"]
    rate = report.embedded / stages["embed"]
    return FirstIngest(
        files=sum(sum(source["files"].values()) for source in status.sources),
        chunks=report.chunks,
        tokens=status.tokens,
        embedded=report.embedded,
        seconds=seconds,
        stages_s={**stages, "between": seconds - sum(stages.values())},
        other_share=1 - stages["embed"] / seconds,
        embed_rate=rate,
        bare_rate=rate / ratio,
        ratio=ratio,
        compared_chunks=compared.compared,
        peak_memory_mb=memory["peak"],
        memory_mb=memory["now"],
    )


def unchanged(home: Home, rounds: int) -> Unchanged:
    """Add the folder again, the fastest of ``rounds``."""
    inside, command = [], []
    for _ in range(rounds):
        with home.open() as library:
            began = time.perf_counter()
            library.add(str(home.corpus.folder))
            inside.append(time.perf_counter() - began)
        began = time.perf_counter()
        done = home.start("add", str(home.corpus.folder), stdout=subprocess.DEVNULL).wait()
        command.append(time.perf_counter() - began)
        if done:
            raise RuntimeError(f"`pinakes add` ended with exit code {done}")
    return Unchanged(min(inside), min(command))


def changed(home: Home, rounds: int) -> Changed:
    """Edit one file of the folder, and one outside of it, as often as ``rounds``; each is searchable when found."""
    alone = home.work / "alone.md"
    folder_s, file_s, stages = [], [], dict[str, float]()
    with home.open() as library:
        library.search("warm")
        for path in _chosen(library, home.corpus.folder, rounds):
            seconds, spent = _until_found(library, path, home.corpus.folder)
            folder_s.append(seconds)
            stages = {name: stages.get(name, 0.0) + value * 1000 / rounds for name, value in spent.items()}
            alone.write_bytes(path.read_bytes())
            file_s.append(_until_found(library, alone, alone)[0])
    return Changed(spread(folder_s), spread(file_s), stages)


def size(home: Home) -> Size:
    """Measure the home; the write-ahead log counts as catalogue."""
    with home.open() as library:
        chunks = library.status()[0].chunks
    catalogue = sum(path.stat().st_size for path in home.folder.glob("catalog.db*"))
    index = sum(path.stat().st_size for path in (home.folder / "index").rglob("*") if path.is_file())
    return Size(chunks, catalogue / MEGABYTE, index / MEGABYTE)


def _chosen(library: Library, folder: Path, count: int) -> list[Path]:
    """Return indexed Markdown files from short to long; none ends in a comment, which would hide what is appended."""
    record = library.collection()
    with library.app.catalog.read() as connection:
        paths = [folder / path for path in documents.paths(connection, record.id) if path.endswith(".md")]
    texts = {path: path.read_text("utf-8") for path in paths}
    files = [path for path, text in texts.items() if text.rfind("<!--") <= text.rfind("-->")]
    files.sort(key=lambda path: (len(texts[path]), path))
    return [files[(2 * i + 1) * len(files) // (2 * count)] for i in range(count)]


def _until_found(library: Library, edited: Path, added: Path) -> tuple[float, dict[str, float]]:
    """Append a new word to a file; return seconds until a search finds it, and seconds per stage of the ingest."""
    word = "".join(random.choices(string.ascii_lowercase, k=12))
    with edited.open("a", encoding="utf-8") as file:
        file.write(f"\nThe {word} is new here.\n")
    began = time.perf_counter()
    report = library.add(str(added))
    hits = library.search(word).hits
    seconds = time.perf_counter() - began
    if not any(word in hit.text for hit in hits):
        raise RuntimeError(f"{word} in {edited} was not found after it was added")
    return seconds, report.seconds


class _Progress:
    """Says now and then on stderr how far an ingest is."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PROGRESS_S

    def __call__(self, event: Event) -> None:
        if event.stage == "read" and time.monotonic() >= self._next:
            print(f"  … {event.done} of {event.total} files", file=sys.stderr, flush=True)
            self._next = time.monotonic() + _PROGRESS_S
