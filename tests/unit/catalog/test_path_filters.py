"""What the paths of a filter mean, in each kind of database: a place of one source, or the end of the only path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from catalog_making import new, put
from sqlalchemy import event

from pinakes.catalog import Catalog, documents, selection, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.path_filters import MOST_ENDS
from pinakes.core import filters

SOURCES = {
    "/place/two/a": ["readme.md", "Guide.md", "guide.md", "deep/café.md", "[id]/page.md", "i/page.md"],
    "/place/two/b": ["readme.md", "plan.md", "deep/only.md"],
    "/place/two/b/inner": ["plan.md"],
    "/place/one.txt": ["one.txt"],
}


@pytest.fixture
def files(catalog: Catalog, collection: CollectionRecord) -> Catalog:
    for location, paths in SOURCES.items():
        with catalog.write() as connection:
            source = sources.remember(connection, collection.id, ("folder", location, ""), {})
        made = [new(path, location, uri=f"file://{location}/{path}", source_id=source.id) for path in paths]
        put(catalog, collection, *made)
    return catalog


def found(catalog: Catalog, collection: CollectionRecord, wanted: Any) -> set[str]:
    """Return what passes a filter, as the last part of the source and the path."""
    with catalog.read() as connection:
        ids = selection.matching(connection, collection.id, filters.parse({"path": wanted})).tolist()
        every = documents.of_ids(connection, ids)
    return {f"{one.uri.removesuffix(f'/{one.path}').rpartition('/')[2]}:{one.path}" for one in every}


OF_A = {f"a:{path}" for path in SOURCES["/place/two/a"]}
OF_B = {f"b:{path}" for path in SOURCES["/place/two/b"]} | {"inner:plan.md"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/place/two/a", OF_A),
        ("/place/two/a/", OF_A),
        ("/place/two/a/**", OF_A),
        ("/place/two/b", OF_B),
        ("/place/two", OF_A | OF_B),
        ("/place/two/a/readme.md", {"a:readme.md"}),
        ("file:///place/two/a/readme.md", {"a:readme.md"}),
        ("/place/two/a/plan.md", set()),
        ("/place/two/a/GUIDE.md", {"a:Guide.md", "a:guide.md"}),
        ("/place/two/a/cafe\u0301.md", set()),
        ("/place/two/a/deep/cafe\u0301.md", {"a:deep/café.md"}),
        ("/place/two/a/deep", {"a:deep/café.md"}),
        ("/place/two/b/inner/plan.md", {"inner:plan.md"}),
        ("/place/one.txt", {"one.txt:one.txt"}),
        ("/elsewhere/plan.md", set()),
    ],
)
def test_an_absolute_path_is_what_lies_at_that_place(
    files: Catalog, collection: CollectionRecord, text: str, expected: set[str]
) -> None:
    assert found(files, collection, text) == expected
    assert found(files, collection, {"glob": text}) == expected
    everything = OF_A | OF_B | {"one.txt:one.txt"}
    assert found(files, collection, {"ne": text.rstrip("*").rstrip("/")}) == everything - expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/place/two/a/*.md", {"a:readme.md", "a:Guide.md", "a:guide.md"}),
        ("/place/two/b/**/plan.md", {"b:plan.md", "inner:plan.md"}),
        ("/place/*/b/plan.md", {"b:plan.md"}),
        ("/place/two/a/[id]/page.md", {"a:[id]/page.md"}),
        ("/place/two/a/[hij]/*", {"a:i/page.md"}),
        ("/place/two/*/inner/", {"inner:plan.md"}),
        (["/place/two/a/read*", "plan.md"], {"a:readme.md", "b:plan.md", "inner:plan.md"}),
    ],
)
def test_an_absolute_pattern_matches_places(
    files: Catalog, collection: CollectionRecord, pattern: str | list[str], expected: set[str]
) -> None:
    assert found(files, collection, {"glob": pattern}) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["only.md"], {"b:deep/only.md"}),
        (["./only.md"], {"b:deep/only.md"}),
        (["/deep/only.md"], {"b:deep/only.md"}),
        (["only.md", "readme.md"], {"b:deep/only.md", "a:readme.md", "b:readme.md"}),
        (["only.md", "cafe\u0301.md"], {"b:deep/only.md", "a:deep/café.md"}),
        (["page.md"], set()),
        (["deep//only.md", "./[id]/./page.md"], {"b:deep/only.md", "a:[id]/page.md"}),
        (["deep\\only.md", "i\\page.md"], {"b:deep/only.md", "a:i/page.md"}),
        (["only.md", *(f"none-{number}.md" for number in range(MOST_ENDS - 1))], {"b:deep/only.md"}),
        (["guide.md", "only.md", *(f"none-{number}.md" for number in range(MOST_ENDS))], {"a:Guide.md", "a:guide.md"}),
    ],
)
def test_each_of_a_few_paths_may_be_the_end_of_the_only_one(
    files: Catalog, collection: CollectionRecord, texts: Sequence[str], expected: set[str]
) -> None:
    assert found(files, collection, list(texts)) == expected
    assert found(files, collection, {"ne": list(texts)}) == (OF_A | OF_B | {"one.txt:one.txt"}) - expected


def test_each_of_several_patterns_may_be_an_end(files: Catalog, collection: CollectionRecord) -> None:
    put(files, collection, new("docs/api/v1/keys.md", "x"))
    with files.read() as connection:
        where = filters.parse({"path": {"glob": ["deep/only.md", "v1/keys.md"]}})
        assert len(selection.matching(connection, collection.id, where)) == 2


def test_many_names_that_no_path_has_are_looked_up_in_few_statements(
    files: Catalog, collection: CollectionRecord
) -> None:
    statements: list[str] = []
    with files.read() as connection:
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        for count in (MOST_ENDS, filters.MAX_VALUES):
            where = filters.parse({"path": [f"none-{number}.md" for number in range(count)]})
            statements.clear()
            assert selection.matching(connection, collection.id, where).tolist() == []
            assert selection.doubts(connection, collection.id, where, 0)
            assert len(statements) < 12


@pytest.mark.parametrize("pattern", ["deep\\only.md", "deep//only.md", "./deep/only.md", ".\\deep\\only.md"])
def test_a_pattern_without_wildcards_is_a_path_in_any_spelling(
    files: Catalog, collection: CollectionRecord, pattern: str
) -> None:
    assert found(files, collection, {"glob": pattern}) == {"b:deep/only.md"}


@pytest.mark.parametrize("operator", ["any", "glob", "ne"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["plan.md", "nowhere.txt"], ["'nowhere.txt'"]),
        (["i/page.md", "xy/page.md", "only.md"], ["'xy/page.md': did you mean"]),
        (["i/page.md", "/place/two/b/plan.md", "deep/only.md"], []),
        (["i/page.md", "elsewhere/plan.md", "no-such.md"], ["'elsewhere/plan.md', 'no-such.md': there are "]),
        (["i/page.md", "\u00e9.md", "e\u0301.md"], ["'\u00e9.md': there are "]),
    ],
)
def test_those_of_several_paths_that_name_nothing_are_in_a_note(
    files: Catalog, collection: CollectionRecord, operator: str, values: list[str], expected: list[str]
) -> None:
    with files.read() as connection:
        where = filters.parse({"path": {operator: values}})
        notes = selection.doubts(connection, collection.id, where, 1)
    assert len(notes) == len(expected)
    assert all(note.startswith(f"no document has path = {one}") for note, one in zip(notes, expected, strict=True))


def test_a_name_in_a_list_that_fits_several_paths_gets_a_note_with_these(
    files: Catalog, collection: CollectionRecord
) -> None:
    with files.read() as connection:
        where = filters.parse({"path": ["plan.md", "page.md"]})
        notes = selection.doubts(connection, collection.id, where, 1)
    assert notes == ["no document has path = 'page.md': did you mean '[id]/page.md', 'i/page.md'?"]


@pytest.mark.parametrize("operator", ["any", "glob", "ne"])
@pytest.mark.parametrize("there", [["i/page.md"], []])
def test_many_paths_that_name_nothing_are_named_or_counted_in_one_note(
    files: Catalog, collection: CollectionRecord, operator: str, there: list[str]
) -> None:
    absent = [f"none/{number:02}.qq" for number in range(15)]
    with files.read() as connection:
        where = filters.parse({"path": {operator: [*absent, *there]}})
        passed = len(selection.matching(connection, collection.id, where))
        [note] = selection.doubts(connection, collection.id, where, passed)
    assert note.startswith(f"no document has path = {', '.join(map(repr, absent[:10]))} and 5 more: there are ")


@pytest.mark.parametrize("operator", ["any", "glob", "ne"])
def test_paths_that_all_mean_something_cost_a_few_statements(
    files: Catalog, collection: CollectionRecord, operator: str
) -> None:
    places = [f"{location}/{path}" for location in list(SOURCES)[:2] for path in SOURCES[location]]
    statements: list[str] = []
    with files.read() as connection:
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        for values in (places, [f"{place.rpartition('/')[0]}/" for place in places], ["deep/cafe\u0301.md"] * 50):
            statements.clear()
            assert selection.doubts(connection, collection.id, filters.parse({"path": {operator: values}}), 1) == []
            assert len(statements) < 20


def test_a_value_that_nothing_has_does_not_explain_that_nothing_passes_all_filters(
    files: Catalog, collection: CollectionRecord
) -> None:
    where = filters.parse({"path": ["i/page.md", "nowhere.txt"], "@id": {"ne": "x"}})
    with files.read() as connection:
        notes = selection.doubts(connection, collection.id, where, 0)
    assert "nowhere.txt" in notes[0]
    assert notes[1].startswith("each filter lets something pass")
