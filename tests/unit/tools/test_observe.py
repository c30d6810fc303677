"""The tools that look back: their answers, and how failures are told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.caller import Caller, calling
from pinakes.library import Library
from pinakes.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
CONTRACTED = {
    "doc_id",
    "title",
    "cosine_similarity",
    "bm25_score",
    "top_matching_terms",
    "query_doc_term_overlap",
    "explanation_text",
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "leave.md").write_text("---\ntags: [people]\n---\n# Leave\n\nFive days may be carried over.\n")
    (folder / "keys.md").write_text("---\ntags: [security]\n---\n# Keys\n\nRotate the signing keys yearly.\n")
    (folder / "door.md").write_text("# Door\n\nThe cellar door sticks when it rains.\n")
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as opened:
        opened.add(str(folder), "notes")
        yield opened


def ask(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    outcome = BY_NAME[name].answer(library, arguments)
    assert outcome.failed == (outcome.error is not None)
    assert outcome.data == json.loads(outcome.text)
    assert outcome.data is not None
    return outcome.data


def test_explanations_have_what_was_promised_of_each_document(library: Library) -> None:
    found = library.search("rotate the keys", "notes")
    ids = [hit.document_id for hit in found.hits]
    answer = ask(library, "explain_retrieval", query="rotate the keys", doc_ids=ids)
    assert [one["doc_id"] for one in answer["explanations"]] == ids
    first = answer["explanations"][0]
    assert set(first) >= CONTRACTED
    assert (first["title"], first["rank"], first["found"]) == ("Keys", 1, True)
    assert first["top_matching_terms"] == ["rotate", "keys"]
    assert first["query_doc_term_overlap"] == 1
    assert first["bm25_score"] == 1
    for one in answer["explanations"]:
        assert 0 <= one["cosine_similarity"] <= 1
        assert 0 <= one["bm25_score"] <= 1
        assert one["explanation_text"]
    last = next(one for one in answer["explanations"] if one["title"] == "Door")
    assert (last["top_matching_terms"], last["query_doc_term_overlap"]) == ([], 0)
    assert last["missing_terms"] == ["rotate", "keys"]


def test_an_explanation_fits_its_schema(library: Library) -> None:
    answer = ask(library, "explain_retrieval", query="rotate", doc_ids=["keys.md", "door.md"])
    schema = BY_NAME["explain_retrieval"].output_schema()
    assert schema is not None
    definition = schema["$defs"]["Why"]
    for one in answer["explanations"]:
        assert set(one) <= set(definition["properties"])
        assert set(one) >= set(definition["required"])


def test_scores_and_ranks_are_those_of_the_search_for_documents(library: Library) -> None:
    said = "Zeppelins and dirigibles of the northern harbour."
    library.documents.put("Butter and jam.", title="Odd", summary=said, collection="notes")
    found = ask(library, "search_summaries", query=said)["results"]
    answer = ask(library, "explain_retrieval", query=said, doc_ids=[one["doc_id"] for one in found])
    assert [(one["rank"], one["score"]) for one in answer["explanations"]] == [
        (rank, one["similarity_score"]) for rank, one in enumerate(found, start=1)
    ]
    first = answer["explanations"][0]
    assert (first["title"], first["found"]) == ("Odd", True)
    assert first["passage_score"] < first["score"]
    assert "Zeppelins" in first["top_matching_terms"]


def test_very_many_documents_are_refused_before_they_are_looked_for(library: Library) -> None:
    answer = ask(library, "explain_retrieval", query="rotate", doc_ids=[f"x{number}" for number in range(5000)])
    assert answer["error"] == "5000 documents are too many to be explained at once."


def test_documents_there_are_not_are_left_out(library: Library) -> None:
    answer = ask(library, "explain_retrieval", query="rotate", doc_ids=["nothing", "keys.md"])
    assert [one["title"] for one in answer["explanations"]] == ["Keys"]
    assert ask(library, "explain_retrieval", query="rotate", doc_ids=[])["explanations"] == []


def test_a_blank_query_has_no_explanations(library: Library) -> None:
    assert ask(library, "explain_retrieval", query="  ", doc_ids=["keys.md"])["explanations"] == []


def test_tags_that_leave_a_document_out_are_named(library: Library) -> None:
    [one] = ask(library, "explain_retrieval", query="keys", doc_ids=["keys.md"], tags_filter=["people"])["explanations"]
    assert (one["found"], one["left_out_by"]) == (False, ["it does not pass tags = 'people'"])
    assert "rank" not in one


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("explain_retrieval", {"doc_ids": []}, "Invalid arguments for explain_retrieval: query is missing."),
        ("explain_retrieval", {"query": "a"}, "Invalid arguments for explain_retrieval: doc_ids is missing."),
        ("explain_retrieval", {"query": "a", "doc_ids": [1]}, "Invalid arguments for explain_retrieval: doc_ids.0"),
        (
            "explain_retrieval",
            {"query": "a", "doc_ids": [], "x": 1},
            "Invalid arguments for explain_retrieval: there is",
        ),
        ("explain_retrieval", {"query": "a", "doc_ids": [], "collection": "x"}, "There is no collection 'x'."),
        ("retrieval_log", {"last_n": 0}, "Invalid arguments for retrieval_log: last_n cannot be 0"),
        ("retrieval_log", {"last_n": "many"}, "Invalid arguments for retrieval_log: last_n"),
        ("retrieval_log", {"since": "once"}, "'once' is no time."),
    ],
)
def test_a_failure_is_an_answer_with_an_error(
    library: Library, name: str, arguments: dict[str, Any], message: str
) -> None:
    answer = ask(library, name, **arguments)
    assert set(answer) <= {"error", "hint"}
    assert answer["error"].startswith(message)
    [entry] = library.audit.entries(1)
    assert entry.outcome != "ok"
    assert entry.message.startswith(message)


def test_the_log_has_every_call_newest_first(library: Library) -> None:
    assert ask(library, "retrieval_log") == {"entries": [], "total_entries": 0}
    ask(library, "explain_retrieval", query="rotate", doc_ids=["keys.md"])
    ask(library, "explain_retrieval", query="", doc_ids="keys.md, door.md")
    answer = ask(library, "retrieval_log", last_n=2)
    assert answer["total_entries"] == 2
    last, before = answer["entries"]
    assert set(last) >= {"timestamp", "tool", "params", "result_count", "doc_ids", "latency_ms"}
    assert last["params"] == {"query": "", "doc_ids": "keys.md, door.md"}
    assert (before["tool"], before["result_count"], len(before["doc_ids"])) == ("explain_retrieval", 1, 1)
    assert before["latency_ms"] > 0
    assert len(ask(library, "retrieval_log", last_n=10**6)["entries"]) == 4


def test_the_log_can_be_narrowed(library: Library) -> None:
    for session in ("s1", "s2", "s2"):
        with calling(Caller(interface="mcp", session=session)):
            ask(library, "explain_retrieval", query=f"in {session}", doc_ids=[])
    ask(library, "explain_retrieval", query="a", doc_ids=[], collection="nowhere")

    def count(**arguments: Any) -> int:
        found: int = ask(library, "retrieval_log", last_n=100, **arguments)["total_entries"]
        return found

    assert count(session_id="s2") == 2
    assert count(tool_filter="explain_retrieval") == 4
    assert count(tool_filter="retrieval_log", session_id="s2") == 0
    assert count(outcome="failed", collection="nowhere") == 1
    assert count(text="in s1") == 1
    assert count(since="2999-01-01") == 0


def test_who_may_not_administer_sees_only_calls_of_its_own(library: Library) -> None:
    ask(library, "explain_retrieval", query="a secret of others", doc_ids=[])
    with calling(Caller(name="ann", interface="http", scope="read")):
        ask(library, "explain_retrieval", query="mine", doc_ids=[])
        entries = ask(library, "retrieval_log", last_n=100)["entries"]
    assert [entry["params"].get("query") for entry in entries] == ["mine"]


def test_names_that_models_guess_are_recorded_as_what_they_mean(library: Library) -> None:
    ask(library, "explain_retrieval", q="keys", ids=["keys.md"])
    [entry] = library.audit.entries(1)
    assert entry.parameters == {"query": "keys", "doc_ids": ["keys.md"]}
