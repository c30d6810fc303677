"""The quality of answers before all is embedded is measured from the state that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.quality import progressive
from bert_reference import WORDS, make_tiny_bert

from pinakes.evaluation.questions import Question
from pinakes.library import Library

FILES = 60
SAMPLE = 15
QUESTIONS = [Question(str(number), " ".join(WORDS[number : number + 3]), {f"{number}.md": 1}) for number in range(8)]
Reopen = Callable[..., Library]


@pytest.fixture
def reopen(tmp_path: Path) -> Reopen:
    model = make_tiny_bert(tmp_path / "tiny")

    def open_(home: Path, **settings: Any) -> Library:
        model_settings = {"embedding__provider": "onnx", "embedding__model": "acme/tiny", "embedding__path": str(model)}
        return Library.open(home, cache=tmp_path / "cache", search__max_top_k=1000, **model_settings | settings)

    return open_


@pytest.fixture
def full(reopen: Reopen, docs: Path, tmp_path: Path) -> Iterator[Library]:
    """A library of files with words of their own, all of it embedded."""
    for number in range(FILES):
        random = np.random.default_rng(number)
        lines = [" ".join(random.choice(WORDS, 12)) for _ in range(14)]
        (docs / f"{number}.md").write_text(f"# File {number}\n\n" + "\n".join(lines) + "\n")
    with reopen(tmp_path / "homes" / "full") as library:
        library.add(str(docs))
        yield library


def ask(library: Library, mode: Any, question: Question) -> list[str]:
    return list(dict.fromkeys(hit.path for hit in library.search(question.text, mode=mode, top_k=20).hits))


def test_of_a_copy_only_the_sample_is_embedded_and_the_full_library_stays_as_it_is(
    full: Library, reopen: Reopen
) -> None:
    with progressive.sampled(full, SAMPLE, reopen) as library:
        before, after = full.status()[0], library.status()[0]
        assert (before.chunks, before.pending) == (after.chunks, 0)
        assert after.chunks - after.pending == SAMPLE
        _, index = library.app.index(library.chosen())
        held = index.contents()
        assert len(held["vector"]) == after.chunks
        assert len(held["exact"]) == SAMPLE
        assert not any(library.verify().values())
    assert [path.name for path in full.settings.home.parent.iterdir()] == ["full"]


def test_each_question_is_answered_as_if_none_was_asked_before(full: Library, reopen: Reopen) -> None:
    with progressive.sampled(full, SAMPLE, reopen) as library:
        refiner = library.app.refiner = progressive.FirstAnswer(full, library)
        for most in (0, 3, 10):
            answers = []
            for _ in range(2):
                refiner.begin(most)
                answers.append(library.search("quick brown fox", mode="vector", top_k=1000).hits)
            assert answers[0] == answers[1]
            assert sum(not hit.approximate for hit in answers[0]) == SAMPLE + most
            assert refiner.refined == [most, most]
            refiner.refined.clear()
        refiner.flush()
        status = library.status()[0]
        assert status.chunks - status.pending == SAMPLE


def test_what_is_refined_is_scored_as_in_the_full_library(full: Library, reopen: Reopen) -> None:
    def cosines(library: Library) -> dict[str, float]:
        hits = library.search("lazy dog", mode="vector", top_k=1000).hits
        return {hit.chunk_id: hit.scores.cosine or 0.0 for hit in hits if not hit.approximate}

    right = cosines(full)
    with progressive.sampled(full, SAMPLE, reopen) as library:
        refiner = library.app.refiner = progressive.FirstAnswer(full, library)
        refiner.begin(20)
        found = cosines(library)
        assert len(found) == SAMPLE + refiner.refined[0] > SAMPLE
        assert found == pytest.approx({chunk: right[chunk] for chunk in found}, abs=2e-3)


def test_a_share_is_embedded_in_the_order_of_the_background(full: Library, reopen: Reopen) -> None:
    with progressive.sampled(full, SAMPLE, reopen) as library:
        total = library.status()[0].chunks
        assert progressive.grow(full, library, 0.5)
        assert not progressive.grow(full, library, 0.5)
        assert total - library.status()[0].pending == total // 2
        assert not any(library.verify().values())


def test_the_table_has_a_row_for_each_state_and_head(
    full: Library, reopen: Reopen, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"hybrid": 0.5, "vector": 0.5}
    found = progressive.measure("tiny", full, figures, ask, QUESTIONS, reopen)
    assert found is not None
    chunks = full.status()[0].chunks
    quarter, half = chunks // 4, chunks // 2
    states = [(row.sample, row.embedded, row.head) for row in found.rows]
    assert states == [(sample, sample, head) for sample in (quarter, half) for head in progressive.HEADS]
    for row in found.rows:
        assert row.refined["vector"] <= row.head
        assert row.of_full["hybrid"] == row.ndcg["hybrid"] / 0.5
        assert row.cosine == pytest.approx(row.told, abs=0.3)
    assert found.rows[2].refined["vector"] > found.rows[0].refined["vector"] == 0
    progressive.show(found)
    progressive.conclude([found])
    printed = capsys.readouterr().out
    assert printed.count(" none ") == 2
    assert f"tiny: {chunks} chunks *" in printed
    assert "to be reached" not in printed


@pytest.mark.parametrize(("share", "verdict"), [(0.98, "NO"), (0.99, "yes")])
def test_the_conclusion_says_whether_the_products_rule_does(
    share: float, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    by_mode: dict[str, float] = {"hybrid": 0.5, "vector": 0.5}
    rows = [
        progressive.Row(1000, False, False, 1000, head, 0.8, 0.8, by_mode, by_mode, {"hybrid": of_full, "vector": 0.5})
        for head, of_full in zip(progressive.HEADS, (0.9, 0.95, share), strict=True)
    ]
    progressive.conclude([progressive.Progress("large", 50_000, True, by_mode, rows)])
    [line] = [line for line in capsys.readouterr().out.splitlines() if "to be reached" in line]
    assert line.endswith(verdict)
    assert f"{share:.1%}" in line
