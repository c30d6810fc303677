"""Pinakes: a local-first knowledge server.

Importing the package loads nothing heavy; each public name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinakes.core.errors import (
        BelowBaseline,
        Binary,
        Busy,
        CatalogueCorrupt,
        Conflict,
        Empty,
        IndexCorrupt,
        IndexTooNew,
        IndexUnavailable,
        InvalidFilter,
        InvalidInput,
        InvalidName,
        InvalidSetting,
        Locked,
        MissingExtra,
        ModelCorrupt,
        ModelMismatch,
        ModelUnavailable,
        NeedsOcr,
        NotConfigured,
        NoText,
        NotFound,
        PinakesError,
        PluginBroken,
        QueryTooLong,
        RateLimited,
        Refused,
        ServerUnreachable,
        SourceError,
        StorageFull,
        TooCostly,
        TooLarge,
        Unauthorized,
        Unreadable,
        WouldRemove,
    )
    from pinakes.core.records import (
        Blame,
        Chunk,
        Condition,
        ContextLine,
        Document,
        Duplicate,
        Filter,
        Hit,
        Neighbour,
        Results,
        Scores,
        Skipped,
        Stage,
        Trace,
    )
    from pinakes.indexes.verification import Difference
    from pinakes.ingestion.report import Event, Report
    from pinakes.library import Library
    from pinakes.services.collections.status import CollectionStatus
    from pinakes.services.documents.reading import Text
    from pinakes.settings import Settings, load

    __version__: str

__all__ = [
    "BelowBaseline",
    "Binary",
    "Blame",
    "Busy",
    "CatalogueCorrupt",
    "Chunk",
    "CollectionStatus",
    "Condition",
    "Conflict",
    "ContextLine",
    "Difference",
    "Document",
    "Duplicate",
    "Empty",
    "Event",
    "Filter",
    "Hit",
    "IndexCorrupt",
    "IndexTooNew",
    "IndexUnavailable",
    "InvalidFilter",
    "InvalidInput",
    "InvalidName",
    "InvalidSetting",
    "Library",
    "Locked",
    "MissingExtra",
    "ModelCorrupt",
    "ModelMismatch",
    "ModelUnavailable",
    "NeedsOcr",
    "Neighbour",
    "NoText",
    "NotConfigured",
    "NotFound",
    "PinakesError",
    "PluginBroken",
    "QueryTooLong",
    "RateLimited",
    "Refused",
    "Report",
    "Results",
    "Scores",
    "ServerUnreachable",
    "Settings",
    "Skipped",
    "SourceError",
    "Stage",
    "StorageFull",
    "Text",
    "TooCostly",
    "TooLarge",
    "Trace",
    "Unauthorized",
    "Unreadable",
    "WouldRemove",
    "__version__",
    "load",
]

_MODULES = (
    "core.errors",
    "core.records",
    "settings",
    "ingestion.report",
    "indexes.verification",
    "library",
    "services.documents.reading",
    "services.collections.status",
)
"""Where the names are, lightest first."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("pinakes.core.installation").running_version()
    if name in __all__:
        for module in _MODULES:
            found = vars(import_module(f"pinakes.{module}")).get(name)
            if found is not None:
                return found
    raise AttributeError(f"module 'pinakes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
