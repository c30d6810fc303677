"""Which tokens texts have, whatever their order: each distinct word goes through the tokenizer once."""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping, Sequence, Sized
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from pinakes.types import Int32, Int64

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MARKS = string.punctuation.encode()
_DROPPED_SPACE = b"\x0b\x0c"
"""Parts words to ``bytes.split``. The tokenizer drops it, as it does NUL."""

_REMEMBERED = 200_000
_REMEMBERED_BYTES = 64
"""Longer words hardly come again, and a line of Chinese is one."""

_TEXTS_TOGETHER = 64
"""So few that their words stay in the core's cache until they are looked up: with 2,048 it takes twice the time."""


class TokenIds:
    """Finds the tokens of texts as the tokenizer does, several times faster. Safe to share between threads.

    To BERT white space parts words, and each ASCII mark is a token. Without marks and capitals 58 MB of Linux have
    70,000 distinct words, which are remembered (9 MB). What is not so simple is left to the tokenizer, text by text.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[bytes, bytes] = {}
        self._added = [token.content.encode() for token in tokenizer.get_added_tokens_decoder().values()]
        self._without_marks = _without_marks(tokenizer)
        self._is_mark = np.isin(np.arange(256), list(_MARKS))
        self._mark_ids = np.zeros(256, np.int32)
        for mark in _MARKS if self._without_marks else b"":
            [self._mark_ids[mark]] = tokenizer.encode(chr(mark), add_special_tokens=False).ids

    def of(self, texts: Sequence[str]) -> tuple[Int32, Int64]:
        """Return the tokens of all texts, special ones left out: ids int32 (m,) and offsets int64 (n + 1,).

        Text i has ``ids[offsets[i]:offsets[i + 1]]``, in no order. Texts have no lone surrogates.
        """
        data = [text.encode() for text in texts]
        whole = {number: data[number] for number in self._not_simple(data)}
        for number in whole:
            data[number] = b""
        tokens = []
        for first in range(0, len(data), _TEXTS_TOGETHER):
            words = [text.translate(self._without_marks).split() for text in data[first : first + _TEXTS_TOGETHER]]
            tokens_of = self._tokens_of(set(chain.from_iterable(words)))
            tokens += [b"".join(map(tokens_of.__getitem__, each)) for each in words]
        tokens_of = self._tokens_of(set(whole.values()))
        for number, text in whole.items():
            tokens[number] = tokens_of[text]
        every = np.frombuffer(b"".join(data), np.uint8)
        marks = np.flatnonzero(self._is_mark[every])
        return _merged(
            np.frombuffer(b"".join(tokens), np.int32),
            _edges(tokens) // 4,
            self._mark_ids[every[marks]],
            marks.searchsorted(_edges(data)),
        )

    def _not_simple(self, data: Sequence[bytes]) -> Sequence[int]:
        """Return which texts the tokenizer has to see as a whole."""
        if self._without_marks is None:
            return range(len(data))
        together = b"".join(data)
        added = [token for token in self._added if token in together]
        return [number for number, text in enumerate(data) if any(map(text.__contains__, added))] if added else []

    def _tokens_of(self, words: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Return a mapping that has the tokens of each of the distinct ``words``, int32 in memory."""
        known = self._known
        unknown = [word for word in words if word not in known]
        if not unknown:
            return known
        if len(known) + len(unknown) > _REMEMBERED:
            known = self._known = {}
            unknown = list(words)
        long: dict[bytes, bytes] = {}
        encodings = self._tokenizer.encode_batch_fast([word.decode() for word in unknown], add_special_tokens=False)
        for word, encoding in zip(unknown, encodings, strict=True):
            (known if len(word) <= _REMEMBERED_BYTES else long)[word] = np.array(encoding.ids, np.int32).tobytes()
        return {word: long[word] if word in long else known[word] for word in words} if long else known


def _without_marks(tokenizer: Tokenizer) -> bytes | None:
    """Return the table that makes spaces of marks; None for a tokenizer that would not part words there."""
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    normalizer = tokenizer.normalizer
    simple = isinstance(normalizer, BertNormalizer) and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
    if not simple or not normalizer.clean_text:
        return None
    if any(token.normalized or not token.content for token in tokenizer.get_added_tokens_decoder().values()):
        return None
    capitals = string.ascii_uppercase.encode() if normalizer.lowercase else b""
    return bytes.maketrans(
        _MARKS + _DROPPED_SPACE + capitals, b" " * len(_MARKS) + b"\0" * len(_DROPPED_SPACE) + capitals.lower()
    )


def _edges(things: Sequence[Sized]) -> Int64:
    """Return int64 (n + 1,): where each of n things laid end to end begins, and where the last ends."""
    edges = np.zeros(len(things) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, things), np.int64, len(things)), out=edges[1:])
    return edges


def _merged(left: Int32, left_edges: Int64, right: Int32, right_edges: Int64) -> tuple[Int32, Int64]:
    """Return for each text what ``left`` has of it and then what ``right`` has, and the edges of that."""
    merged = np.empty(len(left) + len(right), np.int32)
    merged[np.arange(len(left)) + np.repeat(right_edges[:-1], np.diff(left_edges))] = left
    merged[np.arange(len(right)) + np.repeat(left_edges[1:], np.diff(right_edges))] = right
    return merged, left_edges + right_edges
