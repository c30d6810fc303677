"""Token counts for budgets: one public tokenizer measures all of them, whichever model embeds.

It is BERT's WordPiece vocabulary (30,522 entries, lower case), which comes with the default embedding model. If it is
not installed, tokens are estimated, rather too many than too few.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from pinakes.core.records import Int64
from pinakes.models import folders
from pinakes.models.runtime import TOKENIZER
from pinakes.models.token_memo import CHARS_PER_CALL, TokenMemo, memo_of
from pinakes.settings import DEFAULT_MODEL
from pinakes.text.analysis import estimated_token_starts

_UNKNOWN: Final = "[UNK]"
_PART: Final = 1 << 15
"""Characters per call of the tokenizer."""

_CHARS_PER_TOKEN: Final = 4
"""Characters per token for a word that is one unknown token to BERT because of its length."""

_UNSEEN: Final = np.zeros(sys.maxunicode + 1, np.bool_)
for first, last in (
    *((0x80, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0000, 0xE01EF)),
):
    _UNSEEN[first : last + 1] = True
_FOREIGN: Final = 0x80
_ACCENTS: Final = range(0x300, 0x370)
_PILED: Final = re.compile("[\u0300-\u036f]{3,}")
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r"))
"""Control characters, which BERT drops but other models do not; likewise zero-width signs and stacked accents."""

_BLANKS: Final = (b" " * 8, b"\n\n\n", b"\t\t\t", b" \n \n", b"\n\r\n\r", b"\r\r\r")
_BLANK: Final = re.compile(r"\s{17,}")
_BLANKS_PER_TOKEN: Final = 16


class TokenCounter:
    """Counts tokens. Thread-safe. ``estimated``: the tokenizer is not installed."""

    def __init__(self, memo: TokenMemo | None) -> None:
        self._memo = memo
        self._tokenizer = memo.tokenizer if memo else None
        self._unknown = memo.tokenizer.token_to_id(_UNKNOWN) if memo else None
        self._last: tuple[str, Int64] = ("", np.empty(0, np.int64))

    @property
    def estimated(self) -> bool:
        """Whether counts are estimates."""
        return self._tokenizer is None

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``, in time linear in its length."""
        if self._memo is None:
            return sum(len(estimated_token_starts(part)) + _dropped_tokens(part) for part in _parts(text))
        starts, unknown = self._found(text)
        self._last = text, starts
        return len(starts) + sum(map(self._extra_tokens, unknown)) + _dropped_tokens(text)

    def starts(self, text: str) -> Int64:
        """Return ``ports.Embedder.token_starts`` of the default model; immediate for the text that was counted last.

        Must not be called if counts are ``estimated``.
        """
        last, starts = self._last
        return starts if text is last else self._found(text)[0]

    def fits(self, text: str, most: int) -> bool:
        """Return whether ``text`` has at most ``most`` tokens; fast if it is much shorter or much longer."""
        if len(text) <= most and len(text.encode("utf-8", "replace")) <= most:  # no token has less than a byte
            return True
        spent = 0
        for part in _parts(text):
            spent += self.count(part)
            if spent > most:
                return False
        return True

    def prefix(self, text: str, most: int) -> int:
        """Return the length of the longest prefix of ``text`` with at most ``most`` tokens, approximately."""
        spent = begin = 0
        for part in _parts(text):
            tokens = self.count(part)
            if spent + tokens > most:
                return begin + self._within(part, most - spent)
            spent, begin = spent + tokens, begin + len(part)
        return len(text)

    def _within(self, part: str, most: int) -> int:
        least, end = 0, len(part)
        while end - least > 1:
            middle = (least + end) // 2
            least, end = (middle, end) if self.count(part[:middle]) <= most else (least, middle)
        return least

    def _found(self, text: str) -> tuple[Int64, list[str]]:
        assert self._memo is not None
        assert self._unknown is not None
        return self._memo.starts_and_words(text, self._unknown)

    def _extra_tokens(self, part: str) -> int:
        """Return the number of extra tokens for the words that BERT does not know, beyond one each."""
        assert self._tokenizer is not None
        word, more = part.encode("utf-8", "replace").decode(), 0
        for begin in range(0, len(word), CHARS_PER_CALL):  # other threads run only between calls
            piece = word[begin : begin + CHARS_PER_CALL]
            encoding = self._tokenizer.encode(piece, add_special_tokens=False)
            spans = zip(encoding.ids, encoding.offsets, strict=True)
            more += sum(
                _tokens_of_unknown(piece[start:end]) - 1 for number, (start, end) in spans if number == self._unknown
            )
        return more


def token_counter(cache: Path) -> TokenCounter:
    """Return the counter for the models in the folder ``cache``; it estimates until they are installed."""
    folder = cache.expanduser() / "models" / DEFAULT_MODEL.replace("/", "--") / "weights"
    if folders.read_manifest(folder) is None or not (folder / TOKENIZER).is_file():
        return _ESTIMATING
    return _counter(folder)


@lru_cache(maxsize=8)
def _counter(folder: Path) -> TokenCounter:
    return TokenCounter(memo_of(folder))


_ESTIMATING = TokenCounter(None)


def _dropped_tokens(text: str) -> int:
    """Return the number of tokens for characters that BERT drops."""
    data = text.encode("utf-8", "replace")
    dropped = len(data) - len(data.translate(None, _CONTROLS))
    if len(data) != len(text):
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        foreign = codes[codes >= _FOREIGN]
        dropped += int(_UNSEEN[foreign].sum())
        if ((foreign >= _ACCENTS.start) & (foreign < _ACCENTS.stop)).any():
            dropped += sum(len(one) - 2 for one in _PILED.findall(text))
    if any(blank in data for blank in _BLANKS):
        dropped += sum(len(one) // _BLANKS_PER_TOKEN for one in _BLANK.findall(text))
    return dropped


def _tokens_of_unknown(word: str) -> int:
    return max(1, -(-len(word) // _CHARS_PER_TOKEN) if word.isascii() else len(word))


def _parts(text: str) -> Iterator[str]:
    """Split ``text`` into parts, at a space if there is one nearby."""
    start = 0
    while start < len(text):
        end = start + _PART
        if end < len(text):
            space = max(text.rfind(" ", end - 256, end), text.rfind("\n", end - 256, end))
            end = space + 1 if space > start else end
        yield text[start:end]
        start = end
