"""Which symbols of code a text writes about: ``kfree()``, ``struct inode``, ``CONFIG_NUMA``, names in backticks."""

from __future__ import annotations

import re
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

_SYMBOLS: Final = re.compile(
    r"(?<![\w.>/])(?P<function>[A-Za-z_]\w{2,150}(?:(?:\.|::)\w{1,150}){0,3})\(\)"
    r"|:c:func:`(?P<role>\w{1,150})"
    r"|\b(?:struct|union|enum)[ \t]+(?P<struct>[a-z_]\w{2,150})\b"
    r"|\b(?P<config>CONFIG_\w{1,150})\b"
    r"|^\.\.[ \t]+kernel-doc::[ \t]+(?P<file>\S{1,300})"
    r"|``?(?P<code>[a-zA-Z]\w{0,100}_\w{1,100}|[A-Za-z]\w*(?:\.|::)\w+)``?(?![\w`])",
    re.MULTILINE,
)
_TYPES: Final = {"function": FUNCTION, "role": FUNCTION, "struct": STRUCT, "config": CONFIG, "file": FILE, "code": FUNCTION}


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
        for match in _SYMBOLS.finditer(text):
            group = match.lastgroup or ""
            kind, name = _TYPES[group], match[group]
            if kind in (FUNCTION, STRUCT):
                name = f"{name}{ANYWHERE}"
            entity = EntityName(kind, name)
            if kind not in self._types or entity in found:
                continue
            if len(found) >= MAX_SYMBOLS:
                left_out += 1
                continue
            start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _AROUND)
            end = text.find("\n", match.end(), match.end() + _AROUND)
            end = min(len(text), match.end() + _AROUND) if end < 0 else end
            found[entity] = StatedRelation(file, DOCUMENTS, entity, start, end, _CONFIDENCE, EXTRACTOR)
        return Findings(relations=list(found.values()), left_out=left_out)
