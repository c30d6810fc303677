"""How failures are told, in the shape that each family of tools promises."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Annotated, Any

import pytest
from pydantic import Field
from sqlalchemy.exc import IntegrityError

from pinakes.api.threads import RequestThreads
from pinakes.compat.code.codes import CODES, RETRYABLE, as_code, code_of
from pinakes.core import errors
from pinakes.core.errors import Busy, NotFound, PinakesError
from pinakes.services.audit import Call
from pinakes.tools.declare import Reply, Tool, tool
from pinakes.tools.failures import as_status, as_word


class Done(Reply):
    number: int


@tool(toolset="search")
def count(library: Any, number: Annotated[int, Field(description="Any.", ge=0)]) -> Done:
    """Count."""
    return Done(number=number)


def refusal(arguments: dict[str, Any], given: Tool = count) -> PinakesError:
    with pytest.raises(PinakesError) as caught:
        given.call(None, arguments)  # type: ignore[arg-type]
    return caught.value


def unforeseen(cause: Exception) -> PinakesError:
    error = PinakesError("An internal error.")
    error.__cause__ = cause
    return error


def test_a_known_error_is_its_message_with_what_to_do() -> None:
    assert as_word(count, {}, NotFound("Document not found")) == {"error": "Document not found"}
    told = as_word(count, {}, NotFound("There is no collection 'x'.", hint="Collections: a."))
    assert told == {"error": "There is no collection 'x'.", "hint": "Collections: a."}


def test_what_nobody_foresaw_is_told_by_its_type() -> None:
    assert as_word(count, {}, unforeseen(KeyError("x"))) == {"error": "KeyError: 'x'"}
    assert as_status(count, {}, unforeseen(ValueError("no"))) == {"status": "error", "error": "ValueError: no"}


def test_of_an_error_of_the_database_only_the_drivers_words_are_told() -> None:
    driver = sqlite3.IntegrityError("UNIQUE constraint failed: documents.uri")
    error = unforeseen(IntegrityError("INSERT INTO documents VALUES (?)", {"text": "what the document says"}, driver))
    told = "IntegrityError: UNIQUE constraint failed: documents.uri"
    assert as_word(count, {}, error) == {"error": told}
    call = Call("")
    call.failed(error)
    assert call.message == told


def test_wrong_arguments_are_validation_errors() -> None:
    for arguments in ({}, {"number": "many"}, {"number": -1}, {"number": 1, "other": 2}, {"number": "\ud800"}):
        assert code_of(refusal(arguments)) == "VALIDATION_ERROR"
    assert as_word(count, {}, refusal({}))["error"] == "Invalid arguments for count: number is missing."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.QueryTooLong("long"), "QUERY_TOO_LONG"),
        (errors.ModelCorrupt("no model"), "EMBEDDING_FAILED"),
        (errors.IndexCorrupt("broken"), "INDEX_UNAVAILABLE"),
        (errors.ModelMismatch("other"), "INVALID_CONFIG_CONTEXT"),
        (errors.Busy("reading"), "INDEXING_IN_PROGRESS"),
        (errors.InvalidInput("empty"), "INVALID_INPUT"),
        (errors.Empty("nothing in it"), "INVALID_INPUT"),
        (errors.NotFound("none"), "INVALID_INPUT"),
        (errors.StorageFull("full"), "INTERNAL_ERROR"),
        (unforeseen(ValueError("x")), "INTERNAL_ERROR"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_each_error_has_its_code(error: PinakesError, code: str) -> None:
    told = as_code(count, {}, error)["error"]
    assert told == {"code": code, "message": str(error), "retryable": code in RETRYABLE}


def test_what_took_too_long_is_a_timeout() -> None:
    workers, done = RequestThreads(0.01, 0.01), threading.Event()
    try:
        with pytest.raises(Busy) as caught:
            asyncio.run(workers.run(done.wait))
    finally:
        done.set()
        workers.close()
    told = as_code(count, {}, caught.value)["error"]
    assert (told["code"], told["retryable"]) == ("SEARCH_TIMEOUT", True)


def test_every_code_may_be_told() -> None:
    promised = {
        *("QUERY_TOO_LONG", "EMBEDDING_FAILED", "SEARCH_TIMEOUT", "INDEX_UNAVAILABLE", "INVALID_CONFIG_CONTEXT"),
        *("INDEXING_IN_PROGRESS", "VALIDATION_ERROR", "INVALID_INPUT", "INTERNAL_ERROR"),
    }
    assert {*CODES.values(), "SEARCH_TIMEOUT", "INTERNAL_ERROR"} == promised
    assert promised > RETRYABLE
