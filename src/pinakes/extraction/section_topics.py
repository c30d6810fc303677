"""What the sections of a text are about: the entities that their headings name."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from pinakes.core.graph_records import UNTYPED, EntityName, Mention
from pinakes.settings import GraphRules

_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+[^\n]+$", re.MULTILINE)


class Topics:
    """The entities that sections are about: those that their headings name."""

    def __init__(self, prose: str, mentions: Sequence[Mention], starts: Sequence[int]) -> None:
        self._places: list[int] = []
        self._topics: list[Sequence[Mention]] = []
        above: list[tuple[int, Sequence[Mention]]] = []
        for heading in _HEADING.finditer(prose):
            level = len(heading[1])
            first, last = bisect_left(starts, heading.start()), bisect_left(starts, heading.end())
            above = [one for one in above if one[0] < level]
            own = [one for one in mentions[first:last] if one.entity.type != UNTYPED][:1]
            above.append((level, own))
            self._places.append(heading.end())
            self._topics.append(next((one for _, one in reversed(above) if one), ()))

    def of(self, place: int) -> Sequence[Mention]:
        """Return the topic of the section that holds ``place``."""
        at = bisect_right(self._places, place) - 1
        return self._topics[at] if at >= 0 else ()


def owner_of(rules: GraphRules, prose: str, mentions: Sequence[Mention]) -> Sequence[Mention]:
    """Return whom `we` means in a text: what its title names of ``rules.title_owners``, or else the owner."""
    title = _HEADING.search(prose) if rules.title_owners else None
    if title:
        for one in mentions:
            if one.start >= title.end():
                break
            if one.start >= title.start() and one.entity.type in rules.title_owners:
                return [one]
    kind, _, name = rules.owner.partition(":")
    return [Mention(EntityName(kind, name), 0, 0, 1.0, "owner")] if name else []
