"""Messages about a run, for the terminal and the HTML page."""

from __future__ import annotations

from collections import Counter

from pinakes.evaluation.figures import Miss, ModeFigures
from pinakes.evaluation.runs import Run

_MOST_NAMED = 10
_MOST_REASONS = 3


def miss_words(miss: Miss) -> str:
    """Return the reason for a miss, with the ranks of the nearest document."""
    if miss.reason == "answered":
        return "answered although no answer exists"
    if miss.reason in ("not in the collection", "lost by filter"):
        return miss.reason
    retrievers = [
        f"by {name} {place}"
        for name, place in (("words", miss.keyword), ("meaning", miss.vector))
        if place is not None and place != miss.rank
    ]
    if miss.reason == "ranked low":
        return f"ranked {miss.rank}" + (f" ({', '.join(retrievers)})" if retrievers else "")
    return f"not retrieved ({', '.join(retrievers)})" if retrievers else "found by neither retriever"


def misses_counted(mode: ModeFigures) -> str:
    """Return the number of misses by reason: "4 of 60 missed: 3 ranked low, 1 lost by filter"."""
    counted = Counter(row.miss.reason for row in mode.rows if row.miss and row.answer_exists)
    reasons = ", ".join(f"{count} {reason}" for reason, count in counted.most_common())
    return f"{counted.total()} of {mode.refusals.answerable} missed" + (f": {reasons}" if reasons else "")


def refusals_words(mode: ModeFigures) -> str:
    """Return the result for questions without an answer, "" if the set has none."""
    refusals = mode.refusals
    if not refusals.no_answer:
        return ""
    return (
        f"{refusals.recognised} of {refusals.no_answer} without an answer recognised, "
        f"{refusals.false_alarms} of {refusals.answerable} others taken for such"
    )


def cautions(run: Run) -> list[str]:
    """Return warnings about the metrics: names without or with several documents, missing retrievers."""
    found = []
    golden = run.golden
    if golden.unknown:
        found.append(
            f"{len(golden.unknown)} documents of the questions are not in the collection: {_some(golden.unknown)}"
        )
    if golden.ambiguous:
        several = [f"{name} ({len(paths)})" for name, paths in golden.ambiguous.items()]
        found.append(f"{len(several)} names stand for several documents, each of which counts: {_some(tuple(several))}")
    if run.corpus.pending:
        found.append(f"{run.corpus.pending:,} of {run.corpus.chunks:,} chunks had no exact vector yet")
    for mode in run.modes.values():
        degraded = Counter(row.degraded for row in mode.rows if row.degraded)
        few = degraded.most_common(_MOST_REASONS)
        found += [f"{mode.mode}: {count} answers were degraded: {why}" for why, count in few]
        if rest := degraded.total() - sum(count for _, count in few):
            found.append(f"{mode.mode}: {rest} answers were degraded for other reasons")
    return found


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
