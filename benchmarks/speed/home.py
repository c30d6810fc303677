"""The home that is measured: the same settings for this process and for the commands it starts."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from benchmarks.speed.corpus import Corpus
from pinakes.library import Library

_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Home:
    """A home folder, the corpus it indexes, and a folder for what else a measurement writes."""

    folder: Path
    corpus: Corpus
    work: Path

    def open(self) -> Library:
        """Open the library."""
        return Library.open(self.folder, profile=self.corpus.profile or None)

    def start(self, *words: str, home: Path | None = None, **options: object) -> subprocess.Popen[bytes]:
        """Start ``pinakes WORDS`` of this environment; ``options`` go to ``Popen``."""
        return subprocess.Popen(self._command(words, home), **{"stderr": subprocess.DEVNULL, **options})  # type: ignore[call-overload,no-any-return]

    def _command(self, words: tuple[str, ...], home: Path | None) -> list[str]:
        profile = ["--profile", self.corpus.profile] if self.corpus.profile else []
        start = [sys.executable, "-c", "from pinakes.cli import main; main()"]
        return [*start, *words, "--home", str(home or self.folder), *profile]


def in_new_process(function: Callable[_P, _R], *arguments: _P.args, **named: _P.kwargs) -> _R:
    """Return what ``function`` returns in a process of its own, so that memory and warmth are its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()


def folder_mb(*paths: Path) -> float:
    """Return the sum of the sizes of these files, and of those in these folders, in MB."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(os.path.getsize(file) for file in files if file.is_file()) / 1_000_000
