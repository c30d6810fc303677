"""Where a command writes: data to stdout, words to stderr, either for people or as one JSON document."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"(?<![\w/.-])pinakes (?=[a-z])(?!config\b|[a-z ]*--help)")
"""A command that is about one home; the names of the settings are the same in all, and so is the help."""

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class Screen:
    """The two streams of one call."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, place: str = "") -> None:
        """``place``: the options by which this call found its home, as they are typed."""
        self.as_json = as_json
        self.quiet = quiet
        self._place = place

    @cached_property
    def out(self) -> Console:
        """Return the console on stdout."""
        return _console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        """Return the console on stderr."""
        return _console(sys.stderr)

    def show(self, line: Text | str = "") -> None:
        """Print a line of data for people, without what could steer their terminal; nothing in JSON mode."""
        if not self.as_json:
            self.out.print(printable(line) if isinstance(line, str) else line, soft_wrap=True)

    def lines(self, lines: Iterable[Text | str]) -> None:
        """Print each line as ``show`` does."""
        for line in lines:
            self.show(newlines_marked(line) if isinstance(line, str) else line)

    def text(self, text: str) -> None:
        """Print a text, ended by a newline; on a terminal without what could steer it. Nothing in JSON mode."""
        if not self.as_json:
            shown = printable(text) if sys.stdout.isatty() else text
            sys.stdout.write(shown if shown.endswith("\n") else f"{shown}\n")

    def document(self, value: JSON) -> None:
        """Print ``value`` (records allowed) as the call's JSON document; nothing for people."""
        if self.as_json:
            write_json(value)

    def say(self, *messages: str) -> None:
        """Say on stderr how it goes or what comes next, a line each; not in quiet mode."""
        for words in messages if not self.quiet else ():
            self.err.print(printable(newlines_marked(words)), soft_wrap=True)

    def report(self, *lines: str) -> None:
        """Print lines about what was done, for people; nothing in quiet mode."""
        self.lines(lines if not self.quiet else ())

    def warn(self, *messages: str) -> None:
        """Say on stderr what the user should know about the result; not in quiet mode."""
        for words in messages if not self.quiet else ():
            self._labelled("warning", "yellow", words)

    def note(self, *messages: str) -> None:
        """Say on stderr how a question was understood, or what an answer lacks; not in quiet mode."""
        for words in messages if not self.quiet else ():
            self._labelled("note", "cyan", words)

    def fail(self, message: str, hint: str = "") -> None:
        """Say on stderr what went wrong and what to do next."""
        self._labelled("error", "bold red", message)
        if hint:
            self._labelled("hint", "cyan", self.with_home(hint))

    def with_home(self, hint: str) -> str:
        """Return ``hint``, the commands in it with the options by which this call found its home."""
        if not self._place or self._place in hint:
            return hint
        return _COMMAND.sub(lambda found: f"{found[0]}{self._place} ", hint)

    def error_document(self, error: PinakesError) -> dict[str, JSON]:
        """Return what JSON says about ``error``."""
        return {"code": error.code, "message": error.message, **error.details, "hint": self.with_home(error.hint)}

    def _labelled(self, label: str, style: str, words: str) -> None:
        from rich.text import Text

        self.err.print(Text.assemble((f"{label}: ", style), printable(newlines_marked(words))), soft_wrap=True)


def write_json(value: JSON) -> None:
    """Write one JSON document to stdout."""
    plain_ascii = "utf" not in (sys.stdout.encoding or "").lower()
    sys.stdout.write(json.dumps(value, ensure_ascii=plain_ascii, indent=2, default=_plain) + "\n")


def newlines_marked(text: str) -> str:
    """Return ``text`` with signs for its newlines: a file name with some would look like lines of ours."""
    return text.strip("\n").replace("\n", "\N{SYMBOL FOR NEWLINE}")


def printable(text: str) -> str:
    """Return ``text`` without what could steer a terminal: control and direction characters, newlines kept."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return the rows of a table as lines, the columns of the numbers ``right`` aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{'>' if number in right else '<'}{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def labelled(location: str, part: str) -> str:
    """Return what a source is called in reports: its location, and the part that tells it from others there."""
    return f"{location} ({part})" if part else location


def set_up_logging(verbose: int, quiet: bool) -> None:
    """Send log records of warnings (with -v of more) to stderr as short lines; ``PINAKES_LOG`` names another level."""
    named = logging.getLevelNamesMapping().get(os.environ.get("PINAKES_LOG", "").upper())
    level = logging.ERROR if quiet else _LEVELS[min(verbose, len(_LEVELS) - 1)]
    handler = _Lines()
    handler.setFormatter(_Format())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("pinakes").setLevel(named or level)


@contextmanager
def unique_warnings() -> Iterator[None]:
    """Print each log record of the block once: one that every question of a set causes says nothing more again."""
    seen = set[str]()

    def is_new(record: logging.LogRecord) -> bool:
        words = record.getMessage()
        known = words in seen
        seen.add(words)
        return not known

    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(is_new)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_new)


class _Lines(logging.Handler):
    """Writes to the stderr of the moment, which progress bars replace while they are shown."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt):
            return  # whoever is stopped while it closes something logs that; that we were stopped is said at the end
        sys.stderr.write(printable(self.format(record)) + "\n")


class _Format(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _console(stream: Any) -> Console:
    from rich.console import Console

    class Pipe(Console):
        """Leaves it to us how to end when nobody reads on."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Pipe(file=stream, highlight=False, markup=False, emoji=False)


def _plain(value: Any) -> JSON:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
