"""Search, then expand: documents by chunks and summaries, then as much of them as is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import serving
from sqlalchemy import delete

from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.schema import embeddings
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.library import Library
from pinakes.search.statistics.summary_vectors import OwnSummaries
from pinakes.services.document_search.expanding import ExpandRequest
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
GIVEN = "Everything about the care of animals in winter."

GUIDE = "# Guide\n\nHow the zoo is run by its keepers, day by day.\n\n" + "".join(
    f"## Part {name}\n\n" + f"The keepers speak of {name} here, at some length. " * 12 + "\n\n"
    for name in ("alpha", "beta", "gamma", "delta")
)
CODE = (
    '"""Feeding times of all animals in the zoo."""\n\n\ndef feed(one):\n    return 7\n\n\ndef rest():\n    return 8\n'
)


ZOO = {
    "guide.md": GUIDE,
    "badger.md": "---\ntags: [night, forest]\n---\n# Badger\n\nBadgers eat earthworms at night.\n",
    "heron.md": "---\ntags: [water]\nsummary: Where the grey heron stands and waits.\n---\n# Heron\n\nFish.\n",
    "feeding.py": CODE,
    "otter.md": "# Otter\n\nOtters eat fish and play in the river all day long.\n",
}


@pytest.fixture
def zoo(library: Library, docs: Path) -> Library:
    """For tests that write."""
    library.add(str(write_files(docs, ZOO)))
    return library


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same, for tests that ask only."""
    place = tmp_path_factory.mktemp("kept")
    with Library.open(place / "home", embedding__provider="deterministic", cache=str(place / "cache")) as library:
        library.add(str(write_files(place / "docs", ZOO)))
        yield library


def by_path(library: Library, path: str) -> str:
    return library.read(path).document.uid


def titles(found: Any) -> list[str]:
    return [one.document.title for one in found.documents]


def test_every_document_is_ranked_once_by_its_best_chunk(kept: Library) -> None:
    found = kept.staged.summaries("what the keepers speak of gamma", top_k=10)
    assert titles(found)[0] == "Guide"
    assert len(set(titles(found))) == len(found.documents)
    assert found.total == 5
    best = found.documents[0]
    assert best.chunk is not None
    assert "Part gamma" in best.chunk.heading_path
    assert all(0 <= one.score <= 1 for one in found.documents)
    assert [one.score for one in found.documents] == sorted((one.score for one in found.documents), reverse=True)


def test_every_document_has_a_summary_and_it_is_said_who_wrote_it(kept: Library) -> None:
    found = {one.document.path: one.summary for one in kept.staged.summaries("zoo", top_k=10).documents}
    assert found["guide.md"].text.startswith("How the zoo is run by its keepers")
    assert found["feeding.py"].text == "Feeding times of all animals in the zoo. Defines feed, rest."
    assert (found["heron.md"].text, found["heron.md"].by) == ("Where the grey heron stands and waits.", "given")
    assert {found[path].by for path in ("guide.md", "feeding.py", "otter.md")} == {"extractive"}


def test_a_summary_is_that_of_the_text_as_it_is_now(zoo: Library, docs: Path) -> None:
    write_files(docs, {"otter.md": "# Otter\n\nSince last year the otters live in the big lake of the park.\n"})
    zoo.staged.summaries("otter")
    zoo.sync()
    [otter] = [one for one in zoo.staged.summaries("otter").documents if one.document.path == "otter.md"]
    assert otter.summary.text == "Since last year the otters live in the big lake of the park."


def test_a_summary_is_looked_for_behind_a_long_list(library: Library) -> None:
    names = "".join(f"- [Language {number}](https://{number}.example/wiki)\n" for number in range(400))
    library.documents.put(f"# Otter\n\n{names}\nThe otter lives in the big lake of the park.\n", title="Otter")
    [otter] = library.staged.summaries("otter", top_k=1).documents
    assert otter.summary.text == "The otter lives in the big lake of the park."


def test_a_document_is_found_by_its_given_summary_though_its_text_says_nothing_of_it(library: Library) -> None:
    for number in range(30):
        library.documents.put(f"Page {number} is about the weather of that week.", title=f"Page {number}")
    library.documents.put("Straw, hay, lamps.", title="List", summary=GIVEN)
    [first, *_] = library.staged.summaries(GIVEN, top_k=3, mode="vector").documents
    assert first.document.title == "List"
    assert first.score == pytest.approx(1, abs=0.01)
    assert (first.summary.text, first.summary.by) == (GIVEN, "given")
    assert library.staged.summaries(GIVEN, top_k=3).documents[0].document.title == "List"


