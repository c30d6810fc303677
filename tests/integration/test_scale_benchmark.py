"""The benchmark of large collections runs from end to end on a small one; its texts all differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.scale.__main__ import table
from benchmarks.scale.invented_text import InventedText, from_data
from benchmarks.scale.large_collections import measure


def test_texts_are_the_same_for_a_seed_and_differ_from_each_other() -> None:
    words = InventedText(tuple(f"word{n}" for n in range(2000)), tuple(range(4000, 2000, -1)))
    texts = [words.document(number) for number in range(20)]
    assert texts == [words.document(number) for number in range(20)]
    assert texts[0] != InventedText(words.words, words.counts, seed=2).document(0)
    sentences = [sentence for text in texts for sentence in text.split(". ")]
    assert len(set(sentences)) > 0.98 * len(sentences)
    assert 8_000 < np.mean([len(text) for text in texts]) < 25_000


def test_words_are_there_with_and_without_data() -> None:
    maker = from_data()
    assert len(maker.words) > 10_000
    assert len(maker.question(3).split()) == 5


def test_a_small_collection_is_measured_and_shown(tmp_path: Path) -> None:
    settings = {"embedding__provider": "deterministic", "embedding__mode": "full", "index__exact_max_vectors": 0}
    found = measure(tmp_path, 5, 3, settings)
    assert found.ingest.files == 5
    assert found.ingest.chunks > 20
    assert found.served.recall == 1
    assert found.served.pss_mb > 50
    assert found.disk_mb["all"] >= found.disk_mb["catalogue"] > 0
    lines = table([found]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "open to first hybrid answer" in table([found])
