"""Jupyter notebooks: Markdown cells unchanged, code cells as fenced code with their text output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pinakes.core.errors import Empty, Unreadable
from pinakes.core.records import JSON, Document, ReadingNote
from pinakes.parsing.decode import decode, scrub
from pinakes.parsing.escapes import without_colours
from pinakes.parsing.html import to_markdown
from pinakes.parsing.joined_words import joined
from pinakes.parsing.limits import LimitedReader, Limits
from pinakes.parsing.structured import ParseError, parse_json
from pinakes.parsing.titles import markdown_title

_MAX_OUTPUT_CHARS: Final = 2000
_OBJECT: Final = re.compile(r"<[\w.]{1,200}(?: object(?: at 0x[0-9a-fA-F]{1,16})?| at 0x[0-9a-fA-F]{1,16})>")
"""The plain form of an output that only names its class."""
_BACKTICKS: Final = re.compile("`+")


class Notebook(LimitedReader):
    """Reads ``.ipynb``, notebook formats 3 and 4."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is the first level-1 heading.

        Raises:
            Unreadable: the file is not a notebook.
            Empty: no cell has text.
        """
        try:
            notebook = parse_json(without_colours(decode(data)))
        except ParseError as error:
            raise Unreadable(f"The notebook is damaged: {error}.", hint="Open and save it in Jupyter.") from error
        language = _language(notebook)
        cells = _cells(notebook)
        printed = [_printed(cell, self._limits) for cell in cells]
        parts = [part for cell, output in zip(cells, printed, strict=True) if (part := _cell(cell, output, language))]
        if not parts:
            raise Empty("The notebook has no text in its cells.")
        text = self._limits.check(joined(scrub("\n\n".join(parts) + "\n")))
        notes = (*_pictures(cells), *_cuts(printed))
        return Document(text=text, title=markdown_title(text), kind="markdown", notes=notes)


def _language(notebook: JSON) -> str:
    metadata = _table(notebook, "metadata")
    name = _table(metadata, "kernelspec").get("language") or _table(metadata, "language_info").get("name")
    return str(name or "").lower()


def _cells(notebook: JSON) -> list[JSON]:
    holder = notebook
    if isinstance(notebook, dict) and isinstance(sheets := notebook.get("worksheets"), list) and sheets:
        holder = sheets[0]
    cells = holder.get("cells") if isinstance(holder, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("The file is not a Jupyter notebook: it has no cells.", hint="Check how it was saved.")
    return [cell for cell in cells if isinstance(cell, dict)]


def _pictures(cells: Sequence[JSON]) -> tuple[ReadingNote, ...]:
    """Return a note if outputs or attachments contain pictures, which are not read."""
    count = 0
    for cell in cells:
        holders = [_table(one, "data") for one in _outputs(cell)]
        holders += [one for one in _table(cell, "attachments").values() if isinstance(one, dict)]
        count += sum(str(kind).startswith("image/") for holder in holders for kind in holder)
    message = "Left out as embedded data: pictures of outputs and attachments."
    return (ReadingNote("embedded-data", message, count=count),) if count else ()


def _table(value: JSON, key: str) -> dict[str, JSON]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _outputs(cell: JSON) -> list[dict[str, JSON]]:
    outputs = cell.get("outputs")
    return [one for one in outputs if isinstance(one, dict)] if isinstance(outputs, list) else []


def _cell(cell: JSON, printed: str, language: str) -> str:
    source = _joined(cell.get("source", cell.get("input"))).strip("\n")
    if cell.get("cell_type") != "code":
        return source
    blocks = [_fenced(source, language)] if source.strip() else []
    return "\n\n".join(blocks + ([_fenced(printed[:_MAX_OUTPUT_CHARS], "text")] if printed else []))


def _cuts(printed: Sequence[str]) -> tuple[ReadingNote, ...]:
    """Return a note if outputs are longer than what is read of them."""
    count = sum(len(output) > _MAX_OUTPUT_CHARS for output in printed)
    message = f"Of long outputs the first {_MAX_OUTPUT_CHARS:,} characters were read."
    return (ReadingNote("limit", message, count=count),) if count else ()


def _printed(cell: JSON, limits: Limits) -> str:
    """Return the text output of a code cell."""
    outputs = (_output(one, limits) for one in _outputs(cell)) if cell.get("cell_type") == "code" else ()
    return "\n".join(filter(None, outputs)).strip("\n")


def _output(output: JSON, limits: Limits) -> str:
    """Return the text of an output, or of its error; pictures yield nothing, HTML its text if there is no other."""
    if output.get("output_type") in ("error", "pyerr"):
        return ": ".join(filter(None, (_joined(output.get(name)) for name in ("ename", "evalue"))))
    data = _table(output, "data") or output
    text = _joined(output.get("text") or data.get("text/markdown") or data.get("text/plain") or data.get("text/latex"))
    page = _joined(data.get("text/html"))
    return to_markdown(page, limits).strip("\n") if page and (not text or _OBJECT.fullmatch(text)) else text


def _joined(lines: JSON) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
