"""``pinakes watch``: a folder is followed until the command is stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from forking import PINAKES, Forked

SETTINGS = ("--set", "embedding.provider=deterministic", "--set", "watch.settle_ms=100")
Start = Callable[..., Forked]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start the program; it is gone when the test ends."""
    started: list[Forked] = []

    def begin(*words: str | Path) -> Forked:
        started.append(Forked(PINAKES, *SETTINGS, *map(str, words), text=True))
        return started[-1]

    yield begin
    for child in started:
        with child:
            child.kill()


def until(stream: IO[str] | None, words: str) -> str:
    """Return the first line of a stream that has these words; an error when it ends before."""
    assert stream is not None
    for line in stream:
        if words in line:
            return line
    raise AssertionError(f"{words!r} was never said")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_change_is_told_and_found_and_stopping_is_no_error(start, corpus, pinakes, number):
    child = start("watch", corpus)
    until(child.stdout, "4 added")
    until(child.stderr, "Following")
    (corpus / "new.md").write_text("# Quinces\n\nQuinces are picked last.\n")
    assert until(child.stdout, "new.md").endswith("default  1 added: new.md\n")
    child.send_signal(number)
    assert child.wait(20) == 0
    assert pinakes("search", "quinces", "--json").document["hits"][0]["path"] == "new.md"


@contextmanager
def unread(*words: str | Path) -> Iterator[tuple[Forked, IO[str]]]:
    """Start the program with a stderr that nobody reads; give it with its stdout."""
    nothing, (reading, out), (unused, err) = os.open(os.devnull, os.O_RDONLY), os.pipe(), os.pipe()
    os.close(unused)
    child = Forked(PINAKES, *SETTINGS, *map(str, words), streams=[nothing, out, err])
    for stream in (nothing, out, err):
        os.close(stream)
    with child, os.fdopen(reading) as told:
        try:
            yield child, told
        finally:
            child.kill()


def test_a_folder_is_followed_when_nobody_reads_stderr(corpus):
    with unread("watch", corpus) as (child, told):
        until(told, "4 added")
        (corpus / "new.md").write_text("# Quinces\n\nQuinces are picked last.\n")
        until(told, "1 added: new.md")
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0


def test_events_are_followed_when_nobody_reads_stderr(corpus, pinakes):
    pinakes("add", corpus)
    with unread("events", "--follow", "--after", "0") as (_, told):
        until(told, "sync_finished")
        (corpus / "new.md").write_text("# Quinces\n\nQuinces are picked last.\n")
        pinakes("add", corpus)
        until(told, "new.md")


def test_what_lies_inside_a_source_is_followed_with_all_of_it(start, corpus, pinakes):
    pinakes("add", corpus)
    child = start("watch", f"{corpus}/code/")
    until(child.stderr, f"lies in {corpus}: all of that is followed")
    until(child.stderr, f"Following {corpus} ")
    (corpus / "code" / "mill.py").write_text("def mill_quinces():\n    return 3\n")
    assert until(child.stdout, "mill.py").endswith("default  1 added: code/mill.py\n")
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    assert [one["location"] for one in pinakes("sources", "--json").document["sources"]] == [str(corpus)]


def test_with_json_every_change_is_a_document_in_one_line(start, corpus):
    child = start("watch", corpus, "--json", "-c", "notes")
    until(child.stderr, "Following")
    (corpus / "bees.md").unlink()
    told = json.loads(until(child.stdout, "{"))
    del told["at"]
    assert told == {
        "collection": "notes", "folder": str(corpus), "added": 0, "changed": 0, "moved": 0, "removed": 1, "read": [],
        "failed": [],
    }  # fmt: skip


def test_two_cannot_follow_the_same_folder(start, corpus, pinakes):
    child = start("watch", corpus)
    until(child.stderr, "Following")
    (corpus / "new.md").write_text("# Quinces\n\nQuinces are picked last.\n")
    until(child.stdout, "new.md")
    outcome = pinakes("watch", corpus)
    assert outcome.code == 9
    assert "Another process follows" in outcome.err
    assert "followed (watching)" in pinakes("status").out


def test_without_a_folder_the_settings_have_to_name_one(pinakes):
    outcome = pinakes("watch")
    assert outcome.code == 2
    assert "pinakes watch PATH" in outcome.err


def test_folders_of_the_settings_are_followed_when_none_is_named(start, home):
    child = start("watch", "--set", "knowledge_base.enabled=true")
    until(child.stderr, "Following")
    folder = home / "knowledge_base"
    while not folder.is_dir():
        assert child.poll() is None
    (folder / "a.md").write_text("# Quinces\n\nQuinces are picked last.\n")
    until(child.stdout, "1 added: a.md")


def test_what_is_no_folder_is_refused(pinakes):
    outcome = pinakes("watch", "https://example.org/repository.git")
    assert outcome.code == 2
    assert "cannot be followed" in outcome.err


def test_a_hit_says_that_its_file_has_changed(pinakes, corpus):
    pinakes("add", corpus)
    assert "changed since" not in pinakes("search", "pollen").out
    (corpus / "bees.md").write_text("# Bees\n\nGone.\n")
    outcome = pinakes("search", "pollen", "-k", "1")
    assert "file changed since it was indexed" in outcome.out
    assert pinakes("search", "pollen", "-k", "1", "--json").document["hits"][0]["changed"] is True
