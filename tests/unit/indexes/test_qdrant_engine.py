"""The engine ``qdrant``: what every engine promises, by Qdrant's client in memory, or by a server (``QDRANT_URL``)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from qdrant_server import QdrantServer

from pinakes import testing
from pinakes.indexes import drop_elsewhere, open_index
from pinakes.indexes.opening import ELSEWHERE
from pinakes.settings import IndexSettings, QdrantSettings, Settings

WITHOUT_VECTORS = {
    "whole_documents_are_ranked_by_all_their_words",
    "definitions_are_found_by_the_name_as_it_is_written",
    "phrases_are_found_where_their_words_stand_in_a_row",
    "many_small_changes_lose_nothing",
    "vectors_alone_leave_keywords_as_they_are",
    "what_was_written_is_there_after_closing",
    "two_handles_on_one_folder_agree_once_both_caught_up",
    "odd_queries_are_answered",
    "it_describes_itself_in_plain_values",
}
"""Checks that compare no vectors or their scores: how vectors are quantised does not matter to them."""


def settings_of(engine: str, **qdrant: object) -> Settings:
    given = {"url": ":memory:", "prefix": f"test-{uuid.uuid4().hex[:8]}-", **qdrant}
    return Settings(index=IndexSettings(engine=engine), qdrant=QdrantSettings.model_validate(given))


def opened_by(settings: Settings) -> testing.MakeIndex:
    return lambda folder, dimension, select: open_index(settings, folder, dimension, select)


@pytest.mark.parametrize("engine", ["qdrant", "tantivy+qdrant", "qdrant+faiss"])
@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_it_keeps_the_contract(check: Callable[..., None], engine: str, tmp_path: Path) -> None:
    check(opened_by(settings_of(engine)), tmp_path)


@pytest.mark.parametrize(
    ("check", "quantization"),
    [
        pytest.param(check, quantization, id=f"{testing.name_of(check)}-{quantization}")
        for check in testing.INDEX_CHECKS
        for quantization in ("none", "scalar")
        if quantization == "none" or check.__name__ not in WITHOUT_VECTORS
    ],
)
def test_it_keeps_the_contract_by_the_engine_of_qdrant(
    check: Callable[..., None], quantization: str, tmp_path: Path
) -> None:
    edge = pytest.importorskip("qdrant_edge_client", reason="qdrant-edge-py is not installed")
    with QdrantServer(edge.EdgeClient()) as server:
        settings = settings_of("qdrant", url=server.url, quantization=quantization, exact_max_vectors=0)
        check(opened_by(settings), tmp_path)


@pytest.mark.server
@pytest.mark.skipif(not os.environ.get("QDRANT_URL"), reason="no QDRANT_URL")
@pytest.mark.parametrize("quantization", ["none", "scalar"])
@pytest.mark.parametrize("engine", ["qdrant", "tantivy+qdrant", "qdrant+faiss"])
@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_it_keeps_the_contract_on_a_server(
    check: Callable[..., None], engine: str, quantization: str, tmp_path: Path
) -> None:
    settings = settings_of(engine, url=os.environ["QDRANT_URL"], quantization=quantization)
    try:
        check(opened_by(settings), tmp_path)
    finally:
        for file in tmp_path.rglob(ELSEWHERE):
            drop_elsewhere(settings, file.parent)