def test_a_new_summary_counts_at_once_and_a_removed_document_no_longer(library: Library) -> None:
    for number in range(30):
        library.documents.put(f"Page {number} is about the weather of that week.", title=f"Page {number}")
    written = library.documents.put("Straw, hay, lamps.", title="List", summary="Something else altogether here.")
    assert library.staged.summaries(GIVEN, top_k=1, mode="vector").documents[0].score < 0.5
    library.documents.update(written.document.uid, summary=GIVEN)
    assert titles(library.staged.summaries(GIVEN, top_k=1, mode="vector")) == ["List"]
    library.documents.delete(written.document.uid)
    assert "List" not in titles(library.staged.summaries(GIVEN, top_k=10, mode="vector"))


def test_a_summary_never_lowers_a_document(library: Library) -> None:
    text = "Badgers eat earthworms at night in the forest."
    library.documents.put(text, title="Plain")
    before = library.staged.summaries(text).documents[0].score
    library.documents.update(library.staged.summaries(text).documents[0].document.uid, summary="Of something else.")
    assert library.staged.summaries(text).documents[0].score == pytest.approx(before, abs=0.05)


def test_filters_hold_before_the_best_are_taken(kept: Library) -> None:
    found = kept.staged.summaries("animals of the zoo", top_k=1, filters={"tags": ["water", "forest"]})
    assert found.total == 2
    assert titles(found)[0] in ("Badger", "Heron")
    assert titles(kept.staged.summaries(GIVEN, filters={"tags": ["nothing"]})) == []


def test_weights_choose_between_words_and_meaning(kept: Library) -> None:
    words = kept.staged.summaries("earthworms", weights=(0, 1), mode="hybrid")
    assert titles(words)[0] == "Badger"
    assert words.documents[0].keyword == pytest.approx(1)
    neither = kept.staged.summaries("earthworms", weights=(-1, 0), mode="hybrid")
    meaning = kept.staged.summaries("earthworms", weights=(1, 0), mode="hybrid")
    assert [one.score for one in neither.documents] == [one.score for one in meaning.documents]


def test_a_least_score_leaves_out_what_is_below_it(kept: Library) -> None:
    every = kept.staged.summaries("fish of the river", top_k=5).documents
    least = every[1].score
    kept = kept.staged.summaries("fish of the river", top_k=5, min_score=least).documents
    assert [one.document.uid for one in kept] == [one.document.uid for one in every if one.score >= least]


def test_several_questions_find_what_each_finds(kept: Library) -> None:
    found = kept.staged.several(["earthworms at night", "play in the river"], top_k=5)
    assert {"Badger", "Otter"} == set(titles(found)[:2])
    assert found.query == "earthworms at night; play in the river"
    best = kept.staged.several(["earthworms at night", "play in the river"], top_k=5, merge="max")
    alone = kept.staged.summaries("earthworms at night", top_k=5).documents[0]
    assert next(one.score for one in best.documents if one.document.uid == alone.document.uid) >= alone.score


def test_merging_by_ranks_adds_one_share_for_each_question(kept: Library) -> None:
    alone = kept.staged.summaries("earthworms at night", top_k=5).documents[0].document.uid
    found = kept.staged.several(["earthworms at night", "the earthworms at night"], top_k=5)
    assert found.documents[0].document.uid == alone
    assert found.documents[0].score == pytest.approx(2 / 61)


def test_documents_like_one_are_found_without_it(library: Library) -> None:
    same = "Badgers eat earthworms at night in the forest."
    uids = [library.documents.put(same, title=title, source=source).document.uid for title, source in PAIRS]
    library.documents.put("Otters play in the river all day long.", title="Otter", source="b")
    found = library.staged.similar(uids[0], top_k=2)
    assert uids[0] not in [one.document.uid for one in found.documents]
    assert found.query == uids[0]
    assert found.total == 3
    others = library.staged.similar(uids[0], other_source=True)
    assert {one.document.source for one in others.documents} == {"b"}
    with pytest.raises(NotFound, match="Document not found"):
        library.staged.similar("nobody")


