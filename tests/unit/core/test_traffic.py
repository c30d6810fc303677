"""Work that waits while searches run."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pinakes.core.traffic import Traffic


def test_where_nothing_runs_nobody_waits() -> None:
    assert Traffic().wait_for_none(0)


def test_a_search_that_goes_on_is_waited_for_only_so_long() -> None:
    traffic = Traffic()
    with traffic.search():
        start = time.monotonic()
        assert not traffic.wait_for_none(0.05)
        assert time.monotonic() - start >= 0.04
    assert traffic.wait_for_none(0)


def test_the_wait_ends_with_the_last_search() -> None:
    traffic = Traffic()
    with ThreadPoolExecutor(1) as pool:
        with traffic.search():
            with traffic.search():
                waited = pool.submit(traffic.wait_for_none, 30)
            assert not traffic.wait_for_none(0)
            assert not waited.done()
        assert waited.result(10)


def test_a_search_that_fails_has_ended() -> None:
    traffic = Traffic()
    with pytest.raises(ZeroDivisionError), traffic.search():
        _ = 1 / 0
    assert traffic.wait_for_none(0)


def test_searches_of_many_threads_are_all_counted() -> None:
    traffic = Traffic()
    everyone = threading.Barrier(8)

    def search(_: int) -> None:
        for _ in range(200):
            with traffic.search():
                pass
        with traffic.search():
            everyone.wait(10)
            assert not traffic.wait_for_none(0)
            everyone.wait(10)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(search, range(8)))
    assert traffic.wait_for_none(0)
