"""How well the knowledge graph of a collection has the entities and relations that people read in its documents."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from pinakes.catalog import Connection, document_graphs
from pinakes.core.errors import InvalidInput
from pinakes.core.graph_records import folded
from pinakes.platform.regular_files import read_regular

Names: TypeAlias = frozenset[str]
Relation: TypeAlias = tuple[Names, str, Names]

_RESAMPLES: Final = 1000
_INTERVAL: Final = 0.95
_MOST_BYTES: Final = 100_000_000
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class ReadEntity:
    """An entity that somebody read in a document: its type, and its names, folded."""

    type: str
    name: str
    names: Names


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What somebody read in the document whose path ends with ``path``."""

    path: str
    entities: Sequence[ReadEntity]
    relations: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Rates:
    """Counts of right, wrong and missed ones, and what follows from them; 0 where nothing is there.

    ``interval``: of F1, 95 %, by resampling the documents; None where they are too few.
    """

    right: int
    wrong: int
    missed: int
    interval: tuple[float, float] | None = None

    @property
    def precision(self) -> float:
        """Right ones among those found."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 0.0

    @property
    def recall(self) -> float:
        """Right ones among those to be found."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class GraphQuality:
    """Rates by type of entity and of relation, each with those of all; what was wrong and missed, in words.

    ``listed`` and ``unlisted``: recall of entities inside and outside of the curated lists.
    """

    documents: int
    unknown: Sequence[str]
    entities: Mapping[str, Rates]
    relations: Mapping[str, Rates]
    listed: Rates
    unlisted: Rates
    wrong: Sequence[str] = field(default=())
    missed: Sequence[str] = field(default=())


def read_file(path: Path) -> list[ReadDocument]:
    """Return what was read, of a file of JSON lines: path, entities (name, type, aliases), relations.

    Raises:
        InvalidInput: the file cannot be read, or is none of these.
    """
    found: list[ReadDocument] = []
    number = 0
    try:
        lines = read_regular(path, _MOST_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"{str(path)!r} cannot be read: {reason}.") from error
    try:
        for number, line in enumerate(lines, start=1):  # noqa: B007 - the error tells it
            if line.strip():
                found.append(_read(json.loads(line)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{str(path)!r}, line {number}: not as expected ({error}).",
            hint='Each line is {"path": "…", "entities": [{"name": "…", "type": "…", "aliases": []}], "relations": …}.',
        ) from error
    return found


def _read(held: Mapping[str, object]) -> ReadDocument:
    entities = []
    for one in held["entities"]:  # type: ignore[attr-defined]
        names = frozenset(folded(str(name)) for name in (one["name"], *one.get("aliases", ())))
        entities.append(ReadEntity(str(one["type"]), str(one["name"]), names))
    relations = [(str(a), str(kind), str(b)) for a, kind, b in held.get("relations", ())]  # type: ignore[attr-defined]
    return ReadDocument(str(held["path"]), entities, relations)


def measure(
    connection: Connection,
    collection_id: int,
    wanted: Sequence[ReadDocument],
    listed: frozenset[tuple[str, str]],
    symmetric: frozenset[str] = frozenset(),
) -> GraphQuality:
    """Compare the graph of a collection with what was read.

    ``listed``: (type, folded name) of all names of lists. ``symmetric``: types of relations that hold both ways.
    """
    unknown: list[str] = []
    per_document: list[tuple[dict[str, list[int]], dict[str, list[int]]]] = []
    inside, outside = [0, 0, 0], [0, 0, 0]
    wrong, missed = list[str](), list[str]()
    for one in wanted:
        found = document_graphs.of_path(connection, collection_id, one.path)
        if found is None:
            unknown.append(one.path)
            continue
        entities: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        relations: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        left = list(found.entities)
        for read in one.entities:
            same = next((e for e in left if e[0] == read.type and e[2] & read.names), None)
            is_listed = any((read.type, name) in listed for name in read.names)
            (inside if is_listed else outside)[0 if same else 2] += 1
            entities[read.type][0 if same else 2] += 1
            if same:
                left = [e for e in left if not (e[0] == read.type and e[2] & read.names)]
            else:
                missed.append(f"{read.type} {read.name} ({one.path})")
        for kind, name, _ in left:
            entities[kind][1] += 1
            wrong.append(f"{kind} {name} ({one.path})")
        _compare_relations(one, found.relations, symmetric, relations, wrong, missed)
        per_document.append((entities, relations))
    return GraphQuality(
        len(per_document),
        unknown,
        _rates([each[0] for each in per_document]),
        _rates([each[1] for each in per_document]),
        _rate(inside),
        _rate(outside),
        wrong,
        missed,
    )


def _compare_relations(
    one: ReadDocument,
    found: Iterable[document_graphs.NamedRelation],
    symmetric: frozenset[str],
    counts: dict[str, list[int]],
    wrong: list[str],
    missed: list[str],
) -> None:
    names = {entity.name: entity.names for entity in one.entities}
    left = list(found)
    for source, kind, target in one.relations:
        ends = (names.get(source, frozenset({folded(source)})), names.get(target, frozenset({folded(target)})))
        both = (ends, ends[::-1]) if kind in symmetric else (ends,)
        same = [r for r in left if r.type == kind and any(r.source_names & a and r.target_names & b for a, b in both)]
        counts[kind][0 if same else 2] += 1
        left = [r for r in left if r not in same]
        if not same:
            missed.append(f"{source} {kind} {target} ({one.path})")
    for relation in left:
        counts[relation.type][1] += 1
        wrong.append(f"{relation.source} {relation.type} {relation.target} ({one.path})")


def _rates(each: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, Rates]:
    kinds = sorted({kind for one in each for kind in one})
    found = {kind: _rate([sum(one[kind][at] for one in each if kind in one) for at in range(3)]) for kind in kinds}
    totals = [[sum(one[kind][at] for kind in one) for at in range(3)] for one in each]
    whole = _rate([sum(one[at] for one in totals) for at in range(3)])
    return found | {ALL: Rates(whole.right, whole.wrong, whole.missed, _interval(totals))}


def _rate(counts: Sequence[int]) -> Rates:
    return Rates(counts[0], counts[1], counts[2])


def _interval(totals: Sequence[Sequence[int]]) -> tuple[float, float] | None:
    """Return the interval of F1 by the percentile bootstrap over documents (Efron 1979)."""
    if len(totals) < 3:
        return None
    dice = random.Random(0)
    drawn = sorted(
        _rate([sum(one[at] for one in sample) for at in range(3)]).f1
        for sample in (dice.choices(totals, k=len(totals)) for _ in range(_RESAMPLES))
    )
    tail = int(_RESAMPLES * (1 - _INTERVAL) / 2)
    return round(drawn[tail], 3), round(drawn[-tail - 1], 3)
