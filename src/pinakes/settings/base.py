"""The base class of groups of settings, and types that several groups share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

Purpose: TypeAlias = Literal["embedding", "rerank"]
"""The purpose of a local model, which is also the name of its section of settings."""

ProviderName: TypeAlias = Literal[
    "endpoint", "openai", "azure_openai", "gemini", "ollama", "together", "lmstudio", "huggingface"
]
"""Providers of remote models; ``endpoint`` means any server at the configured address."""


class Section(BaseModel):
    """A group of settings. Unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def refused(words: str) -> PydanticCustomError:
    """Return the error of a setting, in these words."""
    return PydanticCustomError("told", "{words}", {"words": words})


def merge_layers(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two layers of settings as one: tables are merged, of other values those ``above`` win."""
    found = dict(below)
    for name, value in above.items():
        old = found.get(name)
        found[name] = merge_layers(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found
