"""Questions through the library: modes, scores, filters, fusion, odd input."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes.core.errors import InvalidFilter, InvalidInput, NotFound
from pinakes.library import Library
from pinakes.search.ranking import fusion
from pinakes.testing import FILES, ODD_QUERIES, write_files

OpenLibrary = Callable[..., Library]
MODES = ("hybrid", "vector", "keyword")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "krill", "lotus", "maple")


def texts(count: int) -> dict[str, str]:
    """Make files of which each names some words; the last alone names ``zenith``."""
    made = {}
    for number in range(count):
        words = [WORDS[(number * step) % len(WORDS)] for step in (1, 2, 5, 7)]
        made[f"part{number % 3}/file{number}.md"] = f"# File {number}\n\n{' '.join(words)} number {number}.\n"
    made[f"part0/file{count}.md"] = "# Last\n\nThe zenith is far away.\n"
    return made


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    """For tests that write, or open its home in another way."""
    library.add(str(write_files(docs, texts(150))))
    return library


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same, for tests that ask only."""
    place = tmp_path_factory.mktemp("kept")
    settings = {"embedding__provider": "deterministic", "cache": str(place / "cache")}
    with Library.open(place / "home", **settings) as library:
        library.add(str(write_files(place / "docs", texts(150))))
        yield library


def vectors(library: Library) -> tuple[dict[int, str], dict[int, np.ndarray]]:
    """Return chunk id → path, and chunk id → vector, straight from the catalogue."""
    from sqlalchemy import select

    from pinakes.catalog import embeddings, schema

    record = library.collection()
    with library.app.catalog.read() as connection:
        rows = connection.execute(
            select(schema.chunks.c.id, schema.documents.c.path).select_from(schema.chunks.join(schema.documents))
        )
        paths = {row.id: row.path for row in rows}
        return paths, embeddings.of_chunks(connection, record.model_id, sorted(paths))


def test_vector_results_are_those_of_brute_force(kept: Library) -> None:
    paths, held = vectors(kept)
    for query in ("heron", "nothing like it", "# File 3"):
        asked = kept.app.embedder.embed_query(query)
        scores = {key: float(vector @ asked) for key, vector in held.items()}
        best = sorted(scores, key=lambda key: (-scores[key], key))[:20]
        found = kept.search(query, mode="vector", top_k=20)
        assert [hit.path for hit in found.hits] == [paths[key] for key in best]
        cosines = [hit.scores.cosine for hit in found.hits]
        assert cosines == pytest.approx([scores[key] for key in best], abs=1e-3)
        assert {hit.scores.bm25 for hit in found.hits} == {None}


def test_a_text_is_its_own_nearest(kept: Library) -> None:
    hit = kept.search("File 7\n# File 7\n\nislet lotus fjord fjord number 7.", mode="vector").hits[0]
    other = kept.search(f"{hit.title}\n{hit.text}", mode="vector").hits[0]
    assert other.score == pytest.approx(1, abs=1e-3)
    assert (other.chunk_id, other.matched_by) == (hit.chunk_id, ("vector",))


def test_every_candidate_has_both_scores(kept: Library) -> None:
    found = kept.search("heron lotus", top_k=50)
    asked = kept.app.embedder.embed_query("heron lotus")
    paths, held = vectors(kept)
    by_path = {paths[key]: float(vector @ asked) for key, vector in held.items()}
    keyword = {h.path: h.scores.bm25 for h in kept.search("heron lotus", mode="keyword", top_k=50).hits}
    assert {hit.matched_by for hit in found.hits} >= {("vector", "keyword"), ("keyword",)} or len(found.hits) == 50
    for hit in found.hits:
        assert hit.scores.cosine == pytest.approx(by_path[hit.path], abs=1e-3)
        assert hit.scores.bm25 is not None
        if hit.path in keyword:
            assert hit.scores.bm25 == pytest.approx(keyword[hit.path], rel=1e-5)


def test_a_candidate_of_one_arm_is_scored_by_the_other_too(open_library: OpenLibrary, docs: Path) -> None:
    library = open_library(search__candidates=1)
    library.add(str(write_files(docs, texts(150))))
    found = library.search("zenith", top_k=2)
    assert found.hits[0].path == "part0/file150.md"
    assert found.hits[0].matched_by == ("keyword",)
    assert found.hits[0].scores.cosine is not None
    assert {hit.scores.bm25 == 0 for hit in found.hits} == {True, False}


