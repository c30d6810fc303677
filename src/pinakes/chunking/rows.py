"""Tables in plain lines: one row per line, cells separated by bars, column names in the first row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from pinakes.chunking.contexts import Context
from pinakes.chunking.outline import Cuts, Outline, Section
from pinakes.chunking.scale import Scale
from pinakes.chunking.tables import MAX_HEAD_ROWS, Table, cells_of, combined, head_rows, is_head, is_lacking
from pinakes.core.records import Document

ROW = 30
COMMENTS = ("#", "//", ";")
MOST_COMMENTS = 50
PREAMBLE_SHARE = 2
"""A line above a table has at most this fraction (1/n) of the cells of most rows."""
MOST_LINE_CHARS = 10_000
FIRST_ROW = ROW - 5
"""Level of a cut after the column names: preferred to cutting a row."""


def outline(document: Document, scale: Scale) -> Outline:
    """Find the rows, and the column names if the first rows are such."""
    text = document.text
    lines = scale.line_starts.tolist()
    rows = [start for start, end in pairwise(lines) if end - start > 1 and not text[start:end].isspace()]
    before = _comments(text, rows) or _preamble(text, rows)
    begin, rows = rows[:before], rows[before:]
    ends = [*rows[1:], len(text)]
    cuts = Cuts()
    for start in [*begin[1:], *(rows if begin else rows[1:])]:
        cuts.add(start, ROW)
    contexts: list[Context] = []
    if begin and not text.startswith(COMMENTS, begin[0]):
        contexts.append(Context(begin[0], len(text), partial(_title, text, begin[0])))
    first = [cells_of(text[start:end], edged=False) for start, end in zip(rows[:2], ends, strict=False)]
    if first and is_head(first[0], first[1] if len(first) > 1 else None):
        names = first[:1]
        if is_lacking(names[0]):
            pairs = zip(rows[: MAX_HEAD_ROWS + 1], ends, strict=False)
            some = [cells_of(text[start:end], edged=False) for start, end in pairs]
            names = some[: head_rows(some)]
        caption, columns = combined(names)
        body = rows[len(names)] if len(names) < len(rows) else len(text)
        if caption:
            contexts.append(Context(rows[0], len(text), partial(str, caption)))
        contexts.append(Context(body - 1, len(text), table=Table(scale, columns, body, len(text), edged=False)))
        for start in rows[1 : len(names) + 1]:
            cuts.found[start] = FIRST_ROW
    return Outline(Section(0, len(text)), cuts, lines_first=True, contexts=tuple(contexts))


def _comments(text: str, rows: Sequence[int]) -> int:
    """Return how many lines above a table are comments: they begin with a sign, and have fewer cells."""
    lines = [text[start : start + MOST_LINE_CHARS].partition("\n")[0] for start in rows[: MOST_COMMENTS + 1]]
    count = next((at for at, line in enumerate(lines) if not line.startswith(COMMENTS)), 0)
    return count if all(line.count(" | ") < lines[count].count(" | ") for line in lines[:count]) else 0


def _preamble(text: str, rows: Sequence[int]) -> int:
    """Return how many lines above a table describe it.

    They have far fewer cells than most of the first rows, or fewer and a blank line below them.
    """
    some = [text[start : start + MOST_LINE_CHARS].partition("\n")[0] for start in rows[: 2 * MOST_COMMENTS]]
    cells = [len(line.rstrip(" |").split(" | ")) for line in some]
    usual = Counter(cells).most_common(1)[0][0] if cells else 0
    first = next((at for at, count in enumerate(cells) if PREAMBLE_SHARE * count > usual), 0)
    widest = next((at for at, count in enumerate(cells) if count >= usual), 0)
    if widest and "\n\n" in text[rows[widest - 1] : rows[widest]]:
        first = widest
    if not 0 < first <= MOST_COMMENTS:
        return 0
    names, *below = (cells_of(line, edged=False) for line in some[first : first + 2])
    return first if is_head(names, below[0] if below else None) else 0


def _title(text: str, start: int) -> str:
    """Return the text of the first line above a table."""
    return " ".join(filter(None, cells_of(text[start : start + MOST_LINE_CHARS].partition("\n")[0], edged=False)))
