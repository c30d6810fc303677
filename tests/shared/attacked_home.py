"""A small home, and commands that are run on it as a user runs them: by a process of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import forking
from forking import run_pinakes

from pinakes.library import Library

TEXTS = {
    "birds.md": "# Birds\n\nThe heron stands in the river and waits for salmon.\n",
    "music.md": "# Music\n\nA violin and a compass lie on the granite table.\n",
    "code.py": 'def find_heron():\n    """Look for the heron."""\n',
}
SETTINGS = {
    "PINAKES_EMBEDDING__PROVIDER": "deterministic",
    "PINAKES_EMBEDDING__MODE": "full",
    "RUST_BACKTRACE": "0",
}


def write_documents(folder: Path) -> Path:
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def open_library(home: Path) -> Library:
    """Open the home in this process, by the settings that commands have."""
    return Library.open(home, embedding__provider="deterministic", embedding__mode="full")


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on ``home``."""
    return run_pinakes(["--home", str(home), *words], {**os.environ, **SETTINGS})


def run_each(
    home: Path,
    *commands: Sequence[str],
    through: Sequence[str] = (),
    before: Callable[[], None] | None = None,
) -> list[subprocess.CompletedProcess[str]]:
    """Run commands on ``home`` one after the other, ``through`` another, what is ``before`` them done first."""
    words = [["--home", str(home), *one] for one in commands]
    return forking.run_each(words, {**os.environ, **SETTINGS}, through, before)
