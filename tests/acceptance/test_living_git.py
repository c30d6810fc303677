"""The demonstration of a repository that changes while a server runs, as its reader runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "living_git.py"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_searches_follow_a_repository_that_is_changed_renamed_and_deleted_from() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    environment["PINAKES_EMBEDDING__PROVIDER"] = "deterministic"
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    steps = [line.partition(":")[0] for line in done.stdout.splitlines() if line.endswith(" s")]
    assert steps == [
        "the repository is read",
        "a file is changed",
        "… and its old words are gone",
        "a file is added",
        "a file is renamed",
        "a file is deleted",
        "the source stands at the newest commit",
    ]
    assert "wildlife  wildlife    git           2" in done.stdout
