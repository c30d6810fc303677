"""Schedules: cron lines and fixed intervals, in a time zone; delays of retries after failures."""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_EVERY = re.compile(r"@every\s+(\S+)")
_FORMS = "It is five fields as in cron, `@every 1h30m`, or @hourly, @daily, @weekly, @monthly, @yearly"
_LONGEST_S = 366 * 86_400
_LOCAL = Path("/etc/localtime")
_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Schedule:
    """Repeating times: an interval of ``every_s`` seconds, or a ``cron`` line; the other one is 0 or ""."""

    every_s: float = 0.0
    cron: str = ""

    def after(self, moment: datetime, zone: tzinfo) -> datetime:
        """Return the first time after ``moment``, in UTC; ``zone`` is the time zone of the cron line.

        When clocks go forward, a skipped time is replaced by the end of the gap. When they go back, a repeated time
        counts once. A line that matches every hour matches every elapsed hour instead.
        """
        if self.every_s:
            return moment.astimezone(UTC) + timedelta(seconds=self.every_s)
        from cronsim import CronSim

        times = CronSim(_by_clock(self.cron), moment.astimezone(zone))
        return next(time.astimezone(UTC) for time in times if time > moment)


def parse(text: str) -> Schedule:
    """Parse a schedule: five cron fields, ``@every`` with a duration, or a word such as ``@daily``.

    Raises:
        ValueError: the text is not a schedule, or has no time at all; the message gives the reason.
    """
    words = " ".join(text.split())
    if found := _EVERY.fullmatch(words):
        return Schedule(every_s=_length(found[1], words))
    line = _WORDS.get(words.lower(), words)
    if line.startswith("@") or len(line.split(" ")) != 5:
        raise ValueError(f"{text!r} is no schedule. {_FORMS}")
    from cronsim import CronSim, CronSimError

    try:
        next(CronSim(line, datetime(2024, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise ValueError(f"{text!r} is no cron line: {error}") from error
    except StopIteration as error:
        raise ValueError(f"{text!r} never comes") from error
    return Schedule(cron=line)


def length_s(text: str) -> float | None:
    """Return a duration such as ``1h30m`` or ``45s`` in seconds, None if it is invalid."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def zone_of(name: str) -> tzinfo:
    """Return the time zone ``name``; "" is that of this machine (``TZ``, else its local time), or UTC if unknown.

    Raises:
        ValueError: the time zone does not exist.
    """
    wanted = name or os.environ.get("TZ", "").removeprefix(":")
    if wanted.upper() == "UTC":
        return UTC
    if wanted:
        try:
            return ZoneInfo(wanted)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            if not name:
                return UTC
            raise ValueError(f"there is no time zone {name!r}: it is written as Europe/Berlin") from error
    try:
        with _LOCAL.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC


def pause_s(failures: int, first_s: float, longest_s: float, what: str) -> float:
    """Return the delay in seconds before a retry after ``failures`` failures in a row.

    The delay starts with ``first_s`` and doubles up to ``longest_s``; it varies by a quarter, depending on ``what``
    failed, so that simultaneous failures are not retried simultaneously.
    """
    pause = min(first_s * 2.0 ** min(max(failures, 1) - 1, 60), longest_s)
    return pause * (1 - _SPREAD + 2 * _SPREAD * _share(f"{what} {failures}"))


def jitter_s(schedule: Schedule, at: datetime, zone: tzinfo, most_s: float, what: str) -> float:
    """Return the delay of ``what`` after its time, in seconds: below ``most_s``, and a tenth of the interval."""
    distance_s = (schedule.after(at, zone) - at).total_seconds()
    return min(most_s, distance_s / 10) * _share(f"{what} {at.timestamp():.0f}")


def _by_clock(line: str) -> str:
    """Return a cron line with fields rewritten so that cronsim handles clock changes as in ``Schedule.after``."""
    from cronsim.cronsim import Field

    minute, hour, days = line.split(" ", 2)
    if len(Field.HOUR.parse(hour)) == 24:
        return f"{minute} * {days}"
    return f"{minute.replace('*', '0-59')} {hour.replace('*', '0-23')} {days}"


def _length(text: str, words: str) -> float:
    seconds = length_s(text)
    if seconds is None:
        raise ValueError(f"{words!r} is no schedule: {text!r} is no length of time such as 1h30m or 45s")
    if not 1 <= seconds <= _LONGEST_S:
        raise ValueError(f"{words!r} is no schedule: it is at least 1s, at most a year")
    return seconds


def _share(text: str) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on ``text``."""
    return zlib.crc32(text.encode(errors="surrogatepass")) / 2**32
