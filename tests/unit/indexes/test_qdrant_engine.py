"""The engine ``qdrant``: what every engine promises, by Qdrant's client in memory, or by a server (``QDRANT_URL``)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes import testing
from pinakes.indexes import open_index
from pinakes.settings import IndexSettings, QdrantSettings, Settings

pytest.importorskip("qdrant_client")


def settings_of(engine: str, **qdrant: object) -> Settings:
    given = {"url": ":memory:", "prefix": f"test-{uuid.uuid4().hex[:8]}-", **qdrant}
    return Settings(index=IndexSettings(engine=engine), qdrant=QdrantSettings.model_validate(given))


def opened_by(settings: Settings) -> testing.MakeIndex:
    return lambda folder, dimension, select: open_index(settings, folder, dimension, select)


@pytest.mark.parametrize("engine", ["qdrant", "tantivy+qdrant", "qdrant+faiss"])
@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_it_keeps_the_contract(check: Callable[..., None], engine: str, tmp_path: Path) -> None:
    check(opened_by(settings_of(engine)), tmp_path)
