"""Which collection tools mean: models like to name the usual one "default", whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinakes.library import Library
from pinakes.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
READING: dict[str, dict[str, Any]] = {
    "search_summaries": {"query": "badgers"},
    "hybrid_search": {"query": "badgers"},
    "multi_query_search": {"queries": ["badgers", "earthworms"]},
    "find_similar": {"doc_id": "UID"},
    "get_documents": {"doc_ids": ["UID"]},
    "get_document_chunk": {"doc_id": "UID", "chunk_index": 0},
    "get_document_metadata": {"doc_id": "UID"},
    "collection_stats": {},
    "explain_retrieval": {"query": "badgers", "doc_ids": ["UID"]},
    "retrieval_log": {},
    "semantic_search": {"query": "badgers"},
    "get_index_status": {"content_id": "UID"},
    "search": {"query": "badgers"},
    "read": {"document": "UID"},
    "status": {},
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(tmp_path, embedding__provider="deterministic", collection="kb") as opened:
        yield opened


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library without a document, which tests only read."""
    home = tmp_path_factory.mktemp("empty")
    with Library.open(home, embedding__provider="deterministic", collection="kb") as opened:
        yield opened


@pytest.fixture(scope="module")
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, str]]:
    """A library that tests only read, with a document in two collections, and the id of that which is meant."""
    home = tmp_path_factory.mktemp("two")
    with Library.open(home, embedding__provider="deterministic", collection="kb") as opened:
        uids = {name: put(opened, name) for name in request.param}
        yield opened, uids["default" if "default" in uids else "kb"]


def put(library: Library, collection: str) -> str:
    text = f"Badgers of {collection} eat earthworms."
    return library.documents.put(text, title="Badgers", collection=collection).document.uid


def call(library: Library, name: str, uid: str = "", **more: Any) -> Any:
    given = {
        key: [uid] if value == ["UID"] else uid if value == "UID" else value for key, value in READING[name].items()
    }
    outcome = BY_NAME[name].answer(library, {**given, **more})
    assert not outcome.failed, outcome.text
    assert "error" not in (outcome.data or {}), outcome.text
    return outcome.text


def where(answer: str) -> set[str]:
    return {name for name in ("default", "kb", "other") if f'"{name}"' in answer or f"of {name} " in answer}


@pytest.mark.parametrize("two", [("kb", "other")], indirect=True, ids=["kb"])
@pytest.mark.parametrize("name", READING)
def test_default_is_the_usual_collection_where_none_is_called_so(two: tuple[Library, str], name: str) -> None:
    library, uid = two
    answer = call(library, name, uid, collection="default")
    if name != "retrieval_log":
        assert "other" not in where(answer)


@pytest.mark.parametrize("two", [("kb", "default")], indirect=True, ids=["default"])
@pytest.mark.parametrize("name", [name for name in READING if name not in ("retrieval_log", "find_similar")])
def test_a_collection_that_is_called_default_is_meant_by_its_name(two: tuple[Library, str], name: str) -> None:
    library, uid = two
    assert "kb" not in where(call(library, name, uid, collection="default"))


def test_among_several_default_is_the_usual_one_too(library: Library) -> None:
    put(library, "kb")
    put(library, "other")
    assert where(call(library, "search_summaries", collection="default, other")) == {"kb", "other"}


def test_what_is_written_to_default_goes_where_it_is_looked_for(library: Library) -> None:
    ingest = BY_NAME["ingest_document"]
    first = ingest.answer(library, {"title": "A", "text": "A text.", "collection": "default"}).data
    assert first is not None
    assert first["collection"] == "kb"
    put(library, "default")
    second = ingest.answer(library, {"title": "B", "text": "B text.", "collection": "default"}).data
    assert second is not None
    assert second["collection"] == "default"


def test_the_log_is_asked_by_the_name_that_is_meant(library: Library) -> None:
    uid = put(library, "kb")
    call(library, "get_documents", uid, collection="default")
    assert '"get_documents"' in call(library, "retrieval_log", collection="default")


@pytest.mark.parametrize("collection", ["", "default", "kb"])
@pytest.mark.parametrize("name", ["explain_retrieval", "semantic_search", "search_summaries", "collection_stats"])
def test_before_the_first_document_nothing_is_found(empty: Library, name: str, collection: str) -> None:
    call(empty, name, "nobody", collection=collection)


@pytest.mark.parametrize("name", ["explain_retrieval", "semantic_search"])
def test_a_collection_that_is_not_there_is_told_also_then(empty: Library, name: str) -> None:
    given = {key: ["x"] if value == ["UID"] else value for key, value in READING[name].items()}
    outcome = BY_NAME[name].answer(empty, {**given, "collection": "nowhere"})
    assert "There is no collection 'nowhere'" in outcome.text


@pytest.mark.parametrize("collection", ["", "default", "kb"])
def test_before_the_first_document_all_counts_are_nought(empty: Library, collection: str) -> None:
    answer = BY_NAME["get_index_status"].answer(empty, {"collection": collection}).data
    assert answer is not None
    assert answer["system_stats"]["total_content"] == 0
