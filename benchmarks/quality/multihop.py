"""Questions whose answer is in two documents that an entity or a link connects, asked with and without the graph.

``multihop-handbook.jsonl`` has questions that were written by hand over the handbook. Twenty before its graph was
looked at: ten to develop with (``develop``), ten held out. Fifteen more to develop with (``develop_2``): documents
without those of the twenty were drawn by chance, each read, and one sought that answers what it leaves open. Forty
about the proposals are made by rule from the fields of ``kep.yaml``. Beside them stand the golden questions of both
sets, whose answer is in one document.

Each is asked for as many hits in each way: all of the search; the first of it and the best of documents that they lack
("other documents": variety without a graph); the first of it and those that the graph adds. The recall is that of the
documents of these hits; beside it the nDCG@10, the characters of the hits, how many of the added ones are relevant and
not among as many hits of the search alone, and the processor time that they add.

Run: ``python -m benchmarks.quality.multihop handbook|keps HOME [--keyword] [--weight] [--kind KIND …]`` on a home that
has the documents by the profile ``handbook`` or ``kep``. The held-out half is asked only by its name.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tarfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from benchmarks.quality.sets import DATA
from pinakes.core.graph_paths import Expansion
from pinakes.core.records import Hit, Results, SearchMode
from pinakes.evaluation import names
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question, read_golden
from pinakes.evaluation.run import evaluate
from pinakes.library import Library

BY_HAND = Path(__file__).with_name("multihop-handbook.jsonl")
MADE = 40
WEIGHTS = (0.0, 0.8)
DEEP = 50
"""From so many hits of the search come the best of other documents."""

Added: TypeAlias = Literal["", "other documents", "1 hop", "2 hops"]


@dataclass(frozen=True, slots=True)
class Way:
    """``total`` hits, of which ``first`` are of the search, and the others are ``added``."""

    total: int
    first: int
    added: Added = ""


ADDED: tuple[Added, ...] = ("other documents", "1 hop", "2 hops")
WAYS = [
    way
    for total, first in ((10, 5), (15, 10))
    for way in (Way(total, total), *(Way(total, first, one) for one in ADDED))
]


def by_hand() -> list[Question]:
    """Return the questions over the handbook; their kind is ``develop``, ``develop_2`` or ``held_out``."""
    return read_golden(BY_HAND)


def made() -> list[Question]:
    """Return questions about proposals: what one refers to, what replaced it, what else its only author wrote."""
    proposals = _proposals(DATA / "keps" / "keps.tar.gz")
    by_number: dict[str, list[str]] = defaultdict(list)
    of_author: dict[str, list[str]] = defaultdict(list)
    for key, fields in proposals.items():
        by_number[_number(key)].append(key)
        for author in _texts(fields.get("authors")):
            of_author[author].append(key)
    found: dict[str, list[tuple[str, Mapping[str, float]]]] = defaultdict(list)
    for key, fields in sorted(proposals.items()):
        title = str(fields.get("title") or "").strip()
        for name, kind, words in _ASKED:
            there = {one for text in _texts(fields.get(name)) for one in by_number[_number(text)]} - {key}
            if title and len(there) == 1:
                found[kind].append((words.format(title), dict.fromkeys((key, *there), 1.0)))
        authors = _texts(fields.get("authors"))
        if title and len(authors) == 1 and len(of_author[authors[0]]) == 2:
            words = f"What else did the author of {title!r} propose?"
            found["author"].append((words, dict.fromkeys(of_author[authors[0]], 1.0)))
    each = MADE // len(found) + 1
    chosen = [(kind, *one) for kind, some in found.items() for one in some[:: max(1, len(some) // each)][:each]]
    return [Question(f"k{n:02}", text, relevant, kind) for n, (kind, text, relevant) in enumerate(chosen[:MADE])]


def _proposals(archive: Path) -> dict[str, Mapping[str, Any]]:
    """Return "sig-name/number" → the fields of ``kep.yaml``."""
    found: dict[str, Mapping[str, Any]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            place = _PLACE.search(member.name)
            data = tar.extractfile(member) if place else None
            if place is None or data is None:
                continue
            try:
                fields = yaml.safe_load(data.read())
            except (yaml.YAMLError, ValueError):
                continue  # some have tabs, and months like 13
            if isinstance(fields, dict):
                found[f"{place['sig']}/{place['number']}"] = fields
    return found


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _number(text: str) -> str:
    place = re.search(r"sig-[a-z-]+/0*([0-9]{2,5})(?:-|$|/)", text)
    return place[1] if place else ""


_PLACE = re.compile(r"keps/(?P<sig>sig-[a-z-]+)/(?P<number>[0-9]{2,5})-[^/]+/kep[.]yaml$")
_ASKED = (
    ("see-also", "refers", "What is the purpose of the proposal that {!r} refers to?"),
    ("superseded-by", "replaced", "Which proposal replaced {!r}?"),
    ("replaces", "replaced", "What did the proposal that {!r} replaces want?"),
)


def _of_one_document(name: str) -> list[Question]:
    """Return the golden questions of a set that have an answer, as the kind ``one document``."""
    found = read_golden(DATA / name / "golden.jsonl")
    return [replace(one, kind="one document") for one in found if one.answerable]


@dataclass(slots=True)
class _Asked:
    """One way to ask: what it found, how much text that was, how long it took more than the search alone."""

    library: Library
    called: DocumentNames
    mode: SearchMode
    way: Way
    characters: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    novel: list[bool] = field(default_factory=list)

    def __call__(self, question: Question) -> Sequence[str]:
        """Return the documents of the hits."""
        alone = self._names(question, self._search(question, self.way.total).hits)
        first = self._search(question, self.way.first).hits
        start = time.process_time()
        hits = self._hits(question, first)
        self.milliseconds.append((time.process_time() - start) * 1000)
        self.characters.append(sum(len(hit.text) for hit in hits))
        names = self._names(question, hits[len(first) :])
        self.novel += [name in question.relevant and name not in alone for name in names]
        return list(dict.fromkeys(self._names(question, hits)))

    def _hits(self, question: Question, first: Sequence[Hit]) -> Sequence[Hit]:
        wanted = self.way.total - self.way.first
        if self.way.added == "other documents":
            seen, others = {hit.document_id for hit in first}, list[Hit]()
            for hit in self._search(question, DEEP).hits:
                if hit.document_id not in seen:
                    seen.add(hit.document_id)
                    others.append(hit)
            return [*first, *others[:wanted]]
        hops = 0 if not self.way.added else int(self.way.added[0])
        return self._search(question, self.way.first, Expansion(hops, hits=wanted) if hops else 0).hits

    def _search(self, question: Question, top_k: int, expand: int | Expansion = 0) -> Results:
        return self.library.search(question.text, mode=self.mode, top_k=top_k, expand=expand, filters=question.where)

    def _names(self, question: Question, hits: Sequence[Hit]) -> list[str]:
        return [self.called.name_of(hit.document_id, question.relevant) for hit in hits]


def main(which: str, home: str, kinds: Sequence[str], mode: SearchMode, weights: Sequence[float]) -> None:
    """Print recall and nDCG@10 of each way for each kind of question."""
    by_rule = [replace(one, kind=f"made: {one.kind}") for one in made()] if which == "keps" else []
    questions = by_hand() if which == "handbook" else by_rule
    questions = [*questions, *_of_one_document(which)]
    asked_for = kinds or [kind for kind in dict.fromkeys(one.kind for one in questions) if kind != "held_out"]
    profile = "handbook" if which == "handbook" else "kep"
    for weight in weights:
        rules = {profile: {"graph": {"weight": weight}}}
        with Library.open(home, profile=profile, collections=rules) as library:
            library.graph.update(library.collection().name)
            relevant = [one for question in questions for one in question.relevant]
            with library.app.catalog.read() as connection:
                called = names.resolve(connection, library.collection().id, relevant)
            for kind in asked_for:
                some = [question for question in questions if question.kind == kind]
                for way in WAYS:
                    print(
                        f"{kind:<14} weight {weight:<4} {_line(_Asked(library, called, mode, way), some)}", flush=True
                    )


def _line(asked: _Asked, questions: Sequence[Question]) -> str:
    way, recall = asked.way, f"recall@{asked.way.total}"
    metrics = evaluate(asked, questions, (recall, "ndcg@10")).metrics
    share = f"{sum(asked.novel)}/{len(asked.novel)}" if asked.novel else "-"
    return (
        f"{way.first:>2} hits{f' + {way.total - way.first} by {way.added}' if way.added else '':<23}: "
        f"recall {metrics[recall]:.3f}, nDCG@10 {metrics['ndcg@10']:.4f}, "
        f"{statistics.mean(asked.characters):.0f} characters, novel and relevant {share}, "
        f"adds p50 {statistics.median(asked.milliseconds):.1f} ms"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("which", choices=("handbook", "keps"))
    parser.add_argument("home")
    parser.add_argument("--keyword", action="store_true", help="by words only")
    parser.add_argument("--weight", action="store_true", help="also with the graph as a retriever")
    parser.add_argument("--kind", action="append", default=[])
    given = parser.parse_args()
    main(
        given.which,
        given.home,
        given.kind,
        "keyword" if given.keyword else "hybrid",
        WEIGHTS if given.weight else WEIGHTS[:1],
    )
