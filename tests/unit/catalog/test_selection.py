"""Filters in the catalogue give what ``filters.match`` gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from catalog_making import new, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinakes.catalog import Catalog, collections, documents, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.core import filters
from pinakes.core.errors import InvalidFilter
from pinakes.core.records import Condition


class Undo(Exception):
    """Leaves a transaction without a trace."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    opened = Catalog.at(tmp_path_factory.mktemp("shared"))
    yield opened
    opened.close()


names = st.sampled_from(["status", "Owning SIG", "owning-sig", "number", "tags", "path", "title", "nested"])
values = st.one_of(
    st.sampled_from(["alpha", "Beta", "BETA", "docs/a.md", "docs/sub/b.md", "10", "9", "2020-01-01", "", "ß", "x*y"]),
    st.text("aAbB/ .*é[]!", max_size=8),
    st.integers(-20, 20),
    st.integers(min_value=10**17, max_value=10**18),
    st.floats(-20, 20, allow_nan=False),
    st.booleans(),
)
records = st.dictionaries(
    names,
    st.one_of(values, st.none(), st.lists(values, max_size=3), st.dictionaries(names, values, max_size=2)),
    max_size=4,
)
bounds = st.one_of(
    st.fixed_dictionaries({"gte": values}),
    st.fixed_dictionaries({"lte": values}),
    st.fixed_dictionaries({"gte": values, "lte": values}),
    st.fixed_dictionaries({"gt": values}, optional={"lt": values}),
    st.fixed_dictionaries({"lt": values}, optional={"gte": values, "ne": values}),
    st.fixed_dictionaries({"ne": st.one_of(values, st.lists(values, min_size=1, max_size=3))}),
)
patterns = st.one_of(
    st.sampled_from(["docs/*.md", "docs/", "docs/**", "**/b.md", "*.md", "/docs", "docs/sub", "!x", "*", "a?"]),
    st.text("ab/*?.[]! \\", min_size=1, max_size=6),
)
written = st.dictionaries(
    st.one_of(names, st.just("nested.status")),
    st.one_of(
        values,
        st.lists(values, min_size=1, max_size=3),
        bounds,
        st.fixed_dictionaries({"glob": st.one_of(patterns, st.lists(patterns, min_size=1, max_size=2))}),
    ),
    min_size=1,
    max_size=3,
)
PATHS = ("docs/a.md", "docs/sub/B.md", "a b/c.txt", "x.yaml", "other/docs/a.md")


