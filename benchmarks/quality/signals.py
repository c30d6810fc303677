"""``python -m benchmarks.quality.signals [SET …]``: what each signal beside the scores is worth.

Every row switches one signal on and leaves the others off: the difference in nDCG@10 of documents with its 95 %
interval (bootstrap over the questions), and the median time of the step ``boost``, half of it with documents not met
before. Then what an answer of ten chunks has of different documents with growing saturation: documents, relevant ones
found among them, nDCG@10 of these, and how many answers have the very lines that hold the answer (where the questions
name them). Homes are those of ``python -m benchmarks.quality``; that of the project with its tests is made.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.quality.sets import ROOT, QuestionSet, available
from pinakes.core.records import Results
from pinakes.evaluation import resampling
from pinakes.evaluation.metrics import metric
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question
from pinakes.evaluation.run import ranked
from pinakes.library import Library
from pinakes.settings import Settings

SETS = ("keps", "handbook", "linux", "k8s-docs-qa", "pinakes-tests")
NDCG = metric("ndcg@10")
DEPTH = 100
SATURATIONS = (0.0, 0.01, 0.015, 0.02, 0.025, 0.03, 0.05, 0.1)
WITH_TESTS = QuestionSet(
    "pinakes-tests",
    Path(__file__).with_name("pinakes.jsonl"),
    lambda _: ROOT,
    include=("*.md", "src/**", "tests/**", "benchmarks/**"),
)
"""The project's own questions, asked where its tests are documents, too."""

OFF: dict[str, Any] = {
    "boosts__test_penalty": 0,
    "boosts__saturation": 0,
    "search__definition_boost": 0,
}

SIGNALS: dict[str, Mapping[str, Any]] = {
    "definition 0.15": {"search__definition_boost": 0.15},
    **{f"test {penalty}": {"boosts__test_penalty": penalty} for penalty in (0.05, 0.1, 0.15, 0.2)},
}


@dataclass(frozen=True)
class Subject:
    """A set with its home, and how to open it with other settings."""

    one: QuestionSet
    home: Path

    def open(self, settings: Mapping[str, Any]) -> Library:
        """Open the home as it is."""
        return Library.open(self.home, profile=self.one.profile or None, **settings)

    def questions(self) -> list[Question]:
        """Return the questions that have an answer."""
        return [question for question in self.one.golden().questions if question.answerable]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help="names of sets")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / "results" / "quality")
    parser.add_argument("--signal", action="append", default=[], help="only rows that begin so; none = all")
    arguments = parser.parse_args()
    homes = arguments.work / "homes"
    if WITH_TESTS.name in arguments.sets and not (homes / WITH_TESTS.name).is_dir():
        with Library.open(homes / WITH_TESTS.name) as library:
            library.add(str(ROOT), include=WITH_TESTS.include)
    chosen = [one for one in (*available(), WITH_TESTS) if one.name in arguments.sets]
    for subject in subjects_of(chosen, homes):
        measure(subject, arguments.signal)
        saturation(subject)


def subjects_of(sets: Sequence[QuestionSet], homes: Path) -> list[Subject]:
    """Return those of ``sets`` that have a home."""
    subjects = [Subject(one, homes / one.home) for one in sets if (homes / one.home).is_dir()]
    if not subjects:
        sys.exit(f"There is no home in {homes}: run python -m benchmarks.quality first.")
    return subjects


