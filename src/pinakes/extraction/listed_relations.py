"""Relations that the form of a text states: lists below headings, and tables."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pinakes.core.graph_records import UNTYPED, ExtractionSubject, Findings, Mention, StatedRelation
from pinakes.extraction.relation_parts import Topics, owner_of, related, set_of
from pinakes.settings import GraphRules, RelationRule
from pinakes.settings.graph_rules import compiled

_LINE: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?P<mark>#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)][ \t]+|\|)?(?P<rest>[^\n]+)$", re.MULTILINE
)
_RULE: Final = re.compile(r"[ \t|:-]+")
_TOPIC: Final = "{topic}"
_MOST_HEAD_CHARS: Final = 200
_TEXT_DEPTH: Final = 10
_CANDIDATE_SHARE: Final = 0.7


@dataclass(frozen=True, slots=True)
class _Head:
    """A heading or line that says what the items below it are; ``topic``: what the section around it is about."""

    depth: int
    rules: Sequence[RelationRule]
    topic: Sequence[Mention]


class ListedRelations:
    """Finds relations between the items of lists, or the cells of tables, and what these are about."""

    def __init__(self, rules: GraphRules) -> None:
        self._rules = rules
        self._lists = [rule for rule in rules.relations for _ in rule.lists]
        self._heads = set_of([f"(?i){one}" for rule in rules.relations for one in rule.lists])
        self._tables = [
            (rule, _any((source,)), None if target == _TOPIC else _any((target,)))
            for rule in rules.relations
            for source, target in rule.tables
        ]
        parts = [(rule.type, rule.lists, rule.lists_of, rule.reverse, rule.tables) for rule in rules.relations]
        self.fingerprint = f"structure:2 {rules.owner} {rules.title_owners!r} {parts!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the relations of lists and tables. Linear time."""
        if not subject.mentions or not (self._lists or self._tables):
            return Findings()
        found: dict[Any, StatedRelation] = {}
        for one in self._relations(subject):
            found.setdefault((one.source.key, one.type, one.target.key), one)
        return Findings(relations=list(found.values()))

    def _relations(self, subject: ExtractionSubject) -> Iterator[StatedRelation]:
        mentions = subject.mentions
        starts = [one.start for one in mentions]
        topics = Topics(subject.prose, mentions, starts)
        owner = owner_of(self._rules, subject.prose, mentions)
        heads: list[_Head] = []
        above: tuple[int, int, str, str] | None = None
        columns: list[tuple[int, str]] = []
        titled = False
        for line in _LINE.finditer(subject.prose):
            mark = (line["mark"] or "").strip()
            if mark == "|":
                cells = _cells(line)
                if not columns:
                    columns = [(at, subject.prose[a:b].strip(" *_").casefold()) for at, (a, b) in enumerate(cells)]
                elif not _RULE.fullmatch(line[0]):
                    yield from self._of_row(cells, columns, mentions, starts, topics.of(line.start()), line.span())
                continue
            columns = []
            depth = _depth(line["indent"], mark) if titled else 0  # the title holds for the whole text
            titled = True
            if above is not None and above[0] < depth:
                heads += self._head(
                    *above, topics, mentions[bisect_left(starts, above[1]) : bisect_left(starts, line.start())]
                )
            heads = [one for one in heads if one.depth < depth]
            if mark and heads:
                first = mentions[bisect_left(starts, line.start()) : bisect_left(starts, line.end())][:1]
                first = [one for one in first if one.entity.type or not _has_words(subject.prose, line, one.start)]
                for head in heads:
                    yield from self._of_item(head, first, line.span(), owner)
            above = depth, line.start(), mark, line["rest"]

    def _head(
        self, depth: int, start: int, mark: str, text: str, topics: Topics, inside: Sequence[Mention]
    ) -> Iterator[_Head]:
        """Yield the line above deeper ones where it says what these are: no other line needs to be matched.

        It is about what it names itself, or else about what the heading above it names.
        """
        title = text.strip(" *_#:")[:_MOST_HEAD_CHARS]
        if title and (fitting := [self._lists[number] for number in self._heads.Match(title) or ()]):
            is_heading = mark.startswith("#")
            own = [one for one in inside if one.entity.type != UNTYPED] if is_heading else []
            yield _Head(depth, fitting, own[:1] or topics.of(start - 1 if is_heading else start))

    def _of_item(
        self, head: _Head, item: Sequence[Mention], span: tuple[int, int], owner: Sequence[Mention]
    ) -> Iterator[StatedRelation]:
        for rule in head.rules:
            about = owner if rule.lists_of == "owner" else head.topic
            for topic in (about, owner):
                ends = (item, topic) if rule.reverse else (topic, item)
                found = list(related(rule, *ends, span, "lists", _CANDIDATE_SHARE))
                yield from found
                if found:
                    break

    def _of_row(
        self,
        cells: Sequence[tuple[int, int]],
        columns: Sequence[tuple[int, str]],
        mentions: Sequence[Mention],
        starts: Sequence[int],
        topic: Sequence[Mention],
        span: tuple[int, int],
    ) -> Iterator[StatedRelation]:
        held = [mentions[bisect_left(starts, a) : bisect_left(starts, b)] for a, b in cells]
        for rule, source, target in self._tables:
            for at, name in columns:
                if at >= len(held) or not source.search(name):
                    continue
                others = (
                    [topic]
                    if target is None
                    else [
                        held[other]
                        for other, word in columns
                        if other != at and other < len(held) and target.search(word)
                    ]
                )
                for ends in others:
                    yield from related(rule, held[at], ends, span, "tables", _CANDIDATE_SHARE)


def _has_words(prose: str, line: re.Match[str], place: int) -> bool:
    """Say whether words stand between the mark of an item and a place in it."""
    return any(char.isalnum() for char in prose[line.start("rest") : place])


def _depth(indent: str, mark: str) -> int:
    """Return how deep a line is: headings by level, then text, then items of lists by their indent."""
    if mark.startswith("#"):
        return len(mark)
    return _TEXT_DEPTH + (1 + len(indent) if mark else 0)


def _cells(line: re.Match[str]) -> list[tuple[int, int]]:
    at, spans = line.start("rest"), list[tuple[int, int]]()
    for cell in line["rest"].split("|"):
        spans.append((at, at + len(cell)))
        at += len(cell) + 1
    return spans[:-1] if spans and not line["rest"][spans[-1][0] - line.start("rest") :].strip() else spans


def _any(patterns: Sequence[str]) -> Any:
    return compiled("(?i)" + "|".join(f"(?:{one})" for one in patterns))
