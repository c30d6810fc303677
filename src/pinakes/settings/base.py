"""The base class of groups of settings, and types that several groups share."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Purpose: TypeAlias = Literal["embedding", "rerank"]
"""The purpose of a local model, which is also the name of its section of settings."""

ProviderName: TypeAlias = Literal[
    "endpoint", "openai", "azure_openai", "gemini", "ollama", "together", "lmstudio", "huggingface"
]
"""Providers of remote models; ``endpoint`` means any server at the configured address."""


class Section(BaseModel):
    """A group of settings. Unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
