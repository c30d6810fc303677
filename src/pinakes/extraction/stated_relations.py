"""Relations that sentences state: patterns over sentences in which a mark stands for each mention."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pinakes.core.graph_records import UNTYPED, ExtractionSubject, Findings, Mention, StatedRelation
from pinakes.extraction.prose_text import sentences
from pinakes.extraction.relation_parts import Topics, owner_of, related, set_of
from pinakes.settings import GraphRules, RelationRule
from pinakes.settings.graph_rules import SLOT, compiled

_OPEN, _CLOSE, _OWNER, _TOPIC = "\ue000", "\ue001", "\ue002", "\ue003"
"""Private characters: they stand around the number of a mention, for the owner, and for the topic of a section."""

_MARK: Final = rf"{_OPEN}(\d+){_CLOSE}"
_ONE: Final = rf"{_OPEN}\d+{_CLOSE}"
_BETWEEN: Final = r"(?: ?(?:,|/|&|;)? ?(?:and|or|as well as)? ?(?:(?:the|our|its) )?(?:[a-z]+-[a-z]+ )?)"
_LIST: Final = rf"{_ONE}(?:{_BETWEEN}{_ONE}){{0,19}}"
_NUMBERS: Final = re.compile(_MARK)
_TOPIC_WORDS: Final = re.compile(
    r"^(?:[-*+•]|\d{1,3}[.)])?[ \t*_]*(?:It|This (?:tool|app|application|platform|service|product|system))\b"
)
_QUESTION: Final = re.compile(
    r"(?:[-*+•]|\d{1,3}[.)])?[ *_#]*(?:Does|Do|Did|Is|Are|Can|Could|Should|What|Which)\b[^.!]*\?"
)
"""Questions that ask whether something is so; others tell it: Why do we use …?"""

_BLANKS: Final = re.compile(r"[\t*_`][ \t*_`]*| [ \t*_`]+")
_MOST_MENTIONS: Final = 40
"""A sentence with more mentions is a list of names; it states nothing."""

_MOST_LOOKED_BACK: Final = 5
_DENIED: Final = re.compile(
    r"\b(?:not|never|no longer|cannot|neither|nor|without|(?:stop|avoid|refus)\w*|instead of|rather than"
    r"|(?:ai|are|ca|could|did|do|does|has|have|is|should|wo|was|were|would)n['’]?t)\b",
    re.IGNORECASE,
)
"""Words of a statement that deny it: "we no longer use", "why aren't we using"."""

_BEFORE_CHARS: Final = 16
_CANDIDATE_SHARE: Final = 0.6


_Sentence: TypeAlias = tuple[int, int, str, dict[int, list[Mention]], int]
"""Start, end, words with marks in place of mentions, number of a mark → mentions there, number of mentions before."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    rule: RelationRule
    regex: Any
    denies: bool


@dataclass(frozen=True, slots=True)
class _Meant:
    """What words of a sentence mean: ``topic`` it, ``owner`` we; ``implied``: the owner, if the text names it."""

    topic: Sequence[Mention]
    owner: Sequence[Mention]
    implied: Sequence[Mention]

    def by(
        self, groups: Mapping[str, str | None], slot: str, named: Mapping[int, Sequence[Mention]]
    ) -> Sequence[Mention]:
        """Return the mentions that a group of a match stands for; the owner where a pattern names no source."""
        text = groups.get(slot)
        if text is None:
            return self.implied if slot == "source" else ()
        if text in (_OWNER, _TOPIC):
            return self.owner if text == _OWNER else self.topic
        return [one for number in _NUMBERS.findall(text) for one in named.get(int(number), ())]


