"""A document that a query names by identifier or path comes first, before texts that only refer to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes import Library
from pinakes.core.records import SearchMode
from pinakes.search.query.named_documents import may_name

RFC = "# RFC-0011: Colour of the shed\n\nThe shed is painted green.\n\n## Risks\n\nPaint peels in the sun.\n"
DECISION = "# Backups\n\nBackups are kept for thirty days.\n\n## Risks\n\nDisks fill up.\n"
ABOUT = """# Meeting of {day}

RFC-0011 and DEC-0054 and INV-2024-0113: RFC-0011 was read, RFC 11 was read again, RFC-0011 risks, DEC-0054 risks.

See guides/keys/rotate.md, guides/keys/rotate.md, INV-2024-0113 and TASK 42, TASK 42 again.
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("documents")
    files = {
        "proposals/shed.md": RFC,
        "proposals/RFC-00110-bridge.md": "# The bridge\n\nA bridge over the river, RFC-00110 in full.\n",
        "decisions/0054.md": f"---\nid: DEC-0054\n---\n\n{DECISION}",
        "tasks/oil.md": "---\ntask-number: 42\n---\n\n# Oil the hinges\n\nThe hinges of the gate need oil.\n",
        "tasks/hammer.md": "---\nkep-number: 753\n---\n\n# A hammer\n\nA hammer is bought for the workshop.\n",
        "bills/INV-2024-0113.txt": "Bill for two buckets of paint.\n",
        "guides/keys/rotate.md": "# Rotation\n\nKeys are rotated in spring.\n",
        "guides/keys/eight.md": "---\nnumber: 8\nid: 8\n---\n\n# The eighth\n\nWhat is said of gates.\n",
        "a/README.md": "# One\n\nAbout the mill, README of it.\n",
        "b/README.md": "# Two\n\nAbout the barn, README of it.\n",
        **{f"meetings/{day}.md": ABOUT.format(day=f"{day:02} May") for day in range(1, 9)},
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with Library.open(folder / "home", embedding__provider="deterministic", embedding__mode="full") as library:
        library.add(str(folder / "proposals"), "other")
        library.add(str(folder / "meetings"), "minutes")
        for part in ("proposals", "decisions", "tasks", "bills", "guides", "a", "b", "meetings"):
            library.add(str(folder / part), "main", as_source=True)
        yield library


NAMES = {
    "RFC-0011": "shed.md",
    "what are the risks of RFC-0011?": "shed.md",
    "(rfc-0011)": "shed.md",
    "RFC 0011 colour": "shed.md",
    "DEC-0054": "0054.md",
    "why DEC-0054, and for how long": "0054.md",
    "TASK 42": "oil.md",
    "TASK-42 hinges": "oil.md",
    "TASK-42's hinges": "oil.md",
    "TASK–42": "oil.md",
    "TASK\u201142": "oil.md",
    "ＴＡＳＫ－４２": "oil.md",
    "task #42": "oil.md",
    "TASK#42": "oil.md",
    "Task: 42": "oil.md",
    "task no. 42 hinges": "oil.md",
    "TASK-42,TASK-43": "oil.md",
    "TASK-99/TASK-42": "oil.md",
    "INV-2024-0113": "INV-2024-0113.txt",
    "keys/rotate.md": "keys/rotate.md",
    "./keys/rotate.md": "keys/rotate.md",
    "what does keys/rotate.md say of spring?": "keys/rotate.md",
    "rotate.md": "keys/rotate.md",
    "keys/rotate.md:2-3": "keys/rotate.md",
    "rotate.md:3": "keys/rotate.md",
    "see keys/rotate.md#rotation for this": "keys/rotate.md",
}


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize("query", NAMES)
def test_the_document_of_that_name_comes_first(library: Library, query: str, mode: SearchMode) -> None:
    found = library.search(query, "main", mode=mode, top_k=5)
    assert found.hits[0].path == NAMES[query]
    assert any("the document of that name" in note for note in found.notes)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    for hit in found.hits:
        assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-5)


