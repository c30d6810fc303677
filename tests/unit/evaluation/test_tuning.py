"""Tuning as such: folds, climbs, the verdict, settings files. Scores are made up, so that the truth is known."""

from __future__ import annotations

import itertools
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from pinakes.core.errors import InvalidInput
from pinakes.evaluation.questions import Question
from pinakes.evaluation.tuning import chunk_sizes, knobs
from pinakes.evaluation.tuning.ascent import Budget, Scores, climb, folds
from pinakes.evaluation.tuning.findings import LEVEL, Speed, TuningResult, fragment, held_out, verdict
from pinakes.evaluation.tuning.knobs import Knob, Point, applied, current_values, moved, setting_words
from pinakes.evaluation.tuning.tune import TuningPlan, judged, tune
from pinakes.settings import ChunkingSettings, Settings, load

KNOBS = [Knob(name, tuple({name: value} for value in range(6))) for name in ("a", "b", "c")]
NOW = {"a": 1, "b": 1, "c": 1}
QUESTIONS = [
    Question(str(n), f"question {n}", {"document": 1}, ("how", "identifier", "vague")[n % 3]) for n in range(60)
]


class MadeUp:
    """Scores by ``truth``, the mean that settings have, and noise of each question and setting."""

    def __init__(
        self, truth: Callable[[Mapping[str, int]], float], noise: float, seed: int = 0, *, slower: float = 1.0
    ) -> None:
        self.milliseconds: dict[Point, float] = {}
        self.asked: list[Point] = []
        self._truth = truth
        self._noise = noise
        self._seed = seed
        self._slower = slower

    def score(self, point: Point) -> Scores:
        self.asked.append(point)
        random = np.random.default_rng([self._seed, zlib.crc32(repr(point).encode())])
        mean = self._truth({**NOW, **dict(point)})
        return np.asarray(np.clip(mean + self._noise * random.standard_normal(len(QUESTIONS)), 0, 1))

    def speed(self, point: Point) -> Speed:
        return Speed(10.0, 10.0 * self._slower if point else 10.0)


def found_by(scorer: MadeUp, budget: Budget | None = None, every: Sequence[Knob] = KNOBS) -> TuningResult:
    plan = TuningPlan(every, NOW, "ndcg@10", budget=budget or Budget())
    return tune(scorer, QUESTIONS, plan)


def hill(values: Mapping[str, int]) -> float:
    """Best at a = 4, b = 2, c = 1, far above where it starts."""
    return 0.8 - 0.05 * (abs(values["a"] - 4) + abs(values["b"] - 2) + abs(values["c"] - 1))


def flat(_values: Mapping[str, int]) -> float:
    return 0.6


class TestFolds:
    def test_every_question_is_in_one_fold_and_kinds_are_spread_evenly(self) -> None:
        kinds = ["how"] * 23 + ["vague"] * 11 + ["identifier"] * 6
        dealt = folds(kinds, 5, seed=1)
        assert sorted(itertools.chain(*(rows.tolist() for rows in dealt))) == list(range(40))
        assert {len(rows) for rows in dealt} == {8}
        for kind, count in Counter(kinds).items():
            held = [sum(kinds[row] == kind for row in rows) for rows in dealt]
            assert max(held) - min(held) <= 1, (kind, count)

    def test_the_seed_decides_and_the_same_seed_repeats(self) -> None:
        one, again, other = ([rows.tolist() for rows in folds(["how"] * 40, 5, seed)] for seed in (1, 1, 2))
        assert one == again != other


