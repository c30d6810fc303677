"""Topics: folders and headings that come again, and how they lie below each other."""

from __future__ import annotations

from pinakes.catalog.derived_rows import SectionedDocument
from pinakes.graph.topic_tree import MOST_TOPICS, topics_of


def document(number: int, path: str, *headings: str, unit: str = "") -> SectionedDocument:
    sections = [(["Title", heading], (10 * at, 10 * at + 9)) for at, heading in enumerate(headings)]
    return SectionedDocument(number, path, unit or str(number), sections)


def collection() -> list[SectionedDocument]:
    sales = [document(one, f"docs/sales/{one}.md", "Expense reports", "Contact") for one in range(4)]
    europe = [document(10 + one, f"docs/sales/europe/{one}.md", "Contact") for one in range(3)]
    others = [document(60 + one, f"docs/people/{one}.md", "Contact") for one in range(30)]
    return [*sales, *europe, *others, document(40, "docs/alone/one.md")]


def test_folders_are_topics_below_those_around_them() -> None:
    found = {one.name: one for one in topics_of(collection())}
    assert {name: found[name].parent for name in ("sales", "sales/europe", "people")} == {
        "sales": "",
        "sales/europe": "sales",
        "people": "",
    }
    assert [place for place, _ in found["sales"].places] == [0, 1, 2, 3, 10, 11, 12]
    assert "docs" not in found
    assert "alone" not in found


def test_a_heading_of_several_documents_of_a_folder_is_a_topic_below_it() -> None:
    found = {one.name: one for one in topics_of([*collection(), document(50, "docs/sales/5.md", "Expense report")])}
    assert found["Expense reports"].parent == "sales"
    assert found["Expense reports"].places == [(0, (0, 9)), (1, (0, 9)), (2, (0, 9)), (3, (0, 9)), (50, (0, 9))]
    assert "Contact" not in found, "a heading of all folders is that of a form"
    assert "Expense reports" not in {one.name for one in topics_of(collection(), not_names=["expense reports"])}


def test_documents_of_one_group_count_once() -> None:
    same = [document(one, f"docs/group/{one}.md", "Expense reports", unit="group") for one in range(5)]
    assert [one.name for one in topics_of([*same, document(9, "docs/other/a.md")])] == []


def test_the_number_of_topics_is_bounded_and_the_order_does_not_depend_on_that_of_documents() -> None:
    many = [document(3 * one + copy, f"docs/f{one}/{copy}.md", "Same") for one in range(700) for copy in range(3)]
    found = topics_of(many)
    assert len(found) == MOST_TOPICS
    assert [one.name for one in topics_of(reversed(many))] == [one.name for one in found]