def measure(subject: Subject, only: Sequence[str]) -> None:
    """Print a line for every signal on one set."""
    questions = subject.questions()
    with subject.open({}) as library:
        called, defaults = subject.one.names(library), _values(library.settings)
    without, _ = scores_of(subject, OFF, questions, called)
    print(f"\n{subject.one.name}: {len(questions)} questions, nDCG@10 {fmean(without):.4f} without any signal")
    for name, settings in {**SIGNALS, "the defaults": defaults}.items():
        if only and not name.startswith(tuple(only)):
            continue
        scores, boost_ms = scores_of(subject, {**OFF, **settings}, questions, called)
        differences = [new - old for new, old in zip(scores, without, strict=True)]
        [(low, high)] = resampling.intervals([[one] for one in differences])
        changed = sum(map(bool, differences))
        print(
            f"  {name:<24}{fmean(differences):+.4f}  [{low:+.4f}, {high:+.4f}]"
            f"  {changed:>3} changed  {boost_ms:.2f} ms",
            flush=True,
        )


def saturation(subject: Subject) -> None:
    """Print what ten chunks have of different documents, for each saturation."""
    questions, lines = subject.questions(), dict(_lines(subject.one.place))
    heading = f"{'saturation':<12}{'documents':>10}{'recall':>9}{'nDCG@10':>9}{'difference':>12}{'the lines':>11}"
    print(f"  first ten chunks\n  {heading}")
    before: list[float] | None = None
    for value in SATURATIONS:
        with subject.open({**OFF, "search__definition_boost": 0.15, "boosts__saturation": value}) as library:
            called = subject.one.names(library)
            rows = [
                _first_ten(library.search(question.text, top_k=10), question, called, lines) for question in questions
            ]
        gains = [row[2] for row in rows]
        before = before or gains
        [(low, high)] = resampling.intervals([[new - old] for new, old in zip(gains, before, strict=True)])
        held = [row[3] for row in rows if row[3] is not None]
        said = f"{fmean(held):>11.4f}" if held else f"{'–':>11}"
        print(
            f"  {value:<12}{fmean(row[0] for row in rows):>10.2f}{fmean(row[1] for row in rows):>9.4f}"
            f"{fmean(gains):>9.4f}  [{low:+.4f}, {high:+.4f}]{said}",
            flush=True,
        )


def _values(settings: Settings) -> dict[str, Any]:
    """Return the values in force of everything that ``OFF`` switches off."""
    pairs = (name.split("__") for name in OFF)
    return {f"{section}__{name}": getattr(getattr(settings, section), name) for section, name in pairs}


def scores_of(
    subject: Subject, settings: Mapping[str, Any], questions: Sequence[Question], called: DocumentNames
) -> tuple[list[float], float]:
    """Return nDCG@10 of each question, and the median time of the step "boost" in ms."""
    with subject.open(settings) as library:
        results = [library.rank(question.text, depth=DEPTH) for question in questions]
    scores = [
        NDCG(list(ranked(result, called, question.relevant)), question.relevant)
        for result, question in zip(results, questions, strict=True)
    ]
    return scores, median(
        sum(stage.milliseconds for stage in result.trace.stages if stage.name == "boost") for result in results
    )


def _first_ten(
    results: Results, question: Question, called: DocumentNames, lines: Mapping[str, Mapping[str, Sequence[int]]]
) -> tuple[int, float, float, float | None]:
    """Return different documents, recall and nDCG of these, and whether a hit has the lines that answer."""
    names = list(ranked(results, called, question.relevant))
    wanted = {name for name, grade in question.relevant.items() if grade > 0}
    spans = lines.get(question.id)
    there = spans and any(
        path in spans and hit.start_line <= spans[path][1] and hit.end_line >= spans[path][0]
        for hit in results.hits
        for path in [next((one for one in spans if hit.path.endswith(one)), "")]
    )
    held = None if not spans else float(bool(there))
    return len(names), len(wanted.intersection(names)) / len(wanted), NDCG(names, question.relevant), held


def _lines(place: Path) -> Iterator[tuple[str, Mapping[str, Sequence[int]]]]:
    """Yield question id → document → first and last line of the answer, of golden files that have them."""
    if place.is_file():
        for row in map(json.loads, place.read_text("utf-8").splitlines()):
            if row.get("lines"):
                yield row["id"], row["lines"]


if __name__ == "__main__":
    main()
