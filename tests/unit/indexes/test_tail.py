"""Documents written to a keyword index one by one: what is written again with them, and how little that is."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pinakes.indexes.keyword import write_buffer as module
from pinakes.indexes.keyword.stored_terms import StoredTerms
from pinakes.indexes.keyword.tantivy_index import KeywordIndex
from pinakes.indexes.keyword.write_buffer import BufferedEntry, WriteBuffer
from pinakes.settings import SearchSettings
from pinakes.text.analysis import Analyzer

MERGED_FROM = 8
"""So many small segments of a Tantivy index are merged, all of them."""


class Segments:
    """What Tantivy makes of what a tail says, less its own merges: documents of each segment."""

    def __init__(self) -> None:
        self.tail = WriteBuffer()
        self.held: list[set[int]] = []
        self.written = 0

    def write(self, removed: Iterable[int], added: Sequence[int]) -> None:
        fresh = {number: [BufferedEntry(number, 3000)] for number in added}
        written = set(self.tail.follow({*removed, *fresh}, fresh))
        self.held = [left for segment in self.held if (left := segment - written - set(removed))]
        self.held += [written] if written else []
        self.written += len(written)

    @property
    def documents(self) -> list[int]:
        return sorted(number for segment in self.held for number in segment)


def words(number: int, text: str) -> StoredTerms:
    return StoredTerms(number, number, "", text, f"note {number}", "", "", frozenset(text.split()))


def opened(folder: Path) -> KeywordIndex:
    return KeywordIndex(folder, "chunks", Analyzer(), search=SearchSettings(), lock_timeout_s=5)


@pytest.fixture
def index(tmp_path: Path) -> KeywordIndex:
    return opened(tmp_path / "keyword")


def largest(folder: Path) -> str:
    return max(folder.glob("*.store"), key=lambda path: path.stat().st_size).name


def test_a_document_is_written_only_some_times_however_many_come_after_it() -> None:
    segments, before_a_merge = Segments(), 0
    for number in range(5000):
        segments.write([], [number])
        if len(segments.held) == MERGED_FROM - 1:  # the large segment is not there: it would be one more
            segments.held, before_a_merge = [set[int]().union(*segments.held)], number + 1
    assert segments.documents == list(range(5000))
    assert segments.written < 7 * 5000
    assert before_a_merge > 500


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_and_goes_every_document_is_in_one_segment(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CHARS", 60_000)
    chance, segments, expected = random.Random(seed), Segments(), set[int]()
    for _ in range(400):
        added = [chance.randrange(60) for _ in range(chance.choice([0, 1, 1, 1, 2, 9]))]
        removed = [number for number in range(60) if chance.random() < 0.02]
        expected = (expected - set(removed)) | set(added)
        segments.write(removed, sorted(set(added)))
        assert segments.documents == sorted(expected)


def test_a_large_segment_is_not_written_anew_for_a_few_documents(tmp_path: Path, index: KeywordIndex) -> None:
    index.apply([], [words(number, f"heron {number} " * 50) for number in range(1, 501)], 1)
    begun, seen = largest(tmp_path / "keyword"), set[str]()
    for number in range(501, 531):
        index.apply([], [words(number, f"stork {number}")], number)
        seen.add(largest(tmp_path / "keyword"))
    assert seen == {begun}
    assert index.ids().tolist() == list(range(1, 531))
    assert index.search("stork", 100, None, None).ids.tolist() == list(range(501, 531))


def test_what_is_replaced_or_removed_meanwhile_is_in_the_index_as_it_became(index: KeywordIndex) -> None:
    expected: dict[int, str] = {}
    for position in range(1, 40):
        removed = [position // 2] if position % 6 == 0 else []
        changed = {position: "heron"} | ({position - 3: "stork"} if position % 5 == 0 else {})
        expected = {number: text for number, text in expected.items() if number not in removed} | changed
        index.apply(removed, [words(number, text) for number, text in changed.items()], position)
    assert index.ids().tolist() == sorted(expected)
    for text in ("heron", "stork"):
        having = [number for number, said in sorted(expected.items()) if said == text]
        assert index.search(text, 100, None, None).ids.tolist() == having


def test_changes_whose_position_was_lost_are_written_again_and_stand_there_once(
    tmp_path: Path, index: KeywordIndex
) -> None:
    every = [words(number, "heron") for number in range(1, 13)]
    for number, one in enumerate(every, start=1):
        index.apply([], [one], number)
    (tmp_path / "keyword" / "position.json").unlink()
    for number, one in enumerate(every, start=1):
        index.apply([], [one], number)
    assert index.ids().tolist() == list(range(1, 13))


def test_what_somebody_else_writes_meanwhile_stays_as_it_is(tmp_path: Path, index: KeywordIndex) -> None:
    other = opened(tmp_path / "keyword")
    for number in range(1, 6):
        index.apply([], [words(number, "heron")], number)
    other.apply([2], [words(4, "stork")], 6)
    for number in range(7, 20):
        index.apply([], [words(number, "heron")], number)
    assert index.ids().tolist() == [1, 3, 4, 5, *range(7, 20)]
    assert other.search("stork", 9, None, None).ids.tolist() == [4]
    assert other.search("heron", 99, None, None).ids.tolist() == [1, 3, 5, *range(7, 20)]