class TestClimbing:
    def test_a_planted_optimum_is_found_and_claimed(self) -> None:
        found = found_by(MadeUp(hill, noise=0.1))
        assert found.better, found.why
        assert found.best == {"a": 4, "b": 2}
        assert found.held_out.tuned - found.held_out.current == pytest.approx(0.2, abs=0.05)
        assert found.held_out.p < 0.001
        assert found.stopped == ""

    def test_a_fold_has_no_part_in_choosing_what_it_judges(self) -> None:
        rows = folds([question.kind for question in QUESTIONS], 5, 0)[0]

        def score(point: Point) -> Scores:
            scores = np.full(len(QUESTIONS), 0.5)
            scores[rows] = 1.0 if dict(point).get("a") == 3 else 0.5
            return scores

        climbed = climb(score, KNOBS, NOW, [rows], Budget())
        assert climbed.points == [(), (("a", 3),)], "only the climb that sees those questions is drawn there"

    def test_no_setting_is_tried_twice(self) -> None:
        scorer = MadeUp(hill, noise=0.3)
        found = found_by(scorer)
        assert len(scorer.asked) == len(set(scorer.asked)) == len(found.tries)
        assert found.tries[0].settings == {}
        assert found.tries[0].change.mean == 0

    def test_equal_choices_leave_everything_as_it_is(self) -> None:
        found = found_by(MadeUp(flat, noise=0))
        assert (found.best, found.better) == ({}, False)
        assert found.why == "nothing found that is better than what is set now"
        assert found.speed is None

    def test_the_tries_are_kept_to_and_what_was_found_is_given(self) -> None:
        scorer = MadeUp(hill, noise=0)
        found = found_by(scorer, Budget(tries=7))
        assert len(scorer.asked) == 8, "seven and the current settings"
        assert found.stopped == "tries"
        assert found.best == {"a": 4, "b": 2}

    def test_the_time_is_kept_to(self) -> None:
        now = itertools.count()
        scorer = MadeUp(hill, noise=0)
        every = folds([question.kind for question in QUESTIONS], 5, 0)
        climbed = climb(scorer.score, KNOBS, NOW, every, Budget(seconds=4), clock=lambda: float(next(now)))
        assert climbed.stopped == "time"
        assert 2 <= len(climbed.tried) <= 5

    def test_an_interrupt_gives_what_was_found_until_then(self) -> None:
        class Interrupted(MadeUp):
            def score(self, point: Point) -> Scores:
                if len(self.asked) == 6:
                    raise KeyboardInterrupt
                return super().score(point)

        found = found_by(Interrupted(hill, noise=0.05))
        assert found.stopped == "interrupted"
        assert found.best == {"a": 4}
        assert found.better
        assert found.speed is None, "the user wants to go"

    def test_an_interrupt_before_anything_is_known_ends_it(self) -> None:
        class Interrupted(MadeUp):
            def score(self, point: Point) -> Scores:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            found_by(Interrupted(hill, noise=0))


class TestTheVerdict:
    @pytest.mark.parametrize("count", [2, 3])
    def test_noise_is_claimed_to_be_an_improvement_no_more_often_than_the_level_of_the_test(self, count: int) -> None:
        claims = drawn = 0
        for seed in range(60):
            dealt = folds([question.kind for question in QUESTIONS], count, seed)
            climbed = climb(MadeUp(flat, noise=0.25, seed=seed).score, KNOBS, NOW, dealt, Budget())
            if best := climbed.points[-1]:
                drawn += 1
                claims += verdict(best, held_out(climbed, dealt), None)[0]
        assert drawn > 20, "on all questions something often looks better"
        assert claims <= LEVEL * 60

    def test_noise_looks_better_on_the_questions_that_chose_it_and_is_not_on_others(self) -> None:
        found = [found_by(MadeUp(flat, noise=0.25, seed=seed)) for seed in range(10)]
        assert float(np.mean([max(one.change.mean for one in each.tries) for each in found])) > 0.05
        assert abs(float(np.mean([each.held_out.change.mean for each in found]))) < 0.03

    def test_what_is_better_but_slower_is_not_claimed(self) -> None:
        found = found_by(MadeUp(hill, noise=0, slower=1.2))
        assert found.best
        assert not found.better
        assert found.why == "better, but slower by 20%, which is more than 10%"
        assert found_by(MadeUp(hill, noise=0, slower=1.05)).better

    def test_few_questions_or_folds_are_refused(self) -> None:
        assert len(judged([*QUESTIONS, Question("none", "?", {})], 5)) == 60
        with pytest.raises(InvalidInput, match="9 questions with an answer are too few for 3 folds"):
            judged([*QUESTIONS[:9], Question("none", "?", {})], 3)
        for count in (1, 6):
            with pytest.raises(InvalidInput, match=f"{count} folds.*2 to 5"):
                judged(QUESTIONS, count)