class StatedRelations:
    """Finds relations by the patterns of the settings."""

    def __init__(self, rules: GraphRules) -> None:
        self._rules = rules
        words = "|".join(re.escape(word) for word in rules.owner_words)
        self._owner_words = re.compile(rf"\b(?:{words})\b", re.IGNORECASE) if rules.owner and words else None
        self._patterns = [
            _Pattern(rule, compiled(_regex(one)), bool(_DENIED.search(one)))
            for rule in rules.relations
            for one in rule.patterns
        ]
        self._set = set_of([_regex(one) for rule in rules.relations for one in rule.patterns], counted=False)
        self.fingerprint = f"relations:3 {rules.owner} {rules.title_owners!r} {rules.owner_words!r} {rules.relations!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the relations that sentences state; time is linear in the text, times the number of patterns."""
        if not self._patterns or not subject.mentions:
            return Findings()
        mentions, prose = subject.mentions, subject.prose
        starts = [one.start for one in mentions]
        topics = Topics(prose, mentions, starts)
        owner = owner_of(self._rules, prose, mentions)
        named = {one.entity.key for one in mentions}
        implied = [one for one in owner if one.entity.key in named]
        found: dict[tuple[Any, ...], StatedRelation] = {}
        for start, end, masked, marked, before in self._sentences(prose, mentions, starts):
            topic = topics.of(start) or _subject_before(mentions, before, prose, start)
            for one in self._of_sentence(start, end, masked, marked, _Meant(topic, owner, implied)):
                key = (one.source.key, one.type, one.target.key)
                known = found.get(key)
                if known is None or known.confidence < one.confidence:
                    found[key] = one
        return Findings(relations=list(found.values()))

    def _sentences(self, prose: str, mentions: Sequence[Mention], starts: Sequence[int]) -> Iterator[_Sentence]:
        """Yield the sentences that may state something, with marks in place of mentions."""
        spans: list[tuple[int, int, dict[int, list[Mention]], int]] = []
        lines: list[str] = []
        last, count = 0, len(starts)
        for start, end in sentences(prose, starts):
            while last < count and starts[last] < start:
                last += 1
            first = last
            while last < count and starts[last] < end:
                last += 1
            inside = [one for one in mentions[first:last] if one.end <= end] if last > first else ()
            if inside and len(inside) <= _MOST_MENTIONS:
                masked, named = _masked(prose, start, end, inside)
                lines.append(masked)
                spans.append((start, end, named, first))
        if not spans:
            return
        whole = "\n".join(lines)  # all at once is faster
        whole = self._owner_words.sub(_OWNER, whole) if self._owner_words else whole
        plain = _BLANKS.sub(" ", whole).split("\n")
        for (start, end, named, before), masked in zip(spans, plain, strict=True):
            yield start, end, masked.strip(), named, before

    def _of_sentence(
        self, start: int, end: int, masked: str, named: dict[int, list[Mention]], meant: _Meant
    ) -> Iterator[StatedRelation]:
        if _QUESTION.match(masked):
            return
        masked = _TOPIC_WORDS.sub(_TOPIC, masked, count=1) if meant.topic else masked
        for number in sorted(self._set.Match(masked) or ()):
            pattern = self._patterns[number]
            for match in pattern.regex.finditer(masked):
                if not pattern.denies and _DENIED.search(masked, max(0, match.start() - _BEFORE_CHARS), match.end()):
                    continue
                groups = match.groupdict()
                sources = meant.by(groups, "source", named)
                if groups.get("source") is None and pattern.rule.without_source == "topic":
                    sources = meant.topic
                targets = meant.by(groups, "target", named)
                yield from related(pattern.rule, sources, targets, (start, end), "sentences", _CANDIDATE_SHARE)


def _subject_before(mentions: Sequence[Mention], at: int, prose: str, start: int) -> Sequence[Mention]:
    """Return the entity nearest before a sentence in its paragraph: what it goes on with."""
    for one in reversed(mentions[max(0, at - _MOST_LOOKED_BACK) : at]):
        if one.entity.type != UNTYPED:
            return () if "\n" in prose[one.end : start] else [one]
    return ()


def _masked(prose: str, start: int, end: int, inside: Sequence[Mention]) -> tuple[str, dict[int, list[Mention]]]:
    """Return a sentence with marks in place of mentions, and number of a mark → the mentions there."""
    parts, named, at = list[str](), dict[int, list[Mention]](), start
    for one in inside:
        if one.start < at and named:
            named[len(named) - 1].append(one)  # another type of the same name
            continue
        parts += [prose[at : one.start], f"{_OPEN}{len(named)}{_CLOSE}"]
        named[len(named)] = [one]
        at = one.end
    parts.append(prose[at:end])
    return "".join(parts), named


def _regex(pattern: str) -> str:
    """Return a pattern of the settings with groups in place of its slots."""

    def group(slot: re.Match[str]) -> str:
        name = slot[1]
        if name == "gap":
            return f"[^{_OPEN}{_CLOSE}{_OWNER}{_TOPIC}]{{0,60}}?"
        if name == "owner":
            return f"(?P<source>{_OWNER})"
        if name == "topic":
            return f"(?P<source>{_TOPIC})"
        kind = "source" if name.startswith("source") else "target"
        one = _LIST if name.endswith("s") else _ONE
        return f"(?P<{kind}>{one}|{_OWNER}|{_TOPIC})" if kind == "source" else f"(?P<{kind}>{one})"

    return SLOT.sub(group, pattern)
