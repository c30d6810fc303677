"""Libraries report a lack of memory in many ways: each is told from other failures."""

from __future__ import annotations

import ctypes
import errno

import numpy as np
import pytest

from pinakes.core.errors import Unreadable
from pinakes.parsing.limits import lacks_memory


class Unconvertible:
    """An argument of a C function for whose conversion memory is lacking."""

    @classmethod
    def from_param(cls, value: object) -> object:
        raise MemoryError


def called_by_ctypes() -> None:
    function = ctypes.CFUNCTYPE(None)(lambda: None)
    function.argtypes = [Unconvertible]
    function(b"")


def allocated_by_numpy() -> None:
    np.ones(1 << 60, np.uint8)


def refused_by_the_system() -> None:
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


def thrown_by_a_library() -> None:
    raise RuntimeError("Exception during initialization: std::bad_alloc")


def translated_by_a_reader() -> None:
    try:
        raise MemoryError
    except MemoryError as error:
        raise Unreadable("The PDF cannot be read.") from error


LACKS = [called_by_ctypes, allocated_by_numpy, refused_by_the_system, thrown_by_a_library, translated_by_a_reader]


def error_of(call: object) -> BaseException:
    assert callable(call)
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("call", LACKS)
def test_a_lack_of_memory_is_recognised_however_it_is_reported(call: object) -> None:
    assert lacks_memory(error_of(call))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("unexpected token 'MemoryError'"),
        OSError(errno.ENOENT, "No such file"),
        Unreadable("It says: std::bad_alloc"),
    ],
)
def test_other_failures_are_none(error: Exception) -> None:
    assert not lacks_memory(error)


def test_errors_that_led_to_each_other_in_a_circle_are_looked_at_once() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert not lacks_memory(one)
