"""Detection of credentials in texts by their form, and masking by the same number of code points.

There are two steps. RE2 scans the whole text once in linear time, at some hundred megabytes per second, for anchors:
possible starts of the table's patterns. Then the exact patterns are matched at each anchor.
"""

from __future__ import annotations

import hashlib
import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import re2

from pinakes.core.regexes import lazy
from pinakes.text.secrets.by_name import NAMED
from pinakes.text.secrets.columns import in_columns
from pinakes.text.secrets.kinds import KEYS, TOKENS, Rule
from pinakes.text.secrets.secret_values import MASK

_RULES: Final = (*KEYS, *TOKENS, *NAMED)
_MEMORY: Final = 24 << 20
_DEPTH: Final = 64
_SHORTEST: Final = 10
_IN_COLUMN: Final = "a password or token"
_HASHED: Final = "sha256:"
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_ANCHOR_CHARS = 8
_WORD: Final = frozenset(string.ascii_letters + string.digits)
_ESCAPE: Final = re.compile(r"(?:\\(?:[abfnrtv0]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2})\Z")
_ATOM: Final = re.compile(r"\[[^\]]+\]|\\?[^(\[]")
_UNSEEN: Final = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""Characters without width: a secret that they part is whole for who reads or copies it."""


@dataclass(frozen=True, slots=True)
class _Exact:
    """The exact patterns of what begins ``back`` characters before an anchor, which begins with one of ``anchored``.

    ``within_word``: those of what may begin in the middle of a word, None where nothing may. ``rules`` go by the names
    of the groups.
    """

    back: int
    anchored: frozenset[str] | None
    pattern: re.Pattern[str]
    within_word: re.Pattern[str] | None
    rules: Mapping[str, Rule]


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A credential: its kind as text ("a GitHub token"), and its range."""

    kind: str
    start: int
    end: int


class Detector:
    """Finds and masks credentials. ``allowed``: values known to be harmless.

    Each is ``sha256:`` and the hexadecimal hash of a value, or a pattern (RE2) that matches the whole value.
    """

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        self._hashes = {entry[len(_HASHED) :].lower() for entry in allowed if entry.startswith(_HASHED)}
        patterns = [entry for entry in allowed if not entry.startswith(_HASHED)]
        self._pattern = re2.compile("|".join(f"(?:{entry})" for entry in patterns)) if patterns else None

    def find(self, text: str) -> list[FoundSecret]:
        """Return the credentials in ``text``, in order and without overlaps."""
        return [one for one in _every(text) if not self._is_allowed(text[one.start : one.end])]

    def mask(self, text: str) -> str:
        """Return ``text`` with its credentials masked, line by line."""
        return masked(text, self.find(text))

    def masked_value(self, value: Any) -> Any:
        """Return metadata with credentials masked, including those recognised only by the name of their field."""
        return self._masked_value(value, "", _DEPTH) if self.find("\n".join(_strings(value, "", _DEPTH))) else value

    def _masked_value(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, str):
            before = f"{name}: " if name else ""
            return self.mask(before + value)[len(before) :] if len(value) >= _SHORTEST - 4 else value
        if depth and isinstance(value, Mapping):
            return {self.mask(str(key)): self._masked_value(inner, str(key), depth - 1) for key, inner in value.items()}
        if depth and isinstance(value, list | tuple):
            return type(value)(self._masked_value(inner, name, depth - 1) for inner in value)
        return value

    def _is_allowed(self, value: str) -> bool:
        if self._hashes and hashlib.sha256(value.encode("utf-8", "replace")).hexdigest() in self._hashes:
            return True
        return self._pattern is not None and self._pattern.fullmatch(value) is not None


def _strings(value: Any, name: str, depth: int) -> Iterator[str]:
    """Yield all texts that ``masked_value`` examines."""
    if isinstance(value, str):
        yield f"{name}: {value}" if name else value
    elif depth and isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner, str(key), depth - 1)
    elif depth and isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner, name, depth - 1)


def masked(text: str, findings: Sequence[FoundSecret]) -> str:
    """Return ``text`` with ``findings`` masked; line breaks stay."""
    parts, at = [], 0
    for one in findings:
        parts += [text[at : one.start], *(_hidden(text[one.start : one.end]))]
        at = one.end
    return "".join([*parts, text[at:]]) if findings else text


def lines_of(text: str, findings: Sequence[FoundSecret]) -> list[int]:
    """Return the line of the start of each finding, from 1."""
    ends = [at for at, char in enumerate(text) if char == "\n"] if findings else []
    return [bisect_right(ends, one.start - 1) + 1 for one in findings]


def _hidden(secret: str) -> str:
    return "\n".join(MASK * len(line) for line in secret.split("\n"))


def _every(text: str) -> list[FoundSecret]:
    """Return all credentials found by form or name, those in table columns, and those parted by unseen characters."""
    found = list(_found(text))
    more = [FoundSecret(_IN_COLUMN, *span) for span in in_columns(text)]
    if not text.isascii() and _UNSEEN.search(text):
        more += _parted(text)
    return _disjoint([*found, *more]) if more else found


def _parted(text: str) -> list[FoundSecret]:
    """Return the credentials in ``text`` as it is seen, without characters of no width."""
    kept = [at for at, char in enumerate(text) if not _UNSEEN.match(char)]
    plain = "".join([text[at] for at in kept])
    return [FoundSecret(one.kind, kept[one.start], kept[one.end - 1] + 1) for one in _every(plain)]


