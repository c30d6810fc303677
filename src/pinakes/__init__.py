"""Pinakes: a local-first knowledge server.

Importing the package loads nothing heavy; each public name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinakes.core.errors import BelowBaseline as BelowBaseline
    from pinakes.core.errors import Binary as Binary
    from pinakes.core.errors import Busy as Busy
    from pinakes.core.errors import CatalogueCorrupt as CatalogueCorrupt
    from pinakes.core.errors import Conflict as Conflict
    from pinakes.core.errors import Empty as Empty
    from pinakes.core.errors import IndexCorrupt as IndexCorrupt
    from pinakes.core.errors import IndexTooNew as IndexTooNew
    from pinakes.core.errors import IndexUnavailable as IndexUnavailable
    from pinakes.core.errors import InvalidFilter as InvalidFilter
    from pinakes.core.errors import InvalidInput as InvalidInput
    from pinakes.core.errors import InvalidName as InvalidName
    from pinakes.core.errors import InvalidSetting as InvalidSetting
    from pinakes.core.errors import Locked as Locked
    from pinakes.core.errors import MissingExtra as MissingExtra
    from pinakes.core.errors import ModelCorrupt as ModelCorrupt
    from pinakes.core.errors import ModelMismatch as ModelMismatch
    from pinakes.core.errors import ModelUnavailable as ModelUnavailable
    from pinakes.core.errors import NeedsOcr as NeedsOcr
    from pinakes.core.errors import NotConfigured as NotConfigured
    from pinakes.core.errors import NoText as NoText
    from pinakes.core.errors import NotFound as NotFound
    from pinakes.core.errors import PinakesError as PinakesError
    from pinakes.core.errors import PluginBroken as PluginBroken
    from pinakes.core.errors import QueryTooLong as QueryTooLong
    from pinakes.core.errors import RateLimited as RateLimited
    from pinakes.core.errors import Refused as Refused
    from pinakes.core.errors import ServerUnreachable as ServerUnreachable
    from pinakes.core.errors import SourceError as SourceError
    from pinakes.core.errors import StorageFull as StorageFull
    from pinakes.core.errors import TooCostly as TooCostly
    from pinakes.core.errors import TooLarge as TooLarge
    from pinakes.core.errors import Unauthorized as Unauthorized
    from pinakes.core.errors import Unreadable as Unreadable
    from pinakes.core.errors import WouldRemove as WouldRemove
    from pinakes.core.records import Blame as Blame
    from pinakes.core.records import Chunk as Chunk
    from pinakes.core.records import Condition as Condition
    from pinakes.core.records import ContextLine as ContextLine
    from pinakes.core.records import Document as Document
    from pinakes.core.records import Duplicate as Duplicate
    from pinakes.core.records import Filter as Filter
    from pinakes.core.records import Hit as Hit
    from pinakes.core.records import Neighbour as Neighbour
    from pinakes.core.records import Results as Results
    from pinakes.core.records import Scores as Scores
    from pinakes.core.records import Skipped as Skipped
    from pinakes.core.records import Stage as Stage
    from pinakes.core.records import Trace as Trace
    from pinakes.indexes.verification import Difference as Difference
    from pinakes.ingestion.report import Event as Event
    from pinakes.ingestion.report import Report as Report
    from pinakes.library import Library as Library
    from pinakes.services.collections.status import CollectionStatus as CollectionStatus
    from pinakes.services.documents.reading import Text as Text
    from pinakes.settings import Settings as Settings
    from pinakes.settings import load as load

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
        return import_module("importlib.metadata").version("pinakes")
    if name in __all__:
        for module in _MODULES:
            found = vars(import_module(f"pinakes.{module}")).get(name)
            if found is not None:
                return found
    raise AttributeError(f"module 'pinakes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
