"""What readers call documents: paths of many forms, and names that look like patterns."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes import InvalidInput, Library, NotFound

PATHS = [
    "app/[id]/page.tsx",
    "app/i/page.tsx",
    "app/[...slug]/page.tsx",
    "notes/a*.md",
    "notes/ab.md",
    "notes/what?.md",
    "notes/{draft} one.md",
    "Guide.md",
    "guide.md",
    "docs/deep/only.md",
    unicodedata.normalize("NFC", "docs/café.md"),
    unicodedata.normalize("NFD", "docs/thé.md"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    home = tmp_path_factory.mktemp("home")
    root = home / "my docs"
    for number, path in enumerate(PATHS):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"This page says what stands in {path}: the {number} of it.\n")
    with Library.open(home / "library", embedding__provider="deterministic") as opened:
        opened.add(str(root))
        yield opened


def root_of(library: Library) -> Path:
    return Path(str(library.status()[0].sources[0]["location"]))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("form", ["{}", "./{}", ".//{}", "/{}", "{}/", "x/../{}", "{root}/{}", "{uri}/{}"])
def test_a_document_is_read_by_every_form_of_its_path(library: Library, path: str, form: str) -> None:
    root = root_of(library)
    reference = form.format(path, root=root, uri=root.as_uri())
    assert library.read(reference).document.path == path


@pytest.mark.parametrize("path", PATHS)
def test_a_document_is_read_by_its_uri_and_by_accents_encoded_the_other_way(library: Library, path: str) -> None:
    assert library.read((root_of(library) / path).as_uri()).document.path == path
    assert library.read(unicodedata.normalize("NFC", path)).document.path == path
    assert library.read(unicodedata.normalize("NFD", path)).document.path == path


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("only.md", "docs/deep/only.md"),
        ("deep/only.md", "docs/deep/only.md"),
        ("./deep/only.md", "docs/deep/only.md"),
        ("[id]/page.tsx", "app/[id]/page.tsx"),
        ("ONLY.MD", "docs/deep/only.md"),
        ("Docs/Deep/Only.md", "docs/deep/only.md"),
        ("guide.md", "guide.md"),
        ("Guide.md", "Guide.md"),
        ("docs\\deep\\only.md", "docs/deep/only.md"),
    ],
)
def test_the_end_of_a_path_and_other_cases_of_letters_are_enough(library: Library, reference: str, path: str) -> None:
    assert library.read(reference).document.path == path


def test_an_end_that_several_paths_have_is_refused_with_the_candidates(library: Library) -> None:
    with pytest.raises(InvalidInput, match="3 documents go by") as error:
        library.read("page.tsx")
    assert "app/i/page.tsx" in str(error.value)
    with pytest.raises(InvalidInput, match="2 documents"):
        library.read("GUIDE.md")


@pytest.mark.parametrize("reference", ["/etc/passwd", "file:///etc/passwd", "../x.md", "*", "file://[", "~no9/x", "\0"])
def test_what_is_no_document_is_not_found(library: Library, reference: str) -> None:
    with pytest.raises(NotFound):
        library.read(reference)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_is_there_is_that_path_before_it_is_a_pattern(library: Library, path: str) -> None:
    for filters in ({"path": path}, {"path": {"glob": path}}, {"path": [path, "nowhere/*.md"]}, {"path": f"./{path}"}):
        hits = library.search("page", mode="keyword", filters=filters).hits
        expected = {path.casefold()}
        assert {hit.path.casefold() for hit in hits} == expected, filters


@pytest.mark.parametrize("query", ["page path:app/[id]/page.tsx", "page path:notes/a*.md", "page path:notes/what?.md"])
def test_the_same_holds_for_paths_in_the_text_of_a_query(library: Library, query: str) -> None:
    hits = library.search(query, mode="keyword").hits
    assert [hit.path for hit in hits] == [query.split(":")[1].strip('"')]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("app/[id]", {"app/[id]/page.tsx"}),
        ("app/[id]/", {"app/[id]/page.tsx"}),
        ("app/[id]/*.tsx", {"app/[id]/page.tsx"}),
        ("app/[hij]/*.tsx", {"app/i/page.tsx"}),
        ("app/*/page.tsx", {path for path in PATHS if path.startswith("app")}),
        ("notes/a?.md", {"notes/a*.md", "notes/ab.md"}),
        ("docs/", {path for path in PATHS if path.startswith("docs")}),
        ("docs/caf*.md", {PATHS[-2]}),
        (unicodedata.normalize("NFC", "docs/thé*"), {PATHS[-1]}),
    ],
)
def test_folders_and_patterns(library: Library, pattern: str, paths: set[str]) -> None:
    hits = library.search("page", mode="keyword", filters={"path": {"glob": pattern}}).hits
    assert {hit.path for hit in hits} == paths


def test_a_path_with_signs_of_patterns_can_be_left_out(library: Library) -> None:
    hits = library.search("page", mode="keyword", top_k=20, filters={"path": {"ne": "app/[id]/page.tsx"}}).hits
    assert {hit.path for hit in hits} == {*PATHS} - {"app/[id]/page.tsx"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("form", ["{}", "./{}", "{root}/{}", "{uri}/{}"])
def test_a_filter_takes_every_form_of_a_path(library: Library, path: str, form: str) -> None:
    root = root_of(library)
    given = form.format(path, root=root, uri=root.as_uri())
    same = {one for one in PATHS if one.casefold() == path.casefold()}
    for wanted in (given, {"glob": given}):
        assert {hit.path for hit in library.search("page says", top_k=50, filters={"path": wanted}).hits} == same


@pytest.mark.parametrize(
    ("end", "path"),
    [("only.md", "docs/deep/only.md"), ("deep/only.md", "docs/deep/only.md"), ("[id]/page.tsx", "app/[id]/page.tsx")],
)
def test_a_filter_takes_the_end_of_the_only_path_that_has_it(library: Library, end: str, path: str) -> None:
    for wanted in (end, {"glob": end}):
        assert {hit.path for hit in library.search("page says", top_k=50, filters={"path": wanted}).hits} == {path}
    assert {hit.path for hit in library.search(f"page path:{end}", top_k=50).hits} == {path}


def test_a_filter_by_an_end_that_several_paths_have_names_them(library: Library) -> None:
    results = library.search("page says", filters={"path": "page.tsx"})
    assert not results.hits
    assert any("page.tsx" in note and "did you mean" in note for note in results.notes)


def test_a_folder_is_taken_by_its_absolute_path(library: Library) -> None:
    hits = library.search("page says", top_k=50, filters={"path": f"{root_of(library)}/notes/"}).hits
    assert {hit.path for hit in hits} == {path for path in PATHS if path.startswith("notes/")}


def test_patterns_of_a_source_may_be_absolute(tmp_path: Path) -> None:
    for path in ("app/[id]/page.md", "app/i/page.md", "docs/a.md", "docs/b.md"):
        (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path).write_text(f"This page says what stands in {path}.\n")
    root = tmp_path / "site"
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as library:
        include, exclude = [f"{root}/app/[id]/page.md", f"{root}/docs"], [f"{root}/docs/b.md"]
        library.add(str(root), include=include, exclude=exclude)
        assert {hit.path for hit in library.search("page says", top_k=50).hits} == {"app/[id]/page.md", "docs/a.md"}
