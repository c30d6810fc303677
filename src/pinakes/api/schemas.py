"""The form in which programs are told of a hit, over every interface of our own."""

from __future__ import annotations

from typing import Final

MODES: Final = ["hybrid", "vector", "keyword"]
QUESTION: Final = "how does it work?"
"""What examples ask: whatever the documents are about, a search finds something."""
