"""What the extractors of relations share: patterns in one pass, topics of sections, pairs that a rule allows."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pinakes.core.graph_records import UNTYPED, EntityName, Mention, StatedRelation
from pinakes.core.records import Span
from pinakes.settings import GraphRules, RelationRule

_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+[^\n]+$", re.MULTILINE)
_MEMORY: Final = 256 << 20
_COUNTED: Final = re.compile(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{0,\d+\}\??", re.DOTALL)


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


def related(
    rule: RelationRule, sources: Sequence[Mention], targets: Sequence[Mention], span: Span, by: str, share: float
) -> Iterator[StatedRelation]:
    """Yield the relation of each source with each target whose types ``rule`` allows.

    The type of a candidate is not known yet: it is allowed, with ``share`` of the confidence of the rule. ``by``: the
    extractor.
    """
    for source in sources:
        for target in targets:
            ends = (rule.source, source.entity.type), (rule.target, target.entity.type)
            allowed = all(not wanted or kind in (UNTYPED, *wanted) for wanted, kind in ends)
            if allowed and source.entity.key != target.entity.key:
                sure = rule.confidence * (share if UNTYPED in (source.entity.type, target.entity.type) else 1.0)
                yield StatedRelation(source.entity, rule.type, target.entity, *span, round(sure, 3), by)


def set_of(patterns: Sequence[str], *, counted: bool = True) -> Any:
    """Return all patterns as one, which finds in one pass those that match: most sentences match none.

    Not ``counted``: what a pattern repeats at most n times may be repeated more often there, so a pattern that is found
    need not match; one that matches is found. Counting needs a state of the automaton for each count.
    """
    import re2

    options = re2.Options()
    options.max_mem, options.never_capture = _MEMORY, True
    made = re2.Set.SearchSet(options)
    for one in patterns:
        plain = re.sub(r"\?P<\w+>", "?:", one)
        made.Add(plain if counted else _COUNTED.sub(lambda found: found["kept"] or "*", plain))
    if patterns:
        made.Compile()
    return made
