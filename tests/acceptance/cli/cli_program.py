"""The program, and what a call of it leaves behind."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

DETERMINISTIC = ("--set", "embedding.provider=deterministic")


@dataclass(frozen=True)
class Outcome:
    """What a call left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return stdout as the one JSON document it must be."""
        return json.loads(self.out)


class Call(Protocol):
    def __call__(self, *words: str | Path) -> Outcome: ...


def executable(name: str = "pinakes") -> str:
    return str(Path(sys.executable).with_name(name))
