"""The home that is measured: the same settings for this process and for the commands it starts."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

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

    def open(self, **settings: Any) -> Library:
        """Open the library; nothing is remembered of questions asked before."""
        settings = {"search__remembered_queries": 0, "search__remembered_answers": 0, **settings}
        return Library.open(self.folder, profile=self.corpus.profile or None, **settings)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start ``pinakes WORDS`` on this home; ``options`` go to ``Popen``."""
        profile = ["--profile", self.corpus.profile] if self.corpus.profile else []
        return start(*words, "--home", str(self.folder), *profile, **options)


def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start ``pinakes WORDS`` of this environment; ``options`` go to ``Popen``, what it says is dropped."""
    command = [sys.executable, "-c", "from pinakes.cli import main; main()", *words]
    return subprocess.Popen(command, **{"stderr": subprocess.DEVNULL, **options})


def in_new_process(function: Callable[_P, _R], *arguments: _P.args, **named: _P.kwargs) -> _R:
    """Return what ``function`` returns in a process of its own, so that memory and warmth are its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()
