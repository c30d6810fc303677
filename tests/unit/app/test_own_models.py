"""What is recorded of a model, so that a collection can open it again whatever the settings say then."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.app.collection_models import recorded
from pinakes.settings import EmbeddingSettings


def test_what_makes_a_vector_is_recorded_and_what_this_machine_does_is_not() -> None:
    values = recorded(EmbeddingSettings(model="acme/tiny", precision="fp32", threads=3, mode="lazy", sample_chunks=7))
    assert (values["provider"], values["model"], values["precision"]) == ("onnx", "acme/tiny", "fp32")
    assert values.keys() & {"threads", "mode", "sample_chunks", "progressive_chunks"} == set()


def test_a_folder_is_recorded_so_that_it_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert recorded(EmbeddingSettings(path=Path("model")))["path"] == str(tmp_path / "model")


def test_it_can_be_read_again() -> None:
    settings = EmbeddingSettings(model="acme/tiny", path=Path("/models/tiny"), precision="fp32")
    assert EmbeddingSettings.model_validate(recorded(settings)) == settings