def _disjoint(found: Iterable[FoundSecret]) -> list[FoundSecret]:
    """Return findings in order; of overlapping ones, one that covers them all."""
    disjoint: list[FoundSecret] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if disjoint and one.start < disjoint[-1].end:
            last = disjoint[-1]
            disjoint[-1] = FoundSecret(last.kind, last.start, max(last.end, one.end))
        else:
            disjoint.append(one)
    return disjoint


def _found(text: str) -> Iterator[FoundSecret]:
    if len(text) < _SHORTEST:
        return
    data = text.encode("utf-8", "replace")
    ascii_only = len(data) == len(text)
    anchor, patterns = _compiled()
    at, chars, counted, free = 0, 0, 0, 0
    while (hit := anchor.search(data, at)) is not None:
        begin = hit.start()
        at = begin + 1
        if ascii_only:
            chars = begin
        else:  # each piece of the text is counted once
            chars += len(data[counted:begin].decode("utf-8", "replace"))
            counted = begin
        if chars < free:
            continue
        for finding in _near(text, chars, patterns):
            if finding.start >= free:
                free = finding.end
                yield finding
        if chars < free:
            at = max(at, begin + len(text[chars:free].encode("utf-8", "replace")))


def _near(text: str, start: int, patterns: Sequence[_Exact]) -> list[FoundSecret]:
    """Return the credentials at an anchor that starts at ``start``."""
    for one in patterns:
        begin = start - one.back
        if begin < 0 or (one.anchored is not None and text[start] not in one.anchored):
            continue
        pattern = one.within_word if begin and _is_within_word(text, begin) else one.pattern
        if pattern is not None and (found := list(_at(text, begin, pattern, one.rules))):
            return found
    return []


def _is_within_word(text: str, begin: int) -> bool:
    """Return whether the character before ``begin`` belongs to a word, not to an escape (``\\n``, ``%3D``)."""
    return text[begin - 1] in _WORD and _ESCAPE.search(text[max(0, begin - 6) : begin]) is None


def _at(text: str, start: int, exact: re.Pattern[str], rules: Mapping[str, Rule]) -> Iterator[FoundSecret]:
    """Yield the credentials that begin at ``start``."""
    match = exact.match(text, start)
    if match is None or match.lastgroup is None:
        return
    rule = rules[match.lastgroup]
    first, last = match.span(match.lastgroup if rule.spans else _secret_group(exact, match))
    if rule.check is not None and not rule.check(text[first:last]):
        return
    spans = rule.spans(text, first, last) if rule.spans else [(first, last)]
    yield from (FoundSecret(rule.kind, *span) for span in spans)


def _secret_group(exact: re.Pattern[str], match: re.Match[str]) -> int:
    """Return the number of the group with the secret: the one inside the rule's group, if it matched."""
    outer = exact.groupindex[match.lastgroup or ""]
    inner = outer + 1
    is_inner = inner <= exact.groups and inner not in exact.groupindex.values() and match.start(inner) >= 0
    return inner if is_inner else outer


@cache
def _compiled() -> tuple[Any, tuple[_Exact, ...]]:
    """Return the RE2 pattern of all anchors, and the exact patterns in the order of their trial."""
    options = re2.Options()
    options.encoding, options.never_capture, options.max_mem = re2.Options.Encoding.LATIN1, True, _MEMORY
    anchors = "|".join(f"(?:{rule.anchor or _shortened(rule.pattern)})" for rule in _RULES)
    exact = []
    for back in dict.fromkeys(back for rule in _RULES for back in rule.back):
        rules = {f"r{number}": rule for number, rule in enumerate(_RULES) if back in rule.back}
        inside = {name: rule for name, rule in rules.items() if rule.inside}
        anchored = _first_chars(rules.values()) if back else None
        within_word = _alternatives(inside) if inside else None
        exact.append(_Exact(back, anchored, _alternatives(rules), within_word, rules))
    return re2.compile(anchors.encode(), options), tuple(exact)


def _alternatives(rules: Mapping[str, Rule]) -> re.Pattern[str]:
    return lazy("|".join(f"(?P<{name}>{_bounded(rule)})" for name, rule in rules.items()))


def _first_chars(rules: Iterable[Rule]) -> frozenset[str] | None:
    """Return the possible first characters of the anchors of ``rules``, None if unknown."""
    atoms = [_ATOM.match(rule.anchor) for rule in rules]
    first = "|".join(atom[0] for atom in atoms if atom is not None)
    return None if None in atoms else frozenset(char for char in map(chr, range(128)) if re.fullmatch(first, char))


def _shortened(pattern: str) -> str:
    """Return a pattern for the beginning of ``pattern``: RE2 is fast for patterns with few counts."""
    count = _COUNT.search(pattern)
    if count is None or int(count[1]) < _ANCHOR_CHARS or "|" in pattern[count.start() :]:
        return pattern
    head = pattern[: count.start()]
    opened = len(re.findall(r"(?<!\\)\(", head)) - len(re.findall(r"(?<!\\)\)", head))
    return f"{head}{{{_ANCHOR_CHARS}}}" + ")" * opened


def _bounded(rule: Rule) -> str:
    pattern = f"(?:{rule.pattern or rule.anchor})"
    return pattern if rule.inside else f"{pattern}(?![A-Za-z0-9])"  # what stands before it was looked at
