"""The tools of the toolset "retrieve", called as an interface calls them: names, shapes and messages as promised."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.caller import Caller, calling
from pinakes.library import Library
from pinakes.tools import TOOLS, get_documents, search_summaries
from pinakes.tools.declare import Tool, listing

BY_NAME = {tool.name: tool for tool in TOOLS if tool.toolset == "retrieve"}
PARAMETERS = {
    "search_summaries": ["query", "top_k", "collection", "min_score", "tags_filter"],
    "get_documents": [
        "doc_ids", "include_chunks", "collection", "max_tokens", "section", "start_line", "end_line", "outline",
    ],
    "get_document_chunk": ["doc_id", "chunk_index", "chunk_query", "collection", "neighbours"],
    "hybrid_search": ["query", "top_k", "collection", "semantic_weight", "keyword_weight", "tags_filter"],
    "multi_query_search": ["queries", "top_k", "collection", "fusion_method", "tags_filter"],
    "find_similar": ["doc_id", "top_k", "exclude_same_source", "collection", "tags_filter"],
}  # fmt: skip
DEFAULTS = {
    "top_k": 5,
    "min_score": 0.0,
    "semantic_weight": 0.7,
    "keyword_weight": 0.3,
    "fusion_method": "rrf",
    "exclude_same_source": False,
    "include_chunks": False,
}
HIT = {
    "doc_id", "title", "summary", "similarity_score", "token_count", "tags", "collection", "source", "best_chunk",
}  # fmt: skip
LONG = "# Guide\n\nHow the zoo is run.\n\n" + "".join(
    f"## Part {name}\n\n" + f"Much is said about {name} in this part. " * 40 + "\n\n"
    for name in ("one", "two", "three")
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with Library.open(tmp_path_factory.mktemp("home"), embedding__provider="deterministic") as opened:
        put = opened.documents.put
        put(
            "Badgers eat earthworms at night.",
            title="Badger",
            tags=["night", "Forest"],
            metadata={"legs": 4},
            source="a",
        )
        put("Badgers dig tunnels in the forest.", title="Badger homes", tags=["forest"], source="a", uri="x:homes")
        put("Otters play in the river.", title="Otter", tags=["water"], source="b", summary="About otters in rivers.")
        put(LONG, title="Guide", source="c")
        put("Somewhere else, badgers sleep.", title="Elsewhere", collection="other")
        yield opened


def call(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    outcome = BY_NAME[name].answer(library, arguments)
    assert outcome.failed == (outcome.error is not None)
    assert outcome.data is not None
    assert json.loads(outcome.text) == outcome.data
    return outcome.data


def ids(library: Library) -> dict[str, str]:
    found = call(library, "search_summaries", query="badgers", top_k=50)
    return {one["title"]: one["doc_id"] for one in found["results"]}


def test_the_six_tools_have_their_names_parameters_and_defaults() -> None:
    assert {name: list(tool.schema()["properties"]) for name, tool in BY_NAME.items()} == PARAMETERS
    for tool in BY_NAME.values():
        for name, about in tool.schema()["properties"].items():
            assert about["description"]
            assert name not in DEFAULTS or about["default"] == DEFAULTS[name]
    required = {name: tool.schema().get("required", []) for name, tool in BY_NAME.items()}
    assert required == {
        "search_summaries": ["query"],
        "get_documents": ["doc_ids"],
        "get_document_chunk": ["doc_id"],
        "hybrid_search": ["query"],
        "multi_query_search": ["queries"],
        "find_similar": ["doc_id"],
    }


@pytest.mark.parametrize("tool", BY_NAME.values(), ids=lambda tool: tool.name)
def test_schemas_have_plain_types_and_say_that_nothing_is_changed(tool: Tool) -> None:
    assert not {"anyOf", "oneOf", "allOf", "$ref", "null"} & set(_keys(tool.schema()))
    assert "anyOf" not in json.dumps(tool.output_schema())
    assert listing(tool)["annotations"]["readOnlyHint"] is True


def _keys(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            yield from _keys(value)
            if isinstance(value, str):
                yield value


def test_six_descriptions_cost_few_tokens() -> None:
    words = [tool.description for tool in BY_NAME.values()]
    words += [about["description"] for tool in BY_NAME.values() for about in tool.schema()["properties"].values()]
    assert len(" ".join(words)) / 3.5 < 1300


def test_a_search_answers_with_summaries(library: Library) -> None:
    found = call(library, "search_summaries", query="earthworms at night")
    assert set(found) == {"query", "results", "total_candidates", "search_time_ms", "tokens_saved", "notes"}
    assert found["notes"] == [
        "1 other collection was not asked: other; name them, or *",
        "`tags: night` is a value of the field tags: write tags:night to filter",
    ]
    assert found["total_candidates"] == 4
    assert found["search_time_ms"] > 0
    first = found["results"][0]
    assert set(first) == HIT
    assert first["title"] == "Badger"
    assert first["summary"] == "Badgers eat earthworms at night."
    assert (first["tags"], first["source"], first["collection"]) == (["night", "Forest"], "a", "default")
    assert first["best_chunk"] == 0
    assert all(0 <= one["similarity_score"] <= 1 for one in found["results"])
    assert found["tokens_saved"] > 200


@pytest.mark.parametrize(("top_k", "count"), [(0, 1), (-7, 1), (2, 2), (1000, 4), (None, 4)])
def test_top_k_is_kept_within_bounds(library: Library, top_k: int | None, count: int) -> None:
    for name in ("search_summaries", "hybrid_search"):
        assert len(call(library, name, query="badgers", top_k=top_k)["results"]) == count
    assert len(call(library, "multi_query_search", queries=["badgers", "otters"], top_k=top_k)["results"]) == count


@pytest.mark.parametrize(
    ("name", "arguments", "note"),
    [
        ("search_summaries", {"query": "badgers", "top_k": 1000}, "top_k 1000 was taken as 50"),
        ("hybrid_search", {"query": "badgers", "top_k": 0}, "top_k 0 was taken as 1"),
        ("multi_query_search", {"queries": ["badgers", "otters"], "top_k": -1}, "top_k -1 was taken as 1"),
        ("multi_query_search", {"queries": ["badgers", "otters"], "fusion_method": "foo"}, "no fusion_method 'foo'"),
        ("hybrid_search", {"query": "badgers", "semantic_weight": 0, "keyword_weight": 0}, "by meaning alone"),
        ("hybrid_search", {"query": "badgers", "keyword_weight": -1}, "below 0 counts as 0"),
    ],
)
def test_what_is_not_taken_as_it_was_given_is_noted(
    library: Library, name: str, arguments: dict[str, Any], note: str
) -> None:
    assert note in " ".join(call(library, name, **arguments)["notes"])
    good = {key: value for key, value in arguments.items() if key in ("query", "queries")}
    assert note not in " ".join(call(library, name, **good, top_k=2).get("notes", ()))


def test_the_settings_may_choose_how_many(tmp_path: Path) -> None:
    with Library.open(tmp_path, embedding__provider="deterministic", search__top_k=2, search__max_top_k=3) as library:
        for number in range(5):
            library.documents.put(f"Text of page {number}.", title=f"Page {number}")
        assert len(call(library, "search_summaries", query="page")["results"]) == 2
        assert len(call(library, "search_summaries", query="page", top_k=9)["results"]) == 3


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
@pytest.mark.parametrize("name", ["search_summaries", "hybrid_search"])
def test_a_blank_query_finds_nothing(library: Library, name: str, query: str) -> None:
    found = call(library, name, query=query)
    nothing = {"query": query, "results": [], "total_candidates": 0, "search_time_ms": 0.0, "tokens_saved": 0}
    assert found == nothing | {"notes": ["the query is empty"]}


def test_tags_are_looked_at_before_the_best_are_taken(library: Library) -> None:
    uid = ids(library)["Badger"]
    for name, arguments in (
        ("search_summaries", {"query": "otters in the river"}),
        ("hybrid_search", {"query": "otters in the river"}),
        ("multi_query_search", {"queries": ["otters", "river"]}),
        ("find_similar", {"doc_id": uid}),
    ):
        found = call(library, name, top_k=1, tags_filter=["FOREST"], **arguments)
        assert [one["title"] for one in found["results"]] in (["Badger"], ["Badger homes"])
        either = call(library, name, top_k=9, tags_filter="forest, water", **arguments)
        assert {tag for one in either["results"] for tag in one["tags"]} >= {"forest", "water"}
        assert call(library, name, top_k=9, tags_filter=["nothing"], **arguments)["results"] == []
        assert len(call(library, name, top_k=9, tags_filter=None, **arguments)["results"]) >= 3


def test_a_least_score_leaves_out_the_rest(library: Library) -> None:
    every = call(library, "search_summaries", query="badgers")["results"]
    some = call(library, "search_summaries", query="badgers", min_score=every[1]["similarity_score"])["results"]
    assert 1 <= len(some) < len(every)
    assert call(library, "search_summaries", query="badgers", min_score=1.5)["results"] == []


def test_weights_are_scaled_and_none_is_meaning_alone(library: Library) -> None:
    def scores(**weights: float) -> list[tuple[str, float]]:
        found = call(library, "hybrid_search", query="badgers in the forest", **weights)
        return [(one["doc_id"], one["similarity_score"]) for one in found["results"]]

    assert scores(semantic_weight=7, keyword_weight=3) == scores() == scores(semantic_weight=0.7, keyword_weight=0.3)
    alone = scores(semantic_weight=1, keyword_weight=0)
    assert alone == scores(semantic_weight=0, keyword_weight=0) == scores(semantic_weight=-1, keyword_weight=-2)
    words = call(library, "hybrid_search", query="earthworms", semantic_weight=0, keyword_weight=1)["results"][0]
    assert (words["title"], words["keyword_score"]) == ("Badger", 1.0)
    assert 0 <= words["semantic_score"] <= 1


def test_an_unknown_way_of_merging_is_by_ranks(library: Library) -> None:
    queries = ["badgers", "forest"]
    ranks = call(library, "multi_query_search", queries=queries)
    assert ranks["query"] == "badgers; forest"
    other = call(library, "multi_query_search", queries=queries, fusion_method="average")
    assert [one["similarity_score"] for one in ranks["results"]] == [
        one["similarity_score"] for one in other["results"]
    ]
    assert max(one["similarity_score"] for one in ranks["results"]) <= 2 / 61
    best = call(library, "multi_query_search", queries=queries, fusion_method="max")
    assert max(one["similarity_score"] for one in best["results"]) > 0.1


@pytest.mark.parametrize("queries", [[], ["one"], ["one", "  "], "one", '["one"]'])
def test_fewer_than_two_wordings_are_refused(library: Library, queries: Any) -> None:
    assert call(library, "multi_query_search", queries=queries)["error"] == "Provide at least 2 queries"


@pytest.mark.parametrize("count", [21, 8000])
def test_very_many_wordings_are_refused(library: Library, count: int) -> None:
    told = call(library, "multi_query_search", queries=[f"badger {number}" for number in range(count)])
    assert told == {"error": f"{count} queries are too many to be merged.", "hint": "At most 20."}
    assert call(library, "multi_query_search", queries=[f"badger {number}" for number in range(20)])["results"]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("get_documents", {"doc_ids": ["x"] * 101}, "101 documents are too many to be opened at once."),
        ("search_summaries", {"query": "x", "collection": ",".join(map(str, range(1001)))}, "1001 collections"),
        ("search_summaries", {"query": "x", "tags_filter": ["tag"] * 1001}, "Filter 'tags' cannot be"),
    ],
)
def test_lists_without_end_are_refused_in_few_words(library: Library, name: str, arguments: Any, words: str) -> None:
    told = call(library, name, **arguments)
    assert words in told["error"]
    assert len(told["error"]) < 300


@pytest.mark.parametrize("weight", [float("inf"), float("-inf"), float("nan"), 1e999])
def test_a_weight_is_a_number(library: Library, weight: float) -> None:
    told = call(library, "hybrid_search", query="badgers", semantic_weight=weight)
    assert "semantic_weight cannot be" in told["error"]
    assert "it has to be a number" in told["error"]


def test_very_large_weights_are_weights(library: Library) -> None:
    heavy = call(library, "hybrid_search", query="badgers", semantic_weight=1e308, keyword_weight=1e308)
    equal = call(library, "hybrid_search", query="badgers", semantic_weight=1, keyword_weight=1)
    assert heavy["results"] == equal["results"]


def test_a_list_may_come_as_text(library: Library) -> None:
    assert call(library, "multi_query_search", queries='["badgers", "otters"]')["query"] == "badgers; otters"
    assert call(library, "multi_query_search", queries="badgers\notters")["query"] == "badgers; otters"


def test_similar_documents_are_found_without_the_one_itself(library: Library) -> None:
    uid = ids(library)["Badger"]
    found = call(library, "find_similar", doc_id=uid)
    assert found["query"] == uid
    assert {one["title"] for one in found["results"]} == {"Badger homes", "Otter", "Guide"}
    others = call(library, "find_similar", doc_id=uid, exclude_same_source=True)["results"]
    assert {one["title"] for one in others} == {"Otter", "Guide"}
    assert call(library, "find_similar", doc_id="nobody") == {
        "error": "Document not found",
        "not_found": ["nobody"],
    }


def test_what_is_like_another_is_counted_as_it_is_found(library: Library) -> None:
    uid = ids(library)["Badger"]
    for arguments, count in (
        ({}, 3),
        ({"tags_filter": ["night"]}, 0),
        ({"tags_filter": ["water"]}, 1),
        ({"tags_filter": ["forest", "water"]}, 2),
        ({"exclude_same_source": True}, 2),
        ({"exclude_same_source": True, "tags_filter": ["forest", "water"]}, 1),
    ):
        found = call(library, "find_similar", doc_id=uid, top_k=9, **arguments)
        assert found["total_candidates"] == len(found["results"]) == count


def test_documents_are_opened_and_missing_ones_left_out(library: Library) -> None:
    uid = ids(library)["Badger"]
    found = call(library, "get_documents", doc_ids=[uid, "nobody"])
    [document] = found["documents"]
    assert document == {
        "doc_id": uid,
        "title": "Badger",
        "full_text": "Badgers eat earthworms at night.",
        "source": "a",
        "token_count": document["token_count"],
        "tags": ["night", "Forest"],
        "metadata": {"legs": 4},
        "collection": "default",
    }
    assert (found["total_tokens"], found["tokens_saved"]) == (document["token_count"], 0)
    assert call(library, "get_documents", doc_ids=[])["documents"] == []
    assert call(library, "get_documents", doc_ids=uid)["documents"] == [document]
    assert call(library, "get_documents", doc_id=uid)["documents"] == [document]


def test_chunks_come_with_their_places(library: Library) -> None:
    [document] = call(library, "get_documents", doc_ids=[ids(library)["Guide"]], include_chunks=True)["documents"]
    assert [chunk["chunk_index"] for chunk in document["chunks"]] == list(range(len(document["chunks"])))
    for chunk in document["chunks"]:
        assert set(chunk) == {"chunk_index", "text", "token_count", "start_char", "end_char"}
        assert document["full_text"][chunk["start_char"] : chunk["end_char"]] == chunk["text"]
    assert all(chunk["token_count"] > 0 for chunk in document["chunks"])


def test_a_budget_cuts_and_says_where_to_go_on(library: Library) -> None:
    known = ids(library)
    found = call(library, "get_documents", doc_ids=[known["Guide"], known["Otter"]], max_tokens=800)
    [document] = found["documents"]
    assert document["cut"] is True
    assert LONG.startswith(document["full_text"])
    assert document["returned_tokens"] == found["total_tokens"] <= 800
    assert found["left_out"] == [known["Otter"]]
    assert found["tokens_saved"] > 0
    assert document["outline"][0]["start_line"] >= document["next_line"]
    rest = call(library, "get_documents", doc_ids=[known["Guide"]], start_line=document["next_line"])["documents"][0]
    assert LONG.endswith(rest["full_text"])
    assert len(document["full_text"]) + len(rest["full_text"]) >= len(LONG)
    assert "cut" not in rest
    chunk = call(library, "get_document_chunk", doc_id=known["Guide"], chunk_index=document["next_chunk"])
    assert chunk["chunk_index"] == document["next_chunk"]


def test_a_document_that_is_cut_within_a_line_goes_on_with_its_chunks(library: Library) -> None:
    uid = ids(library)["Guide"]
    found = call(library, "get_documents", doc_ids=[uid], max_tokens=500)
    [document] = found["documents"]
    assert LONG.startswith(document["full_text"])
    assert document["returned_tokens"] > 100
    assert "next_line" not in document
    assert found["next"] == f'get_document_chunk(doc_id="{uid}",chunk_index={document["next_chunk"]})'


def test_a_section_and_an_outline_are_read(library: Library) -> None:
    uid = ids(library)["Guide"]
    [document] = call(library, "get_documents", doc_ids=[uid], section="Part two", outline=True)["documents"]
    assert document["full_text"].startswith("## Part two\n")
    assert "three" not in document["full_text"]
    assert [entry["title"] for entry in document["outline"]] == ["Guide", "Part one", "Part two", "Part three"]
    assert document["outline"][2]["start_line"] == document["start_line"]
    [nothing] = call(library, "get_documents", doc_ids=[uid], section="Costs of fences")["documents"]
    assert nothing["full_text"] == ""
    assert nothing["note"].startswith("no section 'Costs of fences'")


def test_a_chunk_is_read_by_number_or_question(library: Library) -> None:
    uid = ids(library)["Guide"]
    first = call(library, "get_document_chunk", doc_id=uid, chunk_index=0)
    assert (first["has_previous"], first["has_next"]) == (False, True)
    assert "relevance_score" not in first
    found = call(library, "get_document_chunk", doc_id=uid, chunk_query="what is said about three", neighbours=1)
    assert "three" in found["text"]
    assert 0 < found["relevance_score"] <= 1
    assert found["section"].endswith("Part three")
    assert found["neighbours"][0]["chunk_index"] == found["chunk_index"] - 1
    both = call(library, "get_document_chunk", doc_id=uid, chunk_index=1, chunk_query="three")
    assert both["chunk_index"] == 1
    assert both["notes"] == ["chunk_query was not looked at, for chunk_index is given: give one."]
    assert "notes" not in found | first
    last = call(library, "get_document_chunk", doc_id=uid, chunk_index=first["total_chunks"] - 1)
    assert last["has_next"] is False
    assert last["tokens_saved"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Provide chunk_index or chunk_query"),
        ({"chunk_query": " "}, "Provide chunk_index or chunk_query"),
        ({"chunk_index": 99}, "chunk_index out of range"),
        ({"chunk_index": -1}, "chunk_index out of range"),
        ({"chunk_index": 0, "doc_id": "nobody"}, "Document not found"),
        ({"chunk_index": 0, "doc_id": "other", "collection": "default"}, "Document not found"),
        ({"chunk_index": 0, "collection": "nowhere"}, "There is no collection 'nowhere'."),
    ],
)
def test_a_chunk_that_cannot_be_read_is_told_in_the_words_promised(
    library: Library, arguments: dict[str, Any], message: str
) -> None:
    if arguments.get("doc_id") == "other":
        elsewhere = call(library, "search_summaries", query="badgers", collection="other")["results"][0]
        arguments = arguments | {"doc_id": elsewhere["doc_id"]}
    told = call(library, "get_document_chunk", **{"doc_id": ids(library)["Guide"], **arguments})
    assert told["error"] == message


def test_ids_of_another_collection_are_found_where_none_is_named(library: Library) -> None:
    [elsewhere] = call(library, "search_summaries", query="badgers", collection="other")["results"]
    assert elsewhere["collection"] == "other"
    here: dict[str, Any] = {"collection": "default"}
    assert call(library, "get_documents", doc_ids=[elsewhere["doc_id"]], **here)["documents"] == []
    for named in ({}, {"collection": "*"}):
        [found] = call(library, "get_documents", doc_ids=[elsewhere["doc_id"]], **named)["documents"]
        assert found["collection"] == "other"
    hint = f"Give collection 'other' for {elsewhere['doc_id']!r}."
    told = {"error": "Document not found", "not_found": [elsewhere["doc_id"]]}
    assert call(library, "find_similar", doc_id=elsewhere["doc_id"], **here) == told | {"hint": hint}
    similar = call(library, "find_similar", doc_id=elsewhere["doc_id"])
    assert similar["notes"][0].startswith("only documents of 'other' were compared; 1 other collection was not asked")
    opened = call(library, "get_documents", doc_ids=["nobody", elsewhere["doc_id"]], **here)
    assert (opened["not_found"], opened["hint"]) == (["nobody", elsewhere["doc_id"]], hint)
    with calling(Caller("agent", scope="write", collections=("default",))):
        assert call(library, "find_similar", doc_id=elsewhere["doc_id"]) == told
        assert "hint" not in call(library, "get_documents", doc_ids=[elsewhere["doc_id"]])
    both = call(library, "search_summaries", query="badgers", collection="*", top_k=9)
    assert {one["collection"] for one in both["results"]} == {"default", "other"}
    assert both["total_candidates"] == 5


@pytest.mark.parametrize("collection", ["nowhere", "../../evil", "a/b"])
@pytest.mark.parametrize("name", list(PARAMETERS))
def test_a_collection_that_is_not_there_is_an_error(library: Library, name: str, collection: str) -> None:
    arguments = {"query": "x", "queries": ["x", "y"], "doc_id": "x", "doc_ids": ["x"], "chunk_index": 0}
    given = {key: value for key, value in arguments.items() if key in PARAMETERS[name]}
    told = call(library, name, **given, collection=collection)
    assert told["error"] == f"There is no collection {collection!r}."


def test_before_the_first_document_nothing_is_found(tmp_path: Path) -> None:
    with Library.open(tmp_path, embedding__provider="deterministic") as empty:
        for collection in ("", "default"):
            assert call(empty, "search_summaries", query="x", collection=collection)["results"] == []
            assert call(empty, "hybrid_search", query="x", collection=collection)["total_candidates"] == 0
            assert call(empty, "multi_query_search", queries=["x", "y"], collection=collection)["results"] == []
            assert call(empty, "get_documents", doc_ids=["x"], collection=collection)["documents"] == []
            assert call(empty, "get_document_chunk", doc_id="x", chunk_index=0)["error"] == "Document not found"
            assert call(empty, "find_similar", doc_id="x")["error"] == "Document not found"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search_summaries", {}, "query is missing"),
        ("search_summaries", {"query": 7}, "query cannot be 7"),
        ("search_summaries", {"query": "x", "top_k": "many"}, "top_k cannot be 'many'"),
        ("search_summaries", {"query": "x", "colour": "red"}, "there is no parameter 'colour'"),
        ("hybrid_search", {"query": "x", "semantic_weight": "heavy"}, "semantic_weight cannot be"),
        ("get_documents", {}, "doc_ids is missing"),
        ("get_documents", {"doc_ids": [1]}, "doc_ids.0 cannot be 1"),
        ("get_documents", {"doc_ids": ["x"], "max_tokens": -1}, "max_tokens cannot be -1"),
        ("get_document_chunk", {"doc_id": ""}, "doc_id cannot be ''"),
        ("get_document_chunk", {"doc_id": "x", "chunk_index": "first"}, "chunk_index cannot be"),
        ("find_similar", {"doc_id": "\ud800"}, "half a character"),
    ],
)
def test_arguments_that_cannot_be_are_told(library: Library, name: str, arguments: Any, words: str) -> None:
    outcome = BY_NAME[name].answer(library, arguments)
    assert outcome.data is not None
    assert words in outcome.data["error"]
    assert outcome.failed == (outcome.error is not None)


def test_other_names_that_models_use_are_understood(library: Library) -> None:
    one = call(library, "search_summaries", q="badgers", limit=1, tags=["forest"])
    other = call(library, "search_summaries", query="badgers", top_k=1, tags_filter=["forest"])
    assert one["results"] == other["results"]


def test_the_tools_are_functions_in_process(library: Library, tmp_path: Path) -> None:
    found = search_summaries("badgers", top_k=1, library=library)
    assert found["results"][0]["title"].startswith("Badger")
    opened = get_documents([found["results"][0]["doc_id"]], library=library)
    assert opened["documents"][0]["full_text"].startswith("Badgers")
    with pytest.raises(TypeError, match="takes 5 arguments, not 6"):
        search_summaries("a", 1, "", 0.0, [], 7, library=library)
    script = "from pinakes.tools import search_summaries, get_documents\n"
    script += "print(search_summaries(query='anything')['results'], get_documents(doc_ids=['x'])['documents'])"
    environment = {"PINAKES_HOME": str(tmp_path), "PINAKES_EMBEDDING__PROVIDER": "deterministic", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[] []\n"


def test_a_call_is_in_the_log_with_what_it_found(library: Library) -> None:
    found = call(library, "search_summaries", query="a question of its own")
    [entry] = [one for one in library.audit.entries(50) if one.parameters.get("query") == "a question of its own"]
    assert entry.tool == "search_summaries"
    assert list(entry.ids) == [one["doc_id"] for one in found["results"]]
