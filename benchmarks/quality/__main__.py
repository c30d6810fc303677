"""``python -m benchmarks.quality [SET …]``: nDCG@10, recall@100 and hit@k of every mode on every set.

Then nDCG@10 while most of a set is not embedded yet, beside that figure.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.quality import progressive
from benchmarks.quality.sets import ROOT, QuestionSet, available
from pinakes.evaluation.run import Figures, evaluate
from pinakes.library import Library
from pinakes.types import SearchMode

RESULTS = ROOT / "benchmarks" / "results"
MODES: tuple[SearchMode, ...] = ("keyword", "vector", "hybrid")
SHOWN = ("ndcg@10", "recall@100", "hit@1", "hit@3", "hit@5")
DEPTH = 300
"""Passages asked for, so that some hundred documents are ranked."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; none = all whose data is there")
    parser.add_argument("--work", type=Path, default=RESULTS / "quality", help="where corpora and indexes are kept")
    parser.add_argument("--kinds", action="store_true", help="show each kind of question")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="a setting: search.title_boost=0.5")
    parser.add_argument("--all-embedded", action="store_true", help="leave out what is measured before all is embedded")
    arguments = parser.parse_args()
    chosen = [one for one in available() if not arguments.sets or one.name in arguments.sets]
    settings = {name.replace(".", "__"): value for name, _, value in (s.partition("=") for s in arguments.settings)}
    settings.setdefault("search__max_top_k", str(DEPTH))
    print(f"{'set':<13}{'mode':<9}{'questions':>9}" + "".join(f"{name:>12}" for name in SHOWN) + f"{'p50 ms':>9}")
    found = {one.name: _measure(one, arguments.work, settings, arguments.kinds) for one in chosen}
    measured = [] if arguments.all_embedded else [_progress(one, arguments.work, settings, found) for one in chosen]
    before = [one for one in measured if one is not None]
    progressive.conclude(before)
    arguments.work.mkdir(parents=True, exist_ok=True)
    machine = {"machine": platform.platform(), "cpus": os.cpu_count()}
    report = {
        "machine": machine,
        "sets": {name: {mode: dataclasses.asdict(one) for mode, one in modes.items()} for name, modes in found.items()},
        "before_all_is_embedded": [dataclasses.asdict(one) for one in before],
    }
    (arguments.work / "quality.json").write_text(json.dumps(report, indent=1))


def _measure(one: QuestionSet, work: Path, settings: dict[str, str], kinds: bool) -> dict[str, Figures]:
    documents = one.documents(work / "corpora" / one.name)
    questions = one.questions()
    figures: dict[str, Figures] = {}
    with Library.open(work / "homes" / one.name, profile=one.profile or None, **settings) as library:
        report = library.add(str(documents), include=one.include)
        if report.chunks:
            print(f"{one.name}: {report.chunks} chunks in {sum(report.seconds.values()):.0f} s", file=sys.stderr)
        for mode in MODES:
            figures[mode] = evaluate(partial(_ask, library, one, mode), questions)
            _show(one.name, mode, figures[mode], kinds)
    return figures


def _progress(
    one: QuestionSet, work: Path, settings: dict[str, str], found: dict[str, dict[str, Figures]]
) -> progressive.Progress | None:
    def reopen(home: Path, **others: Any) -> Library:
        return Library.open(home, profile=one.profile or None, **settings | others)

    def ask(library: Library, mode: SearchMode, query: str) -> list[str]:
        return _ask(library, one, mode, query)

    figures = {mode: figure.metrics["ndcg@10"] for mode, figure in found[one.name].items()}
    with reopen(work / "homes" / one.name) as full:
        measured = progressive.measure(one.name, full, figures, ask, one.questions(), reopen, remote=True)
    if measured is not None:
        progressive.show(measured)
    return measured


def _ask(library: Library, one: QuestionSet, mode: SearchMode, query: str) -> list[str]:
    hits = library.search(query, mode=mode, top_k=DEPTH).hits
    return list(dict.fromkeys(one.name_of(hit) for hit in hits))


def _show(name: str, mode: str, figures: Figures, kinds: bool) -> None:
    rows = [(name, mode, figures.questions, figures.metrics)]
    if kinds:
        rows += [("", f" {kind}", 0, metrics) for kind, metrics in figures.by_kind.items()]
    for label, what, count, metrics in rows:
        values = "".join(f"{metrics[metric]:>12.4f}" for metric in SHOWN)
        print(
            f"{label:<13}{what:<9}{count or '':>9}{values}" + (f"{figures.p50_ms:>9.1f}" if count else ""), flush=True
        )


if __name__ == "__main__":
    main()
