"""Error codes of the toolset "code", each with whether to try again."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from pinakes.core.errors import (
    Busy,
    CatalogueCorrupt,
    Conflict,
    IndexCorrupt,
    IndexTooNew,
    IndexUnavailable,
    InvalidFilter,
    InvalidInput,
    InvalidName,
    InvalidSetting,
    ModelMismatch,
    ModelUnavailable,
    NotFound,
    PinakesError,
    QueryTooLong,
    Refused,
    Unreadable,
)
from pinakes.core.records import JSON
from pinakes.tools.declare import Tool

CODES: Mapping[type[PinakesError], str] = {
    QueryTooLong: "QUERY_TOO_LONG",
    ModelUnavailable: "EMBEDDING_FAILED",
    IndexCorrupt: "INDEX_UNAVAILABLE",
    IndexTooNew: "INDEX_UNAVAILABLE",
    IndexUnavailable: "INDEX_UNAVAILABLE",
    CatalogueCorrupt: "INDEX_UNAVAILABLE",
    ModelMismatch: "INVALID_CONFIG_CONTEXT",
    InvalidSetting: "INVALID_CONFIG_CONTEXT",
    InvalidName: "INVALID_CONFIG_CONTEXT",
    Busy: "INDEXING_IN_PROGRESS",
    InvalidFilter: "VALIDATION_ERROR",
    InvalidInput: "INVALID_INPUT",
    NotFound: "INVALID_INPUT",
    Refused: "INVALID_INPUT",
    Conflict: "INVALID_INPUT",
    Unreadable: "INVALID_INPUT",
}
"""The code of an error for callers of the toolset "code": that of the nearest class; others are INTERNAL_ERROR."""

RETRYABLE = frozenset(
    {"EMBEDDING_FAILED", "SEARCH_TIMEOUT", "INDEX_UNAVAILABLE", "INDEXING_IN_PROGRESS", "INTERNAL_ERROR"}
)
"""Codes of what may go well when it is tried again."""


def as_code(_tool: Tool, _arguments: Mapping[str, JSON], error: PinakesError) -> dict[str, JSON]:
    """Tell of ``error`` as ``{"error": {"code", "message", "retryable"}}``, with unknown ids; see ``CODES``."""
    code = code_of(error)
    return {"error": {"code": code, "message": str(error), "retryable": code in RETRYABLE, **error.not_found}}


def code_of(error: PinakesError) -> str:
    """Return the code of ``error`` for callers of the toolset "code"."""
    if isinstance(error.__cause__, ValidationError | UnicodeEncodeError):
        return "VALIDATION_ERROR"
    if isinstance(error, Busy) and isinstance(error.__context__, TimeoutError):
        return "SEARCH_TIMEOUT"
    return next((CODES[cls] for cls in type(error).__mro__ if cls in CODES), "INTERNAL_ERROR")
