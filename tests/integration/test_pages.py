"""The pages on which chunks stand: in hits, in what agents are told, through edits."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_pdf import pdf

from pinakes.catalog import documents
from pinakes.library import Library
from pinakes.tools.retrieve import SearchAnswer


@pytest.fixture
def paged(library: Library, docs: Path) -> Library:
    (docs / "press.pdf").write_bytes(pdf("The cider press stands in the barn."))
    (docs / "plain.md").write_text("The honey press stands in the kitchen.\n")
    library.add(str(docs))
    return library


def test_a_hit_in_a_pdf_has_its_page_and_others_have_none(paged: Library) -> None:
    results = paged.search("press stands")
    assert {hit.path: (hit.page, hit.page_end) for hit in results.hits} == {
        "press.pdf": (1, 1),
        "plain.md": (None, None),
    }


def test_agents_are_told_the_page(paged: Library) -> None:
    answer = SearchAnswer(paged.search("cider barn", top_k=1))
    assert "press.pdf:1-1, p. 1 ·" in answer.as_text()
    (chunk,) = answer.as_data()["passages"]
    assert (chunk["page"], chunk["page_end"]) == (1, 1)
    other = SearchAnswer(paged.search("honey kitchen", top_k=1)).as_data()["passages"][0]
    assert "page" not in other


def test_pages_outlive_an_edit_of_what_is_known_about_a_file(paged: Library) -> None:
    (hit,) = paged.search("cider barn", top_k=1).hits
    paged.documents.update(hit.document_id, metadata={"vendor": "Orchard"})
    (again,) = paged.search("cider barn", top_k=1).hits
    assert again.metadata["vendor"] == "Orchard"
    assert (again.page, again.page_end) == (1, 1)


def test_the_catalogue_keeps_where_pages_begin(paged: Library) -> None:
    record = paged.collection("default")
    with paged.app.catalog.read() as connection:
        (document,) = documents.find(connection, record.id, "press.pdf")
        assert documents.pages(connection, document.id) == [0]
        (plain,) = documents.find(connection, record.id, "plain.md")
        assert documents.pages(connection, plain.id) == []
