"""The quality gate: a checked-in baseline of metrics, and its comparison with a run.

A file of baselines holds, for each golden set by name: what the figures were measured on, and mode → metric → mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pinakes.core.errors import InvalidInput, NotFound, storing
from pinakes.evaluation.golden import digest
from pinakes.evaluation.questions import GoldenSet
from pinakes.evaluation.runs import Run

TOLERANCE = 0.05
"""The tolerated relative decrease of a metric."""

SLOWER = 0.10
"""The relative increase of the 95th percentile of the latency above which there is a warning."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The figures of one golden set: ``figures`` by mode and metric, ``p95_ms`` by mode, on which questions, corpus."""

    digest: str
    questions: int
    corpus: str
    documents: int
    model: str
    version: str
    measured_at: str
    machine: str
    figures: Mapping[str, Mapping[str, float]]
    p95_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the gate: ``fallen`` and ``warnings`` as text; ``checked``: number of compared metrics."""

    passed: bool
    checked: int
    tolerance: float
    fallen: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def of_run(run: Run) -> Baseline:
    """Return the figures of a run as a baseline, rounded to four places."""
    return Baseline(
        digest=run.golden.digest,
        questions=run.golden.answerable,
        corpus=run.corpus.fingerprint,
        documents=run.corpus.documents,
        model=run.corpus.model,
        version=run.version,
        measured_at=run.created_at,
        machine=f"{run.machine.get('platform')}, {run.machine.get('cpus')} cores",
        figures={
            mode: {name: round(value, 4) for name, value in one.overall.metrics.items()}
            for mode, one in run.modes.items()
        },
        p95_ms={mode: round(one.latency.p95_ms, 2) for mode, one in run.modes.items()},
    )


def save(path: Path, run: Run) -> None:
    """Write the metrics of a run into a file of baselines, keeping those of other golden sets.

    Raises:
        InvalidInput: there is a file that holds something else.
        StorageFull: it cannot be written.
    """
    known = {name: asdict(one) for name, one in read(path).items()} if path.exists() else {}
    known[run.golden.name] = asdict(of_run(run))
    with storing(str(path)):
        path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", "utf-8")


def read(path: Path) -> dict[str, Baseline]:
    """Return golden set → baseline of a file.

    Raises:
        NotFound: there is no such file.
        InvalidInput: it holds something else.
    """
    from pydantic import TypeAdapter, ValidationError

    if not path.is_file():
        raise NotFound(f"There is no baseline {str(path)!r}.", hint="Make it first: --save-baseline FILE")
    try:
        return TypeAdapter(dict[str, Baseline]).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InvalidInput(f"{path} is no baseline.", hint="Make it anew: --save-baseline FILE") from error


def check(path: Path, run: Run, tolerance: float = TOLERANCE) -> Verdict:
    """Return whether no metric of the baseline, in the modes of ``run``, is lower by more than the share ``tolerance``.

    Raises:
        NotFound, InvalidInput: there is no baseline of these questions, or none of its modes was measured.
    """
    return verdict(_of(path, run.golden.name, run.golden.digest, run.golden.answerable), run, tolerance)


def of_questions(path: Path, golden: GoldenSet) -> Baseline:
    """Return the baseline of a golden set.

    Raises:
        NotFound, InvalidInput: there is none of these questions.
    """
    answerable = sum(question.answerable for question in golden.questions)
    return _of(path, golden.name, digest(golden.questions), answerable)


def verdict(kept: Baseline, run: Run, tolerance: float) -> Verdict:
    """Return what falls below ``kept``.

    Raises:
        InvalidInput: the tolerance is no share, or the two have no metric in common.
    """
    if not 0 <= tolerance < 1:
        raise InvalidInput(f"A tolerance cannot be {tolerance:g}.", hint="Give a share from 0 to 1: 0.05")
    fallen, checked = [], 0
    for mode, metrics in kept.figures.items():
        for name, value in metrics.items():
            now = run.modes[mode].overall.metrics.get(name) if mode in run.modes else None
            if now is None:
                continue
            checked += 1
            if now < value * (1 - tolerance):
                fallen.append(f"{mode} {name}: {now:.4f}, was {value:.4f} ({now / value - 1:+.1%})")
    if not checked:
        raise InvalidInput(
            f"The baseline of {run.golden.name!r} has other modes or metrics than were measured.",
            hint=f"It has {', '.join(kept.figures)}; choose one with --mode.",
        )
    return Verdict(not fallen, checked, tolerance, tuple(fallen), tuple(_warnings(kept, run)))


def _of(path: Path, name: str, digest: str, answerable: int) -> Baseline:
    known = read(path)
    # A file called golden.jsonl is named after its folder, which another checkout may call otherwise.
    kept = known.get(name) or next((one for one in known.values() if one.digest == digest), None)
    if kept is None:
        raise InvalidInput(
            f"{path} has no baseline of {name!r}, only of {', '.join(known) or 'nothing'}.",
            hint="Add it: --save-baseline FILE",
        )
    if kept.digest != digest:
        raise InvalidInput(
            f"The baseline of {name!r} is of other questions: {kept.questions} with an answer, now {answerable}.",
            hint="Use the golden set it was made with, or make it anew: --save-baseline FILE",
        )
    return kept


def _warnings(kept: Baseline, run: Run) -> list[str]:
    found = []
    if unmeasured := [mode for mode in kept.figures if mode not in run.modes]:
        found.append(f"of the modes of the baseline these were not measured: {', '.join(unmeasured)}")
    if skipped := _skipped(kept, run):
        found.append(f"of the metrics of the baseline these were not measured: {', '.join(skipped)}")
    if kept.corpus != run.corpus.fingerprint:
        found.append("the documents are not those of the baseline")
    if kept.model != run.corpus.model:
        found.append(f"the model is {run.corpus.model or 'none'}, that of the baseline {kept.model or 'none'}")
    for mode, before in kept.p95_ms.items():
        now = run.modes[mode].latency.p95_ms if mode in run.modes else 0.0
        if before and now > before * (1 + SLOWER):
            found.append(f"{mode} is slower: p95 {now:.1f} ms, was {before:.1f} ms ({now / before - 1:+.0%})")
    return found


def _skipped(kept: Baseline, run: Run) -> list[str]:
    """Return the metrics of the baseline that are missing in ``run``, in the common modes, without repetition."""
    both = (mode for mode in kept.figures if mode in run.modes)
    missing = (name for mode in both for name in kept.figures[mode] if name not in run.modes[mode].overall.metrics)
    return list(dict.fromkeys(missing))
