"""Schedules: what is understood, and when they come, also where clocks are put forward or back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pinakes.core import schedules
from pinakes.core.schedules import Schedule, jitter_s, length_s, parse, pause_s, zone_of

BERLIN, NEW_YORK, LORD_HOWE = map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe"))


def local(schedule: str, zone: ZoneInfo, first: str, count: int) -> list[str]:
    """Return the next times in ``zone``, from a local time on."""
    moment, found, wanted = datetime.fromisoformat(first).replace(tzinfo=zone), [], parse(schedule)
    for _ in range(count):
        later = wanted.after(moment, zone)
        assert later > moment
        moment = later
        found.append(moment.astimezone(zone).isoformat(timespec="minutes"))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@every 1h30m", Schedule(every_s=5400)),
        ("  @every   90s ", Schedule(every_s=90)),
        ("@every 2d", Schedule(every_s=172_800)),
        ("@every 1.5h", Schedule(every_s=5400)),
        ("@hourly", Schedule(cron="0 * * * *")),
        ("@DAILY", Schedule(cron="0 0 * * *")),
        ("*/15 9-17 * * MON-FRI", Schedule(cron="*/15 9-17 * * MON-FRI")),
        ("0  3   1 1,7 *", Schedule(cron="0 3 1 1,7 *")),
    ],
)
def test_cron_lines_distances_and_words_are_understood(text: str, expected: Schedule) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no schedule"),
        ("hourly", "five fields"),
        ("@reboot", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        ("61 * * * *", "Bad minute"),
        ("0 24 * * *", "Bad hour"),
        ("*/0 * * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 * * FUNDAY", "Bad day-of-week"),
        ("@every", "five fields"),
        ("@every soon", "no length of time"),
        ("@every 5", "no length of time"),
        ("@every -1h", "no length of time"),
        ("@every 0s", "at least 1s"),
        ("@every 0.5s", "at least 1s"),
        ("@every 99999d", "at most a year"),
        ("@every 1h extra", "five fields"),
    ],
)
def test_what_is_no_schedule_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


def test_a_time_in_the_gap_comes_right_after_it() -> None:
    assert local("30 2 * * *", BERLIN, "2026-03-28T12:00", 3) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
        "2026-03-31T02:30+02:00",
    ]
    assert local("15 2 * * *", NEW_YORK, "2026-03-07T12:00", 2) == [
        "2026-03-08T03:00-04:00",
        "2026-03-09T02:15-04:00",
    ]


def test_a_time_that_there_is_twice_comes_once() -> None:
    assert local("30 2 * * *", BERLIN, "2026-10-24T12:00", 3) == [
        "2026-10-25T02:30+02:00",
        "2026-10-26T02:30+01:00",
        "2026-10-27T02:30+01:00",
    ]


@pytest.mark.parametrize("line", ["*/20 2 * * *", "0-59/20 2 * * *", "*/20 2-2 * * *"])
def test_several_times_of_an_hour_go_by_the_clock_as_well(line: str) -> None:
    assert local(line, BERLIN, "2024-03-30T12:00", 3) == [
        "2024-03-31T03:00+02:00",
        "2024-04-01T02:00+02:00",
        "2024-04-01T02:20+02:00",
    ]
    assert local(line, BERLIN, "2024-10-26T12:00", 4) == [
        "2024-10-27T02:00+02:00",
        "2024-10-27T02:20+02:00",
        "2024-10-27T02:40+02:00",
        "2024-10-28T02:00+01:00",
    ]


def test_every_second_hour_goes_by_the_clock_as_well() -> None:
    assert local("0 */2 * * *", BERLIN, "2024-03-31T00:00", 2) == ["2024-03-31T03:00+02:00", "2024-03-31T04:00+02:00"]
    assert local("0 */2 * * *", BERLIN, "2024-10-27T00:00", 2) == ["2024-10-27T02:00+02:00", "2024-10-27T04:00+01:00"]


def test_a_run_within_the_second_of_two_equal_hours_does_not_come_back_to_the_first() -> None:
    between = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)  # 02:10 for the second time
    assert parse("30 2 * * *").after(between, BERLIN) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("line", ["0 * * * *", "0 */1 * * *", "0 0-23 * * *"])
def test_an_hourly_line_comes_every_real_hour_whatever_clocks_do(line: str) -> None:
    for first in (datetime(2026, 3, 28, 22, tzinfo=UTC), datetime(2026, 10, 24, 22, tzinfo=UTC)):
        moment = first
        for _ in range(8):
            later = parse(line).after(moment, BERLIN)
            assert later - moment == timedelta(hours=1)
            moment = later


def test_a_zone_that_shifts_by_half_an_hour_is_followed() -> None:
    assert local("15 2 * * *", LORD_HOWE, "2026-10-03T12:00", 2) == [
        "2026-10-04T02:30+11:00",
        "2026-10-05T02:15+11:00",
    ]


def test_a_distance_does_not_mind_clocks_at_all() -> None:
    before = datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN)
    assert parse("@every 1h").after(before, BERLIN).astimezone(BERLIN).isoformat() == "2026-03-29T03:30:00+02:00"


def test_leap_days_are_found() -> None:
    assert parse("0 0 29 2 *").after(datetime(2026, 1, 1, tzinfo=UTC), UTC) == datetime(2028, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h30m", 5400), ("45s", 45), ("1w", 604_800), ("1h-", None), ("", None)]
)
def test_lengths_of_time_are_read(text: str, seconds: float | None) -> None:
    assert length_s(text) == seconds


def test_zones_come_by_name_by_the_environment_or_from_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert zone_of("Europe/Berlin") == BERLIN
    assert zone_of("utc") == UTC
    monkeypatch.setenv("TZ", ":America/New_York")
    assert zone_of("") == NEW_YORK
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    assert zone_of("") == UTC
    monkeypatch.delenv("TZ")
    monkeypatch.setattr(schedules, "_LOCAL", tmp_path / "none")
    assert zone_of("") == UTC
    for bad in ("Mars/Olympus", "../../etc/passwd", "Europe/"):
        with pytest.raises(ValueError, match="no time zone"):
            zone_of(bad)


def test_pauses_double_from_the_first_to_the_longest_and_are_spread() -> None:
    pauses = [pause_s(failures, 60, 86_400, "a.md") for failures in range(1, 30)]
    for failures, pause in enumerate(pauses, start=1):
        middle = min(60 * 2 ** (failures - 1), 86_400)
        assert 0.75 * middle <= pause <= 1.25 * middle
    assert pause_s(3, 60, 86_400, "a.md") == pauses[2], "the same each time"
    assert len({pause_s(1, 60, 86_400, f"{number}.md") for number in range(50)}) == 50
    assert pause_s(10_000, 60, 86_400, "a.md") <= 1.25 * 86_400


def test_runs_of_the_same_time_begin_one_after_the_other_but_soon() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    daily = [jitter_s(parse("@every 1d"), at, UTC, 30, f"source {number}") for number in range(50)]
    assert len(set(daily)) == 50
    assert all(0 <= seconds < 30 for seconds in daily)
    assert jitter_s(parse("@every 1s"), at, UTC, 30, "source") < 0.1
    assert jitter_s(parse("* * * * *"), at, UTC, 30, "source") < 6
    nightly = [jitter_s(parse("0 2 * * *"), at, UTC, 600, f"source {number}") for number in range(50)]
    assert 300 < max(nightly) < 600, "as far apart as the settings let them be"
