"""The seeds of graph expansion: entities of the question, and of the hits that a search found."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pinakes.catalog.tied_documents import PlacedMention
from pinakes.core.graph_paths import PathStep
from pinakes.core.graph_records import DOCUMENT

_MOST_SHARED: Final = 12
_LEAST_SHARED: Final = 0.1
"""From so many entities of the hits it goes on, the strongest first, and from none that has less of that weight."""

_LEAST_RARITY: Final = 0.4
"""Entities that many documents name (of 900 more than 60) tie nothing together, and take the longest."""

MENTIONS: Final = "MENTIONS"


@dataclass(frozen=True, slots=True)
class SharedEntity:
    """An entity that a hit names: ``weight`` 0 to 1; ``step``: which hit, where."""

    entity_id: int
    weight: float
    step: PathStep


@dataclass(frozen=True, slots=True)
class Seeds:
    """What a search goes on from: entities of its question, and of its hits.

    ``named``: entities of the question → rarity; ``shared``: those that hits name; ``own``: what the documents of hits
    are about → weight of the hit, 0 to 1; ``places``: document and place of the chunk of each hit. ``rarity``: number
    of documents that name an entity → 0 to 1.
    """

    named: Mapping[int, float]
    shared: Sequence[SharedEntity]
    own: Mapping[int, float]
    places: Collection[tuple[int, int]]
    rarity: Callable[[int], float]
    excluded: Collection[int] = ()


def shared_entities(
    mentions: Sequence[PlacedMention],
    weights: Mapping[tuple[str, int], tuple[float, str]],
    rarity: Callable[[int], float],
    excluded: Collection[int],
) -> list[SharedEntity]:
    """Return the entities that the documents of hits name, the strongest first, without those far weaker.

    ``weights``: (uid, ordinal) of the chunk of each hit → its weight, 0 to 1, and its chunk id. The weight of an entity
    is that of the best hit of its document, times the mean of two figures, the confidence of a mention in that chunk
    and the square root of its share of the chunks of the document that name any, times its ``rarity`` (documents → 0 to
    1).
    """
    named: dict[str, dict[int, list[PlacedMention]]] = {}
    for one in mentions:
        if one.mention.entity_id not in excluded and rarity(one.mention.documents) >= _LEAST_RARITY:
            named.setdefault(one.uid, {}).setdefault(one.mention.entity_id, []).append(one)
    heads: dict[str, tuple[float, str]] = {}
    for (uid, _), head in weights.items():
        heads[uid] = max(head, heads.get(uid, head))
    best: dict[int, SharedEntity] = {}
    for uid, of_entity in named.items():
        most = max(len(some) for some in of_entity.values())
        for entity_id, some in of_entity.items():
            near = [(weights[uid, one.ordinal], one) for one in some if (uid, one.ordinal) in weights]
            inside = max((head[0] * one.mention.confidence for head, one in near), default=0.0)
            of_document = heads[uid][0] * math.sqrt(len(some) / most)
            weight = (inside + of_document) / 2 * rarity(some[0].mention.documents)
            if entity_id not in best or weight > best[entity_id].weight:
                head, one = max(near, key=lambda each: each[0][0]) if near else (heads[uid], some[0])
                best[entity_id] = SharedEntity(entity_id, weight, _step(one, head[1]))
    order = sorted(best.values(), key=lambda one: (-one.weight, one.entity_id))[:_MOST_SHARED]
    top = order[0].weight if order else 1.0
    return [one for one in order if one.weight > _LEAST_SHARED * top]


def _step(one: PlacedMention, chunk_id: str) -> PathStep:
    sure = round(one.mention.confidence, 3)
    return PathStep(one.path, DOCUMENT, MENTIONS, one.text, one.mention.type, sure, chunk_id, one.path, one.text)
