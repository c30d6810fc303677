"""What it costs an agent to be told of the tools, in tokens of the default model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pinakes.core.errors import ModelUnavailable
from pinakes.models import weights
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.settings import EmbeddingSettings, load
from pinakes.tools import tools_of
from pinakes.tools.declare import Tool

MOST_TOKENS = 4000


@pytest.fixture(scope="module")
def tokens(request: pytest.FixtureRequest) -> Callable[[str], int]:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("models")
    try:
        weights.install(EmbeddingSettings(), folder)
    except ModelUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    embedder = BertEmbedder(EmbeddingSettings(), folder)
    return lambda text: len(embedder.token_starts(text))


def words(tool: Tool) -> Iterator[str]:
    yield f"{tool.name} {tool.description}"
    for name, parameter in tool.schema()["properties"].items():
        yield f"{name} {parameter['type']} {parameter['description']}"


def test_the_default_tools_are_described_in_few_tokens(tmp_path: Path, tokens: Callable[[str], int]) -> None:
    cost = {tool.name: sum(map(tokens, words(tool))) for tool in tools_of(load(home=tmp_path, environment={}))}
    assert sum(cost.values()) < MOST_TOKENS, cost
