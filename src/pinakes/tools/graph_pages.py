"""Pages of long lists of the graph: a cursor names the next one, and tells whether the graph changed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, TypeVar
from urllib.parse import urlencode

from pydantic import PrivateAttr
from pydantic.json_schema import SkipJsonSchema

from pinakes.core import caller
from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.tools.declare import Answer, Reply, as_json

CHANGED: Final = "the graph has changed since the page before: entries may be missing or come twice; begin anew for all"
LEAST_S: Final = 10.0
"""So many seconds a question to the graph may take: it may have to follow documents first."""

_KEY_CHARS: Final = 12
Shorter = TypeVar("Shorter", bound=Answer)


@dataclass(frozen=True, slots=True)
class Page:
    """Where an answer begins in a list. ``asked``: what was asked, by names of parameters; ``stamp``: of the graph."""

    tool: str
    asked: Mapping[str, JSON]
    stamp: str
    start: int = 0
    changed: bool = False
    route: str = ""

    def cursor(self, at: int) -> str:
        """Return the cursor of the page that begins with number ``at``."""
        return cursor_of(at, self.key, self.stamp)

    @property
    def key(self) -> str:
        """What tells a question from another one."""
        told = json.dumps([self.tool, dict(self.asked)], sort_keys=True)
        return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:_KEY_CHARS]

    def next(self, at: int) -> str:
        """Return how to get what follows from number ``at`` on, in words of the caller's interface."""
        given = {name: value for name, value in self.asked.items() if value not in ("", [], None)}
        given["cursor"] = self.cursor(at)
        if caller.current().interface == "http" and self.route:
            return f"GET {self.route}?{urlencode(given, True)}"
        return f"{self.tool}({','.join(f'{name}={as_json(value)}' for name, value in given.items())})"


def begin(tool: str, asked: Mapping[str, JSON], stamp: str, cursor: str, route: str = "") -> Page:
    """Return the page that a cursor means, the first one where there is none.

    Raises:
        InvalidInput: the cursor is none that an answer to this question gave.
    """
    page = Page(tool, asked, stamp, route=route)
    if not cursor:
        return page
    match read_cursor(cursor):
        case [start, page.key, str() as seen]:
            return Page(tool, asked, stamp, start, seen != stamp, route)
    raise InvalidInput("cursor is none that an answer to this question gave.", hint="Leave it out for the first page.")


def cursor_of(start: int, *question: str | int) -> str:
    """Return the cursor of the page that begins with number ``start``; ``question``: what tells it from another one."""
    return base64.urlsafe_b64encode(json.dumps([start, *question]).encode()).decode()


def read_cursor(cursor: str) -> list[JSON]:
    """Return what ``cursor_of`` was given; an empty list where it made no such cursor."""
    try:
        start, *question = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError):
        return []
    return [start, *question] if isinstance(start, int) and 0 <= start < 1 << 40 else []


class Listing(Reply):
    """An answer that is one page of a list of ``total`` entries; ``next`` says how to get what follows."""

    total: int
    next_cursor: str | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None
    listed: ClassVar[str]
    _page: Page | None = PrivateAttr(None)

    def paged(self, page: Page) -> Self:
        """Return the answer with the way to what follows it."""
        shown, notes = page.start + len(getattr(self, self.listed)), list(self.notes or ())
        more = shown < self.total
        self._page = page  # so that it can be made shorter
        return self.model_copy(
            update={
                "next_cursor": page.cursor(shown) if more else None,
                "next": page.next(shown) if more else None,
                "notes": [*notes, *([CHANGED] if page.changed and CHANGED not in notes else [])] or None,
            }
        )

    def within(self, fits: Callable[[str], bool]) -> Self:
        """Return the answer with as many entries as fit, at least one; the cursor is that of the next one."""
        entries: Sequence[Any] = getattr(self, self.listed)
        page = self._page
        if page is None or fits(self.as_text()):
            return self
        return longest(
            self,
            len(entries) - 1,
            lambda size: self.model_copy(update={self.listed: list(entries[:size])}).paged(page),
            fits,
        )


def longest(whole: Shorter, most: int, made: Callable[[int], Shorter], fits: Callable[[str], bool]) -> Shorter:
    """Return an answer ``made`` of as many entries as fit, 1 to ``most``; ``whole`` where there are none to leave out.

    One of a single entry is returned even where it does not fit.
    """
    low, high, best = 1, most, whole
    while low <= high:
        middle = (low + high) // 2
        shorter = made(middle)
        if fits(shorter.as_text()) or middle == 1:
            best, low = shorter, middle + 1
        else:
            high = middle - 1
    return best
