"""The probability that the hits hold an answer: what it looks at, and that it tells questions apart."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import pytest

from pinakes.core.records import JSON, Results
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.search.results.answerable import Fit, Signs, fit_of


def signs_of(results: Results) -> dict[str, JSON]:
    return next((dict(stage.detail) for stage in results.trace.stages if stage.name == "judge"), {})


def test_the_rarest_word_that_is_missing_counts_by_its_share_of_all(library: Library, docs: Path) -> None:
    (docs / "a.txt").write_text("alpha beta")
    (docs / "b.txt").write_text("beta gamma")
    library.add(str(docs))
    seen = signs_of(library.search("alpha beta missing"))
    once, twice, never = math.log(1 + 1.5 / 1.5), math.log(1 + 0.5 / 2.5), math.log(1 + 2.5 / 0.5)
    assert seen["missing"] == pytest.approx(never / (once + twice + never), abs=1e-4)


def test_the_chunk_that_misses_least_decides(library: Library, docs: Path) -> None:
    (docs / "a.txt").write_text("alpha " * 30)
    (docs / "b.txt").write_text("alpha beta gamma " + "other words stand here too " * 30)
    library.add(str(docs))
    assert signs_of(library.search("alpha beta gamma"))["missing"] == 0


def test_a_compound_is_there_by_all_of_its_parts(library: Library, docs: Path) -> None:
    (docs / "a.txt").write_text("the page of the cache")
    (docs / "b.txt").write_text("another page")
    library.add(str(docs))
    assert signs_of(library.search("page_cache"))["missing"] == 0
    assert signs_of(library.search("page_table"))["missing"] == 1


def test_headings_and_paths_count_as_what_a_chunk_has(library: Library, docs: Path) -> None:
    (docs / "rotation.md").write_text("# Signing keys\n\nThey change every spring.\n")
    library.add(str(docs))
    assert signs_of(library.search("signing rotation spring"))["missing"] == 0


def test_a_collection_without_vectors_does_not_tell_how_probable_an_answer_is(
    open_library: Callable[..., Library], docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
    library = open_library(embedding__provider="late", embedding__path=tmp_path)
    (docs / "a.txt").write_text("alpha beta")
    library.add(str(docs))
    (tmp_path / "arrived").write_text("")
    assert signs_of(library.search("alpha beta")) == {}
    library.embed_pending()
    assert signs_of(library.search("alpha beta"))["score"]


def test_the_score_is_that_of_the_first_hit_and_ahead_is_in_cosines(library: Library, docs: Path) -> None:
    for number in range(4):
        (docs / f"{number}.txt").write_text(f"alpha beta{number}")
    library.add(str(docs))
    results = library.search("alpha beta2")
    seen = signs_of(results)
    assert seen["score"] == pytest.approx(results.hits[0].score, abs=1e-4)
    cosines = [hit.scores.cosine or 0.0 for hit in results.hits]
    assert seen["ahead"] == pytest.approx(max(cosines) - min(cosines), abs=1e-4)


@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_one_half_alone_says_nothing_of_it(library: Library, docs: Path, mode: str) -> None:
    (docs / "a.txt").write_text("alpha beta")
    library.add(str(docs))
    results = library.search("alpha", mode=mode)  # type: ignore[arg-type]
    assert results.answerable is None
    assert signs_of(results) == {}


def test_nothing_is_claimed_of_another_model_but_the_signs_are_there(library: Library, docs: Path) -> None:
    (docs / "a.txt").write_text("alpha beta")
    library.add(str(docs))
    results = library.search("alpha")
    assert results.answerable is None
    assert set(signs_of(results)) == {field.name for field in fields(Signs)}


@pytest.mark.parametrize("query", ["", "the of and", "absent words only"])
def test_a_question_that_finds_nothing_or_has_no_words_is_no_trouble(library: Library, docs: Path, query: str) -> None:
    (docs / "a.txt").write_text("alpha beta")
    library.add(str(docs))
    assert library.search(query).answerable is None


def test_what_is_asked_for_does_not_change_it(library: Library, docs: Path) -> None:
    for number in range(30):
        (docs / f"{number}.txt").write_text(f"alpha beta{number} gamma{number % 3}")
    library.add(str(docs))
    asked = [signs_of(library.search("alpha gamma2", top_k=most)) for most in (1, 5, 20)]
    assert asked[0] == asked[1] == asked[2]


def test_the_kept_coefficients_name_their_signs_and_their_data() -> None:
    kept = json.loads(files("pinakes.search.results").joinpath("answerable.json").read_text("utf-8"))
    known = {field.name for field in fields(Signs)}
    assert kept
    for model, fit in kept.items():
        assert set(fit["weights"]) <= known
        assert fit["data"]
        assert fit_of(f"{model}@any") == Fit(**fit)
    assert fit_of("onnx/unknown@0") is None


def test_the_probability_is_the_logistic_function_of_the_weighted_signs() -> None:
    seen = Signs(**{field.name: 0.5 for field in fields(Signs)})
    fit = Fit({"score": 4.0, "missing": -2.0}, -2.0, "made up")
    assert fit.probability(seen) == pytest.approx(1 / (1 + math.e))
