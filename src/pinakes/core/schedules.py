"""When something is to happen again: cron lines and fixed distances, in the time of a zone; pauses after failures."""

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
    """Times that repeat: ``every_s`` apart, or those of a ``cron`` line; the other one is 0 or ""."""

    every_s: float = 0.0
    cron: str = ""

    def after(self, moment: datetime, zone: tzinfo) -> datetime:
        """Return the first time later than ``moment``, in UTC; ``zone`` is that of the cron line.

        Where clocks are put forward, a time that is left out comes right after the gap. Where they are put back, a time
        that there is twice comes once. A line that fits every hour comes every real hour instead.
        """
        if self.every_s:
            return moment.astimezone(UTC) + timedelta(seconds=self.every_s)
        from cronsim import CronSim

        times = CronSim(_by_clock(self.cron), moment.astimezone(zone))
        return next(time.astimezone(UTC) for time in times if time > moment)


def parse(text: str) -> Schedule:
    """Read a schedule: five fields of cron, ``@every`` with a length of time, or a word such as ``@daily``.

    Raises:
        ValueError: it is none, or never comes; the message says why.
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
    """Return a length of time as ``1h30m`` or ``45s`` in seconds, None where it is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def zone_of(name: str) -> tzinfo:
    """Return the time zone called so; "" is that of this machine (``TZ``, else its local time), UTC where it says none.

    Raises:
        ValueError: there is no such zone.
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
    """Return after how many seconds something is tried again that failed so often in a row.

    ``first_s``, then twice as long each time up to ``longest_s``; a quarter more or less, which depends on ``what`` it
    is, so that not all that failed together is tried together.
    """
    pause = min(first_s * 2.0 ** min(max(failures, 1) - 1, 60), longest_s)
    return pause * (1 - _SPREAD + 2 * _SPREAD * _share(f"{what} {failures}"))


def jitter_s(schedule: Schedule, at: datetime, zone: tzinfo, most_s: float, what: str) -> float:
    """Return how many seconds after its time ``what`` begins: below ``most_s``, and a tenth of the time to the next."""
    distance_s = (schedule.after(at, zone) - at).total_seconds()
    return min(most_s, distance_s / 10) * _share(f"{what} {at.timestamp():.0f}")


def _by_clock(line: str) -> str:
    """Return a cron line so that cronsim treats it as ``Schedule.after`` says: it goes by what fields begin with."""
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
    """Return a number from 0 to below 1 that is always the same for ``text``."""
    return zlib.crc32(text.encode(errors="surrogatepass")) / 2**32
