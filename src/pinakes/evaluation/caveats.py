"""Caveats of a comparison, as text: differences between the two sides, and missing data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pinakes.core.filters import listed
from pinakes.evaluation.baseline import SLOWER
from pinakes.evaluation.document_matching import DocumentMatches
from pinakes.evaluation.pairs import SystemReport
from pinakes.evaluation.questions import GoldenSet
from pinakes.evaluation.runs import changed_settings
from pinakes.evaluation.systems import SystemInfo, differences

_WHEN_READ = "chunking."
_ENOUGH_TO_TIME = 20
_HOUR_S, _DAY_S = 3600, 86_400


def settings(a: SystemInfo, b: SystemInfo) -> list[str]:
    """Return the models and settings that only one side has, as text; none if those of a side are unknown."""
    found = []
    if a.corpus and b.corpus and a.corpus.model != b.corpus.model:
        found.append(f"model: {a.corpus.model or 'none'} in A, {b.corpus.model or 'none'} in B")
    if a.configuration and b.configuration:
        changed = changed_settings(a.configuration, b.configuration)
        found += [f"{name}: {in_a} in A, {in_b} in B" for name, in_a, in_b in changed]
    return found


def cautions(
    a: SystemInfo, b: SystemInfo, sides: Sequence[SystemReport], links: DocumentMatches, golden: GoldenSet, judged: int
) -> Iterator[str]:
    """Yield the reasons why the metrics mean less than they seem to."""
    yield from golden.notes
    if different := differences(a, b):
        yield f"A and B hold different documents: {'; '.join(different)}"
    yield from _unmatched(a, b, links)
    if _chunked_differently(a, b):
        yield "settings of chunking take effect when documents are read: these were read before"
    for letter, about, side in zip("AB", (a, b), sides, strict=True):
        yield from (f"{letter}: {words}" for words in _of_side(about, side))
    if any(question.answerable for question in golden.questions) and not judged:
        yield "none of the judged documents is known to both sides, so there are no metrics"
    yield from _slower(*sides)


def _chunked_differently(a: SystemInfo, b: SystemInfo) -> bool:
    """Return whether chunking settings differ although both sides are the same collection."""
    if not (a.corpus and b.corpus and a.corpus.fingerprint == b.corpus.fingerprint):
        return False
    if a.corpus.chunks != b.corpus.chunks:
        return False
    names = {name for name in {*a.configuration} & {*b.configuration} if name.startswith(_WHEN_READ)}
    return any(a.configuration[name] != b.configuration[name] for name in names)


def age(since: str, until: datetime) -> str:
    """Return the time since a moment in ISO format, as text."""
    seconds = max(0.0, (until - datetime.fromisoformat(since)).total_seconds())
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / _HOUR_S:.0f} hours" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.0f} days"


def _of_side(about: SystemInfo, side: SystemReport) -> Iterator[str]:
    total = side.asked + side.kept + side.unanswered
    if side.kept:
        now = datetime.now(UTC)
        newest, oldest = age(side.kept_until, now), age(side.kept_since, now)
        old = newest if newest == oldest else f"{newest} to {oldest}"
        yield f"kept answers, {old} old, for {side.kept} of {total} questions: {side.failure}"
    if side.unanswered:
        yield f"no answer to {side.unanswered} of {total} questions: {side.failure}"
    if side.degraded:
        yield f"{side.degraded} of {total} answers were degraded"
    if about.corpus and about.corpus.pending:
        yield f"{about.corpus.pending:,} of {about.corpus.chunks:,} chunks had no exact vector yet"


def _unmatched(a: SystemInfo, b: SystemInfo, links: DocumentMatches) -> Iterator[str]:
    """Yield how many documents in the answers of one side are missing on the other side."""
    for letter, unknown, other in (("A", links.unknown[0], b), ("B", links.unknown[1], a)):
        if unknown and other.documents is not None:
            names = listed(unknown, 3)
            yield f"{len(unknown)} documents that {letter} answers with are not known to {other.label}: {names}"


def _slower(a: SystemReport, b: SystemReport) -> Iterator[str]:
    if min(a.asked, b.asked) < _ENOUGH_TO_TIME:
        return
    if a.latency and b.latency and a.latency.p95_ms > b.latency.p95_ms * (1 + SLOWER):
        share = a.latency.p95_ms / b.latency.p95_ms - 1
        yield f"A is slower: p95 {a.latency.p95_ms:.1f} ms, B {b.latency.p95_ms:.1f} ms ({share:+.0%})"
