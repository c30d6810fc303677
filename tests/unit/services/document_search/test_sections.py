"""Which heading of a document a name means."""

from __future__ import annotations

import pytest

from pinakes.chunking import headings
from pinakes.core.records import Document
from pinakes.services.document_search.expanding import section_of

GUIDE = headings(
    Document(
        "# Guide\n\nintro\n\n## Changelog\n\nchanges\n\n## C#\n\nsharp\n\n## Build\n\nbuild\n\n"
        "## From A -> B\n\narrow\n\n"
        "## map<int> Build\n\nmap\n\n## Usage\n\nof the guide\n\n# Other\n\n## Usage\n\nof the other\n\n"
        "## Configure 1\n\none\n\n## Configure 2\n\ntwo\n",
        "",
        "markdown",
    )
)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("C#", "C#"),
        ("## C#", "C#"),
        ("Guide > C#", "C#"),
        ("From A -> B", "From A -> B"),
        ("from a  -> b", "From A -> B"),
        ("Guide > From A -> B", "From A -> B"),
        ("map<int> Build", "map Build"),
        ("Build", "Build"),
        ("buidl", "Build"),
        ("# Guide > ## Change", "Changelog"),
        ("Configure 2", "Configure 2"),
    ],
)
def test_a_heading_is_meant_by_its_name(name: str, title: str) -> None:
    found = section_of(GUIDE, name)
    assert found is not None
    assert found.title == title


@pytest.mark.parametrize("name", ["#", "##", ">", "Guide >", "> ", "", "   ", "Costs of fences"])
def test_no_heading_is_meant_where_none_is_named(name: str) -> None:
    assert section_of(GUIDE, name) is None


@pytest.mark.parametrize("name", ["C", "Configure", "Guide > Co"])
def test_a_beginning_that_several_have_means_none(name: str) -> None:
    assert section_of(GUIDE, name) is None


def test_of_headings_with_one_name_that_below_the_named_ones_is_meant() -> None:
    first, second = (one for one in GUIDE if one.title == "Usage")
    assert section_of(GUIDE, "Usage") == section_of(GUIDE, "Guide > Usage") == first
    assert section_of(GUIDE, "Other > Usage") == section_of(GUIDE, "Other > Usa") == second
