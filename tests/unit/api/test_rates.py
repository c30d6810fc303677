"""How much may be asked in a minute, and by whom."""

from __future__ import annotations

import pytest

from pinakes.api.access import Rates
from pinakes.core.errors import RateLimited


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def asked(rates: Rates, who: str, per_minute: int, times: int) -> int:
    """Ask so often; return how often that was allowed."""
    allowed = 0
    for _ in range(times):
        try:
            rates.take(who, per_minute)
        except RateLimited:
            continue
        allowed += 1
    return allowed


def test_so_many_are_allowed_at_once_and_no_more() -> None:
    rates = Rates(Clock())
    assert asked(rates, "a", 6, 20) == 6
    assert asked(rates, "b", 6, 3) == 3


def test_what_was_used_comes_back_evenly() -> None:
    clock = Clock()
    rates = Rates(clock)
    asked(rates, "a", 6, 6)
    clock.at += 10
    assert asked(rates, "a", 6, 5) == 1
    clock.at += 25
    assert asked(rates, "a", 6, 5) == 2
    clock.at += 10_000
    assert asked(rates, "a", 6, 20) == 6


def test_who_asks_too_much_is_told_when_to_ask_again() -> None:
    clock = Clock()
    rates = Rates(clock)
    asked(rates, "a", 6, 6)
    with pytest.raises(RateLimited, match="More than 6 requests in a minute") as caught:
        rates.take("a", 6)
    assert caught.value.wait_s == pytest.approx(10)
    clock.at += caught.value.wait_s + 0.001
    rates.take("a", 6)


def test_asking_in_vain_does_not_make_one_wait_longer() -> None:
    clock = Clock()
    rates = Rates(clock)
    asked(rates, "a", 6, 500)
    clock.at += 10.001
    assert asked(rates, "a", 6, 5) == 1


def test_zero_is_any_number() -> None:
    assert asked(Rates(Clock()), "a", 0, 10_000) == 10_000
