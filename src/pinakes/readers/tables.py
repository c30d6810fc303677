"""CSV and TSV: a Markdown table, one row a line."""

from __future__ import annotations

import csv
import io
from typing import Final

from pinakes.errors import Empty
from pinakes.readers.decode import decode
from pinakes.readers.limits import Limits
from pinakes.types import Document

_DELIMITERS: Final = ",;\t|"
_SAMPLE_LINES: Final = 20


class Table:
    """Reads delimited text as a Markdown table. Rows keep their own number of cells."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``. What cannot be parsed is read as plain text; ``parse_error`` in the metadata says why."""
        source = self._limits.check(decode(data))
        delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else _delimiter(source)
        lines: list[str] = []
        size = rows = columns = 0
        try:
            for row in csv.reader(io.StringIO(source), delimiter=delimiter):
                if not any(row):
                    continue
                line = "| " + " | ".join(_cell(cell) for cell in row) + " |"
                lines.append(line)
                if rows == 0:
                    columns = len(row)
                    lines.append("|" + " --- |" * columns)
                rows += 1
                size += len(line) + 1
                self._limits.check_size(size)
        except csv.Error as error:
            return Document(text=source, kind="text", metadata={"parse_error": str(error)})
        if not rows:
            raise Empty("The table has no text in its cells.")
        metadata = {"rows": max(rows - 1, 0), "columns": columns}
        return Document(text="\n".join(lines) + "\n", kind="markdown", metadata=metadata)


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|").strip()


def _delimiter(source: str) -> str:
    """Return the delimiter that stands most evenly in the first lines."""
    lines = [line for line in source[:100_000].split("\n", _SAMPLE_LINES)[:_SAMPLE_LINES] if line.strip()]
    return max(_DELIMITERS, key=lambda char: (min(line.count(char) for line in lines), lines[0].count(char)))
