"""Why documents rank where they do: the numbers are those of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.library import Library
from pinakes.search.explaining import Explanation
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "krill", "lotus", "maple")
HERONS = """---
status: beta
tags: [birds]
---
# Herons

A heron waits at the water.

## Feeding

Nothing is said here.

Herons eat krill, fish and frogs. A heron hunts alone.
"""


def files() -> dict[str, str]:
    made = {}
    for number in range(150):
        words = [WORDS[(number * step) % len(WORDS)] for step in (1, 2, 5, 7)]
        made[f"part{number % 3}/file{number}.md"] = f"# File {number}\n\n{' '.join(words)} number {number}.\n"
    made["herons.md"] = HERONS
    made["code/heron_watch.py"] = "def watch_herons(place):\n    return place\n"
    made["plan.md"] = "---\nstatus: alpha\n---\n# Plan\n\nThe sig-api-machinery meeting. Kubernetes has an API.\n"
    return made


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    """For tests that write."""
    library.add(str(write_files(docs, files())))
    return library


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same, for tests that ask only."""
    place = tmp_path_factory.mktemp("kept")
    with Library.open(place / "home", embedding__provider="deterministic", cache=str(place / "cache")) as library:
        library.add(str(write_files(place / "docs", files())))
        yield library


def explained(library: Library, query: str, *references: str, **options: Any) -> list[Explanation]:
    return list(library.explain(query, references, **options).documents)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_the_numbers_of_what_is_found_are_those_of_the_hits(kept: Library, mode: Any, fusion: str) -> None:
    results = kept.search("heron krill birch", mode=mode, fusion=fusion, top_k=20)
    best = {hit.document_id: hit for hit in reversed(results.hits)}
    found = explained(kept, "heron krill birch", *best, mode=mode, fusion=fusion)
    assert [one.document_id for one in found] == list(best)
    order = sorted(found, key=lambda one: one.rank or 0)
    assert [one.document_id for one in order] == list(dict.fromkeys(hit.document_id for hit in results.hits))
    for one in found:
        hit = best[one.document_id]
        assert one.candidate
        assert one.passage is not None
        assert one.score == hit.score
        assert (one.passage.chunk_id, one.passage.scores, one.passage.boosts) == (hit.chunk_id, hit.scores, hit.boosts)
        assert f" documents, score {hit.score:.3f}" in one.text


def test_ranks_in_the_halves_are_those_of_the_search_by_one_half(kept: Library) -> None:
    query = "heron krill"
    by = {
        mode: [hit.document_id for hit in kept.search(query, mode=mode, top_k=50).hits]
        for mode in ("keyword", "vector")
    }
    for one in explained(kept, query, "herons.md", "part0/file0.md", "part1/file7.md"):
        for retriever, order in ((one.keyword, by["keyword"]), (one.vector, by["vector"])):
            assert retriever is not None
            if retriever.rank is not None and retriever.rank <= 50:
                assert order[retriever.rank - 1] == one.document_id
                assert retriever.score is not None


def test_parts_add_up_to_the_score(kept: Library) -> None:
    for query in ("heron krill", "watch_herons", "where do herons eat", 'what does "heron hunts" mean here'):
        for one in explained(kept, query, "herons.md", "part0/file0.md", "plan.md", "code/heron_watch.py"):
            assert one.score == pytest.approx(sum(one.parts.values()), abs=1e-3)
            if one.staged_score is not None:
                assert one.staged_score == pytest.approx(sum(one.staged_parts.values()), abs=1e-3)


def test_words_are_named_with_the_places_where_they_stand(kept: Library) -> None:
    [one] = explained(kept, "how do herons eat krill in zanzibar", "herons.md")
    matches = {match.word: match for match in one.matches}
    assert set(matches) == {"krill", "eat", "herons"}
    assert matches["krill"].lines == (13,)
    assert matches["herons"].lines == (5, 7, 13)
    assert matches["herons"].count == 4
    assert matches["herons"].fields == ("title", "path", "text")
    assert one.missing == ("zanzibar",)
    assert one.overlap == 0.75
    weights = [match.weight for match in one.matches]
    assert weights == sorted(weights, reverse=True)
    text = kept.read("herons.md").text.split("\n")
    for match in one.matches:
        assert all(match.word[:5].rstrip("s") in text[line - 1].lower() for line in match.lines)


def test_a_word_that_is_not_there_is_no_match(kept: Library) -> None:
    [one] = explained(kept, "zebra quagga herons", "plan.md")
    assert one.matches == ()
    assert one.missing == ("zebra", "quagga", "herons")
    assert one.keyword is not None
    assert one.keyword.score == 0
    assert "none of the query's words" in one.text


