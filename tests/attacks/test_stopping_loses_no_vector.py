"""Ctrl+C and SIGTERM at random moments of an ingest: no vector is made twice, and the end is that of one run."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

from forking import Forked

SCRIPT = """
import os, sys, time
from types import ModuleType
from pinakes.models.embedders import EMBEDDERS
from pinakes.models.embedders.deterministic import DeterministicEmbedder

class Counting(DeterministicEmbedder):
    def embed(self, texts):
        time.sleep(0.001 * len(texts))
        with open(os.environ["MADE"], "a") as file:
            file.writelines(repr(text) + "\\n" for text in texts)
        return super().embed(texts)

sys.modules["counting"] = ModuleType("counting")
sys.modules["counting"].Counting = Counting
EMBEDDERS["counting"] = "counting:Counting"
from pinakes.cli import main
main()
"""


def corpus(folder: Path) -> int:
    folder.mkdir()
    chosen = random.Random(5)
    words = [f"word{number}" for number in range(400)]
    for number in range(120):
        sections = [f"## Part {part}\n\n{' '.join(chosen.choices(words, k=60))}\n" for part in range(10)]
        (folder / f"{number}.md").write_text(f"# File {number}\n\n" + "\n".join(sections))
    return 120


def test_no_vector_is_made_twice(tmp_path: Path) -> None:
    files = corpus(tmp_path / "docs")
    made = tmp_path / "made"
    made.touch()
    words = ["--home", str(tmp_path / "home"), "add", str(tmp_path / "docs"), "--json"]
    words += ["--set", "embedding.provider=counting", "--set", "ingest.batch_chunks=100"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MADE": str(made)}
    chosen, stops, counts = random.Random(7), 0, []
    while stops < 5:
        with Forked(SCRIPT, *words, environment=environment, text=True) as run:
            before, deadline = made.stat().st_size, time.monotonic() + 60
            while run.poll() is None and made.stat().st_size == before and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(chosen.uniform(0, 0.25))
            run.send_signal((signal.SIGINT, signal.SIGTERM)[stops % 2])
            out, err = run.communicate(timeout=60)
        assert "Traceback" not in err
        if run.returncode != 130:
            break
        counts.append(json.loads(out)["error"]["message"])
        stops += 1
    assert stops >= 3, counts
    with Forked(SCRIPT, *words, environment=environment, text=True) as last:
        out, err = last.communicate(timeout=60)
    assert last.returncode == 0, err
    [report] = json.loads(out)["reports"]
    assert report["added"] + report["unchanged"] == files
    assert report["pending"] == 0
    repeated = {text: count for text, count in Counter(made.read_text().splitlines()).items() if count > 1}
    assert repeated == {}