PAIRS = (("Badger", "a"), ("Badgers", "a"), ("The badger", "b"))


def test_whole_documents_are_opened_in_the_order_asked_for(kept: Library) -> None:
    uids = [by_path(kept, path) for path in ("otter.md", "guide.md")]
    opened = kept.staged.expand([*uids, "nobody", uids[0]])
    assert [one.document.uid for one in opened.documents] == uids
    assert opened.documents[1].text == GUIDE
    assert opened.tokens == opened.full_tokens == sum(one.document.token_count for one in opened.documents)
    assert not any(one.cut for one in opened.documents)


@pytest.mark.parametrize("budget", [5, 30, 120, 200, 350, 500])
def test_a_budget_is_kept_and_reading_on_gives_the_rest(kept: Library, budget: int) -> None:
    uid = by_path(kept, "guide.md")
    opened = kept.staged.expand([uid], max_tokens=budget)
    [part] = opened.documents
    assert part.cut
    assert budget * 0.4 <= part.tokens <= budget
    assert GUIDE.startswith(part.text)
    if part.go_on:
        rest = kept.staged.expand([uid], wanted=ExpandRequest(lines=(part.go_on, 0))).documents[0]
        assert part.text + rest.text == GUIDE
    else:
        assert not part.text.endswith("\n")
    mark = kept.staged.chunk(uid, number=part.go_on_chunk).mark
    assert mark.start <= len(part.text) < mark.end


def test_a_document_is_cut_before_a_heading_where_that_is_possible(kept: Library) -> None:
    [part] = kept.staged.expand([by_path(kept, "guide.md")], max_tokens=300).documents
    assert GUIDE[len(part.text) :].startswith("## Part ")
    assert [one.title for one in part.outline] == [
        title for title in ("Part alpha", "Part beta", "Part gamma", "Part delta") if title not in part.text
    ]


def test_what_there_is_no_room_for_is_named(kept: Library) -> None:
    uids = [by_path(kept, path) for path in ("guide.md", "otter.md", "badger.md")]
    opened = kept.staged.expand(uids, max_tokens=100)
    assert [one.document.uid for one in opened.documents] == uids[:1]
    assert opened.left_out == tuple(uids[1:])
    assert opened.full_tokens > opened.tokens


def test_a_section_is_read_by_its_heading(kept: Library) -> None:
    uid = by_path(kept, "guide.md")
    for name in ("Part beta", "part BETA", "Guide > Part beta", "## Part beta", "Part bet", "Prat beta"):
        [opened] = kept.staged.expand([uid], wanted=ExpandRequest(section=name)).documents
        assert opened.text.startswith("## Part beta\n")
        assert "gamma" not in opened.text
        assert GUIDE.split("\n")[opened.start_line - 1] == "## Part beta"
    [nothing] = kept.staged.expand([uid], wanted=ExpandRequest(section="Costs of it all")).documents
    assert (nothing.text, nothing.tokens) == ("", 0)
    assert "Part alpha" in nothing.note


def test_a_function_is_read_by_its_name(kept: Library) -> None:
    [opened] = kept.staged.expand([by_path(kept, "feeding.py")], wanted=ExpandRequest(section="rest")).documents
    assert opened.text.strip() == "def rest():\n    return 8"


@pytest.mark.parametrize(
    ("lines", "first", "last"), [((1, 1), 1, 1), ((2, 4), 2, 4), ((4, 0), 4, 9), ((4, 99), 4, 9), ((9, 9), 9, 9)]
)
def test_lines_are_read_by_their_numbers(kept: Library, lines: tuple[int, int], first: int, last: int) -> None:
    [opened] = kept.staged.expand([by_path(kept, "feeding.py")], wanted=ExpandRequest(lines=lines)).documents
    assert opened.text.rstrip("\n") == "\n".join(CODE.split("\n")[first - 1 : last]).rstrip("\n")
    assert (opened.start_line, opened.total_lines) == (first, 9)


