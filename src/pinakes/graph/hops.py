"""Which entities are one or two relations away from those of a question, and by which relations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from pinakes.catalog.graph_lookups import Hop

MOST_FOLLOWED: Final = 50
"""From so many entities the second hop goes on, those of the surest relations first."""

MOST_REACHED: Final = 200
"""So many entities are reached at most."""


class Reached(NamedTuple):
    """An entity, and the relations that lead to it from a seed; ``confidence``: theirs and the weight of the seed."""

    entity_id: int
    path: tuple[Hop, ...]
    confidence: float


def reached(
    hops_of: Callable[[Collection[int]], Sequence[Hop]],
    seeds: Mapping[int, float],
    hops: int,
    barred: Collection[int] = (),
    go_on: Callable[[], bool] = lambda: True,
) -> list[Reached]:
    """Return the entities within ``hops`` relations of ``seeds`` (entity → weight), nearer ones first, then the surest.

    ``hops_of`` gives the relations of some entities, the surest first; it is called once for each hop. Relations of
    the entities ``barred`` are not followed. Before the second hop ``go_on`` is asked whether there is time for it.
    """
    known = {seed: Reached(seed, (), weight) for seed, weight in seeds.items() if seed not in barred}
    front, found = list(known.values()), list[Reached]()
    for hop_number in range(hops):
        if hop_number and not (front and go_on()):
            break
        before = {one.entity_id: one for one in front}
        best: dict[int, Reached] = {}
        for hop in hops_of(before) if before else ():
            for here, there in ((hop.source_id, hop.target_id), (hop.target_id, hop.source_id)):
                if here in before and there not in known and there not in barred:
                    sure = before[here].confidence * hop.confidence
                    if there not in best or sure > best[there].confidence:
                        best[there] = Reached(there, (*before[here].path, hop), sure)
        ranked = sorted(best.values(), key=lambda one: (-one.confidence, -one.path[-1].statements, one.entity_id))
        kept = ranked[: MOST_REACHED - len(found)]
        known |= {one.entity_id: one for one in kept}
        found += kept
        front = kept[:MOST_FOLLOWED]
    return found
