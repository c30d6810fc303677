"""Which tokens texts have, and where they start: each distinct piece of a word goes through the tokenizer once."""

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
_DROPPED_SPACE = b"\v\f"
"""Parts words to ``bytes.split``. BERT drops it, as it does NUL."""

_IS_GAP = np.isin(np.arange(256), list(string.whitespace.encode()))
_IS_MARK = np.isin(np.arange(256), list(_MARKS))

_REMEMBERED = 200_000
_REMEMBERED_BYTES = 64
"""Longer pieces hardly come again, and a line of Chinese is one."""

_CHARS_PER_CALL = 1 << 13
"""Longer pieces are cut for the tokenizer. One is a single unknown token to the model; two parts of it only count one
token too many."""

_TEXTS_TOGETHER = 64
"""So few that their words stay in the core's cache until they are looked up: with 2,048 it takes twice the time."""

_TOKEN_BYTES = 8
"""A token in memory: its id and the offset of its first character in the piece, two int32."""


class TokenMemo:
    """Finds tokens as the tokenizer does, several times faster. Safe to share between threads.

    White space parts words, as ``ports.Embedder.token_starts`` asks of every tokenizer. To BERT each ASCII mark is a
    token as well, so words are cut there: without marks and capitals 58 MB of Linux have 70,000 distinct pieces in
    place of 750,000 words. They are remembered (10 MB). A text with a token of its own kind, such as [MASK], is not
    cut at marks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._known: dict[bytes, bytes] = {}
        self._added = [token.content.encode() for token in tokenizer.get_added_tokens_decoder().values()]
        self._at_space, self._at_marks = _tables(tokenizer)
        self._mark_ids = np.zeros(256, np.int32)
        for mark in _MARKS if self._at_marks is not self._at_space else b"":
            [self._mark_ids[mark]] = tokenizer.encode(chr(mark), add_special_tokens=False).ids

    def starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: the character offset of each token of ``text``, which has no surrogates."""
        return self.starts_and_words(text, -1)[0]

    def starts_and_words(self, text: str, number: int) -> tuple[Int64, list[str]]:
        """Return the ``starts``, and the words and parts of words of ``text`` of which a token has this ``number``."""
        data = text.encode()
        spaced = self._spaced(data)
        words = spaced.split()
        tokens_of = self._tokens_of(set(words))
        found = list(map(tokens_of.__getitem__, words))
        counts = np.fromiter(map(len, found), np.int64, len(found)) // _TOKEN_BYTES
        gaps = _IS_GAP[np.frombuffer(b" " + spaced, np.uint8)]
        begins, marks = np.flatnonzero(gaps[:-1] > gaps[1:]), _marks(data, spaced)
        if not text.isascii():
            inner = np.flatnonzero(np.frombuffer(data, np.int8) < -64)  # UTF-8: bytes 128 to 191 begin no character
            begins, marks = begins - inner.searchsorted(begins), marks - inner.searchsorted(marks)
        tokens = _tokens(found)
        starts = np.concatenate([np.repeat(begins, counts) + tokens[:, 1], marks])
        starts.sort()
        having = np.repeat(np.arange(len(counts)), counts)[tokens[:, 0] == number]
        return starts, [words[place].decode() for place in np.unique(having).tolist()]

    def ids(self, texts: Sequence[str]) -> tuple[Int32, Int64]:
        """Return the tokens of all texts: ids int32 (m,) and offsets int64 (n + 1,).

        Text i has ``ids[offsets[i]:offsets[i + 1]]``, in no order. Texts have no surrogates.
        """
        data = [text.encode() for text in texts]
        spaced = [self._spaced(text) for text in data]
        tokens = []
        for first in range(0, len(data), _TEXTS_TOGETHER):
            words = [text.split() for text in spaced[first : first + _TEXTS_TOGETHER]]
            tokens_of = self._tokens_of(set(chain.from_iterable(words)))
            tokens += [b"".join(map(tokens_of.__getitem__, each)) for each in words]
        every = b"".join(data)
        marks = _marks(every, b"".join(spaced))
        return _merged(
            _tokens(tokens)[:, 0],
            _edges(tokens) // _TOKEN_BYTES,
            self._mark_ids[np.frombuffer(every, np.uint8)[marks]],
            marks.searchsorted(_edges(data)),
        )

    def _spaced(self, data: bytes) -> bytes:
        """Return ``data`` with spaces for marks and other bytes in their places, for ``bytes.split`` to cut."""
        as_one = any(map(data.__contains__, self._added))
        return data.translate(self._at_space if as_one else self._at_marks)

    def _tokens_of(self, words: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Return a mapping that has the tokens of each of the distinct ``words``."""
        known = self._known
        unknown = [word for word in words if word not in known]
        if not unknown:
            return known
        if len(known) + len(unknown) > _REMEMBERED:
            known = self._known = {}
            unknown = list(words)
        long: dict[bytes, bytes] = {}
        for word in unknown:
            (known if len(word) <= _REMEMBERED_BYTES else long)[word] = self._learned(word.decode())
        return {word: long[word] if word in long else known[word] for word in words} if long else known

    def _learned(self, word: str) -> bytes:
        """Return the id and the start of each token of ``word``."""
        found: list[tuple[int, int]] = []
        for begin in range(0, len(word), _CHARS_PER_CALL):
            encoding = self.tokenizer.encode(word[begin : begin + _CHARS_PER_CALL], add_special_tokens=False)
            found += [
                (number, begin + start) for number, (start, _) in zip(encoding.ids, encoding.offsets, strict=True)
            ]
        return np.array(found, np.int32).tobytes()


def _tables(tokenizer: Tokenizer) -> tuple[bytes | None, bytes | None]:
    """Return the tables by which ``bytes.translate`` readies texts to be cut at white space alone, and at marks too.

    The second is the first where a tokenizer does not always part words at marks.
    """
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    normalizer = tokenizer.normalizer
    if not isinstance(normalizer, BertNormalizer) or not normalizer.clean_text:
        return None, None
    at_space = bytes.maketrans(_DROPPED_SPACE, b"\0" * len(_DROPPED_SPACE))
    added = tokenizer.get_added_tokens_decoder().values()
    if not isinstance(tokenizer.pre_tokenizer, BertPreTokenizer) or any(token.normalized for token in added):
        return at_space, at_space
    capitals = string.ascii_uppercase.encode() if normalizer.lowercase else b""
    at_marks = bytes.maketrans(_MARKS + capitals, b" " * len(_MARKS) + capitals.lower())
    return at_space, at_space.translate(at_marks)


def _marks(data: bytes, spaced: bytes) -> Int64:
    """Return int64 (n,), ascending: where ``spaced`` is cut at a mark of ``data``."""
    every = np.flatnonzero(_IS_MARK[np.frombuffer(data, np.uint8)])
    marks: Int64 = every[np.frombuffer(spaced, np.uint8)[every] == ord(" ")]
    return marks


def _tokens(found: Sequence[bytes]) -> Int32:
    """Return int32 (m, 2): the id and the start of each token of pieces laid end to end."""
    return np.frombuffer(b"".join(found), np.int32).reshape(-1, 2)


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
