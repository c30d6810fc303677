"""What people who use SQL find in the views, on both databases."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from pinakes.library import Library
from pinakes.settings import Settings
from pinakes.testing import write_files

FILES = {
    "guide.md": "# Guide\n\nThe heron waits.\n\n## Nest\n\nIt builds a nest of willow.\n",
    "tracer.py": "def watch_heron(place):\n    return place\n",
    "deploy.yaml": "replicas: 3\n",
    "broken.pdf": "this is no PDF",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def library(request: pytest.FixtureRequest, new_database: Callable[[], str], tmp_path: Path) -> Iterator[Library]:
    url = new_database() if request.param == "postgresql" else ""
    settings = {"home": tmp_path / "home", "catalog": {"url": url}, "embedding": {"provider": "deterministic"}}
    with Library(Settings.model_validate(settings)) as opened:
        opened.add(str(write_files(tmp_path / "docs", FILES)))
        note = {"category": "birds", "date": "2024-05-01"}
        opened.documents.put("The bittern booms.", title="Bittern", metadata=note)
        yield opened


def _rows(library: Library, query: str) -> list[dict[str, Any]]:
    with library.app.catalog.read() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


def _vector(library: Library, found: Any) -> list[float]:
    return list(found) if library.app.catalog.is_shared else np.frombuffer(found, np.float16).tolist()


def test_the_view_knowledge_base_has_every_chunk_with_its_place(library: Library) -> None:
    found = _rows(library, "SELECT * FROM knowledge_base ORDER BY source_file, chunk_index")
    promised = {
        *("id", "chunk_text", "chunk_hash", "embedding", "source_file", "source_category", "document_date"),
        *("chunk_index", "total_chunks", "context_header", "ts_vector", "created_at", "updated_at"),
    }
    assert all(promised <= row.keys() for row in found)
    of_guide = [row for row in found if row["source_file"] == "guide.md"]
    assert [row["chunk_index"] for row in of_guide] == list(range(of_guide[0]["total_chunks"]))
    assert of_guide[-1]["context_header"].startswith("guide.md > Guide")
    assert "".join(row["chunk_text"] for row in of_guide).count("heron") == 1
    assert {"markdown", "code", "birds"} <= {row["source_category"] for row in found}
    [note] = [row for row in found if row["source_category"] == "birds"]
    assert (note["chunk_text"], note["document_date"]) == ("The bittern booms.", "2024-05-01")
    if library.app.catalog.is_shared:
        assert note["chunk_hash"] == hashlib.sha256(b"The bittern booms.").hexdigest()
    vector = library.app.embedder.embed(["Bittern\nThe bittern booms."])[0]
    shown = np.array(_vector(library, note["embedding"]))
    assert shown.shape == vector.shape
    assert abs(np.linalg.norm(shown) - 1) < 1e-2


def test_words_and_vectors_can_be_searched_in_sql(library: Library) -> None:
    if not library.app.catalog.is_shared:
        assert _rows(library, "SELECT id FROM knowledge_base WHERE ts_vector LIKE '%heron%'")
        return
    by_words = _rows(
        library, "SELECT source_file FROM knowledge_base WHERE ts_vector @@ plainto_tsquery('simple', 'willow nest')"
    )
    assert [row["source_file"] for row in by_words] == ["guide.md"]
    with library.app.catalog.write() as connection:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    nearest = _rows(
        library,
        "SELECT v.content_id FROM vector_embeddings AS v ORDER BY v.embedding::vector <=> (SELECT embedding::vector "
        "FROM knowledge_base WHERE source_category = 'birds') LIMIT 1",
    )
    [note] = _rows(library, "SELECT document_id FROM knowledge_base WHERE source_category = 'birds'")
    assert [row["content_id"] for row in nearest] == [note["document_id"]]


def test_the_view_indexed_content_has_every_document_and_how_it_stands(library: Library) -> None:
    found = {row["source_path"]: row for row in _rows(library, "SELECT * FROM indexed_content ORDER BY source_path")}
    types = {path: row["content_type"] for path, row in found.items() if path in FILES}
    assert types == {
        "guide.md": "documentation",
        "tracer.py": "source_file",
        "deploy.yaml": "config",
        "broken.pdf": None,
    }
    assert found["broken.pdf"]["status"] == "failed"
    guide = found["guide.md"]
    assert (guide["status"], guide["title"]) == ("completed", "Guide")
    assert guide["content"].startswith("# Guide")
    assert guide["indexed_at"] == guide["updated_at"]
    assert len(guide["content_hash"]) == 64


def test_the_view_vector_embeddings_has_a_vector_for_each_chunk(library: Library) -> None:
    found = _rows(library, "SELECT * FROM vector_embeddings ORDER BY chunk_id")
    chunks = _rows(library, "SELECT id FROM knowledge_base ORDER BY id")
    assert [row["chunk_id"] for row in found] == [row["id"] for row in chunks]
    assert {(row["model_name"], row["model_version"]) for row in found} == {(found[0]["model"], "")}
    with library.app.catalog.read() as connection:
        stored = dict(
            connection.execute(
                text("SELECT k.id, e.vector FROM chunks k JOIN embeddings e ON e.key = k.embedding_key ORDER BY k.id")
            ).all()
        )
    for row in found:
        expected = np.frombuffer(stored[row["chunk_id"]], np.float16).astype(np.float32)
        assert np.array_equal(np.array(_vector(library, row["embedding"]), np.float32), expected)
