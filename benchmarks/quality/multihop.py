"""Questions whose answer is in two documents that an entity connects, asked with and without the knowledge graph.

``multihop-handbook.jsonl`` has twenty questions that were written by hand over the handbook before its graph was
looked at: ten to develop with, ten held out. Forty about the proposals are made by rule from the fields of ``kep.yaml``
and only test that the graph is followed. Recall@10 is that of ``pinakes.evaluation``, of the documents of ten hits in
each way: ten of the search, or five of it and five that the graph adds; beside it the characters of these hits, the
share of the added hits that are relevant and not among the ten of the search alone, and the time that they add.

Run: ``python -m benchmarks.quality.multihop handbook|keps HOME [keyword]`` on a home that has the documents by the
profile ``handbook`` or ``kep``.
"""

from __future__ import annotations

import re
import statistics
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks.quality.sets import DATA
from pinakes.core.graph_paths import Expansion
from pinakes.core.records import Results, SearchMode
from pinakes.evaluation import names
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question, read_golden
from pinakes.evaluation.run import evaluate, ranked
from pinakes.library import Library

BY_HAND = Path(__file__).with_name("multihop-handbook.jsonl")
MADE, HITS = 40, 10
WEIGHTS = (0.0, 0.8)
WAYS = ((10, 0), (5, 1), (5, 2))
"""Hits of the search, and hops of the graph, whose hits make it ten."""


def by_hand() -> list[Question]:
    """Return the questions over the handbook; their kind is ``develop`` or ``held_out``."""
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


@dataclass(slots=True)
class _Asked:
    """One way to ask: what it found, how much text that was, how long it took more than the search alone."""

    library: Library
    called: DocumentNames
    mode: SearchMode
    top_k: int
    hops: int
    characters: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    novel: list[bool] = field(default_factory=list)

    def __call__(self, question: Question) -> Sequence[str]:
        """Return the documents of the hits."""
        alone = self._search(question, HITS, 0)
        self._search(question, self.top_k, 0)
        start = time.perf_counter()
        answer = self._search(question, self.top_k, self.hops)
        self.milliseconds.append((time.perf_counter() - start) * 1000)
        self.characters.append(sum(len(hit.text) for hit in answer.hits))
        known = ranked(alone, self.called, question.relevant)
        for hit in answer.hits:
            if hit.relationship_path:
                name = self.called.name_of(hit.document_id, question.relevant)
                self.novel.append(name in question.relevant and name not in known)
        return list(ranked(answer, self.called, question.relevant))

    def _search(self, question: Question, top_k: int, hops: int) -> Results:
        expand = Expansion(hops, hits=HITS - top_k) if hops else 0
        return self.library.search(question.text, mode=self.mode, top_k=top_k, expand=expand)


def main(which: str, home: str, mode: SearchMode = "hybrid") -> None:
    """Print recall@10 of each way for each half or kind of the questions."""
    questions, profile = (by_hand(), "handbook") if which == "handbook" else (made(), "kep")
    for weight in WEIGHTS if mode == "hybrid" else WEIGHTS[:1]:
        rules = {profile: {"graph": {"weight": weight}}}
        with Library.open(home, profile=profile, collections=rules) as library:
            library.graph.update(library.collection().name)
            relevant = [one for question in questions for one in question.relevant]
            with library.app.catalog.read() as connection:
                called = names.resolve(connection, library.collection().id, relevant)
            for kind in dict.fromkeys(question.kind for question in questions):
                some = [question for question in questions if question.kind == kind]
                for top_k, hops in WAYS:
                    asked = _Asked(library, called, mode, top_k, hops)
                    recall = evaluate(asked, some, ("recall@10",)).metrics["recall@10"]
                    share = f"{sum(asked.novel)}/{len(asked.novel)}" if asked.novel else "-"
                    print(
                        f"{kind:<9} weight {weight:<4} {top_k:>2} hits, {hops} hops: recall@10 {recall:.3f}, "
                        f"{statistics.mean(asked.characters):.0f} characters, novel and relevant {share}, "
                        f"adds p50 {statistics.median(asked.milliseconds):.1f} ms",
                        flush=True,
                    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "keyword" if "keyword" in sys.argv[3:] else "hybrid")
