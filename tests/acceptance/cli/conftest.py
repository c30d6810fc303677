"""The command line as users meet it: in this process for speed, or in one of its own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_program import DETERMINISTIC, Call, Outcome
from forking import run_pinakes

from pinakes.cli.entry import run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in os.environ:
        if name.startswith("PINAKES_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PINAKES_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def pinakes(capsys: pytest.CaptureFixture[str]) -> Iterator[Call]:
    """Call a command in this process, with the deterministic embedder."""
    root, ours = logging.getLogger(), logging.getLogger("pinakes")
    before = root.handlers[:], root.level, ours.level

    def call(*words: str | Path) -> Outcome:
        capsys.readouterr()
        code = run([*DETERMINISTIC, *map(str, words)])
        return Outcome(code, *capsys.readouterr())

    yield call
    root.handlers[:], root.level, ours.level = before


@pytest.fixture
def program() -> Call:
    """Call a command in a process of its own, with the deterministic embedder."""

    def call(*words: str | Path) -> Outcome:
        done = run_pinakes([*DETERMINISTIC, *map(str, words)], os.environ)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four files that can be read, and three that cannot."""
    folder = tmp_path / "corpus"
    (folder / "code").mkdir(parents=True)
    (folder / "guide.md").write_text(
        "# Orchard guide\n\nHow to run an orchard.\n\n## Planting\n\nPlant apple trees in autumn.\n\n"
        "## Pruning\n\nPrune pear trees in winter, never in the rain.\n"
    )
    (folder / "bees.md").write_text("---\nstatus: beta\n---\n# Bees\n\nBees carry pollen between the trees.\n")
    (folder / "notes.txt").write_text("The cider press needs a new screw.\n")
    (folder / "code" / "press.py").write_text("def press_apples(weight):\n    return weight * 0.6\n")
    (folder / "empty.md").touch()
    (folder / "also-empty.md").touch()
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 8)
    return folder
