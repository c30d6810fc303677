"""A corpus of any number of files whose texts all differ: seeded, with the words of real text where that is present."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.sets import DATA

CHUNKS_PER_FILE = 22
"""About so many chunks the default chunker makes of a file."""

_ARCHIVES = ("keps/keps.tar.gz", "handbook/handbook.tar.gz", "linux/linux-5.17-subset.tar.gz")
_READ_CHARS = 12_000_000
_VOCABULARY = 60_000
_WORDS_PER_FILE = 1900
_TOPICS_PER_WORD = 0.02
_TOPIC_WORDS = 150
_DOCUMENT_WORDS = 40
_SHARES = (0.55, 0.3, 0.15)
"""Of the words of a text, those drawn from the whole vocabulary, from its topic, and from its document."""

_SECTION_WORDS = 220
_SENTENCE_WORDS = (6, 22)
_FOLDERS = 200
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu bran cles dor fin glo".split()


@dataclass(frozen=True)
class InventedText:
    """Makes texts of words by their frequency: document ``n`` is the same for the same seed, whatever others there are.

    ``words``, and how often each is, most frequent first.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]
    seed: int = 1

    @cached_property
    def _steps(self) -> Any:
        counts = np.array(self.counts, np.float64)
        return np.cumsum(counts) / counts.sum()

    @property
    def topics(self) -> int:
        """The number of topics."""
        return max(1, int(len(self.words) * _TOPICS_PER_WORD))

    def topic_words(self, topic: int) -> Any:
        """Return int64 (w,): the words that a topic prefers, the most preferred first."""
        chance = np.random.default_rng((self.seed, 1, topic))
        return chance.integers(min(200, len(self.words) // 2), len(self.words), _TOPIC_WORDS)

    def document(self, number: int) -> str:
        """Return the text of a document, as Markdown with headings."""
        chance = np.random.default_rng((self.seed, 2, number))
        own = chance.integers(0, len(self.words), _DOCUMENT_WORDS)
        title = f"# {self._phrase(own[:4])} {number}\n"
        parts = [title]
        topics = chance.integers(0, self.topics, 3)
        left = max(60, int(_WORDS_PER_FILE * chance.lognormal(0, 0.35)))
        while left > 0:
            section = min(left, _SECTION_WORDS)
            topic = self.topic_words(int(topics[int(chance.integers(0, 3))]))
            chosen = self._drawn(chance, section, topic, own)
            parts.append(
                f"\n## {self._phrase(topic[chance.integers(0, 30, 3)])}\n\n{self._sentences(chance, chosen)}\n"
            )
            left -= section
        return "".join(parts)

    def question(self, number: int) -> str:
        """Return a question: some words of a topic and one of the vocabulary."""
        chance = np.random.default_rng((self.seed, 3, number))
        topic = self.topic_words(int(chance.integers(0, self.topics)))
        common = np.searchsorted(self._steps, chance.random(2))
        return " ".join(self.words[n] for n in [*topic[chance.integers(0, 40, 3)], *common])

    def write(self, folder: Path, files: int) -> int:
        """Write so many files below ``folder``; return their bytes."""
        total = 0
        for number in range(files):
            place = folder / f"part{number % _FOLDERS:03}" / f"note{number:07}.md"
            place.parent.mkdir(parents=True, exist_ok=True)
            total += place.write_text(self.document(number), "utf-8")
        return total

    def _phrase(self, numbers: Any) -> str:
        return " ".join(self.words[n] for n in numbers).capitalize()

    def _drawn(self, chance: np.random.Generator, count: int, topic: Any, own: Any) -> Any:
        """Return int64 (count,): words from the three places; of topic and document the first are the more frequent."""
        kind = chance.choice(3, count, p=_SHARES)
        drawn = np.searchsorted(self._steps, chance.random(count))
        skewed = chance.random(count) ** 2
        drawn[kind == 1] = topic[(skewed[kind == 1] * len(topic)).astype(int)]
        drawn[kind == 2] = own[(skewed[kind == 2] * len(own)).astype(int)]
        return drawn

    def _sentences(self, chance: np.random.Generator, numbers: Any) -> str:
        said, start = [], 0
        while start < len(numbers):
            end = start + int(chance.integers(*_SENTENCE_WORDS))
            said.append(f"{self._phrase(numbers[start:end])}.")
            start = end
        return " ".join(said)


def from_data(seed: int = 1) -> InventedText:
    """Return a maker of texts with the words of the test data, or, where there is none, with words of syllables."""
    counts = Counter[str]()
    for name in _ARCHIVES:
        if (DATA / name).exists():
            counts.update(_words_of(DATA / name))
    if not counts:
        return InventedText(*_made_up(), seed)
    kept = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:_VOCABULARY]
    return InventedText(tuple(word for word, _ in kept), tuple(count for _, count in kept), seed)


def _words_of(archive: Path) -> Counter[str]:
    found, left = Counter[str](), _READ_CHARS
    with tarfile.open(archive) as tar:
        for member in tar:
            if left <= 0 or not (file := tar.extractfile(member) if member.isfile() else None):
                continue
            text = file.read(left).decode("utf-8", "replace")
            left -= len(text)
            found.update(re.findall(r"[a-z]{2,20}", text.lower()))
    return found


def _made_up() -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return words of two to four syllables, with frequencies by Zipf's law."""
    chance = np.random.default_rng(7)
    words = dict.fromkeys("".join(chance.choice(_SYLLABLES, int(chance.integers(2, 5)))) for _ in range(_VOCABULARY))
    return tuple(words), tuple(max(1, int(10_000_000 / rank)) for rank in range(1, len(words) + 1))