def test_of_a_compound_the_parts_that_are_there_are_named(kept: Library) -> None:
    [whole] = explained(kept, "sig-api-machinery", "plan.md")
    assert [(match.word, match.lines) for match in whole.matches] == [("sig-api-machinery", (6,))]
    [part] = explained(kept, "sig-api-heron", "plan.md")
    assert part.matches == ()
    assert [match.parts for match in part.partly] == [("sig", "api")]
    assert part.missing == ("sig-api-heron",)


def test_symbols_and_paths_of_code_are_fields(kept: Library) -> None:
    [one] = explained(kept, "watch_herons", "heron_watch.py")
    assert one.matches[0].fields == ("title", "path", "symbol", "text")
    settings = kept.settings.search
    assert one.parts["definition"] == pytest.approx(
        settings.definition_boost / (1 + settings.feedback_weight), abs=1e-4
    )


def test_what_a_filter_leaves_out_is_told_with_what_it_would_score(kept: Library) -> None:
    [before] = explained(kept, "heron krill", "herons.md")
    where = {"status": "alpha"}
    left_out, other = explained(kept, "heron krill", "herons.md", "plan.md", filters=where)
    assert not left_out.candidate
    assert left_out.rank is None
    assert left_out.left_out == ("it does not pass status = 'alpha'",)
    assert left_out.text.startswith("Left out: it does not pass status = 'alpha'. It would score 0.")
    assert left_out.keyword is not None
    assert before.keyword is not None
    assert left_out.keyword.score == before.keyword.score
    assert left_out.keyword.rank is None
    assert other.left_out == ()
    assert other.candidate
    assert [hit.document_id for hit in kept.search("heron krill", filters=where).hits] == [other.document_id]


def test_phrases_and_excluded_words_are_told_too(kept: Library) -> None:
    assert explained(kept, '"krill fish" heron', "herons.md")[0].left_out == ()
    where = '"krill fish" plan'
    assert explained(kept, where, "plan.md")[0].left_out == ('no chunk has "krill fish"',)
    nowhere = kept.explain('"fish krill" heron', ["herons.md"])
    assert nowhere.documents[0].left_out == ()
    assert nowhere.notes[0].startswith('no chunk has "fish krill"')
    assert explained(kept, "heron -krill", "herons.md")[0].left_out == ('every chunk has "krill"',)
    [one] = explained(kept, "heron status:alpha", "herons.md")
    assert one.left_out == ("it does not pass status = 'alpha'",)


def test_what_no_half_of_the_search_came_upon_gets_the_score_it_would_have(
    open_library: OpenLibrary, docs: Path
) -> None:
    library = open_library(search__candidates=5)
    library.add(str(write_files(docs, files())))
    last = library.search("heron krill", top_k=1).hits[0]
    found = library.explain("heron krill", ["plan.md", last.document_id])
    one, first = found.documents
    assert not one.candidate
    assert (one.rank, one.shown) == (None, None)
    assert one.score is not None
    assert first.score is not None
    assert one.score < first.score
    assert one.keyword is not None
    assert (one.keyword.rank, one.keyword.of) == (None, 40)
    assert one.text.startswith("Not found: no chunk is among the best by words or by meaning. It would score ")
    assert "not among the 40 best by words" in one.text
    assert found.candidates < 160


def test_asking_about_others_changes_nothing(kept: Library) -> None:
    [alone] = explained(kept, "heron krill", "herons.md")
    [among, *_] = explained(kept, "heron krill", "herons.md", "plan.md", "part0/file0.md", filters={})
    assert among == alone


def test_a_copy_is_told_by_the_hit_that_stands_for_it(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs, {"a.md": "# Heron\n\nA heron.\n", "b.md": "# Heron\n\nA heron.\n"})))
    found = sorted(explained(library, "heron", "a.md", "b.md"), key=lambda one: one.rank or 0)
    assert [(one.rank, one.shown, one.same_as) for one in found] == [(1, 1, ""), (2, None, f"{found[0].path}:1-3")]
    assert f"it says the same as {found[0].path}:1-3." in found[1].text


def test_a_group_is_all_of_its_documents(open_library: OpenLibrary, docs: Path) -> None:
    rules = {"c": {"path_templates": ["{name}/{file}"], "document_key": "{name}"}}
    library = open_library(collections=rules)
    library.add(str(write_files(docs, {"x/a.md": "Heron one.\n", "x/b.md": "Heron two.\n", "y/a.md": "No.\n"})), "c")
    assert [one.path for one in explained(library, "heron", "x", collection="c")] == ["x/a.md", "x/b.md"]


