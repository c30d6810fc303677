"""The few lines of a passage that show why it was found, with the words of the query marked."""

from __future__ import annotations

import re
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from pinakes.analysis import Analyzer

LINES = 3
_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")
_LONGEST_LINE = 10_000


def passage(text: str, query: str, width: int, lines: int = LINES) -> list[str]:
    """Return the lines of ``text`` with the most words of ``query``: at most ``lines`` on end, folded to ``width``."""
    wanted = _terms(query)
    folded = [part for line in text.splitlines() if line.strip() for part in _fold(line[:_LONGEST_LINE], width)]
    found = [wanted & _terms(line) for line in folded]
    windows = range(max(1, len(folded) - lines + 1))
    best = max(windows, key=lambda i: (len(set().union(*found[i : i + lines])), -i))
    return textwrap.dedent("\n".join(folded[best : best + lines])).split("\n")


def highlighted(line: str, query: str) -> Text:
    """Return ``line`` with the words marked that the keyword search takes for words of ``query``."""
    from rich.text import Text

    wanted = _terms(query)
    marked = Text(line)
    for word in _WORD.finditer(line):
        if wanted & _terms(word[0]):
            marked.stylize("bold yellow", word.start(), word.end())
    return marked


def _fold(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    return textwrap.wrap(line.strip(), width, initial_indent=indent, subsequent_indent=indent) or [""]


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(_analyzer().query_terms(text))


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    from pinakes.analysis import Analyzer

    return Analyzer()
