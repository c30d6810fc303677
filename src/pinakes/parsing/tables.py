"""CSV and TSV: one row per line, with cells separated by ``|``, each at its line in the file."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from pinakes.core.errors import Empty
from pinakes.core.records import Document
from pinakes.parsing.decode import decode
from pinakes.parsing.limits import LimitedReader

_DELIMITERS: Final = ",;\t|"
_SAMPLE_LINES: Final = 20
_SAMPLE_CHARS: Final = 100_000
_QUOTED: Final = re.compile(r'"[^"]*"')
_NAMED: Final = re.compile(r'(?P<quote>"?)(?i:sep)=(?P<delimiter>[^\w\s"]|\t)(?P=quote)[ \t]*\n')
"""A first line that tells Excel the delimiter."""


class Table(LimitedReader):
    """Reads delimited text. Rows keep their number of cells and their line number."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``. If it cannot be parsed, it is read unchanged, and ``parse_error`` in the metadata says why."""
        source = self._limits.check(decode(data))
        delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else _delimiter(source)
        source = _NAMED.sub("\n", source, count=1) if _NAMED.match(source) else source
        try:
            lines, rows, columns = self._rows(source, delimiter)
        except csv.Error as error:
            return Document(text=source, kind="text", metadata={"parse_error": str(error)})
        if not rows:
            raise Empty("The table has no text in its cells.")
        metadata = {"rows": rows - 1, "columns": columns}
        return Document(text="\n".join(lines) + "\n", kind="text", language="csv", metadata=metadata)

    def _rows(self, source: str, delimiter: str) -> tuple[list[str], int, int]:
        """Return the lines, the number of rows, and the number of columns of the widest row.

        A row that takes several lines of the file is followed by blank lines, so that line numbers match.
        """
        lines: list[str] = []
        size = rows = columns = 0
        reader = csv.reader(io.StringIO(source), delimiter=delimiter)
        for row in reader:
            is_row = any(row)
            line = " | ".join(map(_cell, row)).rstrip() if is_row else ""
            columns = max(columns, len(row))
            rows += is_row
            lines.append(line)
            lines.extend([""] * (reader.line_num - len(lines)))
            size += len(line) + 1
            self._limits.check_size(size)
        return lines, rows, columns


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split("\n")).strip()


def _delimiter(source: str) -> str:
    """Return the delimiter that occurs equally often in most of the first lines; quoted text is ignored."""
    if named := _NAMED.match(source):
        return named["delimiter"]
    sample = _QUOTED.sub("", source[:_SAMPLE_CHARS])
    lines = [line for line in sample.split("\n", _SAMPLE_LINES)[:_SAMPLE_LINES] if line.strip()]
    return max(_DELIMITERS, key=partial(_evenness, lines))


def _evenness(lines: Sequence[str], delimiter: str) -> tuple[int, int]:
    """Return how many of ``lines`` have the most common positive number of ``delimiter``, and this number."""
    counts = Counter(filter(None, (line.count(delimiter) for line in lines)))
    most = max(counts.values(), default=0)
    return most, max((count for count, times in counts.items() if times == most), default=0)
