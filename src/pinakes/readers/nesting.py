"""Lists within lists: a mark says how deep an item is until a document is converted, then it stands as deep."""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = re.compile("\ue0fe(\\d)\ue0ff")
_ITEM: Final = re.compile("(?P<sign>[-*+]|(?P<number>\\d{1,9})\\.) (?:\ue0fe(?P<level>\\d)\ue0ff)?(?P<words>.*)")
_INDENT: Final = "    "
"""Far enough for what stands in an item with a number, and not too far for one in an item without."""


def mark(level: int) -> str:
    """Return what says that a paragraph, where it is an item of a list, is at ``level``; the outermost is 0."""
    return f"\ue0fe{level}\ue0ff"


def nested(text: str) -> str:
    """Return Markdown whose items are all at the outermost level with each where its mark says.

    Numbers are those of the levels; the converter counts through them.
    """
    if not _MARK.search(text):
        return text
    lists = _Lists()
    for line in text.split("\n"):
        lists.add(line)
    return _MARK.sub("", "\n".join(lists.lines))


class _Lists:
    """Lines as they come, and where in a list they are: the number of the last item of each level."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._last: list[int] = []
        self._deep = False

    def add(self, line: str) -> None:
        """Take the next line."""
        item = _ITEM.match(line)
        if item is None:
            if line.strip() and self.lines and not self.lines[-1]:  # a paragraph ends a list
                self._last, self._deep = [], False
            self.lines.append(line)
        elif item["words"].strip() or not item["level"]:
            self._add_item(item)

    def _add_item(self, item: re.Match[str]) -> None:
        before = len(self._last) - 1
        level = min(int(item["level"] or 0), before + 1)
        self._deep = self._deep or level > 0
        given = int(item["number"] or 0)
        number = given
        if level > before:
            number = 1 if level else given
        elif level < before or (self._deep and given != 1):
            number = self._last[level] + 1
        if self._deep and (level or before > 0):
            while self.lines and not self.lines[-1]:  # no list ends where another level begins
                self.lines.pop()
        self._last = [*self._last[:level], number if item["number"] else 0]
        sign = f"{number}." if item["number"] else item["sign"]
        self.lines.append(f"{_INDENT * level}{sign} {item['words']}")
