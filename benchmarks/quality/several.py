"""``python -m benchmarks.quality.several [SET …]``: what a set loses beside three collections about something else.

Every question is asked of its own collection alone, then of that and three others at once, ten chunks being shown:
nDCG@10 of documents, those of the others being wrong. The others are of the same model; taken to be of other models;
asked by words alone, as where nothing is embedded; or the own one is. Homes are those of ``python -m
benchmarks.quality``, as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from benchmarks.quality.__main__ import RESULTS
from benchmarks.quality.sets import QuestionSet, available
from pinakes.core.ports import Index
from pinakes.core.records import Hit, Results, SearchMode
from pinakes.evaluation.metrics import metric
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question
from pinakes.library import Library
from pinakes.search import federated
from pinakes.search.retrieval.term_statistics import TermStatistics

NDCG = metric("ndcg@10")
MOST = 10
BESIDE = 3
NEAR = {"keps": "k8s-docs-qa", "k8s-docs-qa": "keps"}
"""Sets whose documents are about the same."""


@dataclass(frozen=True)
class Way:
    """How the own collection is asked, and the others; ``models``: whether theirs is taken to be another one."""

    name: str
    own: SearchMode = "hybrid"
    others: SearchMode = "hybrid"
    models: bool = False


WAYS = (
    Way("same model"),
    Way("other models", models=True),
    Way("others by words", others="keyword"),
    Way("own by words", own="keyword"),
    Way("all by words", own="keyword", others="keyword"),
)


@dataclass(frozen=True)
class Asked:
    """A set with its opened home, and what its questions call the documents there."""

    set: QuestionSet
    library: Library
    names: DocumentNames

    @property
    def index(self) -> Index:
        return self.library.app.index(self.library.collection().name)[1]

    def answer(self, question: Question, mode: SearchMode) -> Results:
        found = self.library.search(question.text, mode=mode, top_k=MOST)
        name = self.set.name
        return replace(found, collection=name, hits=tuple(replace(hit, collection=name) for hit in found.hits))

    def ranking(self, hits: Sequence[Hit], question: Question) -> list[str]:
        """Return the documents of ``hits`` by the names that the question has for them; of others by their own."""
        names = (
            self.names.name_of(hit.document_id, question.relevant)
            if hit.collection == self.set.name
            else f"{hit.collection}/{hit.document_id}"
            for hit in hits
        )
        return list(dict.fromkeys(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; none = all whose data is there")
    parser.add_argument("--work", type=Path, default=RESULTS / "quality", help="where the homes are")
    arguments = parser.parse_args()
    with ExitStack() as opened:
        every: dict[str, Asked] = {}
        for one in available():
            if not one.corpus and (arguments.work / "homes" / one.home).is_dir():
                home = arguments.work / "homes" / one.home
                library = opened.enter_context(Library.open(home, profile=one.profile or None))
                every[one.name] = Asked(one, library, one.names(library))
        print(f"{'set':<14}{'alone':>8}" + "".join(f"{way.name:>18}" for way in WAYS))
        for name in arguments.sets or every:
            _show(every, name)


def _show(every: Mapping[str, Asked], name: str) -> None:
    own, others = every[name], [one for other, one in every.items() if other not in (name, NEAR.get(name))]
    after = [*every].index(name)
    others = [*others[after:], *others[:after]][:BESIDE]
    questions = [question for question in own.set.golden().questions if question.answerable]
    alone = {
        mode: fmean(_score(own, own.answer(one, mode).hits, one) for one in questions)
        for mode in {way.own for way in WAYS}
    }
    cells = [fmean(_score(own, _together(own, others, way, one), one) for one in questions) for way in WAYS]
    shown = (f"{value:>10.3f} ({value - alone[way.own]:+.3f})" for way, value in zip(WAYS, cells, strict=True))
    print(f"{name:<14}{alone['hybrid']:>8.3f}" + "".join(shown), flush=True)


def _together(own: Asked, others: Sequence[Asked], way: Way, question: Question) -> Sequence[Hit]:
    sides = {own.set.name: own} | {one.set.name: one for one in others}
    wanted = federated.HitLimits.from_settings(own.library.settings.search, question.text, None, MOST, 0.0)

    def ask(name: str) -> Results:
        return sides[name].answer(question, way.own if name == own.set.name else way.others)

    model: Callable[[str], str] = (lambda name: name) if way.models else (lambda _: "one")

    def terms(names: Sequence[str], query: str) -> TermStatistics | None:
        return TermStatistics.of_all(query, (sides[name].index for name in names))

    return federated.ask_all(list(sides), ask, federated.CollectionModels(model, terms=terms), wanted).hits


def _score(own: Asked, hits: Sequence[Hit], question: Question) -> float:
    return NDCG(own.ranking(hits, question), question.relevant)


if __name__ == "__main__":
    main()