def test_without_documents_and_feedback_weighted_fusion_is_that_of_the_decision(
    filled: Library, open_library: OpenLibrary
) -> None:
    of_documents = {"search__document_cosine_share": 0, "search__document_bm25_share": 0}
    plain = open_library(**of_documents, search__feedback_weight=0, search__bm25_attained=0)
    hits = plain.search("heron lotus", top_k=50).hits
    best = max(hit.scores.bm25 or 0 for hit in hits)
    for hit in hits:
        assert hit.scores.cosine is not None
        assert hit.scores.bm25 is not None
        expected = 0.7 * max(hit.scores.cosine, 0) + 0.3 * hit.scores.bm25 / best
        assert hit.score == pytest.approx(expected, abs=1e-5)
        assert hit.scores.fused == pytest.approx(hit.score)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_rrf_counts_places(kept: Library) -> None:
    vector = [h.chunk_id for h in kept.search("zenith", mode="vector", top_k=50).hits]
    keyword = [h.chunk_id for h in kept.search("zenith", mode="keyword", top_k=50).hits]
    hits = kept.search("zenith", fusion="rrf", top_k=50).hits
    for hit in hits:
        if hit.chunk_id in vector:
            places = [retriever.index(hit.chunk_id) + 1 for retriever in (vector, keyword) if hit.chunk_id in retriever]
            assert hit.score == pytest.approx(sum(1 / (60 + place) for place in places), rel=1e-4)
    assert hits[0].score >= 1 / 61


def test_keyword_scores_lie_between_zero_and_one(kept: Library) -> None:
    hits = kept.search("heron lotus grove", mode="keyword", top_k=50).hits
    assert hits[0].score == 1
    assert all(0 < hit.score <= 1 and hit.scores.cosine is None and hit.scores.bm25 for hit in hits)
    relative = fusion.relative(np.array([hit.scores.bm25 for hit in hits], np.float32))
    assert [hit.score for hit in hits] == pytest.approx(relative.tolist())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ODD_QUERIES, ids=lambda query: repr(query[:12]))
def test_odd_queries_are_answered(mode: Any, query: str, library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    found = library.search(query, mode=mode)
    assert found.query == query
    assert found.trace.stages
    if not query.strip():
        assert found.hits == ()
        assert "the query is empty" in found.notes
    if len(query) > 2000:
        assert f"the query was cut from {len(query.strip())} to 2000 characters" in found.notes
    if mode == "vector" and query.strip():
        assert len(found.hits) == len(FILES), "the vector retriever ranks everything"


def test_a_query_in_another_script_finds_its_text(library: Library, docs: Path) -> None:
    write_files(
        docs,
        {
            "ja.md": "鳥は魚を食べる。\n",
            "ru.md": "Барсук ест червей.\n",
            "hi.md": "मछली पानी में रहती है।\n",
            "th.md": "ปลาอยู่ในน้ำ\n",
            "ar.md": "السمك في الماء\n",
            "en.md": "Nothing of that.\n",
        },
    )
    library.add(str(docs))
    for query, path in (("魚", "ja.md"), ("魚を", "ja.md"), ("червей", "ru.md"), ("मछली", "hi.md"), ("ปลา", "th.md")):
        hits = library.search(query, mode="keyword").hits
        assert [hit.path for hit in hits] == [path], query
    assert library.search("الماء", mode="keyword").hits[0].path == "ar.md"


def test_a_query_with_half_a_pair_or_a_nul_is_cleaned(kept: Library) -> None:
    for query in ("heron \ud800", "heron\0"):
        assert kept.search(query).hits


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": -3}, "top_k"),
        ({"mode": "semantic"}, "semantic"),
        ({"mode": ""}, None),
        ({"fusion": "max"}, "max"),
        ({"filters": {"a": None}}, "a"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: dict[str, Any], said: str | None, kept: Library) -> None:
    if said is None:
        assert kept.search("heron", **asked).mode == "hybrid"
        return
    with pytest.raises((InvalidInput, InvalidFilter), match=said) as caught:
        kept.search("heron", **asked)
    assert caught.value.hint


def test_an_unknown_collection_is_refused(kept: Library) -> None:
    with pytest.raises(NotFound, match="nowhere") as caught:
        kept.search("heron", "nowhere")
    assert "default" in caught.value.hint


@pytest.mark.parametrize("top_k", [1, 7, 151, 100_000])
def test_as_many_as_asked_are_given(top_k: int, filled: Library, open_library: OpenLibrary) -> None:
    library = open_library(search__max_top_k=100_000)
    assert len(library.search("heron", mode="vector", top_k=top_k).hits) == min(top_k, 151)


def test_more_than_the_settings_allow_is_refused(filled: Library, open_library: OpenLibrary) -> None:
    with pytest.raises(InvalidInput, match=r"top_k cannot be 51\. At most 50\."):
        filled.search("heron", top_k=51)
    library = open_library(search__max_top_k=3)
    assert len(library.search("heron").hits) == 3
    with pytest.raises(InvalidInput, match="At most 3"):
        library.search("heron", top_k=4)


def test_no_collection_means_all_there_are(library: Library, docs: Path) -> None:
    place = str(write_files(docs, texts(3)))
    library.add(place, "birds")
    assert library.search("heron").collection == "birds"
    assert library.read("file0.md").document.path == "part0/file0.md"
    library.add(place, "more")
    found = library.search("heron")
    assert found.collection == "birds, more"
    assert "no collection was named, so 2 collections were asked: birds, more" in found.notes
    library.add(place)
    assert library.search("heron").collection == "birds, default, more"


@pytest.mark.parametrize("mode", MODES)
def test_filters_apply_before_the_best_are_taken(mode: Any, kept: Library) -> None:
    """The only chunk that passes may lie far down both rankings."""
    for name in ("file149.md", "file0.md", "file77.md"):
        found = kept.search("number", mode=mode, top_k=1, filters={"file_name": name})
        assert [hit.path.rpartition("/")[2] for hit in found.hits] == [name]
        assert found.total_candidates == 1


@pytest.mark.parametrize("field", ["file_type", "File-Type", "file_extension", "extension"])
@pytest.mark.parametrize("written", ["md", ".md", ".Md", ["md"], [".MD", "txt"], {"ne": ".py"}, {"ne": ["PY", "c"]}])
def test_a_file_type_is_met_with_and_without_its_dot(field: str, written: Any, library: Library, docs: Path) -> None:
    files = {"one.md": "# One\n\nHerons and krill.\n", "two.py": "# Herons\nx = 1\n"}
    library.add(str(write_files(docs, files)))
    library.documents.put("Herons.", title="Three", path="c.py", metadata={"extension": ".py", "file_extension": "PY"})
    library.documents.put("Herons.", title="Four", path="d.md", metadata={"extension": "md", "file_extension": ".MD"})
    found = {hit.path for hit in library.search("herons", filters={field: written}, top_k=10).hits}
    if field.casefold().startswith("file") and not field.endswith("extension"):
        assert found == {"one.md", "d.md"}
    elif isinstance(written, dict):
        assert found == {"one.md", "two.py", "d.md"}
    else:
        assert found == {"d.md"}


@pytest.mark.parametrize("query", ["herons file_type:md", "herons file_type:.md", "herons file_type:.MD"])
def test_a_file_type_in_a_query_is_met_with_and_without_its_dot(query: str, library: Library, docs: Path) -> None:
    library.add(str(write_files(docs, {"one.md": "# One\n\nHerons.\n", "two.py": "# Herons\nx = 1\n"})))
    assert [hit.path for hit in library.search(query).hits] == ["one.md"]


def test_a_file_type_that_no_document_has_is_told_as_it_was_meant(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs, {"one.md": "# One\n\nHerons.\n"})))
    [note] = library.search("herons", filters={"file_type": ".mdx"}).notes
    assert note == "no document has file_type = 'mdx': did you mean 'md'?"