def seen(path: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what filters see of a document, as ``ARCHITECTURE.md`` says: its place, and its metadata."""
    name = path.rpartition("/")[2]
    place = {
        "uri": f"file:///{path}",
        "path": path,
        "title": "T",
        "kind": "markdown",
        "file_name": name,
        "file_type": name.rpartition(".")[2],
    }
    both: dict[str, list[Any]] = {}
    for part in (place, metadata):
        for field, value in filters.flatten(part):
            both.setdefault(field, []).append(value)
    return both


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, min_size=1, max_size=len(PATHS)), st.lists(written, min_size=1, max_size=6))
def test_the_catalogue_selects_what_matches(
    shared: Catalog, metadata: list[dict[str, Any]], asked: list[dict[str, Any]]
) -> None:
    try:
        with shared.write() as connection:
            record = collections.ensure(connection, "random")
            made = [new(path, "text", metadata=own) for path, own in zip(PATHS, metadata, strict=False)]
            ids = [documents.put(connection, record.id, document) for document in made]
            for one in asked:
                try:
                    where = filters.parse(one)
                except InvalidFilter:
                    continue
                expected = [
                    document_id
                    for document_id, document in zip(ids, made, strict=True)
                    if filters.match(where, seen(document.path, document.metadata))
                ]
                assert selection.matching(connection, record.id, where).tolist() == expected, one
            raise Undo
    except Undo:
        pass


def test_no_filter_selects_everything(catalog: Catalog, collection: CollectionRecord) -> None:
    ids = put(catalog, collection, new("a.md", "1"), new("b.md", "2"))
    with catalog.read() as connection:
        assert selection.matching(connection, collection.id, ()).tolist() == ids
        assert selection.matching(connection, collection.id + 1, ()).tolist() == []


@pytest.mark.parametrize(
    ("asked", "notes"),
    [
        ({"status": "beta"}, []),
        ({"status": {"ne": "beta"}}, []),
        ({"statsu": "beta"}, ["no document has a field 'statsu': did you mean 'status'?"]),
        ({"statsu": {"ne": "beta"}}, ["no document has a field 'statsu': did you mean 'status'?"]),
        ({"status": "betta"}, ["no document has status = 'betta': did you mean 'beta'?"]),
        ({"status": ["beta", "betta"]}, ["no document has status = 'betta': did you mean 'beta'?"]),
        ({"file_type": ["md", "mdd"]}, ["no document has file_type = 'mdd': did you mean 'md'?"]),
        ({"file_type": {"ne": [".mdd", ".mdx"]}}, ["no document has file_type = 'mdd', 'mdx': did you mean 'md'?"]),
        ({"extension": ["md", ".txt"]}, []),
        ({"year": {"gt": 2030}}, ["no document has year > '2030': there are '2023', '2024'"]),
        ({"year": {"gte": "abc"}}, ["no document has year >= 'abc': there are '2023', '2024'"]),
        ({"created": {"gte": 3}}, ["no document has created >= '3': there are '2023-01-02', '2024-01-02'"]),
        ({"path": "src/**"}, ["no document has path = 'src/**': there are 'a.md', 'b.md'"]),
        ({"status": "beta", "year": 2023}, ["each filter lets something pass, but nothing passes all of them"]),
        ({"status": "beta", "yaer": 2024}, ["no document has a field 'yaer': did you mean 'year'?"]),
    ],
)
def test_a_filter_that_cannot_be_meant_is_doubted_in_words(
    catalog: Catalog, collection: CollectionRecord, asked: dict[str, Any], notes: list[str]
) -> None:
    old = {"status": "alpha", "year": 2023, "created": "2023-01-02", "extension": ".md"}
    young = {"status": "beta", "year": 2024, "created": "2024-01-02", "extension": "txt"}
    put(catalog, collection, new("a.md", "1", metadata=old))
    put(catalog, collection, new("b.md", "2", metadata=young))
    where = filters.parse(asked)
    with catalog.read() as connection:
        passed = selection.matching(connection, collection.id, where)
        assert selection.doubts(connection, collection.id, where, len(passed)) == notes
        assert selection.doubts(connection, collection.id + 1, where, 0) == []


def test_of_many_fields_those_that_most_documents_have_are_named_first(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = {f"a{number}": number for number in range(20)} | {"a_list": list(range(50))}
    put(catalog, collection, new("a.md", "1", metadata=odd))
    put(catalog, collection, *(new(f"{name}.md", name, metadata={"zone": name}) for name in "bc"))
    with catalog.read() as connection:
        [note] = selection.doubts(connection, collection.id, filters.parse({"qqq": 1}), 0)
        names = selection.common_field_names(connection, collection.id)
        every = selection.field_names(connection, collection.id)
        monkeypatch.setattr(selection, "_COUNTED_DOCUMENTS", 2)
        of_latest = selection.common_field_names(connection, collection.id)
    assert note.endswith("'title', 'uri', 'zone', 'a0', 'a1', …")
    assert sorted(names) == sorted(of_latest) == every
    assert names[:7] == of_latest[:7]
    assert names.index("zone") < names.index("a_list"), "documents count, not values"


def test_a_field_that_resembles_none_is_answered_with_what_there_is(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    put(catalog, collection, new("a.md", "1", metadata={"x" * 300: 1, "line\nbreak": 2}))
    with catalog.read() as connection:
        [note] = selection.doubts(connection, collection.id, filters.parse({"qqq": 1}), 0)
    names = "'content_type', 'file_name', 'file_type', 'kind', "
    assert note.startswith(f"no document has a field 'qqq': there are {names}")
    assert "\n" not in note
    assert len(note) < 300


def test_metadata_cannot_hide_where_a_document_stands(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("docs/a.md", "1", metadata={"path": "elsewhere", "kind": "guide"}))
    with catalog.read() as connection:
        for asked in ({"path": "docs/*"}, {"path": "elsewhere"}, {"kind": "guide"}, {"kind": "markdown"}):
            assert selection.matching(connection, collection.id, filters.parse(asked)).tolist() == [document_id], asked


def test_a_pattern_may_match_more_values_than_a_statement_may_name(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_MOST_VARIABLES", 20)
    ids = put(catalog, collection, *[new(f"docs/{number} 'q\".md", "x") for number in range(40)], new("else/x.md", "x"))
    with catalog.read() as connection:
        found = selection.matching(connection, collection.id, filters.parse({"path": "docs/*"}))
    assert found.tolist() == ids[:40]


def test_chunks_of_selected_documents_are_counted(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_BATCH", 3)
    put(catalog, collection, *[new(f"{number}.md", *["x"] * number) for number in range(1, 9)])
    with catalog.read() as connection:
        chosen = selection.matching(connection, collection.id, ())
        assert selection.count_chunks(connection, collection.id, chosen) == 36
        assert selection.count_chunks(connection, collection.id, None) == 36
        assert selection.count_chunks(connection, collection.id, chosen[:2]) == 3
        assert selection.count_chunks(connection, collection.id, chosen[:0]) == 0


def test_chunks_are_cut_from_the_text_by_characters(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_BATCH", 2)
    texts = ("🦡 badger", "鳥は魚", "cafe\u0301 x", "last")
    put(catalog, collection, new("a.md", *texts, metadata={"x": 1}, group="g"))
    with catalog.read() as connection:
        found = selection.hit_rows(connection, [1, 2, 3, 4, 99])
    assert [found[key].text for key in (1, 2, 3, 4)] == list(texts)
    assert 99 not in found
    assert (found[1].path, found[1].group_key, found[1].metadata) == ("a.md", "g", {"x": 1})


def test_the_home_may_be_reopened_between(tmp_path: Path) -> None:
    first = Catalog.at(tmp_path)
    with first.write() as connection:
        record = collections.ensure(connection, "c")
    [document_id] = put(first, record, new("a.md", "1", metadata={"n": 10**400 // 10**395, "deep": {"er": ["v"]}}))
    first.close()
    second = Catalog.at(tmp_path)
    with second.read() as connection:
        where = filters.parse({"deep.er": "V", "n": {"gte": 99_999}})
        assert selection.matching(connection, record.id, where).tolist() == [document_id]
    second.close()


def test_documents_are_chosen_by_their_ids(catalog: Catalog, collection: CollectionRecord) -> None:
    ids = put(catalog, collection, new("a.md", "one"), new("b.md", "two"), new("c.md", "three"))
    with catalog.read() as connection:
        uids = [one.uid for one in documents.of_ids(connection, ids)]
        some = [*uids[:2], *(f"none-{number}" for number in range(40_000))]
        named = (Condition("@id", any_of=tuple(some)),)
        assert selection.matching(connection, collection.id, named).tolist() == ids[:2]
        others = filters.parse({"@id": {"ne": uids[:2]}})
        assert selection.matching(connection, collection.id, others).tolist() == ids[2:]
        unknown = filters.parse({"@id": "none"})
        assert selection.doubts(connection, collection.id, unknown, 0) == []
        with pytest.raises(InvalidFilter, match="is the id of a document"):
            selection.matching(connection, collection.id, filters.parse({"@id": {"glob": "a*"}}))


def test_the_text_of_a_document_is_read_once_for_all_its_chunks(tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        record = collections.ensure(connection, "c")
    texts = [f"🦡 chunk {number}" for number in range(1200)]
    [long, short] = put(catalog, record, new("a.md", *texts, metadata={"x": 1}), new("b.md", "one", "two"))
    cuts: list[int] = []

    def counted(text: str, start: int, length: int) -> str:
        cuts.append(length)
        return text[start - 1 : start - 1 + length]

    with catalog.read() as connection:
        driver: Any = connection.connection.driver_connection
        driver.create_function("substr", 3, counted)
        found = selection.hit_rows(connection, [1202, *range(1, 1201, 7), 1201])
        assert [found[key].text for key in (1, 8, 1201, 1202)] == [texts[0], texts[7], "one", "two"]
        assert len(cuts) == 2
        assert all(row.metadata == ({"x": 1} if row.document_id == long else {}) for row in found.values())
        at = selection.hit_rows_at(connection, [(long, number) for number in range(1200)] + [(short, 1)])
        assert [at[long, number].text for number in range(1200)] == texts
        assert at[short, 1].text == "two"
        assert len(cuts) < 8
    catalog.close()
