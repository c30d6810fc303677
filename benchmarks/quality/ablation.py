"""``python -m benchmarks.quality.ablation [SET …]``: what each part of the understanding of queries is worth.

Every row leaves out one thing: that repeated words count more often; that single letters, digits, names with signs
(C++, AT&T) and stop words in capitals (IT) are words; that an identifier as a whole beats its parts; that near-equal
versions take one place. Shown are nDCG@10 of documents with and without, the difference with its 95 % interval
(bootstrap over the questions), how many questions have such words, and how many are answered otherwise.

What no setting switches off is left out of the words that the index is asked for; the meaning is that of the question
as it is written. Homes are those of ``python -m benchmarks.quality``.
"""

from __future__ import annotations

import argparse
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.quality.sets import ROOT, available
from benchmarks.quality.signals import DEPTH, NDCG, Subject, subjects_of
from pinakes import search
from pinakes.core.ports import Index, KeywordQuery
from pinakes.core.records import Evidence, Ranking, Results, SearchMode
from pinakes.evaluation import resampling
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question
from pinakes.library import Library
from pinakes.search.defaults import filled
from pinakes.text import identifiers
from pinakes.text.analysis import NAMES, STOP_WORDS, Analyzer, is_identifier

MODES: tuple[SearchMode, ...] = ("keyword", "hybrid")
REWRITTEN: tuple[Evidence, ...] = ("chunks", "documents")
_ANALYZER = Analyzer()
_SIGNED = re.compile(r"[&+#*]|^\.")


def each_once(text: str) -> str:
    """Return a query without the words, stop words aside, all of whose terms stood before."""
    seen, kept = set[str](), list[str]()
    for piece in text.split():
        terms = set(_ANALYZER.terms_of(word for word in _ANALYZER.words(piece) if word.lower() not in STOP_WORDS))
        if not terms or terms - seen:
            kept.append(piece)
        seen |= terms
    return " ".join(kept)


def longer_words(text: str) -> str:
    """Return the words of a query without single characters and stop words in capitals.

    Of names with signs only parts of two letters and more are left, as of ``.NET``.
    """
    words, kept = _ANALYZER.query_words(text), list[str]()
    if not any(map(_is_short, words)):
        return text
    for word in words:
        if not _is_short(word):
            kept.append(word)
        elif _SIGNED.search(word):
            kept += [part.lower() for part in re.findall(r"\w{2,}", word) if part.upper() not in NAMES]
    return " ".join(kept)


def _is_short(word: str) -> bool:
    return len(word) == 1 or word in NAMES or _SIGNED.search(word) is not None


def _has_identifier(text: str) -> bool:
    return any(map(is_identifier, _ANALYZER.query_words(text))) or bool(identifiers.wholes(text))


@dataclass(frozen=True)
class Row:
    """One thing to leave out: by ``settings``, or by asking the index for other words.

    ``concerns`` says whether a question has such words. ``shown``: of the hits as they are shown, near-equal ones
    folded, where all others are of the bare ranking; documents that a hit names as saying the same come behind it.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    rewrite: Callable[[str], str] | None = None
    concerns: Callable[[str], bool] | None = None
    shown: bool = False


ROWS: dict[str, Row] = {
    "query term frequency": Row(rewrite=each_once, concerns=lambda text: each_once(text) != " ".join(text.split())),
    "single characters, signs, IT": Row(rewrite=longer_words, concerns=lambda text: longer_words(text) != text),
    "identifier as a whole": Row({"search__identifier_boost": 0}, concerns=_has_identifier),
    "near-equal versions folded": Row({"search__fold_duplicates": False}, shown=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; none = all that have a home")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / "results" / "quality")
    parser.add_argument("--mode", action="append", choices=MODES, help="may be repeated; none = both")
    arguments = parser.parse_args()
    chosen = [one for one in available() if not arguments.sets or one.name in arguments.sets]
    for subject in subjects_of(chosen, arguments.work / "homes"):
        for mode in arguments.mode or MODES:
            measure(subject, mode)


def measure(subject: Subject, mode: SearchMode) -> None:
    """Print a line for everything that is left out, on one set."""
    questions = subject.questions()
    with subject.open({}) as library:
        called = subject.one.names(library)
    print(f"\n{subject.one.name}, {mode}: {len(questions)} questions")
    print(f"  {'':<31}{'with':>7}{'without':>9}{'difference':>12}{'95 % interval':>21}{'concerned':>11}{'differ':>8}")
    whole = {shown: scores_of(subject, Row(shown=shown), questions, called, mode) for shown in (False, True)}
    for name, row in ROWS.items():
        kept = whole[row.shown]
        without = scores_of(subject, row, questions, called, mode)
        differences = [old - new for old, new in zip(kept, without, strict=True)]
        [(low, high)] = resampling.intervals([[one] for one in differences])
        concerned = str(sum(row.concerns(one.text) for one in questions)) if row.concerns else "–"
        print(
            f"  {name:<31}{fmean(kept):>7.4f}{fmean(without):>9.4f}{fmean(differences):>+12.4f}"
            f"     [{low:+.4f}, {high:+.4f}]{concerned:>9}{sum(map(bool, differences)):>8}",
            flush=True,
        )


def scores_of(
    subject: Subject, row: Row, questions: Sequence[Question], called: DocumentNames, mode: SearchMode
) -> list[float]:
    """Return nDCG@10 of each question, with what ``row`` leaves out left out."""
    with subject.open(row.settings) as library:
        results = [_answer(library, question, row, mode) for question in questions]
    return [
        NDCG(_documents(result, called, question), question.relevant)
        for result, question in zip(results, questions, strict=True)
    ]


def _documents(results: Results, called: DocumentNames, question: Question) -> list[str]:
    """Return the documents of the hits by name, best first, each with those that say the same behind it."""
    ids = (one for hit in results.hits for one in (hit.document_id, *(same.document_id for same in hit.duplicates)))
    return list(dict.fromkeys(called.name_of(one, question.relevant) for one in ids))


def _answer(library: Library, question: Question, row: Row, mode: SearchMode) -> Results:
    settings = library.settings
    if row.shown:
        return library.search(question.text, mode=mode, top_k=settings.search.max_top_k, filters=question.where)
    parts = library.parts()
    if row.rewrite:
        parts = replace(parts, index=_asked_otherwise(parts.index, row.rewrite))
    request = filled(
        settings, question.text, mode, None, question.where, None, 0.0, 0, True, "auto", parts.collection
    )  # fmt: skip
    return search.search(replace(request, top_k=DEPTH, pool=request.top_k, bare=True), parts)


def _asked_otherwise(index: Index, rewrite: Callable[[str], str]) -> Index:
    """Return the same index, which ranks chunks and documents by other words than it is asked for."""

    def keyword(*queries: KeywordQuery) -> list[Ranking]:
        return index.keyword(
            *(replace(one, text=rewrite(one.text)) if one.evidence in REWRITTEN else one for one in queries)
        )

    other = copy.copy(index)
    vars(other)["keyword"] = keyword
    return other


if __name__ == "__main__":
    main()
