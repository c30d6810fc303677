from __future__ import annotations

import logging

import pytest

from pinakes.chunking import Sizing, chunk, sizing_for
from pinakes.chunking.sizing import char_starts, word_starts
from pinakes.core.errors import InvalidSetting
from pinakes.core.records import Document
from pinakes.settings import ChunkingSettings


def asked(**values: object) -> ChunkingSettings:
    return ChunkingSettings.model_validate(values)


@pytest.mark.parametrize(
    ("settings", "size", "overlap"),
    [
        (asked(), 254, 0),
        (asked(size=100), 100, 0),
        (asked(size=200, overlap=20), 200, 20),
        (asked(size=200, overlap=0.1), 200, 20),
        (asked(overlap=0.5), 254, 127),
        (asked(unit="words"), 254, 0),
        (asked(unit="chars"), 1016, 0),
        (asked(unit="chars", size=5000), 5000, 0),
    ],
)
def test_settings_become_a_size_and_an_overlap(settings: ChunkingSettings, size: int, overlap: int) -> None:
    sizing = sizing_for(settings, word_starts, 254)
    assert (sizing.size, sizing.overlap) == (size, overlap)


def test_a_size_over_the_models_is_lowered_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert sizing_for(asked(size=512, overlap=102), word_starts, 254).size == 254
    assert [record.getMessage() for record in caplog.records] == [
        "chunking.size 512 lowered to 254, the most the model reads"
    ]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 6), (10, -1)])
def test_impossible_limits_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidSetting):
        Sizing(size, overlap, word_starts)


def test_words_and_chars_are_counted() -> None:
    assert word_starts(" one  two\n").tolist() == [1, 6]
    assert word_starts("").tolist() == []
    assert char_starts("abc").tolist() == [0, 1, 2]


def test_chunks_in_chars_also_stay_within_the_models_tokens() -> None:
    sizing = sizing_for(asked(unit="chars", size=5000), word_starts, 50)
    chunks = chunk(Document("It is so. " * 100), sizing)
    assert {len(each.text.split()) for each in chunks} == {48, 30}
    assert chunks[0].token_count == len(chunks[0].text)
