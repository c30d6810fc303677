"""Workers as their users start them, processes of their own, and the catalogues that they share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forking import Forked

SHARED = Path(__file__).parent
PROGRAM = """
from pinakes.models.embedders import EMBEDDERS
EMBEDDERS["slow"] = "slow_embedder:SlowEmbedder"
EMBEDDERS["named"] = "named_embedder:NamedEmbedder"
from pinakes.cli import main
main()
"""


@dataclass
class WorkerProcess:
    """A worker that runs, and what it says."""

    process: Forked
    log: Path

    def said(self) -> str:
        return self.log.read_text()


def pinakes(*words: str, **settings: Any) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a call of ``pinakes``; ``settings`` as ``server__port=0``."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    inner = {f"PINAKES_{name.upper()}": str(value) for name, value in settings.items()}
    return [sys.executable, "-c", PROGRAM, *words], outer | inner | {"PYTHONPATH": str(SHARED)}


@contextmanager
def worker(home: Path, url: str, *words: str, **settings: Any) -> Iterator[WorkerProcess]:
    """Run ``pinakes worker`` on a home of its own; it is killed at the end of the block."""
    chosen = {"embedding__provider": "slow", "catalog__url": url, **settings}
    (_, _, _, *given), environment = pinakes("--home", str(home), "worker", *words, **chosen)
    log = home.parent / f"{home.name}.log"
    with Forked(PROGRAM, *given, environment=environment, log=log) as process:
        try:
            yield WorkerProcess(process, log)
        finally:
            process.kill()
