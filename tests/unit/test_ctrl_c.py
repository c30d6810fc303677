"""Ctrl+C and SIGTERM wait for the end of what must not be broken off, a second one does not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from pinakes.platform.ctrl_c import held_back


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped(work: Callable[[], object]) -> bool:
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_it_comes_at_the_end_of_the_block() -> None:
    done = []

    def work() -> None:
        with held_back():
            press()
            done.append("written")

    assert stopped(work)
    assert done == ["written"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_comes_when_it_is_asked_for() -> None:
    done = []

    def work() -> None:
        with held_back() as ctrl_c:
            ctrl_c.check()
            press()
            done.append("made")
            ctrl_c.check()
            done.append("never")

    assert stopped(work)
    assert done == ["made"]


def test_a_second_one_comes_at_once() -> None:
    done = []

    def work() -> None:
        with held_back():
            press()
            done.append("made")
            press()
            done.append("never")

    assert stopped(work)
    assert done == ["made"]


def test_the_end_of_the_process_is_held_back_too_where_it_is_handled() -> None:
    done = []

    def work() -> None:
        with held_back():
            press(signal.SIGTERM)
            done.append("written")

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        assert stopped(work)
        assert done == ["written"]
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with held_back():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_block_within_another_does_not_end_it() -> None:
    done = []

    def work() -> None:
        with held_back():
            with held_back():
                press()
            done.append("stored")

    assert stopped(work)
    assert done == ["stored"]


def test_other_threads_hold_nothing_back() -> None:
    done = []

    def work() -> None:
        with held_back() as ctrl_c:
            ctrl_c.check()
            done.append("made")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["made"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_it_is_ignored_it_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        press()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_handler_that_does_not_raise_is_called_at_the_end_of_the_block(number: signal.Signals) -> None:
    called: list[int] = []
    before = signal.signal(number, lambda one, _frame: called.append(one))
    try:
        with held_back():
            os.kill(os.getpid(), number)
            assert called == []
        assert called == [number]
    finally:
        signal.signal(number, before)
