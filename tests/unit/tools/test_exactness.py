"""How exact a collection is, in words and shares."""

from __future__ import annotations

import pytest

from pinakes.api.startup import overview, statistics
from pinakes.core.wording import percent
from pinakes.services.collections.status import CollectionStatus
from pinakes.settings import load
from pinakes.tools.exactness import exactness


def status(chunks: int, pending: int = 0, approximate: int = 0) -> CollectionStatus:
    return CollectionStatus("notes", "", 3, 0, chunks, 0, pending, approximate, "model", (), (), {})


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (status(9), "all exact"),
        (status(0), "all exact"),
        (status(33_195, 32_186, 32_186), "1,009 of 33,195 exact (3.0 %), the others approximate"),
        (status(1000, 400, 300), "600 of 1,000 exact (60.0 %), 300 approximate, 100 found by words only"),
        (status(9, 9), "0 of 9 exact (0.0 %), 9 found by words only"),
    ],
)
def test_words_say_what_is_exact_approximate_or_found_by_words_only(of: CollectionStatus, words: str) -> None:
    assert exactness(of) == words


def test_a_share_is_1_only_when_all_is_exact() -> None:
    assert status(100_000, 1, 1).exact_share == 0.9999
    assert percent(status(100_000, 1, 1).exact_share) == "99.9 %"
    assert (status(7).exact_share, status(0).exact_share) == (1.0, 1.0)
    assert percent(1.0) == "100.0 %"
    assert percent(status(1000, 971).exact_share) == "2.9 %"


def test_what_a_server_holds_tells_approximate_from_found_by_words_only() -> None:
    settings = load(environment={})
    assert "9 chunks, 5 of them approximate for now\n" in overview(settings, [status(9, 5, 5)]) + "\n"
    assert "9 chunks, 5 of them found by words only\n" in overview(settings, [status(9, 5)]) + "\n"
    both = overview(settings, [status(9, 5, 3)])
    assert both.endswith("9 chunks, 3 of them approximate for now, 2 found by words only")
    assert overview(settings, [status(9)]).endswith("9 chunks")


def test_the_figures_of_a_first_run_count_all_vectors_and_the_exact_ones() -> None:
    settings = load(environment={})
    assert "  Vectors: 33195 (1009 exact)\n" in statistics(settings, status(33_195, 32_186, 32_186), [], 1.0)
    assert "  Vectors: 9\n" in statistics(settings, status(9), [], 1.0)
    assert "  Vectors: 4\n" in statistics(settings, status(9, 5), [], 1.0)
