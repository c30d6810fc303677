"""Duplicates among the canonical entities of a graph, judged by rules, and the names that were merged, to be read.

An entity is a duplicate where another one of its type has the same letters and digits, without legal forms and ends of
domains; is as similar as 0.85 (normalised Levenshtein) with the same digits; has its initials; or where it is a given
name that one person of the collection has. Types whose names are never merged are judged by their letters alone.

Run: ``python -m benchmarks.quality.graph_duplicates HOME PROFILE [SEED]`` on a home with such a collection.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from pinakes.catalog import entities
from pinakes.core.graph_records import folded
from pinakes.library import Library
from pinakes.services.knowledge_graph import Entity
from pinakes.settings import EntityType

SAMPLE = 200
SIMILAR = 0.85
LEGAL = re.compile(r",? (?:inc|llc|ltd|limited|gmbh|corp|corporation|plc)\.?$")
DOMAIN = re.compile(r"\.(?:com|org|net|io|ai|dev|app|co)$")


def letters(name: str) -> str:
    """Return the letters and digits of a name, without legal forms and ends of domains."""
    return re.sub(r"[\W_]", "", DOMAIN.sub("", LEGAL.sub("", folded(name))))


def initials(name: str) -> str:
    """Return the initials of a name of three words or more, else ""."""
    words = re.findall(r"\w+", folded(name))
    return "".join(word[0] for word in words) if len(words) > 2 else ""


def duplicate(one: Entity, others: Sequence[Entity], rules: EntityType) -> str:
    """Return why an entity is a duplicate of one of ``others``, which are of its type; "" if it is none."""
    name, digits = folded(one.name), re.findall(r"\d+", one.name)
    for other in others:
        if other.id == one.id:
            continue
        if letters(one.name) == letters(other.name):
            return f"written like {other.name!r}"
        if not rules.merge:
            continue
        alike = Levenshtein.normalized_similarity(name, folded(other.name))
        if alike >= SIMILAR and digits == re.findall(r"\d+", other.name):
            return f"{alike:.2f} like {other.name!r}"
        if one.name.isupper() and name == initials(other.name):
            return f"initials of {other.name!r}"
    if rules.given_names and " " not in name:
        bearers = [other.name for other in others if folded(other.name).startswith(f"{name} ")]
        if len(bearers) == 1:
            return f"the given name of {bearers[0]!r}"
    return ""


def main(home: Path, profile: str, seed: int) -> None:
    """Print the duplicates of a sample, and what was merged."""
    with Library.open(home, profile=profile) as library:
        [name] = library.named(None)
        record = library.app.record(name)
        rules = library.app.rules(record).graph.types
        every = library.graph.top(name, limit=1_000_000)
        with library.app.catalog.read() as connection:
            rows = entities.every(connection, record.id)
    by_type: dict[str, list[Entity]] = defaultdict(list)
    for one in every:
        by_type[one.type].append(one)
    sample = random.Random(seed).sample(every, min(SAMPLE, len(every)))
    found = [(one, why) for one in sample if (why := duplicate(one, by_type[one.type], rules[one.type]))]
    for one, why in found:
        print(f"duplicate: {one.type} {one.name}: {why}")
    print(f"{len(found)} of {len(sample)} sampled entities are duplicates: {len(found) / max(1, len(sample)):.1%}")
    of = {row.id: row for row in rows}
    for row in rows:
        if row.canonical_id and row.type in rules and row.type == of[row.canonical_id].type:
            print(f"merged: {row.type} {row.name} -> {of[row.canonical_id].name}: {row.why}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7)
