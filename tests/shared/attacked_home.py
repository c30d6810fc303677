"""A small home, and commands that are run on it as a user runs them: by a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

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


def run(
    home: Path,
    *words: str,
    through: Sequence[str] = (),
    before: Callable[[], None] | None = None,
    text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command on ``home``, ``through`` another one, what is ``before`` it done in its process."""
    return subprocess.run(
        [*through, sys.executable, "-m", "pinakes", "--home", str(home), *words],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **SETTINGS},
        preexec_fn=before,
    )