def test_only_its_best_chunk_comes_first(library: Library) -> None:
    found = library.search("which meetings were about RFC-0011", "main", top_k=5)
    assert [hit.path for hit in found.hits].count("shed.md") <= 2
    assert "May" in found.hits[1].text


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("sections")
    (folder / "in").mkdir()
    parts = {"Paint": "green colour", "Roof": "tiles of slate", "Risks": "peeling in the sun", "Costs": "two buckets"}
    text = "".join(f"## {name}\n\n{f'This is about the {words} in words. ' * 60}\n\n" for name, words in parts.items())
    (folder / "in" / "shed.md").write_text(
        f"# RFC-0011: The shed\n\n{'A shed is built behind the house. ' * 60}\n\n{text}"
    )
    for day in range(1, 9):
        (folder / "in" / f"{day}.md").write_text(ABOUT.format(day=f"{day:02} May"))
    with Library.open(folder / "home", embedding__provider="deterministic") as library:
        library.add(str(folder / "in"), "main")
        yield library


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize(
    "query",
    ["RFC-0011", "(rfc 0011)", "RFC-0011's?", "what is RFC-0011", "shed.md", "./shed.md:3", "shed.md:0"],
)
def test_a_name_alone_shows_the_beginning_of_the_document(sections: Library, query: str, mode: SearchMode) -> None:
    hit = sections.search(query, "main", mode=mode, top_k=5).hits[0]
    assert (hit.path, hit.chunk_index) == ("shed.md", 0)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize(
    ("lines", "section"),
    [
        (":5", "Paint"),
        (":11-14", "Risks"),
        (":13:4", "Risks"),
        ("#L13", "Risks"),
        ("#L17-L19", "Costs"),
        (":9999", "Costs"),
    ],
)
def test_lines_behind_a_path_choose_the_chunk_that_has_them(
    sections: Library, lines: str, section: str, mode: SearchMode
) -> None:
    for query in (f"shed.md{lines}", f"words about shed.md{lines}?", f"./shed.md{lines}, green colour"):
        found = sections.search(query, "main", mode=mode, top_k=5)
        assert (found.hits[0].path, found.hits[0].section) == ("shed.md", section)
        assert not any("no chunk has" in note for note in found.notes), found.notes


def test_two_places_of_one_file_are_both_among_the_first(sections: Library) -> None:
    for query in ("./shed.md:5 and ./shed.md:17", "see shed.md:5 and shed.md:17", "shed.md:17 shed.md:5 slate"):
        found = sections.search(query, "main", top_k=5)
        assert {hit.section for hit in found.hits[:2]} == {"Paint", "Costs"}, query


def test_lines_before_the_first_chunk_choose_that(tmp_path: Path) -> None:
    parts = "".join(f"## {name}\n\n{f'Words about {name}. ' * 150}\n\n" for name in ("Paint", "Roof", "Risks"))
    (tmp_path / "shed.md").write_text(f"---\nauthor: Ada\ncolour: green\n---\n\n{parts}")
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as library:
        library.add(str(tmp_path), "main", exclude=["home/**"])
        hit = library.search("words about Risks in shed.md:1", "main", mode="keyword", top_k=5).hits[0]
    assert (hit.path, hit.chunk_index) == ("shed.md", 0)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("RFC-0011 risks", "Risks"),
        ("what does RFC-0011 say of tiles of slate?", "Roof"),
        ("how many buckets for RFC-0011", "Costs"),
    ],
)
def test_other_words_choose_the_chunk_of_a_named_document(
    sections: Library, query: str, section: str, mode: SearchMode
) -> None:
    hit = sections.search(query, "main", mode=mode, top_k=5).hits[0]
    assert (hit.path, hit.section) == ("shed.md", section)


def test_two_names_have_both_their_documents_first(library: Library) -> None:
    found = library.search("RFC-0011 or DEC-0054", "main", top_k=5)
    assert {hit.path for hit in found.hits[:2]} == {"shed.md", "0054.md"}


@pytest.mark.parametrize(
    "query",
    [
        "README.md",
        "and/or",
        "RFC-9999",
        "phase 2 of it",
        "x/y/z/nowhere.md",
        "https://nowhere.example/rfc",
        "0054",
        "utf-8",
        "x/TASK-42",
        "C# 42",
    ],
)
def test_what_names_no_document_or_several_changes_nothing(library: Library, query: str) -> None:
    found = library.search(query, "main", top_k=5)
    assert not any("the document of that name" in note for note in found.notes)


def test_longer_numbers_do_not_hide_a_shorter_one(tmp_path: Path) -> None:
    for number in (*range(1000, 1450), 1):
        (tmp_path / f"{number if number > 1 else chr(122)}.md").write_text(
            f"# RFC-{number}: a proposal\n\nWords of it.\n"
        )
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as library:
        library.add(str(tmp_path), "main", exclude=["home/**"])
        found = library.search("RFC-1", "main", mode="keyword")
    assert found.hits[0].path == "z.md"
    assert any("the document of that name" in note for note in found.notes)


LONG = "a-file-whose-name-is-so-long-that-no-note-can-say-all-of-it-in-one-line.md"