def test_what_there_is_not_is_named(kept: Library) -> None:
    found = kept.explain("heron", ["herons.md", "nothing.md", "herons.md"])
    assert [one.path for one in found.documents] == ["herons.md"]
    assert found.unknown == ("nothing.md",)
    with pytest.raises(NotFound):
        kept.explain("heron", ["herons.md"], "elsewhere")


@pytest.mark.parametrize("query", ["", "   ", "-heron"])
def test_a_query_without_words_explains_nothing(kept: Library, query: str) -> None:
    found = kept.explain(query, ["herons.md", "nothing.md"])
    assert (found.documents, found.unknown) == ((), ("nothing.md",))
    assert [note.split(": ")[0] for note in found.notes][-1] == "not explained, since the query has no words"
    assert explained(kept, "heron", "herons.md")[0].document_id in found.notes[-1]


def test_too_many_documents_are_refused(kept: Library) -> None:
    with pytest.raises(InvalidInput, match="51 documents are too many"):
        kept.explain("heron", [f"part{number % 3}/file{number}.md" for number in range(51)])


def test_too_many_documents_are_refused_before_any_collection_looks_for_them(kept: Library) -> None:
    kept.documents.put("A heron.", title="Heron", collection="another")
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        with pytest.raises(InvalidInput, match="51 documents are too many"):
            kept.explain("heron", [f"file{number}.md" for number in range(51)])
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert seen == []


def test_a_document_without_words_has_no_score(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs, {"a.md": "# Heron\n\nA heron.\n", "b.md": "---\nstatus: beta\n---\n***\n"})))
    for one in explained(library, "heron", "b.md"):
        assert one.matches == ()
        assert one.score is None or one.score < 0.5


def test_the_summary_that_was_written_for_a_document_is_compared(filled: Library) -> None:
    written = filled.documents.put("# Crane\n\nA crane.\n", title="Crane", summary="All about tall birds.")
    crane, herons = explained(filled, "All about tall birds.", written.document.uid, "herons.md")
    assert crane.summary_cosine == pytest.approx(1, abs=1e-3)
    assert crane.text.endswith(f" Its summary: cosine 1.00, by which it is 1st, score {crane.staged_score:.3f}.")
    assert herons.summary_cosine is None
    assert "Its summary" not in herons.text


def test_scores_of_a_reranker_are_among_the_numbers(open_library: OpenLibrary, docs: Path, home: Path) -> None:
    from pinakes.search import Reranking

    library = open_library()
    library.add(str(write_files(docs, files())))

    class Shortest:
        fingerprint, at_once, logits = "shortest", 0, False

        def load(self) -> None: ...

        def score(self, query: str, chunks: Any, *, within_s: float | None = None) -> Any:
            import numpy as np

            return np.array([1 / len(chunk) for chunk in chunks], np.float32)

        def close(self) -> None: ...

    settings = library.settings.rerank.model_copy(update={"enabled": True})
    library.app.reranking = Reranking.opened(settings, Shortest)
    hits = library.search("heron krill").hits
    for one, hit in zip(explained(library, "heron krill", *(hit.document_id for hit in hits)), hits, strict=True):
        assert one.passage is not None
        assert one.score == hit.score
        assert one.passage.scores == hit.scores
    assert hits[0].scores.rerank is not None


def test_a_document_stands_where_staged_retrieval_shows_it(filled: Library) -> None:
    said = "Zeppelins and dirigibles of the northern harbour."
    put = filled.documents.put
    uid = put("# Bread\n\nButter and jam are for breakfast.\n", title="Odd", summary=said).document.uid
    for query in (said, "zeppelins", "heron"):
        found = filled.staged.summaries(query, top_k=20, filters={}).documents
        known = {one.document_id: one for one in explained(filled, query, *(one.document.uid for one in found))}
        for rank, one in enumerate(found, start=1):
            about = known[one.document.uid]
            assert about.staged_rank == rank
            assert about.staged_score == pytest.approx(one.score, abs=1e-6)
    [odd] = explained(filled, said, uid)
    assert odd.staged_rank == 1
    assert odd.score is not None
    assert odd.staged_score is not None
    assert odd.staged_score > odd.score


def test_words_of_a_summary_of_its_own_are_words_that_a_document_has(filled: Library) -> None:
    said = "Zeppelins and dirigibles of the northern harbour."
    uid = filled.documents.put("Butter and jam are for breakfast.", title="Odd", summary=said).document.uid
    [odd] = explained(filled, "dirigibles harbour", uid)
    assert [(match.word, match.fields, match.lines) for match in odd.matches] == [
        (word, ("summary",), ()) for word in ("dirigibles", "harbour")
    ]
    assert (odd.missing, odd.overlap) == ((), 1)
    assert "none of the query's words" not in odd.text
