"""Samples of runs that take long or cost money: the lines are those that the program has for such numbers."""

from __future__ import annotations

import pytest
from docs_blocks import ROOT, blocks, text_of

from pinakes.app.spending import CostEstimate, check
from pinakes.cli.progress import following
from pinakes.cli.screen import Screen
from pinakes.core.errors import TooCostly
from pinakes.ingestion.report import Event
from pinakes.services.run_progress import RunProgress

CHUNKS, SAMPLE, EXACT, AFTER_S = 33_195, 1_009, 9_029, 60.0


@pytest.mark.parametrize("page", ["README.md", "docs/embedding.md"])
def test_a_large_collection_says_what_the_page_shows(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    [sample] = [block for block in blocks(ROOT / page, "text") if "Searchable now" in block]
    now = 0.0
    searchable = Event("searchable", SAMPLE, CHUNKS)
    with following(Screen()) as on_event:
        on_event(searchable)
    course = RunProgress(lambda: now)
    course.see(searchable)
    now = AFTER_S
    course.see(Event("embed", EXACT - SAMPLE, CHUNKS - SAMPLE))
    said = capsys.readouterr().err.splitlines()
    assert sample.splitlines() == ["$ pinakes add ~/archive", *said, course.words()]


def test_what_costs_too_much_is_told_as_the_page_shows() -> None:
    estimate = CostEstimate("default", "openai/…", 310_402, 101_320_118, 101.320118 * 0.02, asks=True)
    with pytest.raises(TooCostly) as caught:
        check(estimate)
    assert f"error: {caught.value.message}\nhint: {caught.value.hint}\n" in text_of("docs/embedding.md")