@pytest.mark.parametrize("collection", ["main", "minutes,main", "*"])
def test_a_note_says_only_what_is_true_of_the_hits(library: Library, collection: str) -> None:
    for where in ({"min_score": 0.9999}, {"filters": {"path": {"glob": "*May*"}}}):
        found = library.search("RFC-0011", collection, **where)  # type: ignore[arg-type]
        assert not any(hit.path == "shed.md" for hit in found.hits)
        assert not any("the document of that name" in note for note in found.notes)
    [hit] = library.search("RFC-0011 or DEC-0054", collection, top_k=1).hits
    notes = library.search("RFC-0011 or DEC-0054", collection, top_k=1).notes
    name = {"shed.md": "RFC-0011", "0054.md": "DEC-0054"}[hit.path]
    assert f"{name!r}: the best chunk of the document of that name comes first" in notes


def test_a_name_that_stands_in_no_text_is_not_told_as_missing(library: Library) -> None:
    for query in ("KEP-0753", "kep-753 hammer", "keys/eight.md"):
        for collection in ("main", "minutes,main"):
            found = library.search(query, collection)
            assert any("the document of that name" in note for note in found.notes)
            assert not any("no chunk has" in note for note in found.notes)
    assert "no chunk has 'KEP-0754'" in library.search("KEP-0754", "main").notes


def test_a_word_that_is_only_letters_of_a_name_is_told_as_missing(library: Library) -> None:
    for query in ("igh of keys/eight.md", "keys/eight.md:3 igh"):
        notes = library.search(query, "main").notes
        assert any("the document of that name" in note for note in notes)
        assert [note for note in notes if "no chunk has" in note] == ["no chunk has 'igh'"]


def test_a_time_and_a_host_with_a_port_are_no_files(library: Library, tmp_path: Path) -> None:
    assert not any(map(may_name, ("at 10.30:45", "10.30:45 hinges", "127.0.0.1:8080")))
    for name in ("example.com", "example.md"):
        (tmp_path / name).write_text("Words about the mill.\n")
    library.add(str(tmp_path), "hosts", include=["*"])
    notes = {name: library.search(f"mill {name}:80", "hosts").notes for name in ("example.com", "example.md")}
    assert [name for name in notes if any("of that name" in note for note in notes[name])] == ["example.md"]
    assert library.search("example.com", "hosts").hits[0].path == "example.com"


def test_documents_that_are_left_out_are_not_noted_among_documents(library: Library) -> None:
    assert not any("of that name" in note for note in library.staged.summaries("RFC-0011", "main", min_score=1).notes)
    [note] = [one for one in library.staged.summaries("RFC-0011", "main,minutes").notes if "of that name" in one]
    assert note == "'RFC-0011': the document of that name comes first"


def test_a_long_name_is_cut_visibly(library: Library, tmp_path: Path) -> None:
    (tmp_path / LONG).write_text("# Words\n\nAbout the mill.\n")
    library.add(str(tmp_path), "long")
    [note] = [one for one in library.search(LONG, "long").notes if "of that name" in one]
    assert note.startswith(f"'{LONG[:59]}…': ")


def test_filters_and_exclusions_hold_for_named_documents(library: Library) -> None:
    found = library.search("RFC-0011", "main", filters={"path": {"glob": "*May*"}}, top_k=5)
    assert not any(hit.path == "shed.md" for hit in found.hits)
    found = library.search("RFC-0011 -shed", "main", top_k=5)
    assert not any(hit.path == "shed.md" for hit in found.hits)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize("query", NAMES)
def test_the_document_comes_first_over_several_collections(library: Library, query: str, mode: SearchMode) -> None:
    found = library.search(query, ["minutes", "main"], mode=mode, top_k=5)
    assert found.hits[0].path == NAMES[query]
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    for hit in found.hits:
        assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-5)
    found = library.search(query, "*", mode=mode, top_k=5)
    assert found.hits[0].path == NAMES[query]


@pytest.mark.parametrize("collection", ["main", "minutes,main", "*"])
@pytest.mark.parametrize("query", NAMES)
def test_documents_that_are_named_come_first_among_documents(library: Library, query: str, collection: str) -> None:
    found = library.staged.summaries(query, collection)
    assert found.documents[0].document.path == NAMES[query]
    assert [one.score for one in found.documents] == sorted((one.score for one in found.documents), reverse=True)
    for one in found.documents:
        assert sum(one.score_parts.values()) == pytest.approx(one.score, abs=1e-5)
    several = library.staged.several(["what was said in May", query], collection)
    assert several.documents[0].document.path == NAMES[query]


def test_an_address_names_its_document(library: Library) -> None:
    [hit] = library.search("hinges", "main", top_k=1).hits
    assert library.search(hit.uri, "main", top_k=3).hits[0].path == "oil.md"
    assert library.search(f"{hit.uri}#L2", "main", top_k=3).hits[0].path == "oil.md"


def test_explanations_agree_with_the_search(library: Library, tmp_path: Path) -> None:
    [one] = library.explain("RFC-0011", ["shed.md"], "main").documents
    assert one.rank == 1
