"""The error tree: drawn, mapped, and worded so that one can act on it."""

from __future__ import annotations

import errno
import inspect
import re
import sys
from collections.abc import Iterator

import pytest

from pinakes.core import errors
from pinakes.core.errors import STATUS, MissingExtra, PinakesError, StorageFull, exit_code, http_status, storing


def tree(cls: type[PinakesError] = PinakesError) -> Iterator[type[PinakesError]]:
    yield cls
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


CLASSES = list(tree())


def made(cls: type[PinakesError]) -> PinakesError:
    return MissingExtra("Reading PDF scans", "ocr") if cls is MissingExtra else cls("It broke.", hint="Mend it.")


def test_the_drawing_shows_every_class_at_its_place() -> None:
    drawing = re.findall(r"^ {4}([│ ]*)(?:[├└]── )?([A-Z]\w+)", inspect.getdoc(errors) or "", re.MULTILINE)
    parents: list[str] = []
    drawn: dict[str, str | None] = {}
    for bars, name in drawing:
        depth = 0 if name == "PinakesError" else len(bars) // 4 + 1
        parents[depth:] = [name]
        drawn[name] = parents[depth - 1] if depth else None
    assert drawn == {cls.__name__: cls.__mro__[1].__name__ if cls is not PinakesError else None for cls in CLASSES}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_has_a_status_an_exit_code_and_a_code_of_its_own(cls: type[PinakesError]) -> None:
    error = made(cls)
    assert 400 <= http_status(error) < 600
    assert 1 <= exit_code(error) < 64
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", cls.code)
    assert [other for other in CLASSES if other.code == cls.code] == [cls]
    assert cls.__doc__
    assert cls.__doc__.endswith(".")


@pytest.mark.parametrize("cls", CLASSES)
def test_a_class_is_found_by_its_code(cls: type[PinakesError]) -> None:
    assert errors.kind_of(cls.code) is cls
    assert exit_code(cls) == exit_code(made(cls))


@pytest.mark.parametrize("code", ["NO_SUCH_CODE", None, 7, []])
def test_a_code_that_there_is_not_is_an_unexpected_error(code: object) -> None:
    assert errors.kind_of(code) is PinakesError


def test_the_table_holds_classes_of_the_tree_alone() -> None:
    assert set(STATUS) <= set(CLASSES)


def test_the_nearest_class_of_the_table_decides() -> None:
    assert http_status(errors.InvalidFilter("x")) == http_status(errors.InvalidInput("x")) == 422
    assert http_status(errors.TooLarge("x")) == 413
    assert exit_code(errors.TooLarge("x")) == exit_code(errors.Unreadable("x")) == 5
    assert exit_code(PinakesError("x")) == 1


def test_what_may_pass_by_waiting_is_marked() -> None:
    assert {cls.__name__ for cls in CLASSES if cls.retryable} == {
        "Busy",
        "IndexUnavailable",
        "ModelCorrupt",
        "ModelUnavailable",
        "RateLimited",
        "ServerUnreachable",
        "SourceError",
        "StorageFull",
    }


def test_the_text_is_the_message_and_what_to_do() -> None:
    error = errors.NotFound("There is no collection 'x'.", hint="Add documents first.")
    assert str(error) == "There is no collection 'x'. Add documents first."
    assert str(errors.NotFound("Gone.")) == "Gone."


def test_a_missing_extra_names_the_line_to_install_it() -> None:
    assert made(MissingExtra).hint.startswith(f"Install it: {sys.executable} -m pip install 'rapidocr>=")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_without_room_is_said_to_be_full(number: int) -> None:
    with pytest.raises(StorageFull, match="The index cannot be written") as caught, storing("The index"):
        raise OSError(number, "no")
    assert caught.value.hint == "Free disk space."
    assert isinstance(caught.value.__cause__, OSError)


def test_a_folder_that_refuses_is_not_said_to_be_full() -> None:
    with pytest.raises(StorageFull) as caught, storing("The index"):
        raise PermissionError(errno.EACCES, "no")
    assert "space" not in caught.value.hint


def test_other_errors_pass_through() -> None:
    with pytest.raises(KeyError), storing("The index"):
        raise KeyError("x")
