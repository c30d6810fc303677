"""``python -m benchmarks.quality.evidence [SET …]``: what documents, their words and the best chunks are worth.

nDCG@10 of documents by chunks alone, then with one more piece of evidence per row, and the difference of the last row
to the first with its 95 % interval (bootstrap over the questions). Homes are those of ``python -m benchmarks.quality``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from benchmarks.quality.sets import ROOT, available
from benchmarks.quality.signals import scores_of, subjects_of
from pinakes.evaluation import resampling

CHUNKS = {
    "search__document_cosine_share": 0.0,
    "search__document_bm25_share": 0.0,
    "search__feedback_weight": 0.0,
}
KEPT: Mapping[str, tuple[str, ...]] = {
    "chunks alone": (),
    "and the document's meaning": ("search__document_cosine_share",),
    "and the document's words": ("search__document_bm25_share",),
    "both": ("search__document_cosine_share", "search__document_bm25_share"),
    "feedback alone": ("search__feedback_weight",),
    "all, the default": tuple(CHUNKS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; none = all")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / "results" / "quality")
    arguments = parser.parse_args()
    chosen = [one for one in available() if not arguments.sets or one.name in arguments.sets]
    for subject in subjects_of(chosen, arguments.work / "homes"):
        questions = subject.questions()
        with subject.open({}) as library:
            called = subject.one.names(library)
        print(f"\n{subject.one.name}: {len(questions)} questions")
        rows = {}
        for name, kept in KEPT.items():
            off = {setting: value for setting, value in CHUNKS.items() if setting not in kept}
            rows[name], _ = scores_of(subject, off, questions, called)
            print(f"  {name:<28}{fmean(rows[name]):.3f}", flush=True)
        first, *_, last = rows.values()
        differences = [[new - old] for new, old in zip(last, first, strict=True)]
        [(low, high)] = resampling.intervals(differences)
        print(f"  {'gain':<28}{fmean(last) - fmean(first):+.3f}  [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
