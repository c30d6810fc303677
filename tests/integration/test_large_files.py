"""A file of 200 MB among others: passed over, or refused, and never a reason to use up the memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SIZE = 200_000_000
LINE = "The heron waits where the water is shallow, and has all the time there is.\n"

ADD = """
import json, sys
from pathlib import Path
from pinakes import Library
with Library.open(sys.argv[1], **json.loads(sys.argv[3])) as library:
    report = library.add(sys.argv[2])
    problems = {one["path"]: one["reason"] for one in library.status()[0].problems}
    found = [hit.path for hit in library.search("badger", mode="keyword").hits]
own = Path("/proc/self/status")  # where there is none, memory is not looked at
lines = own.read_text().splitlines() if own.exists() else []
peak_mb = [int(line.split()[1]) // 1000 for line in lines if line.startswith("VmHWM")]
print(json.dumps({"added": report.added, "problems": problems, "found": found, "peak_mb": peak_mb}))
"""


@pytest.fixture
def docs_with_a_giant(docs: Path) -> Iterator[Path]:
    (docs / "badger.md").write_text("# Badger\n\nBadgers dig setts.\n")
    block = LINE * 10_000
    with (docs / "giant.txt").open("w") as file:
        for _ in range(SIZE // len(block) + 1):
            file.write(block)
    yield docs
    (docs / "giant.txt").unlink()  # else pytest keeps it for three runs


def added(home: Path, docs: Path, **settings: Any) -> dict[str, Any]:
    """Read ``docs`` in a process of its own, whose memory is its own."""
    given = json.dumps({"embedding__provider": "deterministic"} | settings)
    done = subprocess.run(
        [sys.executable, "-c", ADD, str(home), str(docs), given],
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_file_over_the_limit_is_passed_over_unread_and_the_others_are_found(
    home: Path, docs_with_a_giant: Path
) -> None:
    size = (docs_with_a_giant / "giant.txt").stat().st_size
    seen = added(home, docs_with_a_giant)
    assert (seen["added"], seen["found"]) == (1, ["badger.md"])
    assert seen["problems"] == {"giant.txt": f"File too large ({size} bytes, max 50000000)"}
    assert all(peak < 400 for peak in seen["peak_mb"])


def test_with_that_limit_raised_the_limit_of_text_refuses_it_and_names_its_setting(
    home: Path, docs_with_a_giant: Path
) -> None:
    seen = added(home, docs_with_a_giant, ingest__max_file_bytes=10**9)
    assert (seen["added"], seen["found"]) == (1, ["badger.md"])
    [(path, reason)] = seen["problems"].items()
    assert path == "giant.txt"
    assert "20,000,000 characters" in reason
    assert "ingest.max_text_chars" in reason
    assert all(peak < 400 + 5 * SIZE // 10**6 for peak in seen["peak_mb"])