def test_lines_that_are_not_there_are_told(kept: Library) -> None:
    uid = by_path(kept, "feeding.py")
    [nothing] = kept.staged.expand([uid], wanted=ExpandRequest(lines=(10, 12))).documents
    assert (nothing.text, nothing.note) == ("", "no line 10: it has 9 lines")
    for lines in ((0, 1), (3, 2), (-1, 0)):
        with pytest.raises(InvalidInput, match="There are no lines"):
            kept.staged.expand([uid], wanted=ExpandRequest(lines=lines))
    with pytest.raises(InvalidInput, match="not both"):
        kept.staged.expand([uid], wanted=ExpandRequest(section="x", lines=(1, 1)))


def test_a_chunk_is_read_by_number_or_by_question(kept: Library) -> None:
    uid = by_path(kept, "guide.md")
    first = kept.staged.chunk(uid, number=0)
    assert first.score is None
    found = kept.staged.chunk(uid, query="what is said of gamma", neighbours=1)
    assert "gamma" in found.text
    assert found.score is not None
    assert 0 < found.score <= 1
    assert [mark.ordinal for mark, _ in found.neighbours] == [found.mark.ordinal - 1, found.mark.ordinal + 1]
    assert kept.staged.chunk(uid, number=1, query="gamma").mark.ordinal == 1
    assert kept.staged.chunk(uid, number=0, neighbours=2).neighbours[0][0].ordinal == 1


@pytest.mark.parametrize("number", [-1, 99])
def test_a_chunk_that_is_not_there_is_told(kept: Library, number: int) -> None:
    with pytest.raises(InvalidInput, match="chunk_index out of range"):
        kept.staged.chunk(by_path(kept, "guide.md"), number=number)


def test_neither_number_nor_question_is_told(kept: Library) -> None:
    with pytest.raises(InvalidInput, match="Provide chunk_index or chunk_query"):
        kept.staged.chunk(by_path(kept, "guide.md"), query="  ")


def test_the_outline_names_headings_and_definitions(kept: Library) -> None:
    assert [one.title for one in kept.staged.outline(by_path(kept, "guide.md"))][:3] == [
        "Guide",
        "Part alpha",
        "Part beta",
    ]
    assert [one.title for one in kept.staged.outline(by_path(kept, "feeding.py"))] == ["feed", "rest"]


def test_ids_of_another_collection_are_not_found(zoo: Library) -> None:
    other = zoo.documents.put("Something else here.", title="Other", collection="others").document.uid
    assert zoo.staged.expand([other], "default").documents == ()
    with pytest.raises(NotFound, match="Document not found"):
        zoo.staged.chunk(other, "default", number=0)
    assert zoo.staged.expand([other], "others").documents[0].document.title == "Other"


def test_several_collections_answer_together(zoo: Library) -> None:
    zoo.documents.put("Badgers eat earthworms at night, too.", title="Another badger", collection="others")
    for names in ("*", "default,others"):
        found = zoo.staged.summaries("badgers eat earthworms at night", names, top_k=2)
        assert {one.collection for one in found.documents} == {"default", "others"}
        assert found.total == 6
    both = zoo.staged.expand([one.document.uid for one in found.documents], "*")
    assert {one.collection for one in both.documents} == {"default", "others"}
    with pytest.raises(NotFound, match="There is no collection 'nowhere'"):
        zoo.staged.summaries("badgers", "nowhere")


def test_documents_that_lose_all_of_their_score_keep_their_order(zoo: Library) -> None:
    for words in ("It is as dark as in any other place once the sun is gone at night", "Dark at night", "At night"):
        zoo.documents.put(words, title=words, collection="others")
    question: dict[str, Any] = {"query": "badgers eat earthworms at night", "mode": "keyword"}
    alone = zoo.staged.summaries(collection="others", **question).documents
    found = zoo.staged.summaries(collection="*", **question).documents
    assert [one.document.uid for one in found if one.collection == "others"] == [one.document.uid for one in alone]
    lost = [one for one in found if one.collection == "others"]
    assert [one.score for one in lost] == [0.0] * 3
    assert [sum(one.score_parts.values()) for one in lost] == pytest.approx([0.0] * 3)


def test_one_collection_that_fails_does_not_keep_the_others_from_answering(zoo: Library) -> None:
    zoo.documents.put("Badgers eat earthworms.", title="Another badger", collection="others")
    found = zoo.staged.summaries("badgers", "others,nowhere")
    assert titles(found) == ["Another badger"]
    assert any("'nowhere' did not answer" in note for note in found.notes)


