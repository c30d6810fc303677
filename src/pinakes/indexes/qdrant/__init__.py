"""The engine that keeps words and vectors in Qdrant; nothing of it is imported where no setting names it."""

from __future__ import annotations

from pinakes.core.errors import MissingExtra

try:
    import qdrant_client  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("The index engine 'qdrant'", "qdrant") from error