class TestKnobs:
    def test_what_is_set_now_is_no_change(self) -> None:
        settings = Settings()
        every = knobs.knobs(("fusion", "fields", "boosts", "pool"), settings)
        current = current_values(settings, every)
        for knob in every:
            points = {moved((), choice, current) for choice in knob.choices}
            assert () in points, f"{knob.name} can be left as it is"
            assert len(points) > 4

    def test_every_choice_is_one_that_the_settings_allow(self) -> None:
        settings = Settings()
        every = knobs.knobs(("fusion", "fields", "boosts", "pool"), settings)
        current = current_values(settings, every)
        for knob in every:
            for choice in knob.choices:
                tried = applied(settings, moved((), choice, current))
                held = {name: getattr(getattr(tried, name.split(".")[0]), name.split(".")[1]) for name in choice}
                assert held == choice

    def test_boosts_alone_have_20_combinations_or_more(self) -> None:
        assert sum(len(knob.choices) for knob in knobs.knobs(("boosts",), Settings())) >= 20

    @pytest.mark.parametrize("pool", [10, 30, 300])
    def test_the_pool_goes_from_10_to_300(self, pool: int) -> None:
        [knob] = knobs.knobs(("pool",), Settings())
        assert {"search.candidates": pool} in knob.choices

    def test_unknown_families_and_those_that_do_not_go_together_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match=r"no 'weights' to tune.*fusion, fields"):
            knobs.check(["weights"])
        with pytest.raises(InvalidInput, match=r"'chunking' cannot be tuned together"):
            knobs.check(["fusion", "chunking"])
        assert knobs.check([]) == knobs.DEFAULT

    def test_sizes_of_chunks_go_as_far_as_the_model_reads(self) -> None:
        small = chunk_sizes.knob(ChunkingSettings(), 254)
        sizes = {choice["chunking.size"] for choice in small.choices}
        assert sizes == {0, 128}, "0 is as much as the model reads: 254"
        large = chunk_sizes.knob(ChunkingSettings(size=300), 8192)
        assert {(c["chunking.size"], c["chunking.overlap"]) for c in large.choices} >= {
            (size, overlap) for size in (256, 512, 1024) for overlap in (0.1, 0.2, 0.3)
        }
        assert large.choices[0] == {"chunking.size": 300, "chunking.overlap": 0, "chunking.unit": "tokens"}

    def test_chunking_of_a_collection_is_changed_where_it_is_set(self, tmp_path: Path) -> None:
        own = {"default": {"chunking": {"size": 100}}}
        settings = load(home=tmp_path, environment={}, collections=own)
        point = (("chunking.size", 64),)
        assert applied(settings, point, "default").chunking_of("default").size == 64
        assert applied(settings, point, "other").chunking_of("other").size == 64
        assert knobs.settings_section("chunking.size", settings, "default") == "collections.default.chunking.size"
        assert knobs.settings_section("chunking.size", settings, "other") == "chunking.size"


class TestSettingsFiles:
    def test_a_fragment_loads_as_the_settings_that_were_found(self, tmp_path: Path) -> None:
        best = {"search.fusion": "rrf", "search.rrf_k": 10, "search.title_boost": 0.4, "index.approximate_share": 0.01}
        file = tmp_path / "tuned.toml"
        file.write_text(fragment(best, ["Found by a test.", "ndcg@10 0.5"]), "utf-8")
        assert tomllib.loads(file.read_text("utf-8")) == {
            "search": {"fusion": "rrf", "rrf_k": 10, "title_boost": 0.4},
            "index": {"approximate_share": 0.01},
        }
        assert file.read_text("utf-8").startswith("# Found by a test.\n# ndcg@10 0.5\n\n[index]\n")
        loaded = load(home=tmp_path, profile=str(file), environment={})
        assert loaded.search.fusion == "rrf"
        assert loaded.search.title_boost == 0.4

    def test_settings_print_as_they_are_typed(self) -> None:
        assert setting_words((("search.fusion", "rrf"), ("search.title_boost", 0.4))) == (
            "search.fusion=rrf search.title_boost=0.4"
        )
        assert setting_words(()) == "as it is set now"
