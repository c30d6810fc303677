"""A model that is loaded by a thread while everything else is."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from pinakes.core.errors import ModelUnavailable
from pinakes.core.ports import Loadable
from pinakes.models import weights
from pinakes.models.embedders import loading
from pinakes.settings import EmbeddingSettings


def test_an_embedder_without_a_model_is_given_as_it_is(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    with loading(EmbeddingSettings(provider="deterministic"), tmp_path) as embedder:
        assert not isinstance(embedder, Loadable)
        assert len(embedder.embed_query("keys")) == embedder.dimension
    assert sys.getswitchinterval() == before
    assert not [one for one in threading.enumerate() if one.name.startswith("pinakes-load")]


def test_a_model_that_is_not_here_is_not_fetched_before_it_is_needed(tmp_path: Path) -> None:
    with loading(EmbeddingSettings(), tmp_path) as embedder:
        assert isinstance(embedder, Loadable)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_cannot_be_loaded_is_told_of_when_it_is_needed(tmp_path: Path) -> None:
    for name in weights.REQUIRED:
        (tmp_path / name).write_text("{}", "utf-8")
    with loading(EmbeddingSettings(path=tmp_path), tmp_path / "cache") as embedder:
        pass
    with pytest.raises(ModelUnavailable):
        embedder.embed_query("keys")
