"""A disk that is soon full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_file_system(place: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of so many megabytes at ``place``; where that cannot be done the test is skipped."""
    place.mkdir()
    size = ["-o", f"size={megabytes}m"]
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", *size, "tmpfs", str(place)], check=True, capture_output=True, timeout=10
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small file system cannot be mounted here: {error}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False, timeout=10)
