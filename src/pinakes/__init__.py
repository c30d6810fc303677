"""Pinakes: a local-first knowledge server.

Importing the package loads nothing heavy; each public name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinakes.errors import BelowBaseline as BelowBaseline
    from pinakes.errors import Binary as Binary
    from pinakes.errors import Busy as Busy
    from pinakes.errors import CatalogueCorrupt as CatalogueCorrupt
    from pinakes.errors import Conflict as Conflict
    from pinakes.errors import Empty as Empty
    from pinakes.errors import IndexCorrupt as IndexCorrupt
    from pinakes.errors import IndexTooNew as IndexTooNew
    from pinakes.errors import InvalidFilter as InvalidFilter
    from pinakes.errors import InvalidInput as InvalidInput
    from pinakes.errors import InvalidName as InvalidName
    from pinakes.errors import InvalidSetting as InvalidSetting
    from pinakes.errors import Locked as Locked
    from pinakes.errors import MissingExtra as MissingExtra
    from pinakes.errors import ModelCorrupt as ModelCorrupt
    from pinakes.errors import ModelMismatch as ModelMismatch
    from pinakes.errors import ModelUnavailable as ModelUnavailable
    from pinakes.errors import NeedsOcr as NeedsOcr
    from pinakes.errors import NotConfigured as NotConfigured
    from pinakes.errors import NoText as NoText
    from pinakes.errors import NotFound as NotFound
    from pinakes.errors import PinakesError as PinakesError
    from pinakes.errors import QueryTooLong as QueryTooLong
    from pinakes.errors import RateLimited as RateLimited
    from pinakes.errors import Refused as Refused
    from pinakes.errors import ServerUnreachable as ServerUnreachable
    from pinakes.errors import SourceError as SourceError
    from pinakes.errors import StorageFull as StorageFull
    from pinakes.errors import TooCostly as TooCostly
    from pinakes.errors import TooLarge as TooLarge
    from pinakes.errors import Unauthorized as Unauthorized
    from pinakes.errors import Unreadable as Unreadable
    from pinakes.errors import WouldRemove as WouldRemove
    from pinakes.ingest import Event as Event
    from pinakes.ingest import Report as Report
    from pinakes.library import CollectionStatus as CollectionStatus
    from pinakes.library import Library as Library
    from pinakes.library import Text as Text
    from pinakes.settings import Settings as Settings
    from pinakes.settings import load as load
    from pinakes.types import Blame as Blame
    from pinakes.types import Chunk as Chunk
    from pinakes.types import Condition as Condition
    from pinakes.types import ContextLine as ContextLine
    from pinakes.types import Document as Document
    from pinakes.types import Duplicate as Duplicate
    from pinakes.types import Filter as Filter
    from pinakes.types import Hit as Hit
    from pinakes.types import Neighbour as Neighbour
    from pinakes.types import Results as Results
    from pinakes.types import Scores as Scores
    from pinakes.types import Skipped as Skipped
    from pinakes.types import Stage as Stage
    from pinakes.types import Trace as Trace
    from pinakes.verification import Difference as Difference

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

_MODULES = ("errors", "types", "settings", "follow", "ingest", "library")
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