def test_without_a_model_words_answer_and_it_is_said(open_library: OpenLibrary, docs: Path, tmp_path: Path) -> None:
    library = open_library(embedding__provider="onnx", embedding__path=str(tmp_path / "no model"))
    write_files(docs, {"badger.md": "# Badger\n\nBadgers eat earthworms.\n", "otter.md": "# Otter\n\nOtters play.\n"})
    library.add(str(docs))
    found = library.staged.summaries("earthworms")
    assert titles(found) == ["Badger"]
    assert found.degraded is not None
    assert found.degraded.startswith("keyword search only")
    uid = found.documents[0].document.uid
    assert library.staged.chunk(uid, query="earthworms").score == pytest.approx(1)
    assert library.staged.similar(uid).degraded == "it has no vectors: compared by words only"


def test_a_chat_model_writes_the_summaries_that_documents_lack(open_library: OpenLibrary, docs: Path) -> None:
    write_files(docs, {"badger.md": "# Badger\n\nBadgers eat earthworms at night in the forest.\n"})
    with serving(lambda _: GIVEN) as server:
        library = open_library(chat__url=server.url, chat__model="tiny")
        library.add(str(docs))
        given = library.documents.put("Fish.", title="Heron", summary="Where the grey heron stands and waits.")
        assert len(server.seen) == 0
        events = list(library.staged.texts.write("default"))
        assert [(event.stage, event.done, event.total) for event in events] == [("summarize", 1, 1)]
        assert list(library.staged.texts.write("default")) == []
        found = library.staged.summaries(GIVEN, mode="vector").documents[0]
        assert (found.document.title, found.summary.by, found.summary.text) == ("Badger", "chat", GIVEN)
        assert found.score == pytest.approx(1, abs=0.01)
        assert library.documents.get(given.document.uid).summary == "Where the grey heron stands and waits."
        assert len(list(library.staged.texts.write("default", again=True))) == 1


def test_where_no_model_writes_summaries_none_is_asked(kept: Library) -> None:
    assert list(kept.staged.texts.write("default")) == []
    with pytest.raises(NotFound):
        list(kept.staged.texts.write("nowhere"))


def test_a_home_without_summaries_shows_none(open_library: OpenLibrary, docs: Path) -> None:
    write_files(docs, {"badger.md": "# Badger\n\nBadgers eat earthworms at night in the forest.\n"})
    library = open_library(summary__writer="none")
    library.add(str(docs))
    document: DocumentRecord = library.staged.summaries("badgers").documents[0].document
    assert library.staged.summary(document).text == ""


def test_a_summary_counts_once_it_has_a_vector(open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    library = open_library()
    library.documents.put("Straw, hay, lamps.", title="List", summary=GIVEN)
    record = library.collection()
    own, connect = OwnSummaries(), library.app.catalog.read
    assert len(own.vectors_for(connect, record).ids) == 1
    with library.app.catalog.write() as connection:
        connection.execute(delete(embeddings))
    own = OwnSummaries()
    assert len(own.vectors_for(connect, record).ids) == 0
    library.embed_pending()
    monkeypatch.setattr("pinakes.search.statistics.summary_vectors._LOOK_AGAIN_S", -1)
    assert len(own.vectors_for(connect, library.collection()).ids) == 1


def test_a_least_score_may_be_set_for_all(open_library: OpenLibrary, docs: Path) -> None:
    write_files(docs, {"badger.md": "# Badger\n\nBadgers eat earthworms.\n", "otter.md": "# Otter\n\nOtters play.\n"})
    library = open_library()
    library.add(str(docs))
    scores = [one.score for one in library.staged.summaries("earthworms").documents]
    limited = open_library(search__min_score=scores[0])
    assert [one.score for one in limited.staged.summaries("earthworms").documents] == scores[:1]
    assert [hit.path for hit in limited.search("earthworms", min_score=0.01).hits] == ["badger.md"]


def test_it_is_said_whose_file_has_changed_since(zoo: Library, docs: Path) -> None:
    zoo.documents.put("Badgers sleep all winter.", title="Put by a call")
    write_files(docs, {"badger.md": "# Badger\n\nSomething quite different stands here by now.\n"})
    found = {one.document.title: one.changed for one in zoo.staged.summaries("badgers", top_k=10).documents}
    assert (found["Badger"], found["Otter"], found["Put by a call"]) == (True, False, None)
