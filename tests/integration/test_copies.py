"""Texts that differ only in a version or date take one place; those that differ in numbers never do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes import Library
from pinakes.search.ranking.duplicates import numbers_in
from pinakes.text.version_numbers import versions_in, without_versions


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("docs/v1.10/install.md", {"1.10"}),
        ("release-2.3.1.md", {"2.3.1"}),
        ("notes/2026-03-01.md", {"2026-03-01"}),
        ("handbook/2025/pay.md", {"2025"}),
        ("api/v2/users.md", {"2"}),
        ("INV-1.2.pdf", set()),
        ("invoices/INV-2024-0113.pdf", set()),
        ("total 1312.50", set()),
        ("chapter seven", set()),
    ],
)
def test_versions_and_dates_are_found_in_paths_and_titles(text: str, versions: set[str]) -> None:
    assert versions_in(text) == versions


def test_only_a_version_that_stands_by_itself_is_left_out() -> None:
    assert without_versions("Get v1.1 or 1.1, not 1.10 nor 11.1.", {"1.1"}) == "Get § or §, not 1.10 nor 11.1."


def test_amounts_dates_and_identifiers_count_as_numbers() -> None:
    assert numbers_in("Invoice INV-7, 312.50 EUR, due 13.03.2024.") == {"inv-7", "312.50", "13.03.2024"}


def _library(tmp_path: Path, files: dict[str, str]) -> Library:
    folder = tmp_path / "docs"
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    library = Library.open(tmp_path / "home", embedding__mode="full")
    library.add(str(folder))
    return library


INSTALL = "# Install\n\nDownload the package of {0} and run the setup script as root to install the agent.\n"
OTHERS = {
    "proxy.md": "# Proxy\n\nTo install behind a proxy set a variable before the setup.\n",
    "remove.md": "# Remove\n\nThe agent is removed by the script that install left behind.\n",
}


def test_many_versions_take_one_place_however_many_there_are(tmp_path: Path) -> None:
    versions = {f"v{major}.{minor}/install.md": f"{major}.{minor}" for major in range(1, 7) for minor in range(40)}
    files = {path: INSTALL.format(version) for path, version in versions.items()}
    with _library(tmp_path, {**files, **OTHERS}) as library:
        hits = library.search("install the agent", top_k=3).hits
        assert {hit.path.rpartition("/")[2] for hit in hits} == {"install.md", "proxy.md", "remove.md"}
        first = next(hit for hit in hits if hit.path.endswith("install.md"))
        assert len(first.duplicates) >= 100
        found = library.staged.summaries("install the agent", top_k=3).documents
        assert {one.document.path.rpartition("/")[2] for one in found} == {"install.md", "proxy.md", "remove.md"}
        assert max(len(one.copies) for one in found) >= 100


def test_versions_that_the_query_or_a_filter_names_stay_apart(tmp_path: Path) -> None:
    files = {f"v1.{minor}/install.md": INSTALL.format(f"1.{minor}") for minor in range(6)}
    with _library(tmp_path, files) as library:
        named = library.search("install 1.2 or 1.4", top_k=6).hits
        assert {"v1.2/install.md", "v1.4/install.md"} <= {hit.path for hit in named}
        filtered = library.search("install", top_k=6, filters={"path": ["v1.3/install.md", "v1.5/install.md"]}).hits
        assert {hit.path for hit in filtered} == {"v1.3/install.md", "v1.5/install.md"}


def test_versions_with_the_same_words_stay_apart_where_they_are_named(tmp_path: Path) -> None:
    text = "# Upgrade\n\nStop the service, install the package, start the service and look at its page.\n"
    with _library(tmp_path, {f"{major}.0/upgrade.md": text for major in (2, 3, 4, 5)}) as library:
        assert len(library.search("upgrade the service", top_k=5).hits) == 1
        named = library.search("upgrade the service of 3.0 or 4.0", top_k=5).hits
        assert {"3.0/upgrade.md", "4.0/upgrade.md"} <= {hit.path for hit in named}
        filtered = library.search("upgrade", top_k=5, filters={"path": ["2.0/upgrade.md", "5.0/upgrade.md"]}).hits
        assert len(filtered) == 2


def test_every_tool_that_ranks_documents_gives_versions_one_place(tmp_path: Path) -> None:
    files = {f"v1.{minor}/install.md": INSTALL.format(f"1.{minor}") for minor in range(4)}
    with _library(tmp_path, {**files, **OTHERS}) as library:
        other = tmp_path / "other" / "v2.0"
        other.mkdir(parents=True)
        (other / "install.md").write_text(INSTALL.format("2.0"), "utf-8")
        library.add(str(other.parent), "other")
        staged, proxy = library.staged, library.read("proxy.md").document.uid
        version = library.read("v1.2/install.md").document.uid
        for found, copies in (
            (staged.several(["install the agent", "download a package", "run the setup"], "default", top_k=9), 3),
            (staged.similar(proxy, top_k=9), 3),
            (staged.similar(version, top_k=9), 2),
            (staged.summaries("install the agent", "*", top_k=9), 4),
            (staged.several(["install the agent", "run the setup as root"], "*", top_k=9), 4),
        ):
            [page] = [one for one in found.documents if one.document.path.endswith("install.md")]
            assert len(page.copies) == copies


def test_invoices_that_differ_in_numbers_are_never_left_out(tmp_path: Path) -> None:
    text = (
        "# Invoice {0}\n\nDear customer, for the services of the past month, which were done as agreed in the contract "
        "between us, we ask you to pay the amount of {1} EUR to the account below within thirty days.\n"
    )
    files = {f"2026/{number}.md": text.format(number, amount) for number, amount in ((11, 90), (12, 91), (13, 90))}
    with _library(tmp_path, files) as library:
        assert len(library.search("invoice amount", top_k=10).hits) == 3
        assert len(library.staged.summaries("invoice amount", top_k=10).documents) == 3


def test_copies_are_shown_where_that_is_asked_for(tmp_path: Path) -> None:
    files = {f"v1.{minor}/install.md": INSTALL.format(f"1.{minor}") for minor in range(4)}
    with _library(tmp_path, files) as library:
        assert len(library.search("install", top_k=4).hits) == 1
    with Library.open(tmp_path / "home", search__fold_duplicates=False) as library:
        assert len(library.search("install", top_k=4).hits) == 4
        assert len(library.staged.summaries("install", top_k=4).documents) == 4


def test_as_many_documents_as_asked_for_come_however_long_some_are(tmp_path: Path) -> None:
    long = "\n\n".join(f"## Part {n}\n\nThe gate of orchard {n} opens at dawn for the harvest." for n in range(600))
    files = {"long.md": f"# Gate\n\n{long}\n"}
    files |= {f"short-{n}.md": f"# Note {n}\n\nA gate was mentioned by gardener number {n * 7}.\n" for n in range(8)}
    with _library(tmp_path, files) as library:
        assert len(library.staged.summaries("gate", top_k=9).documents) == 9
        reference = library.staged.summaries("gate", top_k=1).documents[0].document.uid
        assert len(library.staged.similar(reference, top_k=8).documents) == 8
