"""The staged profile: the tools it offers and what it sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes import parsing
from pinakes.services.sync.watched import watched_in
from pinakes.settings import Settings, load
from pinakes.sources.globs import Rules
from pinakes.tools import tools_of

TOOLS = {
    *("search_summaries", "get_documents", "get_document_chunk", "hybrid_search", "multi_query_search", "find_similar"),
    *("ingest_document", "ingest_batch", "update_document", "delete_document", "get_document_metadata"),
    *("collection_stats", "list_collections", "explain_retrieval", "retrieval_log", "kb_status", "kb_resync"),
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path, environment={}, profile="staged")


def test_it_offers_the_seventeen_tools(settings: Settings) -> None:
    offered = [tool.name for tool in tools_of(settings)]
    assert set(offered) == TOOLS
    assert len(offered) == 17


def test_it_listens_where_its_clients_look_and_has_their_name(settings: Settings) -> None:
    assert (settings.server.host, settings.server.port, settings.server_name) == ("127.0.0.1", 8090, "staged-rag")


def test_its_limits_and_weights_are_those_its_users_know(settings: Settings) -> None:
    search, chunking, documents = settings.search, settings.chunking, settings.documents
    assert (search.top_k, search.max_top_k, search.semantic_weight, search.keyword_weight) == (5, 50, 0.7, 0.3)
    assert (chunking.unit, chunking.size, chunking.overlap) == ("words", 200, 20)
    assert (documents.max_tokens, documents.max_batch) == (50_000, 50)
    assert (settings.summary.max_sentences, settings.audit.max_entries) == (4, 10_000)


def test_it_follows_a_folder_in_the_home(settings: Settings, tmp_path: Path) -> None:
    (watched,) = watched_in(settings)
    assert (watched.collection, watched.root) == ("default", tmp_path / "knowledge_base")
    assert (watched.source.max_file_bytes, settings.watch.poll_s) == (10_485_760, 5.0)


@pytest.mark.parametrize(
    "extension", ["txt", "md", "PDF", "docx", "Xlsx", "pptx", "eml", "ipynb", "CSV", "kt", "org", "vtt"]
)
def test_its_folder_is_read_like_one_that_is_added(settings: Settings, extension: str) -> None:
    rules = Rules(settings.knowledge_base.include, settings.knowledge_base.exclude)
    assert rules.includes(f"some/folder/file.{extension}")
    assert parsing.refusal(f"some/folder/file.{extension}") is None
