"""``python -m benchmarks.quality [SET …]``: nDCG@10, recall@100 and hit@k of every mode on every set.

Then nDCG@10 while most of a set is not embedded yet, beside that figure; what was to be reached; and the verdict of the
gate, which ends this with code 1 when figures fell below ``baseline.json``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.quality import progressive, targets
from benchmarks.quality.sets import ROOT, QuestionSet, asker, available
from pinakes.core.errors import PinakesError
from pinakes.core.records import SearchMode
from pinakes.evaluation import baseline
from pinakes.evaluation import runs as records
from pinakes.evaluation.figures import Figures, ModeFigures
from pinakes.evaluation.metrics import DEFAULT
from pinakes.evaluation.run import Subject, measure
from pinakes.evaluation.runs import Run
from pinakes.library import Library

RESULTS = ROOT / "benchmarks" / "results"
BASELINE = Path(__file__).with_name("baseline.json")
OWN = "pinakes"
"""The set of this project's own documents, which change with every commit: it is shown, and not held to a baseline."""

MODES: tuple[SearchMode, ...] = ("keyword", "vector", "hybrid")
SHOWN = ("ndcg@10", "recall@100", "hit@1", "hit@3", "hit@5")


def main() -> int:
    arguments = _arguments()
    chosen = [one for one in available() if not arguments.sets or one.name in arguments.sets]
    settings = {name.replace(".", "__"): value for name, _, value in (s.partition("=") for s in arguments.settings)}
    print(f"{'set':<17}{'mode':<9}{'questions':>9}" + "".join(f"{name:>12}" for name in SHOWN) + f"{'p50 ms':>9}")
    runs = {one.name: _measure(one, arguments, settings) for one in chosen}
    some = (
        [] if arguments.all_embedded else [_progress(one, arguments.work, settings, runs[one.name]) for one in chosen]
    )
    before = [one for one in some if one is not None]
    progressive.conclude(before)
    print(f"\n{targets.table({name: run.modes for name, run in runs.items()})}")
    report = {
        "sets": {name: dataclasses.asdict(records.save(run, arguments.work)) for name, run in runs.items()},
        "before_all_is_embedded": [dataclasses.asdict(one) for one in before],
    }
    (arguments.work / "quality.json").write_text(json.dumps(report, indent=1), "utf-8")
    held = [run for name, run in runs.items() if name != OWN]
    if arguments.save_baseline:
        for run in held:
            baseline.save(arguments.baseline, run)
    return _gate(arguments.baseline, held)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; none = all whose data is there")
    parser.add_argument("--work", type=Path, default=RESULTS / "quality", help="where corpora and indexes are kept")
    parser.add_argument("--kinds", action="store_true", help="show each kind of question")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="a setting: search.title_boost=0.5")
    parser.add_argument("--all-embedded", action="store_true", help="leave out what is measured before all is embedded")
    parser.add_argument("--as-is", action="store_true", help="search the homes as they are, reading nothing")
    parser.add_argument("--baseline", type=Path, default=BASELINE, help="the figures that none may fall below")
    parser.add_argument("--save-baseline", action="store_true", help="make these figures the baseline")
    return parser.parse_args()


def _measure(one: QuestionSet, arguments: argparse.Namespace, settings: Mapping[str, str]) -> Run:
    golden = one.golden()
    with Library.open(arguments.work / "homes" / one.home, profile=one.profile or None, **settings) as library:
        if not arguments.as_is:
            report = library.add(str(one.documents(arguments.work / "corpora" / one.home)), include=one.include)
            if report.chunks:
                print(f"{one.name}: {report.chunks} chunks in {sum(report.seconds.values()):.0f} s", file=sys.stderr)
        record, catalog, search = library.collection(), library.app.catalog, library.settings.search
        called = one.names(library)
        subject = Subject(catalog, library.search, library.rank, record, called, search.top_k)
        modes: dict[str, ModeFigures] = {}
        for mode in MODES:
            modes[mode], _ = measure(subject, golden.questions, mode)
            _show(one.name, modes[mode], arguments.kinds)
        configuration = records.configuration_of(library.settings, record)
        return records.new_run(golden, called, records.corpus_of(catalog, record), configuration, DEFAULT, modes)


def _progress(one: QuestionSet, work: Path, settings: Mapping[str, str], run: Run) -> progressive.Progress | None:
    if one.corpus:
        return None  # what is approximate depends on the documents: measured once for them

    def reopen(home: Path, **others: Any) -> Library:
        return Library.open(home, profile=one.profile or None, **{**settings, **others})

    figures = {mode: measured.overall.metrics["ndcg@10"] for mode, measured in run.modes.items()}
    with reopen(work / "homes" / one.home) as full:
        questions = one.golden().questions
        measured = progressive.measure(one.name, full, figures, asker(one, full), questions, reopen, remote=True)
    if measured is not None:
        progressive.show(measured)
    return measured


def _show(name: str, measured: ModeFigures, kinds: bool) -> None:
    rows: list[tuple[str, str, Figures]] = [(name, measured.mode, measured.overall)]
    if kinds:
        rows += [("", f" {kind}", figures) for kind, figures in measured.by_kind.items()]
    for label, what, figures in rows:
        values = "".join(f"{figures.metrics[metric]:>12.4f}" for metric in SHOWN)
        time = f"{measured.latency.p50_ms:>9.1f}" if label else ""
        print(f"{label:<17}{what:<9}{figures.questions:>9}{values}{time}", flush=True)


def _gate(path: Path, runs: list[Run]) -> int:
    """Print what fell below the baseline; return 1 when something did."""
    print()
    code = 0
    for run in runs:
        try:
            verdict = baseline.check(path, run)
        except PinakesError as error:
            print(f"{run.golden.name}: not held to a baseline: {error}")
            continue
        print(f"{run.golden.name}: gate {'passed' if verdict.passed else 'FAILED'}, {verdict.checked} metrics")
        for words in (*verdict.fallen, *(f"note: {warning}" for warning in verdict.warnings)):
            print(f"  {words}")
        code |= not verdict.passed
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
