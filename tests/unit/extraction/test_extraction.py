"""What extractors find in a document, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from linear import assert_linear

from pinakes import testing
from pinakes.core.graph_records import UNTYPED, EntityName, ExtractionSubject, Findings, folded
from pinakes.core.records import Document
from pinakes.extraction import MAX_MENTIONS, MAX_PLACES, Extraction, Listing, planned
from pinakes.extraction.candidate_names import CandidateNames
from pinakes.extraction.declared_names import DeclaredNames
from pinakes.extraction.gazetteer import Gazetteer, without_repeats
from pinakes.settings import GraphRules

RULES = {
    "owner": "TEAM:Us",
    "types": {
        "VENDOR": {"domains": True, "says": ["tool"], "columns": ["vendor"]},
        "TEAM": {"inside": False, "suffixes": ["team"]},
        "PERSON": {"links": ["**team#*"]},
        "KEP": {},
    },
    "relations": [
        {
            "type": "WORKS_WITH",
            "source": ["VENDOR"],
            "target": ["VENDOR"],
            "patterns": ["{source} works with {targets}", "{topic} works with {targets}"],
        },
        {
            "type": "USES",
            "target": ["VENDOR"],
            "patterns": ["{owner} use {targets}"],
            "lists": ["^tools we use$"],
            "lists_of": "owner",
        },
        {"type": "LEADS", "source": ["PERSON"], "target": ["TEAM"], "tables": [["^lead$", "^team$"]]},
    ],
}
LISTS = {"VENDOR": {"Looker": [], "Acme Cloud": ["ACME"], "Zoom": [], "Acme": []}, "TEAM": {"Sales": []}}


def extraction(lists: Mapping[str, Mapping[str, Sequence[str]]] = LISTS, **rules: Any) -> Extraction:
    listings = [
        Listing(EntityName(kind, name), aliases) for kind, each in lists.items() for name, aliases in each.items()
    ]
    return Extraction(GraphRules.model_validate(RULES | rules), listings)


def found_in(text: str, held: Mapping[str, Any] | None = None, **rules: Any) -> Findings:
    return extraction(**rules).extract("guide.md", "Guide", Document(text), held or {})


def names(found: Findings) -> set[tuple[str, str]]:
    return {(one.entity.type, one.entity.name) for one in found.mentions if one.entity.type != UNTYPED}


def stated(found: Findings) -> set[tuple[str, str, str]]:
    return {(one.source.name, one.type, one.target.name) for one in found.relations}


def test_the_longest_name_counts_and_only_as_whole_words() -> None:
    found = found_in("ask Acme Cloud, not Acmeology or Lookers, about Looker")
    assert names(found) == {("VENDOR", "Acme Cloud"), ("VENDOR", "Looker")}


def test_a_common_word_is_a_name_only_with_its_capital() -> None:
    assert names(found_in("we zoom in and see the looker")) == set()
    assert names(found_in("we meet in Zoom")) == {("VENDOR", "Zoom")}


def test_a_team_inside_a_longer_name_is_none() -> None:
    assert ("TEAM", "Sales") not in names(found_in("the Sales Navigator of them"))
    assert ("TEAM", "Sales") in names(found_in("the Sales team of them"))


def test_addresses_and_code_are_no_prose() -> None:
    assert names(found_in("see https://Looker.example/Zoom\n```\nLooker Zoom\n```\n")) == set()


def test_links_columns_and_sentences_tell_types() -> None:
    text = "[Fivetran](https://www.fivetran.com/) and [Ada Byron](../team#ada). Airflow is a tool for jobs.\n\n"
    found = found_in(text + "| Vendor | Price |\n|---|---|\n| Gusto | 3 |\n")
    assert names(found) == {("VENDOR", "Fivetran"), ("PERSON", "Ada Byron"), ("VENDOR", "Airflow"), ("VENDOR", "Gusto")}


def test_sentences_lists_and_tables_state_relations_with_their_words() -> None:
    text = "# Looker\n\nLooker works with Zoom and Acme Cloud. We use Zoom.\n\n## Tools we use\n\n- Acme\n\n"
    found = found_in(text + "| Lead | Team |\n|---|---|\n| [Ada Byron](team#a) | Sales |\n")
    assert stated(found) == {
        ("Looker", "WORKS_WITH", "Zoom"),
        ("Looker", "WORKS_WITH", "Acme Cloud"),
        ("Us", "USES", "Zoom"),
        ("Us", "USES", "Acme"),
        ("Ada Byron", "LEADS", "Sales"),
    }
    words = {text[one.start : one.end] for one in found.relations if one.type == "WORKS_WITH"}
    assert words == {"Looker works with Zoom and Acme Cloud."}


def typed(text: str, path: str = "guide.md", **clues: Any) -> set[tuple[str, str]]:
    types = {name: dict(one) for name, one in {**RULES["types"], **clues.pop("types", {})}.items()}  # type: ignore[dict-item]
    for name, more in clues.items():
        types[name] |= more
    return names(extraction(types=types).extract(path, "", Document(text), {}))


def test_words_beside_a_name_tell_its_type() -> None:
    clues = {"VENDOR": {"before": ["via"], "behind": ["account"]}, "TEAM": {"ends": ["ops"], "suffixes": ["team"]}}
    text = "Ask Brand Ops or the App team: book via Gusto, and close the Figma account. An app is no team."
    assert typed(text, **clues) == {("TEAM", "Brand Ops"), ("TEAM", "App"), ("VENDOR", "Gusto"), ("VENDOR", "Figma")}


def test_titles_and_lists_tell_types() -> None:
    clues = {"TEAM": {"titles": ["**/teams/*/index.md"]}, "VENDOR": {"headings": ["tools"]}}
    page = "# Field Work (FW)\n\nThey use the following tools:\n\n- Gusto\n- [Figma](x.md), for drawings\n\nDone.\n"
    expected = {("VENDOR", "Gusto"), ("VENDOR", "Figma")}
    assert typed(page, "a/teams/fw/index.md", **clues) == expected | {("TEAM", "Field Work")}
    assert typed(page, "a/pages/fw/index.md", **clues) == expected


def test_people_have_the_form_of_people() -> None:
    text = "## Members\n\n- Ada St. Byron, analyst\n- Growth\n- Grace O'Hopper (she)\n- Team of 5, and others\n"
    found = typed(text, PERSON={"given_names": True, "headings": ["members"]})
    assert found == {("PERSON", "Ada St. Byron"), ("PERSON", "Grace O'Hopper")}


def test_a_listed_name_in_small_letters_counts_where_the_word_behind_it_tells() -> None:
    assert typed("post in the zoom channel, and zoom in", VENDOR={"behind": ["channel"]}) == {("VENDOR", "Zoom")}
    assert ("TEAM", "Sales") in names(found_in("ask the sales team"))
    assert ("TEAM", "Sales") not in names(found_in("ask for sales figures"))


def test_names_have_plurals_and_possessives() -> None:
    found = names(extraction({"TEAM": {"TA": []}, "VENDOR": {"Gusto": []}}).extract(
        "a.md", "", Document("The TAs see Gustos, and Gusto's price."), {}
    ))  # fmt: skip
    assert found == {("TEAM", "TA"), ("VENDOR", "Gusto")}


def test_a_word_that_begins_an_instruction_is_no_team() -> None:
    lists = {"TEAM": {"Support": [], "Design": []}}
    for text, expected in {
        "- Support content creation": set(),
        "- Support updates the page": {("TEAM", "Support")},
        "Design and Support will draft it": {("TEAM", "Support"), ("TEAM", "Design")},
        "Support/Enablement": set(),
        "Head Support": {("TEAM", "Support")},
    }.items():
        assert names(extraction(lists).extract("a.md", "", Document(text), {})) == expected, text


def test_a_word_that_no_name_ends_with_does_not_hide_a_team() -> None:
    text = "# Sales Tools\n\n- Sales Navigator\n"
    assert ("TEAM", "Sales") in names(found_in(text, not_names=["Tools"]))
    assert ("TEAM", "Sales") not in names(found_in(text))


def test_a_name_inside_an_address_is_none() -> None:
    lists = {"VENDOR": {"Acme.com": []}}
    text = "see about.acme.com and [ada@acme.com](mailto:ada@acme.com), not acme.com"
    found = extraction(lists).extract("a.md", "", Document(text), {})
    assert [text[one.start : one.end] for one in found.mentions if one.entity.type] == ["acme.com"]


def test_right_to_left_names_are_found_as_words() -> None:
    lists = {"VENDOR": {"אלפא": [], "شركة": []}}
    found = extraction(lists).extract("a.md", "", Document("עם אלפא, ו־אלפאבית; مع شركة."), {})
    assert names(found) == {("VENDOR", "אלפא"), ("VENDOR", "شركة")}


def test_we_means_the_team_of_the_title() -> None:
    rules = {"title_owners": ["TEAM"]}
    assert stated(found_in("# Sales tips\n\nWe use Zoom.\n", **rules)) == {("Sales", "USES", "Zoom")}
    assert stated(found_in("# Tips\n\nWe use Zoom.\n", **rules)) == {("Us", "USES", "Zoom")}


def test_a_list_is_about_what_its_heading_names() -> None:
    relations = [{"type": "USES", "target": ["VENDOR"], "lists": ["tools$"]}]
    text = "# Looker\n\n## Sales tools\n\n- Zoom\n- for calls: Whatever\n"
    assert stated(found_in(text, relations=relations)) == {("Sales", "USES", "Zoom")}


def test_a_sentence_without_a_subject_goes_on_with_the_one_before() -> None:
    relations = [{"type": "SYNCS", "patterns": ["{topic} syncs to {target}"]}]
    assert stated(found_in("We like Looker. It syncs to Zoom.", relations=relations)) == {("Looker", "SYNCS", "Zoom")}
    assert stated(found_in("We like Looker.\n\nIt syncs to Zoom.", relations=relations)) == set()


def test_a_question_whether_something_is_so_states_nothing() -> None:
    assert stated(found_in("Does Looker works with Zoom?")) == set()
    assert stated(found_in("Why do we use Zoom?")) == {("Us", "USES", "Zoom")}


def test_an_instruction_tells_of_the_owner_where_the_text_names_it() -> None:
    relations = [{"type": "USES", "target": ["VENDOR"], "patterns": ["[Oo]pen {target}"]}]
    rules = {"relations": relations, "owner": "TEAM:Ourselves"}
    assert stated(found_in("At Ourselves. Open Zoom.", **rules)) == {("Ourselves", "USES", "Zoom")}
    assert stated(found_in("Open Zoom.", **rules)) == set()


def test_it_means_what_the_heading_names() -> None:
    assert stated(found_in("# Looker\n\nIt works with Zoom.\n")) == {("Looker", "WORKS_WITH", "Zoom")}


def test_an_entity_is_not_related_to_itself() -> None:
    assert stated(found_in("Looker works with Looker.")) == set()


def test_metadata_declare_entities_and_relations() -> None:
    rules = {
        "documents": [{"type": "KEP", "name": "KEP-{number:int}"}],
        "metadata": [
            {
                "field": "see-also",
                "type": "KEP",
                "relation": "SEE_ALSO",
                "pattern": r"(?P<name>(?P<number>\d+))-\w",
                "name": "KEP-{number:int}",
            }
        ],
    }
    found = found_in(
        "text", {"number": "0012", "see-also": ["/keps/sig-a/0034-thing", "/keps/0012-me", "nothing"]}, **rules
    )
    assert names(found) == {("KEP", "KEP-12"), ("KEP", "KEP-34")}
    assert stated(found) == {("KEP-12", "SEE_ALSO", "KEP-34")}


def test_what_stands_for_nothing_is_no_entity() -> None:
    rules = {"metadata": [{"field": "approvers", "type": "PERSON"}]}
    found = found_in("text", {"approvers": ["TBD", "N/A", "none.", " ", "-", "Nona"]}, **rules)
    assert names(found) == {("PERSON", "Nona")}


def test_aliases_in_a_circle_and_repeated_names_are_settled_and_told() -> None:
    listings = [
        Listing(EntityName("VENDOR", "A One"), ["B Two"]),
        Listing(EntityName("VENDOR", "B Two"), ["A One"]),
        Listing(EntityName("VENDOR", "a one"), ["Shared"]),
        Listing(EntityName("VENDOR", "C Three"), ["Shared"]),
    ]
    kept, problems = without_repeats(listings)
    assert [(one.entity.name, list(one.aliases)) for one in kept] == [
        ("A One", ["Shared"]),
        ("B Two", []),
        ("C Three", []),
    ]
    assert len(problems) == 3


def test_a_name_may_have_two_types() -> None:
    both = {"VENDOR": {"Graph": []}, "TEAM": {"Graph": []}}
    found = extraction(both).extract("a.md", "", Document("ask the Graph team"), {})
    assert names(found) == {("VENDOR", "Graph"), ("TEAM", "Graph")}


def test_look_alikes_are_other_names() -> None:
    assert folded("Ａｃｍｅ") == folded("ACME") == "acme"
    assert folded("Аcme") != folded("Acme")  # the first letter is Cyrillic
    assert names(found_in("ask Zооm")) == set()


def test_of_many_mentions_some_are_kept_and_the_rest_is_counted() -> None:
    found = found_in("Looker and Zoom. " * 5_000)
    assert len(found.mentions) == 2 * MAX_PLACES
    assert found.left_out == 10_000 - 2 * MAX_PLACES


def test_a_name_of_a_megabyte_is_left_out() -> None:
    found = found_in("See " + "A" * 1_000_000 + " there.")
    assert all(len(one.entity.name) < 1000 for one in found.mentions)
    assert found.left_out == 1


@pytest.mark.parametrize(
    "unit", ["A", "A b ", "[A](", "| ", "# A\n", "- A\n", "A.b", "a@", "Looker works with Zoom, ", "((", "é’"]
)
def test_the_time_is_linear(unit: str) -> None:
    rules = extraction()

    def extract(document: Document) -> None:
        assert len(rules.extract("a.md", "", document, {}).mentions) <= MAX_MENTIONS

    assert_linear(extract, lambda chars: Document(unit * (chars // len(unit))), 400_000)


@pytest.mark.parametrize("check", testing.EXTRACTOR_CHECKS, ids=testing.name_of)
@pytest.mark.parametrize("kind", ["lists", "candidates", "declared"])
def test_ours_keep_the_contract(kind: str, check: Any) -> None:
    rules = GraphRules.model_validate(RULES)
    made = {
        "lists": lambda: Gazetteer(extraction().listings, rules.types),
        "candidates": lambda: CandidateNames(rules),
        "declared": lambda: DeclaredNames(rules),
    }
    check(made[kind]())


def test_the_recipe_is_another_one_with_other_lists_or_rules() -> None:
    recipes = {extraction().recipe, extraction({}).recipe, extraction(not_names=["However"]).recipe}
    assert len(recipes) == 3
    assert extraction().recipe in recipes


class FailingExtractor:
    """Fails for each document."""

    fingerprint = "failing:1"

    def extract(self, subject: ExtractionSubject) -> Findings:
        raise ValueError(f"cannot read {subject.path}")


def test_an_extractor_that_fails_is_reported_and_the_others_go_on() -> None:
    listings = [Listing(EntityName("VENDOR", "Looker"))]
    rules = Extraction(GraphRules.model_validate(RULES), listings, [FailingExtractor()])
    found = rules.extract("a.md", "A", Document("We use Looker."), {})
    assert ("VENDOR", "Looker") in names(found)
    assert [one.type for one in found.relations] == ["USES"]
    assert found.problems == ("not all of the graph: FailingExtractor: ValueError: cannot read a.md",)


def test_what_another_process_finds_in_a_text_joins_what_its_document_declares() -> None:
    rules = extraction(documents=[{"type": "KEP", "name": "KEP-{number}"}])
    document = Document("We use Looker. Acme Cloud works with Looker and Zoom.")
    whole = rules.extract("a.md", "A", document, {"number": 7})
    of_text = planned(rules.plan).in_text("a.md", "A", document, {})
    assert of_text.recipe == rules.recipe
    assert ("KEP", "KEP-7") not in names(of_text)
    assert rules.extract("a.md", "A", document, {"number": 7}, of_text=of_text) == whole
    other = replace(of_text, recipe="another")
    assert rules.extract("a.md", "A", document, {"number": 7}, of_text=other) == whole


def test_names_from_right_to_left_are_found_as_whole_words() -> None:
    rules = extraction({"VENDOR": {"חברת אקמי": [], "أكمي": []}})
    found = rules.extract("a.md", "", Document("היום חברת אקמי כאן, وأكميات ليست أكمي الآن."), {})
    assert names(found) == {("VENDOR", "חברת אקמי"), ("VENDOR", "أكمي")}
    assert len(found.mentions) == 2
