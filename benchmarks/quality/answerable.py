"""``python -m benchmarks.quality.answerable [--save]``: fit the probability that the hits hold an answer, and test it.

An answer is there for the questions of a set on its own documents, where one of the first five documents has it; a
question whose answer is not among them takes no part. None is there when the documents that answer are filtered out,
and for questions of other sets. Questions that people wrote to have no answer are not fitted on: they are the test. The
project's own questions, which avoid the words of what answers them, take no part.
``--save`` keeps the fit on all sets with the product. Homes are those of ``python -m benchmarks.quality``, with
all chunks embedded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from benchmarks.quality.sets import ROOT, QuestionSet, available
from pinakes.core.records import ANSWERABLE
from pinakes.evaluation.questions import Question
from pinakes.library import Library
from pinakes.search.results import answerable as product

Numbers = npt.NDArray[np.float64]
KEPT = ROOT / "src" / "pinakes" / "search" / "results" / "answerable.json"
MOST_OWN = 200
MOST_FOREIGN = 40
DEPTH = 300
SHOWN = 5
"""An answer is there where one of so many documents has it."""

REFUSED = 0.03
"""The share of questions whose answer is found for which the probability falls below one half."""

RIDGE = 0.03
STEPS = 25
ALIKE = ({"keps", "k8s-docs-qa"}, {"pinakes", "linux"})
"""Sets that may answer each other's questions."""

KINDS = {
    "own": "answer found",
    "missed": "answer missed",
    "none": "written without",
    "without": "answer left out",
    "foreign": "of other sets",
}


@dataclass(frozen=True)
class Asked:
    """What was seen for one question. ``kind``: one of ``KINDS``."""

    corpus: str
    origin: str
    kind: str
    signs: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / "results" / "quality")
    parser.add_argument("--save", action="store_true", help="keep the fit with the product")
    arguments = parser.parse_args()
    sets = [one for one in available() if (arguments.work / "homes" / one.home).is_dir() and one.name != "pinakes"]
    if len(sets) < 3:
        sys.exit(f"There are too few homes in {arguments.work / 'homes'}: run python -m benchmarks.quality first.")
    rows, model = asked(sets, arguments.work / "homes")
    report(rows)
    if arguments.save:
        save(rows, model)


def asked(sets: Sequence[QuestionSet], homes: Path) -> tuple[list[Asked], str]:
    """Ask every set's documents its own questions and some of the others; also return the model's name."""
    rows: list[Asked] = []
    for one in sets:
        with Library.open(homes / one.home, profile=one.profile or None, search__remembered_answers=0) as library:
            model = library.collection().fingerprint
            rows += _own(library, one)
            for other in sets:
                if other.home != one.home and {one.home, other.home} not in ALIKE:
                    rows += _foreign(library, one, other)
        print(f"asked {one.name}", file=sys.stderr, flush=True)
    return rows, model


def _own(library: Library, one: QuestionSet) -> Iterator[Asked]:
    """Yield what is seen for the questions of a set, and again without the documents that answer."""
    called = one.names(library)
    for question in _some(one.golden().questions, MOST_OWN):
        relevant = {name: grade for name, grade in question.relevant.items() if grade > 0}
        if not relevant:
            yield from _seen(library, one, one, "none", question.text)
            continue
        hits = library.rank(question.text, depth=DEPTH).hits
        ranking = dict.fromkeys(called.name_of(hit.document_id, relevant) for hit in hits)
        found = not relevant.keys().isdisjoint(list(ranking)[:SHOWN])
        yield from _seen(library, one, one, "own" if found else "missed", question.text)
        if paths := {hit.path for hit in hits if called.name_of(hit.document_id, relevant) in relevant}:
            yield from _seen(library, one, one, "without", question.text, {"path": {"ne": sorted(paths)}})


def _foreign(library: Library, one: QuestionSet, other: QuestionSet) -> Iterator[Asked]:
    for question in _some([question for question in other.golden().questions if question.answerable], MOST_FOREIGN):
        yield from _seen(library, one, other, "foreign", question.text)


