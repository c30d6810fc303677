"""No more requests and tokens than allowed in any 60 seconds, by a clock that stands still unless it is moved."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.models.retrying import WINDOW_S, Pace


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def sent_at(pace: Pace, clock: Clock, tokens: int = 1, *, question: bool = False) -> float:
    """Wait as told until a request may be sent; return when that is."""
    while wait_s := pace.take(tokens, question=question):
        clock.now += wait_s
    return clock.now


def test_eighty_requests_go_at_once_and_the_next_when_the_first_is_60_seconds_old() -> None:
    clock = Clock()
    pace = Pace(80, clock=clock)
    times = [sent_at(pace, clock, question=True) for _ in range(161)]
    assert times[:80] == [1000.0] * 80
    assert times[80:160] == [1060.0] * 80
    assert times[160] == 1120.0


def test_the_window_slides_and_does_not_begin_anew() -> None:
    clock = Clock()
    pace = Pace(2, clock=clock)
    assert sent_at(pace, clock, question=True) == 1000.0
    clock.now = 1050.0
    assert sent_at(pace, clock, question=True) == 1050.0
    assert sent_at(pace, clock, question=True) == 1060.0
    assert sent_at(pace, clock, question=True) == 1110.0


def test_a_tenth_is_left_for_questions() -> None:
    clock = Clock()
    pace = Pace(80, clock=clock)
    for _ in range(72):
        assert pace.take(1) == 0
    assert pace.take(1) == WINDOW_S
    for _ in range(8):
        assert pace.take(1, question=True) == 0
    assert pace.take(1, question=True) == WINDOW_S


def test_one_request_a_minute_is_one() -> None:
    clock = Clock()
    pace = Pace(1, clock=clock)
    assert [sent_at(pace, clock) for _ in range(3)] == [1000.0, 1060.0, 1120.0]


def test_tokens_are_counted_and_a_request_that_is_too_large_for_any_minute_is_sent_alone() -> None:
    clock = Clock()
    pace = Pace(tokens=100, clock=clock)
    assert sent_at(pace, clock, 60) == 1000.0
    clock.now = 1010.0
    assert sent_at(pace, clock, 40) == 1010.0
    assert sent_at(pace, clock, 30) == 1060.0
    assert sent_at(pace, clock, 500) == 1120.0
    assert sent_at(pace, clock, 1) == 1180.0


def test_nothing_waits_where_nothing_is_limited() -> None:
    pace = Pace(clock=Clock())
    assert {pace.take(10**9) for _ in range(1000)} == {0.0}


@settings(max_examples=60)
@given(
    requests=st.integers(1, 30),
    tokens=st.sampled_from([0, 50, 1000]),
    calls=st.lists(st.tuples(st.integers(1, 60), st.floats(0, 90), st.booleans()), max_size=80),
)
def test_no_window_of_60_seconds_has_more_than_allowed(
    requests: int, tokens: int, calls: list[tuple[int, float, bool]]
) -> None:
    clock = Clock()
    pace = Pace(requests, tokens, clock)
    log: list[tuple[float, int]] = []
    for size, pause, question in calls:
        clock.now += pause
        log.append((sent_at(pace, clock, size, question=question), size))
    for start, _ in log:
        within = [size for at, size in log if start <= at < start + WINDOW_S - 1e-6]
        assert len(within) <= requests
        assert not tokens or sum(within) <= tokens or len(within) == 1


@pytest.mark.parametrize("threads", [8])
def test_threads_share_one_window(threads: int) -> None:
    pace = Pace(40, clock=Clock())
    allowed: list[int] = []
    barrier = threading.Barrier(threads)

    def ask() -> None:
        barrier.wait()
        allowed.append(sum(pace.take(1, question=True) == 0 for _ in range(20)))

    every = [threading.Thread(target=ask) for _ in range(threads)]
    for one in every:
        one.start()
    for one in every:
        one.join()
    assert sum(allowed) == 40
