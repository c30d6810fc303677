"""Questions whose answer is in two documents that an entity connects, asked with and without the knowledge graph.

``multihop-handbook.jsonl`` has twenty questions that were written by hand over the handbook before its graph was
looked at: ten to develop with, ten held out. Forty about the proposals are made by rule from the fields of ``kep.yaml``
and only test that the graph is followed. Recall@10 is of the documents of ten hits, in every way.

Run: ``python -m benchmarks.quality.multihop handbook|keps HOME [WEIGHT …]`` on a home that has the documents by the
profile of the set. Each weight is one of ``graph.weight``; 0 is the search without the graph.
"""

from __future__ import annotations

import json
import statistics
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.quality.sets import DATA
from pinakes.evaluation.questions import Question

BY_HAND = Path(__file__).with_name("multihop-handbook.jsonl")
MADE = 40
HITS = 10


def by_hand() -> list[Question]:
    """Return the questions over the handbook; their kind is ``develop`` or ``held_out``."""
    rows = [json.loads(line) for line in BY_HAND.read_text("utf-8").splitlines()]
    return [Question(one["id"], one["query"], one["relevant"], kind=one["kind"]) for one in rows]


def made() -> list[Question]:
    """Return questions about proposals: what one refers to, what replaced it, what else its only author wrote."""
    proposals = _proposals(DATA / "keps" / "keps.tar.gz")
    by_number: dict[str, list[str]] = defaultdict(list)
    of_author: dict[str, list[str]] = defaultdict(list)
    for key, fields in proposals.items():
        by_number[key.rpartition("/")[2].lstrip("0")].append(key)
        for author in _texts(fields.get("authors")):
            of_author[author].append(key)
    found: dict[str, list[tuple[str, dict[str, float]]]] = {"refers": [], "replaced": [], "author": []}
    for key, fields in sorted(proposals.items()):
        title = str(fields.get("title", "")).strip()
        for field, kind, words in _ASKED:
            there = {one for text in _texts(fields.get(field)) for one in by_number[_number(text)]} - {key}
            if title and len(there) == 1:
                found[kind].append((words.format(title), dict.fromkeys((key, *there), 1.0)))
        authors = _texts(fields.get("authors"))
        if title and len(authors) == 1 and len(of_author[authors[0]]) == 2:
            found["author"].append(
                (f"What else did the author of {title!r} propose?", dict.fromkeys(of_author[authors[0]], 1.0))
            )
    each = MADE // len(found) + 1
    chosen = [
        (kind, *one) for kind, some in found.items() for one in some[:: max(1, len(some) // each)][:each]
    ]
    return [Question(f"k{n:02}", text, relevant, kind=kind) for n, (kind, text, relevant) in enumerate(chosen[:MADE])]


_ASKED = (
    ("see-also", "refers", "What is the purpose of the proposal that {!r} refers to?"),
    ("superseded-by", "replaced", "Which proposal replaced {!r}?"),
    ("replaces", "replaced", "What did the proposal that {!r} replaces want?"),
)
