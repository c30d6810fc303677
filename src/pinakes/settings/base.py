"""What every group of settings is, and the types that several groups share."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Purpose: TypeAlias = Literal["embedding", "rerank"]
"""What a model that runs here is for; the section of its settings goes by the same name."""

ProviderName: TypeAlias = Literal[
    "endpoint", "openai", "azure_openai", "gemini", "ollama", "together", "lmstudio", "huggingface"
]
"""Who is asked where a model runs elsewhere; ``endpoint`` = whatever answers at the address of the settings."""


class Section(BaseModel):
    """A group of settings. Unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
