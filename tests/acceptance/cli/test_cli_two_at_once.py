"""Two processes over one source: the second waits for the first, and nothing is embedded twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forking import PINAKES, Forked

SETTINGS = ("--set", "embedding.provider=deterministic")
FILES = 60

PAUSED = """
import json, sys
from pinakes.library import Library

def on_event(event):
    if event.stage == "read" and event.done == 30:
        print("half", flush=True)
        sys.stdin.readline()

settings = {"embedding__provider": "deterministic", "ingest__batch_chunks": 10}
with Library.open(sys.argv[1], **settings) as library:
    report = library.add(sys.argv[2], on_event=on_event)
print(json.dumps({"embedded": report.embedded, "chunks": report.chunks}))
"""
"""Adds a folder, and waits in the middle of it until a line arrives."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.md").write_text(f"# Field {number}\n\nField {number} yields {number * 7} tons.\n")
    return folder


def started(*words: str | Path) -> Forked:
    return Forked(PINAKES, *SETTINGS, *map(str, words), text=True)


def paused(home: Path, folder: Path) -> Forked:
    """Start a process that adds ``folder`` and has read half of it."""
    child = Forked(PAUSED, str(home), str(folder), text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "half\n", child.communicate()
    return child


def waiting(*words: str | Path) -> Forked:
    """Start ``pinakes`` with ``words``; it has said that it waits."""
    child = started(*words, "--json")
    assert child.stderr is not None
    said = child.stderr.readline()
    assert said.startswith("warning: another process is reading this source: waiting ("), said
    return child


def report_of(child: Forked) -> dict[str, Any]:
    out, err = child.communicate(timeout=120)
    assert (child.returncode, "waiting" in err) == (0, False), err
    (report,) = json.loads(out)["reports"]
    return dict(report)


@pytest.mark.parametrize("words", [["add", "FOLDER"], ["sync"]], ids=" ".join)
def test_the_second_waits_and_finds_all_unchanged(home, many, words):
    first = paused(home, many)
    second = waiting(*[word.replace("FOLDER", str(many)) for word in words])
    out, err = first.communicate("go on\n", timeout=120)
    assert (first.returncode, err) == (0, "")
    done = json.loads(out)
    report = report_of(second)
    assert done["embedded"] == done["chunks"] >= FILES
    assert (report["unchanged"], report["added"], report["embedded"], report["chunks"]) == (FILES, 0, 0, 0)


def test_the_second_goes_on_when_the_first_is_killed(home, many, program):
    first = paused(home, many)
    second = waiting("add", many)
    first.kill()
    first.communicate()
    report = report_of(second)
    assert report["added"] + report["unchanged"] == FILES
    assert report["added"] >= FILES // 2
    assert program("verify").code == 0


def test_another_collection_or_folder_does_not_wait(home, many, corpus, program):
    first = paused(home, many)
    for words in (["add", many, "-c", "other"], ["add", corpus]):
        done = program(*words)
        assert (done.code, "waiting" in done.err) == (0, False)
    first.communicate("go on\n", timeout=120)
    assert first.returncode == 0


def test_two_commands_at_once_embed_every_text_once(home, many, program):
    both = [started("add", many, "--json", "-q") for _ in range(2)]
    reports = [report_of(child) for child in both]
    assert sum(report["embedded"] for report in reports) == max(report["chunks"] for report in reports) >= FILES
    assert sorted(report["unchanged"] for report in reports) == [0, FILES]
    assert program("verify").code == 0
