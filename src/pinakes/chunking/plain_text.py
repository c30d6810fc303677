"""Plain text: cut between paragraphs, rows of tables and list items; between lines if the text is data, not prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from operator import itemgetter

from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section
from pinakes.chunking.plain import Tables, lists
from pinakes.chunking.scale import Scale
from pinakes.chunking.tables import cells_of, name_of
from pinakes.core.records import Document

INDENTED = BLOCK - 10
_UNDER_NAMES = re.compile(
    r"^[ \t]*+(?:\|[ \t]*+)?:?-{2,}:?[ \t]*(?:[|+][ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*$"
    r"|^[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*$",
    re.MULTILINE,
)
_FRAME_RULES = 3
"""Rules of a table that has none between its rows: above and below the column names, and at its end."""
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*\n)++")


def outline(document: Document, scale: Scale) -> Outline:
    """Find paragraphs. Code, and text with a language (yaml, csv, log …), is cut into lines, prose into sentences."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    root = Section(0, len(scale.text))
    if document.kind == "code" or document.language is not None:
        return Outline(root, cuts, lines_first=True)
    items = list(lists(scale, cuts))
    tables = _Tables(scale, cuts)
    tables.find()
    contexts = (*tables.outside(items), *tables.contexts)
    return Outline(root, cuts, solids=tuple(tables.solids), contexts=contexts)


class _Tables(Tables):
    """Finds tables whose column names are underlined, as Markdown, databases and programs of the shell write them."""

    def find(self) -> None:
        """Search for the lines below column names, after the tables that are framed."""
        super().find()
        framed, after = list(self.solids), 0
        for found in _UNDER_NAMES.finditer(self.scale.text):
            rule = int(self.scale.line_starts.searchsorted(found.start(), "right")) - 1
            index = bisect_right(framed, found.start(), key=itemgetter(0)) - 1
            inside = index >= 0 and framed[index][1] > found.start()
            if rule > after and not inside and self._line(rule - 1).strip():
                after = self._underlined(rule, "|" in self._line(rule - 1), found[0])
        self.solids.sort()

    def _grid(self, first: int, caption: str, captioned: int) -> int:
        """Record a framed table; without a rule between its rows, each line of it is one."""
        last = super()._grid(first, caption, captioned)
        rules = [number for number in range(first, last) if self._line(number).lstrip().startswith("+")]
        if len(rules) == _FRAME_RULES:
            self.solids.pop()
            self._rows(first, last, range(rules[1] + 1, rules[2]), rules[1] + 1)
        return last

    def _underlined(self, rule: int, barred: bool, under: str) -> int:
        """Record the table around its line ``rule``, whose text is ``under``; return the line after it."""
        last = rule + 1
        while last < len(self.lines) - 1 and self._line(last).strip() and (not barred or "|" in self._line(last)):
            last += 1
        names = self._line(rule - 1)
        starts = [match.start() for match in re.finditer(r"-+", under)] + [None]
        row = cells_of(names) if barred else [name_of(names[left:right]) for left, right in pairwise(starts)]
        self._note(rule - 1, last, rule + 1, [row], "", rule - 1, barred=barred)
        self._rows(rule - 1, last, range(rule + 1, last), rule + 1)
        return last


def paragraphs(text: str, cuts: Cuts) -> None:
    """Allow cuts after blank lines; at a lower level before an indented paragraph, as it belongs to the one above."""
    for match in _PARAGRAPH.finditer(text):
        indented = text[match.end() : match.end() + 1].isspace()
        cuts.add(match.end(), INDENTED if indented else BLOCK)
