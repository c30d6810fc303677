"""Which names are one entity, and which stay apart."""

from __future__ import annotations

from collections.abc import Callable

from pinakes.catalog.entities import Decision, EntityRecord
from pinakes.catalog.entity_changes import EntityFact
from pinakes.core.graph_records import folded
from pinakes.graph.canonical import canonical
from pinakes.settings import GraphRules

RULES = GraphRules.model_validate(
    {"types": {"VENDOR": {"merge": True}, "PERSON": {"given_names": True}, "GATE": {}, "POLICY": {}}}
)


def merged(
    names: dict[str, str],
    kind: str = "VENDOR",
    *,
    together: Callable[[int, int], bool] = lambda _one, _other: True,
    decisions: tuple[Decision, ...] = (),
    own_names: tuple[tuple[int, int], ...] = (),
) -> dict[str, str]:
    """Return name → that of the entity that it is another name of; ``names``: each with what found it."""
    every = [EntityRecord(at, kind, name, folded(name)) for at, name in enumerate(names, start=1)]
    facts = [EntityFact(row.id, names[row.name], 2, 3, 0.9) for row in every]
    found = canonical(every, facts, decisions, RULES, (), own_names, together)
    assert not found.missing
    name_of = {row.id: row.name for row in every}
    return {name_of[one.id]: name_of[one.canonical_id] for one in found.resolutions if one.canonical_id}


def listed(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "metadata:vendor")


def test_signs_legal_forms_and_domains_make_no_other_entity() -> None:
    assert merged(listed("Honeycomb", "HoneyComb.io", "Honeycomb, Inc.", "Human's Fund", "Human’s-Fund")) == {
        "HoneyComb.io": "Honeycomb",
        "Honeycomb, Inc.": "Honeycomb",
        "Human’s-Fund": "Human's Fund",
    }


def test_initials_mean_a_name_where_a_document_has_both() -> None:
    names = listed("Amazon Web Services", "AWS")
    assert merged(names) == {"AWS": "Amazon Web Services"}
    assert merged(names, together=lambda _one, _other: False) == {}


def test_names_that_lists_have_both_of_stay_apart() -> None:
    assert merged(listed("Datadogs", "Datadog")) == {"Datadog": "Datadogs"}
    assert merged(dict.fromkeys(("Datadogs", "Datadog"), "lists")) == {}


def test_a_given_name_means_the_only_person_of_the_records_who_has_it() -> None:
    people = {"Ann Lee": "records", "Ann": "candidates:links", "Bo Lee": "records", "Bo Ek": "records", "Bo": "records"}
    assert merged(people, "PERSON") == {"Ann": "Ann Lee"}
    assert merged({"Ann Lee": "candidates:links", "Ann": "records"}, "PERSON") == {}
    signs = {"Connor O'Brien": "records", "Connor OBrien": "records", "Connor": "records"}
    assert merged(signs, "PERSON") == {"Connor OBrien": "Connor O'Brien", "Connor": "Connor O'Brien"}


def test_what_was_split_by_hand_stays_apart() -> None:
    split = (Decision("split", "PERSON", "ann lee", "ann", "PERSON"),)
    assert merged({"Ann Lee": "records", "Ann": "records"}, "PERSON", decisions=split) == {}


def test_names_of_code_and_numbers_are_never_merged() -> None:
    assert merged(listed("FeatureAlpha", "FeatureAlphas", "Feature-Alpha"), "GATE") == {}
    assert merged(listed("Version 12 Plan", "Version 13 Plan")) == {}


def test_a_name_of_two_documents_is_that_of_none() -> None:
    names = {"Policy 1": "documents", "Policy 2": "documents", "draft": "documents:alias", "travel": "documents:alias"}
    assert merged(names, "POLICY", own_names=((3, 1), (3, 2), (4, 2))) == {"travel": "Policy 2"}


def test_names_from_right_to_left_are_names() -> None:
    assert merged(listed("شركة الاتصالات", "شركه الاتصالات")) == {"شركه الاتصالات": "شركة الاتصالات"}
