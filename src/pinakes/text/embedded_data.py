"""Removal of embedded data that nobody reads or searches: base64 pictures, dumps, minified code, lists of hashes.

All functions take time linear in the length of the text. Line numbers stay: removed data keeps its line breaks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from pinakes.core.records import Document, ReadingNote

_MIN_RUN_CHARS: Final = 160
"""Minimum characters of a random word that counts as data; the longest hash in use has 128."""
_MAX_TOLD_CHARS: Final = 4096
_MIN_URI_CHARS: Final = 32
_MIN_PLAIN_URI_CHARS: Final = 100
_MIN_JOINED_CHARS: Final = 60
_MIN_JOINED_LINES: Final = 3
_MIN_BLOCK_CHARS: Final = 48
_MIN_BLOCK_LINES: Final = 4
_MIN_DUMP_LINES: Final = 8
_MIN_ARRAY_LINES: Final = 32
_MIN_DECIMALS: Final = 64
_MIN_HASH_CHARS: Final = 32
_HASH_NAMES: Final = ("sha1-", "sha224-", "sha256-", "sha384-", "sha512-", "h1:")
_MIN_HASHES: Final = 100
_BETWEEN_HASHES: Final = " \t\r\n,;'\"-"
"""What stands between the hashes of a list, which are left out as one."""
_MIN_HASH_SHARE: Final = 0.2
_MIN_MINIFIED_CHARS: Final = 2000
_MAX_COMMENT_CHARS: Final = 20_000
_MAX_URL_CHARS: Final = 2000
_MAX_KEY_CHARS: Final = 20_000

_URI: Final = re.compile(
    r"\bdata:(?P<mime>[\w.+-]{1,40}/[\w.+-]{1,80})?(?P<parameters>(?:;[\w-]{1,40}(?:=[^\s;,\"'()<>]{0,100})?){0,5}),"
    r"(?:(?P<svg>\s{0,9}<svg\b(?:(?!<svg\b|</svg>)[^\"\n])*+</svg>)|(?P<payload>[^\s\"'()<>`,;\]}|]*))",
    re.IGNORECASE,
)
_URI_LINES: Final = re.compile(r"(?:\s{1,40}[A-Za-z0-9+/]{40,}={0,2})+(?:\s{1,40}[A-Za-z0-9+/]{1,39}={1,2})?")
_URI_MARKS: Final = (
    *("base64,", "BASE64,", "DATA:"),
    *(f"data:{kind}" for kind in ("image/", "font/", "audio/", "video/", "application/")),
)
"""Every text with data in an address contains one of these."""
_BINARY_TYPES: Final = ("image/", "font/", "audio/", "video/", "application/")
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHAPES: Final = {
    kind: bytes(120 if code in letters else 32 if code in blanks else 46 for code in range(256))
    for kind, letters, blanks in (
        ("run", _LETTERS + b"_-", b""),
        ("base64", _LETTERS, b""),
        ("joined", _LETTERS, b" \\"),
        ("hex", b"0123456789abcdefABCDEF", b""),
    )
}
"""Tables that mark the letters of one kind in a text as ``x``, so that long runs are found by a substring search."""
_RUN: Final = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_MIN_RUN_CHARS},}}={{0,2}}")
_JOINED: Final = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{60,200}(?:\\r\\n|\\n|[ ])){3,}[A-Za-z0-9+/]{0,200}={0,2}"
)
"""Lines of base64 that end with an escape sequence."""
_BLOCK_LINE: Final = re.compile(r"\n[ \t>#*|\"'/]{0,8}([A-Za-z0-9+/]{48,200}={0,2})[\"'\\,;+ \t]*(?=\n|\Z)")
_LAST_LINE: Final = re.compile(r"\n[ \t>#*|\"'/]{0,8}[A-Za-z0-9+/]{2,76}={0,2}[\"'\\,;+ \t]*(?=\n|\Z)")
_UUENCODED: Final = re.compile(
    r"^begin [0-7]{3,4} [^\n]{1,200}\n((?:[!-M][ -`]{1,61}[ \t]*\n)+)[` ]?[ \t]*\n?end[ \t]*$", re.MULTILINE
)
_DUMP_LINE: Final = re.compile(
    r"\n[ \t]*(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]{1,4}(?:[0-9a-fA-F]{2,8}[ \t-]{1,4}){7,16}[^\n]{0,80}(?=\n|\Z)"
)
"""These patterns begin with the preceding line break, which is searched much faster than a line start."""
_ARRAY_LINE: Final = re.compile(
    r"\n[ \t]*(?:(?:0x[0-9a-fA-F]{1,8}[uUlL]{0,3}[ \t]*,?[ \t]*){6,200}"
    r"|[\"'](?:\\x[0-9a-fA-F]{2}){6,200}[\"'][ \t]*[,;+\\]?)[ \t]*(?=\n|\Z)"
)
_DECIMAL: Final = r"-?\d{1,6}\.\d{4,20}(?:[eE][-+]?\d{1,3})?"
_ARRAY: Final = re.compile(
    rf"[\[{{]\s{{0,20}}((?:{_DECIMAL}f?[\s\])}}]{{0,20}},[\s\[({{]{{0,40}}){{{_MIN_DECIMALS},}}+"
    rf"(?:{_DECIMAL}f?(?=\s{{0,20}}[\])}}]))?)"
)
"""The fractions of an array in code, such as a vector or the points of a line."""
_ELEMENT: Final = re.compile(rf"\n[ \t]*(?:- )+\[?{_DECIMAL}(?:, {_DECIMAL}){{0,3}}\]?[ \t]*(?=\n|\Z)")
_PATH: Final = re.compile(r"\b(?:d|pathData|points)=([\"'])[MLHVCSQTAZmlhvcsqtaz\d\s.,+\-e]{200,}\1")
_MAPPINGS: Final = re.compile(
    r"mappings[\"']?\s{0,8}[:=]?\s{0,8}[\"']?((?:[A-Za-z0-9+/]{0,12}[,;]+){60,}[A-Za-z0-9+/]{0,12})"
)
_HASH: Final = re.compile(
    r"(?<![0-9A-Za-z+/])(?:sha(?:1|224|256|384|512)-[A-Za-z0-9+/]{27,90}={0,2}|h1:[A-Za-z0-9+/]{43}="
    r"|[0-9a-fA-F]{56}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128})(?![0-9A-Za-z+/=])"
    r"|^(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40})(?= [ *]\S)",
    re.MULTILINE,
)
_LONG_LINE: Final = re.compile(rf"^[^\n]{{{_MIN_MINIFIED_CHARS},}}$", re.MULTILINE)
_COMMENTS: Final = (("/*", "*/"), ("<!--", "-->"))
_MAX_LAST_COMMENT_CHARS: Final = 1002
_LAST_COMMENT: Final = re.compile(r"(?:(?<=[;})\s])|^)//.+", re.MULTILINE)
_CODE_SIGNS: Final = ";{}="
_PROSE: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+[.,:;!)]?\s+(?:\S\s+){0,3}[^\W\d_]{2,}")
"""Two words side by side, which marks of programs in comments (``#__PURE__``) are not."""
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


class EmbeddedData(NamedTuple):
    """Data of one kind: text[start:end], and its replacement."""

    start: int
    end: int
    kind: str
    mark: str


class TextWithoutData(NamedTuple):
    """A text without embedded data, and the removed data in order."""

    text: str
    findings: tuple[EmbeddedData, ...]

    def moved(self, offsets: Iterable[int]) -> tuple[int, ...]:
        """Return ``offsets`` in the original text as offsets in this text."""
        ends = [one.end for one in self.findings]
        saved = [0, *accumulate(one.end - one.start - len(one.mark) for one in self.findings)]
        return tuple(offset - saved[bisect_right(ends, offset)] for offset in offsets)


def without_embedded_data(text: str) -> TextWithoutData:
    """Return ``text`` with embedded data replaced by short marks, with the same number of lines.

    Private keys stay, for the detection of credentials.
    """
    found: list[EmbeddedData] = []
    keys = _private_keys(text)
    end = 0
    candidates = [*_uris(text), *_drawings(text), *_dumps(text), *_arrays(text), *_minified(text)]
    letters = text.encode("latin-1", "replace")
    if _count(letters, "run", _MIN_RUN_CHARS):
        candidates += _found(text, _RUN)
    if _count(letters, "joined", _MIN_JOINED_CHARS, b" ") >= _MIN_JOINED_LINES:
        candidates += _found(text, _JOINED)
    if _count(letters, "base64", _MIN_BLOCK_CHARS) >= _MIN_BLOCK_LINES:
        candidates += _line_blocks(text)
    if _count(letters, "hex", _MIN_HASH_CHARS) + sum(map(text.count, _HASH_NAMES)) >= _MIN_HASHES:
        candidates += _hashes(text)
    for one in sorted(candidates):
        if one.start >= end and not _overlaps(one, keys):
            found.append(_with_line_breaks(text, one))
            end = one.end
    if not found:
        return TextWithoutData(text, ())
    parts: list[str] = []
    position = 0
    for one in found:
        parts += [text[position : one.start], one.mark]
        position = one.end
    return TextWithoutData("".join([*parts, text[position:]]), tuple(found))


def without_data(document: Document) -> Document:
    """Return ``document`` without embedded data, with ``notes`` about it."""
    cleaned = without_embedded_data(document.text)
    if not cleaned.findings:
        return document
    notes = data_notes(document.text, cleaned.findings, document.lines)
    pages = cleaned.moved(document.pages)
    return replace(document, text=cleaned.text, pages=pages, notes=(*document.notes, *notes))


def _count(text: bytes, kind: str, length: int, end: bytes = b"") -> int:
    """Return the number of runs of this many letters of one kind in a text, before a match of ``end``."""
    return text.translate(_SHAPES[kind]).count(b"x" * length + end)


def data_notes(text: str, findings: Sequence[EmbeddedData], lines: Sequence[int] = ()) -> tuple[ReadingNote, ...]:
    """Return a note for each kind of ``findings`` in ``text``; ``lines`` are the line numbers in the file."""
    notes = []
    for kind in dict.fromkeys(one.kind for one in findings):
        ours = [one for one in findings if one.kind == kind]
        size = sum(one.end - one.start for one in ours)
        line = text.count("\n", 0, ours[0].start) + 1
        line = lines[min(line, len(lines)) - 1] if lines else line
        message = f"Left out as embedded data: {kind}, {size:,} characters."
        notes.append(ReadingNote("embedded-data", message, line, len(ours)))
    return tuple(notes)


def _with_line_breaks(text: str, one: EmbeddedData) -> EmbeddedData:
    return one._replace(mark=one.mark + "\n" * text.count("\n", one.start, one.end))


def _private_keys(text: str) -> list[tuple[int, int]]:
    """Return the ranges of private keys, in order and disjoint."""
    keys: list[tuple[int, int]] = []
    for begin in _PRIVATE_KEY.finditer(text):
        if keys and begin.start() < keys[-1][1]:
            continue
        end = text.find("-----END", begin.end(), begin.end() + _MAX_KEY_CHARS)
        keys.append((begin.start(), end if end >= 0 else begin.end() + _MAX_KEY_CHARS))
    return keys


def _overlaps(one: EmbeddedData, keys: list[tuple[int, int]]) -> bool:
    at = bisect_right(keys, (one.end, 0)) - 1
    return at >= 0 and one.start < keys[at][1]


def _uris(text: str) -> Iterator[EmbeddedData]:
    if ("data:" not in text and "DATA:" not in text) or not any(mark in text for mark in _URI_MARKS):
        return
    for match in _URI.finditer(text):
        mime, end = (match["mime"] or "").lower(), match.end()
        size = end - match.start()
        if match["parameters"].lower().endswith(";base64"):
            if lines := _URI_LINES.match(text, end):
                end = lines.end()
            is_data = end - match.start() >= _MIN_URI_CHARS
        else:
            is_data = size >= _MIN_PLAIN_URI_CHARS and mime.startswith(_BINARY_TYPES)
        if is_data:
            yield EmbeddedData(match.start(), end, "data URIs", f"data:{mime}…")


def _found(text: str, runs: re.Pattern[str]) -> Iterator[EmbeddedData]:
    for match in runs.finditer(text):
        if _is_random(match[0]) and not _is_kept(text, match):
            yield EmbeddedData(match.start(), match.end(), "base64 or hexadecimal data", "[embedded data]")


def _drawings(text: str) -> Iterator[EmbeddedData]:
    if "mappings" in text:
        for match in _MAPPINGS.finditer(text):
            if _is_mapping(match[1]):
                yield EmbeddedData(match.start(1), match.end(1), "source maps", "[embedded data]")
    if any(name in text for name in ('d="', "d='", "pathData=", "points=")):
        for match in _PATH.finditer(text):
            yield EmbeddedData(match.start(1) + 1, match.end() - 1, "drawing paths", "…")


def _is_kept(text: str, run: re.Match[str]) -> bool:
    """Return whether a long word belongs to an address, or to a token that other rules detect."""
    if run[0].startswith("eyJ"):
        return True
    if run.end() - run.start() > _MAX_URL_CHARS:
        return False
    before = text[max(0, run.start() - _MAX_URL_CHARS) : run.start()].split()
    return bool(before) and not text[run.start() - 1].isspace() and "://" in before[-1]


def _is_random(run: str) -> bool:
    """Return whether a word looks random: lower and upper case letters and digits in frequent alternation."""
    told = re.sub(r"(.)\1{3,}", r"\1", run[:_MAX_TOLD_CHARS].removeprefix("0x"))
    if len(told) < _MIN_RUN_CHARS // 2:
        return False
    kinds = [0 if char.isupper() else 1 if char.islower() else 2 if char.isdigit() else 3 for char in told]
    upper, lower, digits = (kinds.count(kind) / len(kinds) for kind in (0, 1, 2))
    changes = sum(first != second for first, second in pairwise(kinds)) / len(kinds)
    if not told.strip("0123456789abcdef") or not told.strip("0123456789ABCDEF"):
        return 0.35 <= digits <= 0.85 and changes >= 0.3
    return upper >= 0.15 and lower >= 0.15 and digits >= 0.03 and changes >= 0.45


def _is_mapping(run: str) -> bool:
    segments = re.split("[,;]+", run[:_MAX_TOLD_CHARS])
    letters = [segment for segment in segments if segment[:1].isalpha()]
    changing = sum(any(char.isupper() for char in one) for one in letters)
    return len(letters) > 0.9 * len(segments) and changing > 0.9 * len(segments) and not run.isupper()


def _line_blocks(text: str) -> Iterator[EmbeddedData]:
    for start, end in _adjacent(text, _BLOCK_LINE, _MIN_BLOCK_LINES):
        inner = "".join(_BLOCK_LINE.findall("\n" + text[start : min(end, start + _MAX_TOLD_CHARS)]))
        if _is_random(inner):
            last = _LAST_LINE.match(text, end)
            yield EmbeddedData(start, last.end() if last else end, "base64 or hexadecimal data", "[embedded data]")


def _dumps(text: str) -> Iterator[EmbeddedData]:
    if "begin " in text:
        for match in _UUENCODED.finditer(text):
            yield EmbeddedData(match.start(1), match.end(1), "uuencoded data", "[embedded data]")
    for start, end in _adjacent(text, _DUMP_LINE, _MIN_DUMP_LINES):
        yield EmbeddedData(start, end, "dumps of bytes", "[embedded data]")
    if "0x" in text or "\\x" in text:
        for start, end in _adjacent(text, _ARRAY_LINE, _MIN_ARRAY_LINES):
            yield EmbeddedData(start, end, "dumps of bytes", "[embedded data]")


def _arrays(text: str) -> Iterator[EmbeddedData]:
    """Yield long arrays of fractions with many decimals."""
    if text.count(",") >= _MIN_DECIMALS:
        for match in _ARRAY.finditer(text):
            yield EmbeddedData(*match.span(1), "arrays of numbers", "[embedded data]")
    if text.count("- ") >= _MIN_DECIMALS:
        for start, end in _adjacent(text, _ELEMENT, _MIN_DECIMALS):
            yield EmbeddedData(start, end, "arrays of numbers", "[embedded data]")


def _adjacent(text: str, line: re.Pattern[str], least: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of at least ``least`` consecutive lines of one form."""
    if text.count("\n") < least - 1:
        return
    start = end = count = 0
    for match in line.finditer(f"\n{text}"):  # so the start of a match is the start of its line in ``text``
        if match.start() != end + 1 or count == 0:
            if count >= least:
                yield start, end
            start, count = match.start(), 0
        end = match.end() - 1
        count += 1
    if count >= least:
        yield start, end


def _minified(text: str) -> Iterator[EmbeddedData]:
    """Yield minified code in long lines, without the comments there that are text."""
    if len(text) < _MIN_MINIFIED_CHARS or max(map(len, text.split("\n"))) < _MIN_MINIFIED_CHARS:
        return
    lines = [match.span() for match in _LONG_LINE.finditer(text) if _is_minified(match[0])]
    comments = sorted((*_comments(text), *_last_comments(text, lines))) if lines else []
    for start, end in lines:
        begin = start
        for first, last in comments[bisect_right(comments, (start - _MAX_COMMENT_CHARS - 7, 0)) :]:
            if first >= end:
                break
            yield from _minified_code(text, begin, first)
            begin = max(begin, last)
        yield from _minified_code(text, begin, end)


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of comments that are text; the marks of one may also stand in strings of the code."""
    for mark, close in _COMMENTS:
        end = 0
        begin = text.find(mark)
        while begin >= 0 and (end := end if end >= begin + len(mark) else text.find(close, begin + len(mark))) >= 0:
            if _is_minified(text[begin : min(end, begin + _MAX_COMMENT_CHARS)]):
                begin = text.rfind(mark, begin, end)
            is_comment = end - begin <= _MAX_COMMENT_CHARS and not _is_minified(text[begin:end])
            if is_comment and _PROSE.search(text, begin, end):
                yield begin, end + len(close)
            begin = text.find(mark, end)


def _last_comments(text: str, lines: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the range of the comment that ends a line, if it is text."""
    for start, end in lines:
        start = max(start, end - _MAX_LAST_COMMENT_CHARS)
        start = max(start, *(text.rfind(sign, start, end) + 1 for sign in _CODE_SIGNS))
        found = _LAST_COMMENT.search(text, start, end)
        if found and _PROSE.search(found[0]):
            yield found.span()


def _minified_code(text: str, start: int, end: int) -> Iterator[EmbeddedData]:
    if text[start:end].strip():
        yield EmbeddedData(start, end, "minified code", "[minified code]")


def _is_minified(line: str) -> bool:
    told = line[: 4 * _MAX_TOLD_CHARS]
    spaces = sum(map(told.count, " \t"))
    signs = sum(map(told.count, "{}();:,=.&|!?"))
    if spaces > 0.1 * len(told) or signs < 0.1 * len(told):
        return False
    code = told.count("function") + told.count("=>") + told.count("){") + told.count("return ")
    rules = min(told.count("{"), told.count("}"), told.count(":"))
    return code >= 5 or rules >= len(told) / 150


def _hashes(text: str) -> Iterator[EmbeddedData]:
    found = list(_HASH.finditer(text))
    if len(found) < _MIN_HASHES or sum(len(one[0]) for one in found) < _MIN_HASH_SHARE * len(text):
        return
    start, end = found[0].span()
    for match in found[1:]:
        if text[end : match.start()].strip(_BETWEEN_HASHES):
            yield EmbeddedData(start, end, "hashes", "…")
            start = match.start()
        end = match.end()
    yield EmbeddedData(start, end, "hashes", "…")
