"""What a reader of a comparison is warned of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pinakes.evaluation.caveats import age, cautions, settings
from pinakes.evaluation.document_matching import DocumentMatches
from pinakes.evaluation.pairs import SystemReport
from pinakes.evaluation.questions import GoldenSet, Question
from pinakes.evaluation.resampling import Latency
from pinakes.evaluation.runs import CorpusInfo
from pinakes.evaluation.systems import Named, SystemInfo

CORPUS = CorpusInfo("docs", "abc", 4, 9, 0, "onnx/one")
ABOUT = SystemInfo("docs", "collection", "hybrid", 10, CORPUS, [Named("1", path="x.md")], {"search.top_k": 10})
SIDE = SystemReport(
    "docs", "collection", "hybrid", 10, "docs", 4, "onnx/one", 30, 0, 0, 0, Latency(5, 10, 12), "", "", "", 0
)
GOLDEN = GoldenSet("g", Path("g"), (Question("1", "bees", {"x.md": 1}),))
LINKS = DocumentMatches("path", 1.0, {}, {}, {}, ((), ()))


def told(
    a: SystemInfo = ABOUT,
    b: SystemInfo = ABOUT,
    side_a: SystemReport = SIDE,
    side_b: SystemReport = SIDE,
    links: DocumentMatches = LINKS,
) -> list[str]:
    return list(cautions(a, b, (side_a, side_b), links, GOLDEN, 1))


def test_two_sides_alike_leave_nothing_to_say() -> None:
    assert told() == []
    assert settings(ABOUT, ABOUT) == []


def test_a_is_slower_when_its_95th_percentile_is_more_than_a_tenth_higher() -> None:
    assert told(side_a=replace(SIDE, latency=Latency(5, 11, 12))) == []
    assert told(side_b=replace(SIDE, latency=Latency(5, 20, 30))) == []
    assert told(side_a=replace(SIDE, latency=Latency(5, 12, 12))) == ["A is slower: p95 12.0 ms, B 10.0 ms (+20%)"]
    assert told(side_a=replace(SIDE, latency=Latency(5, 12, 12), asked=19)) == []
    assert told(side_a=replace(SIDE, latency=None)) == []


def test_what_each_side_lacks_is_told_with_its_letter() -> None:
    pending = replace(ABOUT, corpus=replace(CORPUS, pending=3))
    side = replace(SIDE, degraded=2, unanswered=1, failure="gone")
    assert told(b=pending, side_b=side) == [
        "B: no answer to 1 of 31 questions: gone",
        "B: 2 of 31 answers were degraded",
        "B: 3 of 9 chunks had no exact vector yet",
    ]


def test_documents_that_the_other_side_does_not_have_are_counted_where_all_of_its_own_are_known() -> None:
    links = replace(LINKS, unknown=(("x.md",), ("y.md", "z.md")))
    [one] = told(b=replace(ABOUT, documents=None), links=links)
    assert one == "2 documents that B answers with are not known to docs: 'y.md', 'z.md'"


def test_settings_of_chunking_do_not_count_after_reading() -> None:
    other = replace(ABOUT, configuration={"search.top_k": 10, "chunking.size": 100})
    own = replace(ABOUT, configuration={"search.top_k": 10, "chunking.size": 0})
    assert settings(own, other) == ["chunking.size: 0 in A, 100 in B"]
    assert told(own, other) == ["settings of chunking take effect when documents are read: these were read before"]
    read_otherwise = replace(other, corpus=replace(CORPUS, chunks=90))
    assert told(own, read_otherwise) == []


@pytest.mark.parametrize(
    ("since", "words"),
    [
        ("2026-01-31T23:59:30+00:00", "30 seconds"),
        ("2026-01-31T23:30:00+00:00", "30 minutes"),
        ("2026-01-31T00:00:00+00:00", "24 hours"),
        ("2026-01-22T00:00:00+00:00", "10 days"),
    ],
)
def test_ages_are_told_in_words(since: str, words: str) -> None:
    assert age(since, datetime(2026, 2, 1, tzinfo=UTC)) == words
