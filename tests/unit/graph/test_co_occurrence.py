"""Entities that stand together: how sure, how many, and where."""

from __future__ import annotations

import math

from linear import assert_linear

from pinakes.catalog.derived_rows import MentioningDocument
from pinakes.graph.co_occurrence import MOST_NEIGHBOURS, MOST_TOGETHER, SUREST, co_occurring


def document(number: int, *chunks: list[int]) -> MentioningDocument:
    spans = [(100 * at, 100 * at + 100) for at in range(len(chunks))]
    mentions = [
        (entity, (100 * at + place, 100 * at + place + 1))
        for at, chunk in enumerate(chunks)
        for place, entity in enumerate(chunk)
    ]
    return MentioningDocument(number, spans, mentions)


def itself(*ids: int) -> dict[int, int]:
    return {one: one for one in ids}


def test_the_confidence_is_the_normalised_pointwise_mutual_information() -> None:
    held = [document(one, [1, 2], [1], [3], [4]) for one in range(5)]
    [*found] = co_occurring(held, itself(1, 2, 3, 4), 3)
    wanted = math.log(5 * 20 / (10 * 5)) / -math.log(5 / 20)
    assert {(one.source_id, one.type, one.target_id) for one in found} == {(1, "CO_OCCURS", 2)}
    assert {one.confidence for one in found} == {round(SUREST * wanted, 3)}
    assert [(one.document_id, one.start, one.end) for one in found] == [(0, 0, 2), (1, 0, 2), (2, 0, 2)]


def test_names_of_one_entity_count_as_one_and_those_without_a_type_not_at_all() -> None:
    held = [document(one, [1, 9, 2], [3, 4], [5]) for one in range(4)]
    found = co_occurring(held, itself(1, 2, 4, 5) | {9: 1}, 3)
    assert {(one.source_id, one.target_id) for one in found} == {(1, 2)}


def test_chance_few_places_and_long_lists_relate_nothing() -> None:
    by_chance = [document(one, [1, 2], [1], [2], []) for one in range(10)]
    assert co_occurring(by_chance, itself(1, 2), 3) == []
    assert co_occurring([document(one, [1, 2], [3]) for one in range(2)], itself(1, 2, 3), 3) == []
    many = list(range(MOST_TOGETHER + 1))
    assert co_occurring([document(one, many, [99]) for one in range(9)], itself(*many, 99), 3) == []


def test_an_entity_has_a_bounded_number_of_neighbours() -> None:
    held = [document(one, *([0, other] for other in range(1, 30)), *([50] for _ in range(300))) for one in range(4)]
    found = co_occurring(held, itself(*range(51)), 3)
    assert len({one.target_id for one in found}) == MOST_NEIGHBOURS


def test_the_time_is_linear_in_the_mentions() -> None:
    def held(size: int) -> list[MentioningDocument]:
        return [document(one, *([one, 1000 + one, 2000] for _ in range(20))) for one in range(size)]

    assert_linear(lambda documents: co_occurring(documents, itself(*range(3001)), 3), held, 800)
