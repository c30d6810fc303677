"""Rules and types of metadata from files to filters, and the report of what is missing."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from forking import run_pinakes

from pinakes.core.errors import InvalidSetting
from pinakes.library import Library
from pinakes.metadata import ERRORS
from pinakes.tools.describe import metadata_report

OpenLibrary = Callable[..., Library]

RULES: list[dict[str, Any]] = [
    {"field": "vendor", "take": "path", "what": "vendors/{vendor}/{rest*}", "map": {"acme": "ACME"}},
    {"field": "document_type", "take": "words", "words": {"policy": ["policy"], "guide": ["how to"]}},
    {"field": "document_type", "take": "default", "what": "page"},
    {"field": "date_published", "take": "header", "what": ["published"]},
    {"field": "date_published", "take": "path_date"},
    {"field": "price", "take": "header", "what": "price"},
]
SALES: dict[str, Any] = {
    "metadata_rules": RULES,
    "fields": {"date_published": "date", "price": "number"},
    "required": ["document_type"],
    "required_where": {"vendor": {"path": "vendors/**"}},
}


@pytest.fixture
def sales(open_library: OpenLibrary, docs: Path) -> Library:
    files = {
        "vendors/acme/policy.md": "# Refund policy\n\nPublished: March 5, 2024\n\nPrice: $1,200\n\nReturns are free.\n",
        "vendors/beta/how-to.md": "# How to order\n\nPublished: 2023\n\nPrice: 90\n\nOrder by phone.\n",
        "notes/2024-06-01-call.md": "# A call\n\nPrice: cheap\n\nThey called about returns.\n",
        "vendors/index.md": "# Vendors\n\nThose who sell to us.\n",
    }
    for name, text in files.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    library = open_library(collections={"sales": SALES}, collection="sales")
    library.add(str(docs))
    return library


def paths(library: Library, **filters: Any) -> set[str]:
    return {hit.path for hit in library.search("returns order call sell", filters=filters).hits}


def test_rules_fill_fields_that_filters_see(sales: Library) -> None:
    assert paths(sales, vendor="acme") == {"vendors/acme/policy.md"}
    assert paths(sales, document_type=["policy", "guide"]) == {"vendors/acme/policy.md", "vendors/beta/how-to.md"}
    assert sales.read("vendors/acme/policy.md").document.metadata["vendor"] == "ACME"


def test_dates_and_numbers_compare_as_what_they_are(sales: Library) -> None:
    assert paths(sales, date_published={"gte": "2024"}) == {"vendors/acme/policy.md", "notes/2024-06-01-call.md"}
    assert paths(sales, date_published={"lt": "1 April 2024"}) == {"vendors/acme/policy.md", "vendors/beta/how-to.md"}
    assert paths(sales, price={"gte": 100}) == {"vendors/acme/policy.md"}
    assert paths(sales, price={"lt": 100}) == {"vendors/beta/how-to.md"}, "what is no number is in no range"


def test_a_day_may_be_written_as_one_number(sales: Library) -> None:
    assert paths(sales, date_published={"gte": 20240306}) == {"notes/2024-06-01-call.md"}
    assert paths(sales, date_published={"lt": 20240305}) == {"vendors/beta/how-to.md"}
    assert paths(sales, date_published={"gte": 2024}) == {"vendors/acme/policy.md", "notes/2024-06-01-call.md"}


def test_values_of_documents_that_are_put_are_what_their_field_says(sales: Library) -> None:
    put = partial(sales.documents.put, "Sell and order returns.", collection="sales")
    put(title="Dear", path="dear.md", metadata={"price": "$1,234", "date_published": "5 March 2024"})
    odd = put(title="Odd", path="odd.md", metadata={"price": "cheap", "vendor": "acme"}).document
    assert paths(sales, price={"gte": 1234}) == {"dear.md"}
    assert "dear.md" in paths(sales, date_published="2024-03-05")
    assert odd.metadata == {"vendor": "acme", ERRORS: ["price: 'cheap' is not a number"]}
    changed = sales.documents.update(odd.uid, collection="sales", metadata={"vendor": "beta"}).document
    assert changed.metadata[ERRORS] == odd.metadata[ERRORS], "its price is still left out"
    mended = sales.documents.update(odd.uid, collection="sales", metadata={"price": "99.5"}).document
    assert mended.metadata == {"vendor": "beta", "price": 99.5}


def test_values_given_to_the_document_of_a_file_are_what_their_field_says(sales: Library) -> None:
    uid = sales.read("vendors/beta/how-to.md").document.uid
    sales.documents.update(uid, collection="sales", metadata={"price": "€ 2,000"})
    assert paths(sales, price={"gte": 2000}) == {"vendors/beta/how-to.md"}
    sales.sync()
    assert paths(sales, price={"gte": 2000}) == {"vendors/beta/how-to.md"}


def test_values_that_are_none_of_their_type_are_in_the_report(open_library: OpenLibrary, docs: Path) -> None:
    (docs / "a.md").write_text("# A\n\nPrice: cheap\n")
    library = open_library(collections={"sales": SALES}, collection="sales")
    report = library.add(str(docs))
    assert [(one.path, one.reason) for one in report.unlike] == [("a.md", "price: 'cheap' is not a number")]
    assert report.failed == []


def test_names_that_filters_take_for_one_are_one_for_rules_and_sources(open_library: OpenLibrary, docs: Path) -> None:
    rules = [
        {"field": "document_type", "take": "default", "what": "other"},
        {"field": "team_member", "take": "header", "what": "author"},
    ]
    own = "Document-Type: guide\nTeam Member: Zoe\nTEAM: sales\n"
    (docs / "a.md").write_text(f"---\n{own}---\n# A\n\nAuthor: Bob\n\nReturns.\n")
    source = {"location": str(docs), "metadata": ["team=platform"]}
    library = open_library(collections={"sales": {"metadata_rules": rules, "sources": [source]}}, collection="sales")
    library.sync()
    assert library.read("a.md").document.metadata == {
        "document_type": "guide",
        "team_member": "Bob",
        "team": "platform",
    }


def test_other_rules_read_the_files_again(sales: Library, open_library: OpenLibrary) -> None:
    assert sum(report.changed for report in sales.sync()) == 0
    other = {**SALES, "metadata_rules": [{"field": "vendor", "take": "constant", "what": "All"}]}
    library = open_library(collections={"sales": other}, collection="sales")
    [report] = library.sync()
    assert (report.changed, report.embedded) == (4, 0)
    assert paths(library, vendor="all") == {file.path for file in library.search("returns order call sell").hits}


def test_the_report_names_what_is_missing_where(sales: Library) -> None:
    [report] = sales.completeness(missing=5)
    vendor, kind = (next(one for one in report.fields if one.name == name) for name in ("vendor", "document_type"))
    assert (vendor.wanted, vendor.stated, vendor.missing) == (3, 2, ("vendors/index.md",))
    assert (kind.wanted, kind.stated, kind.by_default, kind.missing) == (4, 2, 2, ())
    assert report.share == pytest.approx(4 / 7)
    assert report.with_defaults == pytest.approx(6 / 7)
    assert (report.whole, report.reached) == (3, False)
    assert [(one.path, one.reason) for one in report.unlike] == [
        ("notes/2024-06-01-call.md", "price: 'cheap' is not a number")
    ]
    date = next(one for one in report.fields if one.name == "date_published")
    assert (date.required, date.share, dict(date.types)) == (False, 0.75, {"text": 3})


def test_defaults_count_as_such_whatever_they_are(open_library: OpenLibrary, docs: Path) -> None:
    for name in ("a.md", "b/c.md"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text("# Title\n\nText.\n")
    rules = [
        {"field": "kind", "take": "default", "what": "inner", "paths": "b/**"},
        {"field": "kind", "take": "default", "what": "outer", "map": {"outer": "Outside"}},
        {"field": "since", "take": "default", "what": "5 March 2024"},
        {"field": "open", "take": "default", "what": "yes"},
    ]
    given = {"metadata_rules": rules, "fields": {"since": "date", "open": "boolean"}}
    library = open_library(collections={"default": {**given, "required": ["kind", "since", "open"]}})
    library.add(str(docs))
    [report] = library.completeness()
    assert {one.name: (one.stated, one.by_default) for one in report.fields if one.required} == {
        "kind": (0, 2),
        "since": (0, 2),
        "open": (0, 2),
    }


def test_single_fields_can_be_looked_at(sales: Library) -> None:
    [report] = sales.completeness(fields=["Date-Published"], missing=1)
    assert report.fields[0].missing == ("vendors/index.md",)
    assert (report.fields[0].wanted, report.fields[0].lacking) == (4, 1)
    assert report.share == pytest.approx(3 / 4)


def test_nothing_required_and_nothing_there_is_no_error(open_library: OpenLibrary, docs: Path) -> None:
    library = open_library()
    assert library.completeness() == []
    (docs / "a.md").write_text("# A\n\nText.\n")
    library.add(str(docs))
    [report] = library.completeness()
    assert (report.documents, report.share, report.reached) == (1, None, True)


def test_a_filter_of_required_where_that_cannot_be_used_is_named(open_library: OpenLibrary, docs: Path) -> None:
    (docs / "a.md").write_text("# A\n\nText.\n")
    wrong = {"required_where": {"vendor": {"path": {"like": "x"}}}}
    library = open_library(collections={"sales": wrong}, collection="sales")
    library.add(str(docs))
    with pytest.raises(InvalidSetting, match=r"required_where\.vendor"):
        library.completeness()


def test_agents_and_the_command_line_see_the_same(sales: Library) -> None:
    told = metadata_report(library=sales)["collections"][0]
    assert (told["documents"], told["reached"], told["problem_count"]) == (4, False, 1)
    assert told["share"] == 0.5714
    home = sales.settings.home
    (home / "config.toml").write_text(
        'collection = "sales"\n[collections.sales]\nrequired = ["vendor"]\n[embedding]\nprovider = "deterministic"\n'
    )
    sales.close()
    done = run_pinakes(["--home", str(home), "metadata", "--json"], os.environ)
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["collections"]
    assert (found["collection"], found["documents"]) == ("sales", 4)
    assert found["fields"][0]["missing"] == ["notes/2024-06-01-call.md", "vendors/index.md"]


def test_most_of_what_the_handbook_profile_requires_is_found_in_a_real_handbook(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    data = Path(os.environ.get("PINAKES_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
    archive = data / "handbook" / "handbook.tar.gz"
    if not archive.is_file():
        pytest.skip(f"there is no {archive}: set PINAKES_TEST_DATA")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    library = open_library(profile="handbook")
    library.add(str(tmp_path / "handbook"))
    [report] = library.completeness()
    assert report.reached, report.share
    shares = {one.name: one.share for one in report.fields if one.required}
    assert shares["category"] > 0.99
    assert shares["document_type"] == 1.0
    assert {one.name: one.wanted for one in report.fields if one.required}["date_published"] == 0, "it has no history"
