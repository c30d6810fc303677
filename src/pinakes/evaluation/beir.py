"""Conversion of the corpus of a BEIR folder to a folder of Markdown files, from which a collection can be filled."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote

from pinakes.core.errors import storing
from pinakes.evaluation.questions import beir_file, check_new, wrong

_FILE_NAME_BYTES = 240


def write_corpus(folder: Path, place: Path) -> int:
    """Write each document of the corpus of a BEIR ``folder`` as a file below ``place``; return how many there are.

    A file is called by the document's id, quoted as in URLs, so that ``names.resolve`` finds it by that id. Files that
    hold the same already are left alone, and those of documents that are gone are removed.

    Raises:
        NotFound, InvalidInput: there is no corpus, or a line that cannot be used; the message names it.
        StorageFull: a file cannot be written.
    """
    path = beir_file(folder, "corpus.jsonl")
    lines, names = dict[str, int](), set[str]()
    with storing(str(place)):
        place.mkdir(parents=True, exist_ok=True)
        for number, document_id, text in _documents(path):
            name = f"{quote(document_id, safe='')}.md"
            if document_id == "" or len(name) > _FILE_NAME_BYTES:
                raise wrong(path, number, f"its `_id` {document_id[:40]!r} is empty or too long")
            check_new(document_id, lines, path, number, "_id", "document")
            names.add(name)
            _write_if_changed(place / name, text)
        for stale in place.glob("*.md"):
            if stale.name not in names:
                stale.unlink()
    return len(names)


def _documents(path: Path) -> Iterator[tuple[int, str, str]]:
    with _opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = {name: value for name, value in json.loads(line).items() if value is not None}
                document_id, text = str(row["_id"]), str(row["text"])
                title = " ".join(str(row.get("title", "")).split())
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise wrong(path, number, "it is no JSON object with `_id` and `text`") from error
            yield number, document_id, f"# {title}\n\n{text}\n" if title else f"{text}\n"


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig")


def _write_if_changed(path: Path, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if not (path.is_file() and path.read_bytes() == data):
        path.write_bytes(data)
