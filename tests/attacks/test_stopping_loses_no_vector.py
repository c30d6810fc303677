"""Ctrl+C and SIGTERM at random moments of an ingest: no vector is made twice, and the end is that of one run."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

SCRIPT = """
import os, sys, time
from pathlib import Path
from pinakes.core import ports
from pinakes.models.embedders import EMBEDDERS
from pinakes.models.embedders.deterministic import DeterministicEmbedder

class Counting(DeterministicEmbedder):
    def embed(self, texts):
        time.sleep(0.001 * len(texts))
        with open(os.environ["MADE"], "a") as file:
            file.writelines(repr(text) + "\\n" for text in texts)
        return super().embed(texts)

EMBEDDERS["counting"] = "__main__:Counting"
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
    script, made = tmp_path / "counting.py", tmp_path / "made"
    script.write_text(SCRIPT)
    made.touch()
    command = [sys.executable, str(script), "--home", str(tmp_path / "home"), "add", str(tmp_path / "docs"), "--json"]
    command += ["--set", "embedding.provider=counting", "--set", "ingest.batch_chunks=100"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MADE": str(made), "PYTHONPATH": str(tmp_path)}
    chosen, stops, counts = random.Random(7), 0, []
    while stops < 5:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as run:
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
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    [report] = json.loads(done.stdout)["reports"]
    assert report["added"] + report["unchanged"] == files
    assert report["pending"] == 0
    repeated = {text: count for text, count in Counter(made.read_text().splitlines()).items() if count > 1}
    assert repeated == {}
