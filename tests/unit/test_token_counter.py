"""The tokens that budgets count: every reader's cost, whatever a text is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.models import weights
from pinakes.models.token_counts import TokenCounter, token_counter
from pinakes.settings import Settings


@pytest.fixture(scope="module", params=["estimated", "counted"])
def counter(request: pytest.FixtureRequest) -> TokenCounter:
    if request.param == "estimated":
        return TokenCounter(None)
    weights.install(Settings().embedding, Settings().cache)
    return token_counter(Settings().cache)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("水泵每周检查一次呢" * 500, 4000, 5000),
        ("x" * 60_000, 15_000, 15_100),
        ("\u200b" * 60_000, 60_000, 120_000),
        ("\x01" * 1000, 1000, 2000),
        ("a" + "\u0301" * 1000, 990, 2100),
        ("ภาษาไทย" * 400, 700, 6000),
        ("The pump is checked each week. " * 2000, 12_000, 30_000),
        (" " * 60_000, 3000, 4000),
    ],
)
def test_no_text_is_cheaper_than_it_looks(counter: TokenCounter, text: str, least: int, most: int) -> None:
    assert least <= counter.count(text) <= most


@given(text=st.text(max_size=300), repeated=st.integers(1, 100), most=st.integers(0, 500))
def test_what_fits_and_what_is_kept_agree_with_the_count(
    counter: TokenCounter, text: str, repeated: int, most: int
) -> None:
    whole = text * repeated
    end = counter.prefix(whole, most)
    assert 0 <= end <= len(whole)
    assert counter.count(whole[:end]) <= most + 8
    if counter.count(whole) <= most:
        assert counter.fits(whole, most)


def test_tokens_are_estimated_where_the_tokenizer_is_not_installed(tmp_path: Path) -> None:
    counter = token_counter(tmp_path)
    assert counter.estimated
    assert counter.count("keys are rotated") == 4


def test_half_a_character_is_counted(counter: TokenCounter) -> None:
    assert counter.count("a \ud800 b") >= 2
