"""The base class of groups of settings, and types that several groups share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from pinakes.core.wording import as_utf8
from pinakes.settings.refusals import shortened

_LARGEST = 10**12
"""No setting needs a larger number; sums of them fit SQLite, NumPy and the clocks of the system."""

_LARGEST_LIMIT = 2**63 - 1
"""Limits of sizes and counts (``max_…``) are compared only: such a one says that there is none."""

LONGEST_S = 2_000_000
"""The longest time, in seconds, 23 days: the system waits in milliseconds of 32 bits."""

Purpose: TypeAlias = Literal["embedding", "rerank"]
"""The purpose of a local model, which is also the name of its section of settings."""

ProviderName: TypeAlias = Literal[
    "endpoint", "openai", "azure_openai", "gemini", "ollama", "together", "lmstudio", "huggingface"
]
"""Providers of remote models; ``endpoint`` means any server at the configured address."""


class Section(BaseModel):
    """A group of settings. Unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @field_validator("*", mode="after")
    @classmethod
    def _storable(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse numbers that overflow where they are used, infinite ones too, and text that cannot be stored."""
        name = info.field_name or ""
        is_limit = isinstance(value, int) and "max_" in name
        most = LONGEST_S if name.endswith("_s") else _LARGEST_LIMIT if is_limit else _LARGEST
        if isinstance(value, int | float) and not abs(value) <= most:
            raise refused(f"cannot be {shortened(value)}: it has to be a number, at most {most:,}")
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, str | Path) and as_utf8(str(one)) != str(one):
                raise refused(f"cannot be '{as_utf8(str(one))}': it has to be valid UTF-8")
        return value


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
