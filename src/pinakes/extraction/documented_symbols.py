"""Symbols of code that a text mentions: ``kfree()``, ``struct inode``, ``CONFIG_NUMA``, names in backticks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pinakes.core.graph_records import (
    CONFIG,
    FILE,
    FUNCTION,
    STRUCT,
    EntityName,
    ExtractionSubject,
    Findings,
    StatedRelation,
)
from pinakes.extraction.code_references import ANYWHERE
from pinakes.settings import GraphRules

EXTRACTOR: Final = "code:documents"
DOCUMENTS: Final = "DOCUMENTS"
MAX_SYMBOLS: Final = 5_000
_CONFIDENCE: Final = 0.9
_AROUND: Final = 100
_CALLED: Final = re.compile(r"\(\)")
_REVERSED: Final = re.compile(
    r"\w{2,150}[A-Za-z_](?:(?:\.|::)\w{1,150}){0,3}(?![\w.>/])|(?:\w{1,150}(?:\.|::)){1,3}\w+(?![\w.>/])"
)
_PATTERNS: Final = (
    (STRUCT, re.compile(r"struct[ \t]+(?P<name>[a-z_]\w{2,150})\b")),
    (STRUCT, re.compile(r"enum[ \t]+(?P<name>[a-z_]\w{2,150})\b")),
    (CONFIG, re.compile(r"(?P<name>CONFIG_\w{1,150})")),
    (FILE, re.compile(r"kernel-doc::[ \t]+(?P<name>\S{1,300})")),
    (FUNCTION, re.compile(r"`(?P<name>[a-zA-Z]\w{0,100}_\w{1,100}|[A-Za-z]\w{0,100}(?:\.|::)\w{1,100})`")),
)
"""Each begins with letters, so that most of a text is passed over fast."""


def _named(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield type, name, start and end of what is written as code."""
    for kind, pattern in _PATTERNS:
        for found in pattern.finditer(text):
            before = text[found.start() - 1 : found.start()]
            if not (before.isalnum() or before == "_"):
                yield kind, found["name"], *found.span("name")
    for found in _CALLED.finditer(text):
        before = text[max(0, found.start() - _AROUND) : found.start()][::-1]
        if name := _REVERSED.match(before):
            yield FUNCTION, name[0][::-1], found.start() - len(name[0]), found.end()


class DocumentedSymbols:
    """Finds the symbols that a text without code names as code. Time is linear."""

    def __init__(self, rules: GraphRules) -> None:
        self._types = frozenset(rules.types)
        self.fingerprint = f"documented:1 {sorted(self._types)!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return which symbols a text documents, each by the first place; nothing for code."""
        if subject.document.kind == "code" or FILE not in self._types:
            return Findings()
        text, file = subject.document.text, EntityName(FILE, subject.path)
        found: dict[EntityName, StatedRelation] = {}
        left_out = 0
        for kind, name, first, last in _named(text):
            if kind in (FUNCTION, STRUCT):
                name = f"{name}{ANYWHERE}"
            entity = EntityName(kind, name)
            if kind not in self._types or entity in found:
                continue
            if len(found) >= MAX_SYMBOLS:
                left_out += 1
                continue
            start = max(text.rfind("\n", 0, first) + 1, first - _AROUND)
            end = text.find("\n", last, last + _AROUND)
            end = min(len(text), last + _AROUND) if end < 0 else end
            found[entity] = StatedRelation(file, DOCUMENTS, entity, start, end, _CONFIDENCE, EXTRACTOR)
        return Findings(relations=list(found.values()), left_out=left_out)