def test_total_candidates_counts_what_passed_the_filter(kept: Library) -> None:
    assert kept.search("heron").total_candidates == 151
    assert kept.search("heron", filters={"path": "part1/*"}).total_candidates == 50
    assert kept.search("heron", filters={"path": "nowhere/*"}).total_candidates == 0
    assert kept.search("heron", filters={"path": "nowhere/*"}).hits == ()
    assert kept.search("heron", filters={"path": "nowhere/*"}).degraded is None


def test_a_low_score_may_be_left_out(kept: Library) -> None:
    every = kept.search("heron lotus", top_k=50).hits
    bound = every[10].score
    high = kept.search("heron lotus", top_k=50, min_score=bound).hits
    assert [hit.chunk_id for hit in high] == [hit.chunk_id for hit in every if hit.score >= bound]


def test_answers_do_not_change_from_one_time_to_the_next(filled: Library, open_library: OpenLibrary) -> None:
    before = [(hit.chunk_id, hit.score) for hit in filled.search("heron lotus", top_k=50).hits]
    assert [(hit.chunk_id, hit.score) for hit in filled.search("heron lotus", top_k=50).hits] == before
    again = open_library()
    assert [(hit.chunk_id, hit.score) for hit in again.search("heron lotus", top_k=50).hits] == before


