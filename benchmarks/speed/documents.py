"""``python -m benchmarks.speed.documents``: what it costs to put documents one call each, and whether that grows.

First 200 documents of 600 words with the real model, as an agent would put them; then, with vectors that cost nothing
(``--growth``, 10,000 by default), milliseconds per document by thousands: the work besides embedding has to stay flat.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from benchmarks.quality.sets import ROOT
from pinakes.library import Library

WORDS = 600
TARGET_PER_S = 8
_PARTS = 6
_SOURCES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200, help="Documents put with the real model.")
    parser.add_argument("--growth", type=int, default=10_000, help="Documents put with free vectors; 0 = none.")
    given = parser.parse_args()
    took = measured(given.documents, given.documents, provider="onnx")
    per_second = given.documents / (took[0] * given.documents / 1000)
    print(f"{given.documents} documents of {WORDS} words, one call each: {per_second:.1f} per second ", end="")
    print(f"(to be reached: {TARGET_PER_S})")
    if given.growth:
        step = max(1, min(1000, given.growth // 2))
        for number, each in enumerate(measured(given.growth, step, provider="deterministic"), start=1):
            print(f"{number * step:>6} documents: {each:6.1f} ms each", flush=True)


def measured(total: int, step: int, *, provider: str) -> list[float]:
    """Put ``total`` documents into a fresh home; return ms per document for each ``step`` of them."""
    found = []
    with tempfile.TemporaryDirectory() as home, Library.open(home, embedding__provider=provider) as library:
        library.documents.put("The model and the index are opened by this one.", title="First")
        made = texts(total)
        for start in range(0, total, step):
            began = time.perf_counter()
            count = 0
            for count, text in enumerate(islice(made, step), start=1):
                library.documents.put(text, title=f"Note {start + count}")
            found.append((time.perf_counter() - began) * 1000 / max(1, count))
            print(f"{start + count} of {total} put", file=sys.stderr, flush=True)
        assert library.verify() == {"default": []}, "what was put is all there"
    return found


def texts(count: int) -> Iterator[str]:
    """Yield texts of ``WORDS`` words of the project's own pages, sentence-like and each another."""
    chance, words = random.Random(7), vocabulary()
    for _ in range(count):
        parts = [chance.choices(words, k=WORDS // _PARTS) for _ in range(_PARTS)]
        yield "\n\n".join(f"## {part[0].title()}\n\n{_sentences(part)}" for part in parts)


def vocabulary() -> list[str]:
    """Return the words of the project's pages, as often as they stand there."""
    pages = [
        page for name in _SOURCES for page in ([ROOT / name] if name.endswith(".md") else (ROOT / name).glob("*.md"))
    ]
    return [word for page in sorted(pages) for word in re.findall(r"[a-z]+", page.read_text("utf-8").lower())]


def _sentences(words: Sequence[str]) -> str:
    return " ".join(f"{' '.join(words[i : i + 12]).capitalize()}." for i in range(0, len(words), 12))


if __name__ == "__main__":
    main()
