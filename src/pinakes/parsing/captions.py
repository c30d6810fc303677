"""Captions (WebVTT, SubRip): the spoken text, in paragraphs that begin with their time."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pinakes.core.records import Document
from pinakes.parsing.decode import decode
from pinakes.parsing.limits import LimitedReader

_TIMING: Final = re.compile(
    r"[ \t]*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,]\d{1,3})?"
    r"[ \t]*-->[ \t]*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,]\d{1,3})?"
)
_NUMBER: Final = re.compile(r"[ \t]*\d+[ \t]*")
_ASIDE: Final = re.compile(r"(?:STYLE|REGION|NOTE)(?:[ \t].*)?")
_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>]{1,200})>")
_TAG: Final = re.compile(r"</?[A-Za-z0-9][^<>]{0,200}>|\{\\[^{}]{0,100}\}")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？؟]['\"”’)\]»]*$")
_MAX_PARAGRAPH_CHARS: Final = 600
_PAUSE_S: Final = 4
"""Seconds of a pause that ends a paragraph after a sentence."""
_LONG_PAUSE_S: Final = 15
"""Seconds of a pause that always ends a paragraph."""


class _Cue(NamedTuple):
    """A caption: seconds from the beginning, the speaker ("" if not named), the words, the line in the file."""

    start: int
    end: int
    speaker: str
    words: str
    line: int


class Captions(LimitedReader):
    """Reads VTT and SRT. Caption numbers, styles and positions are dropped; speakers are kept."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; a file without times is read as plain text."""
        source = self._limits.check(decode(data))
        paragraphs = [(first, text) for first, text in _paragraphs(_cues(source)) if text]
        if not paragraphs:
            return Document(text=source, kind="text")
        text = "\n\n".join(text for _, text in paragraphs) + "\n"
        lines = [number for first, _ in paragraphs for number in (first, first)]
        return Document(text=self._limits.check(text), kind="text", lines=tuple(lines))


def _cues(source: str) -> Iterator[_Cue]:
    start = end = line = 0
    words: list[str] | None = None
    is_aside = False
    rows = source.split("\n")
    for number, row in enumerate([*rows, ""], 1):
        if timing := _TIMING.match(row):
            if words:
                if _NUMBER.fullmatch(words[-1]):  # the number of the next cue, without a blank line before it
                    words.pop()
                yield from _spoken(start, end, words, line)
            parts = [int(part or 0) for part in timing.groups()]
            start, end = (h * 3600 + m * 60 + s for h, m, s in (parts[:3], parts[3:]))
            words, line, is_aside = [], number, False
        elif not row.strip():
            if words:
                yield from _spoken(start, end, words, line)
                words = None
            is_aside = False
        elif words is None:
            is_aside = is_aside or bool(_ASIDE.fullmatch(row))
        elif not is_aside:
            words.append(row)


def _spoken(start: int, end: int, words: list[str], line: int) -> Iterator[_Cue]:
    """Yield one cue per speaker in a caption."""
    parts = _VOICE.split(" ".join(words))
    for speaker, spoken in zip(["", *parts[1::2]], parts[::2], strict=True):
        plain = " ".join(html.unescape(_TAG.sub("", spoken)).split())
        if plain:
            yield _Cue(start, end, " ".join(html.unescape(speaker).split()), plain, line)


def _paragraphs(cues: Iterator[_Cue]) -> Iterator[tuple[int, str]]:
    """Yield (line in the file, text) of each paragraph."""
    parts: list[str] = []
    first: _Cue | None = None
    before: _Cue | None = None
    size = 0
    for cue in cues:
        if first and before and _parted(before, cue, size):
            yield first.line, _paragraph(first, parts)
            parts, first, size = [], None, 0
        first = first or cue
        if not (before and parts and cue.words == before.words):  # rolling captions repeat words
            parts.append(_new_words(before, cue) if parts else cue.words)
            size += len(parts[-1]) + 1
        before = cue
    if first:
        yield first.line, _paragraph(first, parts)


def _parted(before: _Cue, cue: _Cue, size: int) -> bool:
    pause = cue.start - before.end
    if cue.speaker != before.speaker or pause >= _LONG_PAUSE_S or size > 2 * _MAX_PARAGRAPH_CHARS:
        return True
    return bool(_SENTENCE_END.search(before.words[-10:])) and (pause >= _PAUSE_S or size > _MAX_PARAGRAPH_CHARS)


def _new_words(before: _Cue | None, cue: _Cue) -> str:
    """Return the words of ``cue`` without those of the previous caption, which rolling captions repeat."""
    if before and cue.words.startswith(before.words + " "):
        return cue.words[len(before.words) + 1 :]
    return cue.words


def _paragraph(first: _Cue, parts: list[str]) -> str:
    minutes, seconds = divmod(first.start, 60)
    hours, minutes = divmod(minutes, 60)
    place = f"[{hours:02}:{minutes:02}:{seconds:02}] "
    speaker = f"{first.speaker}: " if first.speaker else ""
    return place + speaker + " ".join(part for part in parts if part)