def test_a_hit_says_where_it_stands(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    hit = library.search("earthworms", mode="keyword").hits[0]
    lines = FILES["animals/badger.md"].split("\n")
    assert hit.text in "\n".join(lines[hit.start_line - 1 : hit.end_line])
    assert (hit.title, hit.path, hit.uri) == ("Badger", "animals/badger.md", (docs / "animals/badger.md").as_uri())
    assert hit.chunk_id == f"{hit.document_id}_{hit.chunk_index}"
    assert library.read(hit.document_id).document.path == hit.path
    code = library.search("feeding_time", mode="keyword").hits[0]
    assert "feeding_time" in code.symbols


def test_the_trace_names_every_stage(filled: Library) -> None:
    found = filled.search("heron")
    names = [stage.name for stage in found.trace.stages]
    assert names == ["follow", "understand", "embed", "keyword", "vector", "score", "boost", "fuse", "hydrate", "judge"]
    assert sum(stage.milliseconds for stage in found.trace.stages) <= found.trace.milliseconds
    assert [stage.name for stage in filled.search("heron", mode="keyword").trace.stages] == [
        "follow",
        "understand",
        "keyword",
        "score",
        "fuse",
        "hydrate",
    ]


def test_settings_give_the_defaults(open_library: OpenLibrary, docs: Path) -> None:
    library = open_library(search__top_k=3, search__fusion="rrf", collections={"default": {"retrieval": "vector"}})
    library.add(str(write_files(docs)))
    found = library.search("heron")
    assert (len(found.hits), found.mode, found.fusion) == (3, "vector", "rrf")


def test_threads_may_share_a_library(filled: Library, docs: Path) -> None:
    expected = [hit.chunk_id for hit in filled.search("zenith", mode="keyword").hits]
    wrong: list[object] = []

    def search() -> None:
        for _ in range(30):
            try:
                found = [hit.chunk_id for hit in filled.search("zenith", mode="keyword").hits]
                if found != expected:
                    wrong.append(found)
            except Exception as error:  # noqa: BLE001 - reported below
                wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5):
        (docs / f"new{number}.md").write_text(f"New text {number}.\n")
        filled.add(str(docs))
    for thread in threads:
        thread.join()
    assert wrong == []


class TestReading:
    def test_whole_or_some_lines(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs)))
        whole = library.read("animals/badger.md")
        assert whole.text.rstrip() == FILES["animals/badger.md"].rstrip()
        assert (whole.start_line, whole.end_line) == (1, whole.total_lines)
        some = library.read("badger.md", lines=(3, 5))
        assert some.text == "\n".join(FILES["animals/badger.md"].split("\n")[2:5])
        assert library.read("badger.md", lines=(3, 9999)).end_line == whole.total_lines

    @pytest.mark.parametrize("text", ["one\ntwo\n", "one\ntwo"])
    def test_a_newline_at_the_end_begins_no_line(self, text: str, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs, {"a.txt": text})))
        whole = library.read("a.txt")
        assert (whole.text, whole.end_line, whole.total_lines) == (text, 2, 2)
        assert [library.read("a.txt", lines=(line, line)).text for line in (1, 2)] == ["one", "two"]
        assert library.read("a.txt", lines=(2, 9)).text == text[4:]
        with pytest.raises(NotFound, match="no line 3"):
            library.read("a.txt", lines=(3, 3))

    @pytest.mark.parametrize("lines", [(0, 3), (5, 3), (9999, 10_000), (-1, 2)])
    def test_lines_that_are_not_there(self, lines: tuple[int, int], library: Library, docs: Path) -> None:
        library.add(str(write_files(docs)))
        with pytest.raises(NotFound, match="no line") as caught:
            library.read("badger.md", lines=lines)
        assert "lines" in caught.value.hint

    def test_an_unknown_name_brings_a_suggestion(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs)))
        with pytest.raises(NotFound) as caught:
            library.read("animals/bagder.md")
        assert "animals/badger.md" in caught.value.hint
        with pytest.raises(NotFound):
            library.read("")

    def test_a_name_of_several_is_refused_with_all_of_them(self, library: Library, docs: Path) -> None:
        write_files(docs, {"a/README.md": "One.\n", "b/README.md": "Two.\n"})
        library.add(str(docs))
        with pytest.raises(InvalidInput, match="2 documents") as caught:
            library.read("README.md")
        assert "a/README.md" in caught.value.hint


def test_a_question_asked_again_is_not_embedded_again(kept: Library) -> None:
    first = kept.search("heron lotus")
    known = kept.app.query_vectors.vector_of("heron lotus")
    assert kept.app.query_vectors.vector_of("heron lotus") is known
    again = kept.search("heron lotus")
    assert [(hit.chunk_id, hit.scores) for hit in again.hits] == [(hit.chunk_id, hit.scores) for hit in first.hits]


def test_nothing_is_remembered_where_that_is_turned_off(open_library: OpenLibrary, docs: Path) -> None:
    library = open_library(search__remembered_queries=0)
    library.add(str(write_files(docs, texts(5))))
    assert library.search("heron").hits
    assert library.app.query_vectors.vector_of("heron") is not library.app.query_vectors.vector_of("heron")


def test_a_filter_on_a_field_nobody_has_is_told(kept: Library) -> None:
    answer = kept.search("heron", filters={"file_nam": "file3.md"})
    assert answer.hits == ()
    assert "no document has a field 'file_nam': did you mean 'file_name'?" in answer.notes
