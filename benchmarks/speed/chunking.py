"""How fast documents are cut, tokenization aside: made-up texts of each kind, or the files of a folder.

Run ``python -m benchmarks.speed.chunking [--folder PATH] [--megabytes 5]``: JSON on stdout. Units are words, which
cost next to nothing to count, so the rates are those of parsing and packing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import word_starts
from pinakes.core.records import Document, DocumentKind

WORDS = 150
_PARAGRAPH = "A chunk of plain words stands here. It has three sentences, some of them short. That is all. " * 3
_BLOCKS = "- one item\n- another item\n\n```c\nint x;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
_MARKDOWN = f"## Section\n\n{_PARAGRAPH}\n\n{_PARAGRAPH}\n\n{_BLOCKS}"
_C = "/* Doubles it. */\nint twice(int a)\n{\n\tif (a > 1) {\n\t\treturn a * 2;\n\t}\n\treturn 0;\n}\n\n"
_PYTHON = "class Reader:\n    def read(self, name):\n        '''Read it.'''\n        return open(name).read()\n\n\n"
MADE_UP: dict[str, tuple[str, DocumentKind, str | None]] = {
    "markdown": (_MARKDOWN, "markdown", None),
    "text": (f"{_PARAGRAPH}\n\n", "text", None),
    "rst": (f"Section\n=======\n\n{_PARAGRAPH}\n\n", "text", "rst"),
    "c": (_C, "code", "c"),
    "python": (_PYTHON, "code", "python"),
    "one line": ("var a=1;", "code", "javascript"),
}
_SUFFIXES: dict[str, tuple[DocumentKind, str | None]] = {
    ".md": ("markdown", None),
    ".txt": ("text", None),
    ".rst": ("text", "rst"),
    ".yaml": ("text", "yaml"),
    ".c": ("code", "c"),
    ".h": ("code", "c"),
    ".py": ("code", "python"),
}


def measure(documents: Iterable[Document]) -> dict[str, float]:
    """Return megabytes of text, chunks, words per chunk (headers included), seconds, and the slowest document's."""
    sizing = Sizing(WORDS, 0, word_starts)
    chars = chunks = words = 0
    seconds = slowest = 0.0
    for document in documents:
        began = time.perf_counter()
        found = chunk(document, sizing)
        taken = time.perf_counter() - began
        seconds, slowest = seconds + taken, max(slowest, taken)
        chars, chunks = chars + len(document.text), chunks + len(found)
        words += sum(each.token_count for each in found)
    mean = words / max(chunks, 1)
    return {"megabytes": chars / 1e6, "chunks": chunks, "words": mean, "seconds": seconds, "slowest_s": slowest}


def of_folder(folder: Path, suffix: str) -> Iterable[Document]:
    """Read every file of ``folder`` with ``suffix``."""
    kind, language = _SUFFIXES[suffix]
    for path in sorted(folder.rglob(f"*{suffix}")):
        if path.is_file():
            yield Document(path.read_text("utf-8", "replace").replace("\0", " "), path.name, kind, language)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--megabytes", type=float, default=5)
    given = parser.parse_args()
    if given.folder:
        rates = {suffix: measure(of_folder(given.folder, suffix)) for suffix in _SUFFIXES}
    else:
        rates = {
            name: measure([Document(text * int(given.megabytes * 1e6 / len(text)), "Title", kind, language)])
            for name, (text, kind, language) in MADE_UP.items()
        }
    print(json.dumps({name: rate for name, rate in rates.items() if rate["chunks"]}, indent=2))


if __name__ == "__main__":
    main()