def _some(questions: Sequence[Question], most: int) -> Sequence[Question]:
    step = -(-len(questions) // most)
    return [question for number, question in enumerate(questions) if number % step == 0 or not question.answerable]


def _seen(
    library: Library, one: QuestionSet, other: QuestionSet, kind: str, query: str, filters: Any = None
) -> Iterator[Asked]:
    trace = library.search(query, top_k=5, filters=filters).trace
    for stage in trace.stages:
        if stage.name == "judge" and stage.detail:
            yield Asked(
                one.home, other.home, kind, {name: cast("float", value) for name, value in stage.detail.items()}
            )


def fitted(rows: Sequence[Asked]) -> product.Fit:
    """Fit ridge logistic regression, all corpora and kinds equally heavy, and place one half at ``REFUSED``."""
    used = [row for row in rows if row.kind not in ("none", "missed")]
    own = np.array([row.kind == "own" for row in used])
    _, group, counts = np.unique([f"{row.corpus} {row.kind}" for row in used], return_inverse=True, return_counts=True)
    weights = 1.0 / counts[group]
    weights /= np.where(own, weights[own].sum(), weights[~own].sum())
    names = list(used[0].signs)
    values = np.array([[row.signs[name] for name in names] for row in used])
    mean, spread = values.mean(axis=0), values.std(axis=0)
    scaled = np.column_stack([(values - mean) / spread, np.ones(len(values))])
    slopes = _logistic(scaled, own.astype(np.float64), weights / 2)[:-1] / spread
    logits, heavy = (values @ slopes)[own], weights[own]
    order = np.argsort(logits)
    half = logits[order][np.searchsorted(np.cumsum(heavy[order]) / heavy.sum(), REFUSED)]
    return product.Fit(
        weights={name: round(float(slope), 3) for name, slope in zip(names, slopes, strict=True)},
        intercept=round(-float(half), 3),
        data=", ".join(dict.fromkeys(row.corpus for row in used)),
    )


def _logistic(values: Numbers, own: Numbers, weights: Numbers) -> Numbers:
    """Return float64 (n,): the coefficients that minimise loss and ridge, by Newton's method; the last one is free."""
    ridge = np.full(values.shape[1], 2 * RIDGE)
    ridge[-1] = 0
    point = np.zeros(values.shape[1])
    for _ in range(STEPS):
        given = 1 / (1 + np.exp(-values @ point))
        slope = values.T @ (weights * (given - own)) + ridge * point
        curve = (values.T * (weights * given * (1 - given))) @ values + np.diag(ridge)
        point -= np.linalg.solve(curve, slope)
    return point


def report(rows: Sequence[Asked]) -> None:
    """Print what is refused of each kind, by the fit on all sets and by one that knows nothing of the set."""
    print(" " * 34 + "refused, of")
    print(f"{'':<18}{'fitted on':<12}" + "".join(f"{said:>18}" for said in KINDS.values()))
    every = fitted(rows)
    for corpus in dict.fromkeys(row.corpus for row in rows):
        mine = [row for row in rows if row.corpus == corpus]
        others = fitted([row for row in rows if corpus not in (row.corpus, row.origin)])
        for name, fit in (("all sets", every), ("the others", others)):
            print(f"{corpus:<18}{name:<12}" + "".join(f"{_refused(mine, kind, fit):>18}" for kind in KINDS), flush=True)


def _refused(rows: Sequence[Asked], kind: str, fit: product.Fit) -> str:
    found = [fit.probability(product.Signs(**row.signs)) < ANSWERABLE for row in rows if row.kind == kind]
    return f"{sum(found)} of {len(found)} ({sum(found) / len(found):.0%})" if found else "–"


def save(rows: Sequence[Asked], model: str) -> None:
    """Keep the fit on all sets with the product."""
    kept = json.loads(KEPT.read_text("utf-8")) | {model.split("@")[0]: asdict(fitted(rows))}
    KEPT.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
