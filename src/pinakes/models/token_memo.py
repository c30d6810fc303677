"""A tokenizer cache: each distinct piece of a word is tokenized once."""

from __future__ import annotations

import string
from collections.abc import Sequence, Sized
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pinakes.core.records import Int32, Int64
from pinakes.models import runtime

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MARKS = string.punctuation.encode()
_DROPPED_SPACE = b"\v\f"
"""Separators for ``bytes.split``. BERT drops them, as it does NUL."""

_GAPS = bytes(byte in string.whitespace.encode() for byte in range(256))
_IS_MARK = bytes(byte in _MARKS for byte in range(256))

_REMEMBERED = 200_000
_REMEMBERED_BYTES = 64
"""Longer pieces are not cached: they rarely recur; a line of Chinese is one."""

CHARS_PER_CALL = 1 << 13
"""Longer pieces are split for the tokenizer, which blocks other threads. To the model such a piece is a single unknown
token; splitting it counts only one token more per part."""

_TOKEN_BYTES = 8
"""Size of a token in memory: its id and the offset of its first character in the piece, two int32."""


class TokenMemo:
    """Tokenizes like the tokenizer, several times faster. Safe to share between threads.

    White space separates words, as ``ports.Embedder.token_starts`` requires of every tokenizer. For BERT each ASCII
    punctuation mark is also a token, so words are split there: without marks and capitals, 58 MB of Linux have 70,000
    distinct pieces instead of 750,000 words. They are cached (10 MB). A text with an added token such as [MASK] is not
    split at marks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._known = _Known(tokenizer)
        self._added = [token.content.encode() for token in tokenizer.get_added_tokens_decoder().values()]
        self._at_space, self._at_marks = _tables(tokenizer)
        self._mark_ids = np.zeros(256, np.int32)
        for mark in _MARKS if self._at_marks is not self._at_space else b"":
            [self._mark_ids[mark]] = tokenizer.encode(chr(mark), add_special_tokens=False).ids

    def starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: the character offset of each token of ``text``."""
        return self.starts_and_words(text, -1)[0]

    def starts_and_words(self, text: str, number: int) -> tuple[Int64, list[str]]:
        """Return ``starts``, and the words and parts of words of ``text`` for which a token has the id ``number``."""
        data = text.encode("utf-8", "replace")
        spaced = self._spaced(data)
        words = spaced.split()
        found = list(map(self._learned().__getitem__, words))
        counts = np.fromiter(map(len, found), np.int64, len(found)) // _TOKEN_BYTES
        gaps = np.frombuffer(b"\1" + spaced.translate(_GAPS), np.bool_)
        begins, marks = np.flatnonzero(gaps[:-1] > gaps[1:]), _marks(data, spaced)
        if not text.isascii():
            inner = np.flatnonzero(np.frombuffer(data, np.int8) < -64)  # UTF-8: bytes 128 to 191 begin no character
            begins, marks = begins - inner.searchsorted(begins), marks - inner.searchsorted(marks)
        tokens = _tokens(found)
        starts = np.concatenate([np.repeat(begins, counts) + tokens[:, 1], marks])
        starts.sort()
        same = tokens[:, 0] == number
        having = np.repeat(np.arange(len(counts)), counts)[same] if same.any() else counts[:0]
        return starts, [words[place].decode() for place in np.unique(having).tolist()]

    def ids(self, texts: Sequence[str]) -> tuple[Int32, Int64]:
        """Return the tokens of all texts: ids int32 (m,) and offsets int64 (n + 1,).

        Text i has ``ids[offsets[i]:offsets[i + 1]]``; their order is undefined. Texts must not contain surrogates.
        """
        data = [text.encode() for text in texts]
        spaced = [self._spaced(text) for text in data]
        tokens_of = self._learned().__getitem__
        tokens = [b"".join(map(tokens_of, text.split())) for text in spaced]
        every = b"".join(data)
        marks = _marks(every, b"".join(spaced))
        return _merged(
            _tokens(tokens)[:, 0],
            _edges(tokens) // _TOKEN_BYTES,
            self._mark_ids[np.frombuffer(every, np.uint8)[marks]],
            marks.searchsorted(_edges(data)),
        )

    def _spaced(self, data: bytes) -> bytes:
        """Return ``data`` with separators replaced by spaces, to be split by ``bytes.split``."""
        as_one = any(map(data.__contains__, self._added))
        return data.translate(self._at_space if as_one else self._at_marks)

    def _learned(self) -> _Known:
        """Return the cache of pieces, cleared if it has grown too large."""
        if len(self._known) > _REMEMBERED:
            self._known = _Known(self.tokenizer)
        return self._known


def memo_of(folder: Path) -> TokenMemo:
    """Return the tokenizer cache for a model's folder, shared by all callers.

    Raises:
        ModelCorrupt: the tokenizer cannot be read.
    """
    path = folder / runtime.TOKENIZER
    return _memo_of(folder, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=8)
def _memo_of(folder: Path, _changed_ns: int) -> TokenMemo:
    return TokenMemo(runtime.open_tokenizer(folder))


class _Known(dict[bytes, bytes]):
    """Cache of piece → id and start of each of its tokens, filled on access."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __missing__(self, piece: bytes) -> bytes:
        word = piece.decode()
        found: list[tuple[int, int]] = []
        for begin in range(0, len(word), CHARS_PER_CALL):
            encoding = self._tokenizer.encode(word[begin : begin + CHARS_PER_CALL], add_special_tokens=False)
            found += [
                (number, begin + start) for number, (start, _) in zip(encoding.ids, encoding.offsets, strict=True)
            ]
        tokens = np.array(found, np.int32).tobytes()
        if len(piece) <= _REMEMBERED_BYTES:
            self[piece] = tokens
        return tokens


def _tables(tokenizer: Tokenizer) -> tuple[bytes | None, bytes | None]:
    """Return the ``bytes.translate`` tables that prepare texts for splitting at white space, and also at marks.

    Both are the same if the tokenizer does not always split words at marks.
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
    """Return int64 (n,), ascending: where ``spaced`` is split at a mark of ``data``."""
    every = np.flatnonzero(np.frombuffer(data.translate(_IS_MARK), np.bool_))
    marks: Int64 = every[np.frombuffer(spaced, np.uint8)[every] == ord(" ")]
    return marks


def _tokens(found: Sequence[bytes]) -> Int32:
    """Return int32 (m, 2): id and start of each token of the concatenated pieces."""
    return np.frombuffer(b"".join(found), np.int32).reshape(-1, 2)


def _edges(things: Sequence[Sized]) -> Int64:
    """Return int64 (n + 1,): the start of each of n concatenated items, and the end of the last."""
    edges = np.zeros(len(things) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, things), np.int64, len(things)), out=edges[1:])
    return edges


def _merged(left: Int32, left_edges: Int64, right: Int32, right_edges: Int64) -> tuple[Int32, Int64]:
    """Return for each text its part of ``left`` followed by its part of ``right``, and the new edges."""
    merged = np.empty(len(left) + len(right), np.int32)
    merged[np.arange(len(left)) + np.repeat(right_edges[:-1], np.diff(left_edges))] = left
    merged[np.arange(len(right)) + np.repeat(left_edges[1:], np.diff(right_edges))] = right
    return merged, left_edges + right_edges
