"""Bytes to clean text: encodings, newlines, control characters, and telling text from binary."""

from __future__ import annotations

import codecs
import html
import re
import unicodedata
from typing import Final

from pinakes.errors import Binary, Empty

_BOMS: Final = (  # longest first: the mark of UTF-16 LE begins that of UTF-32 LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BOMS: Final = tuple(mark for mark, _ in _BOMS)
"""What a text may begin with that is not a part of it, and tells its encoding."""

_CHARSET: Final = re.compile(rb"""<(?:meta\b[^>]*?charset|\?xml\b[^>]*?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I)
_CONTROLS: Final = bytes({*range(32), 127} - {*b"\t\n\v\f\r"})
_SPACES: Final = bytes.maketrans(b"\v\f", b"  ")
_ANSI_COLOUR: Final = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_SAMPLE_BYTES: Final = 8192
_MAX_CONTROLS: Final = 0.3
"""Largest share of control bytes in a sample that is valid UTF-8; beyond, it is binary."""
_MAX_CONTROLS_LEGACY: Final = 0.02
"""The same for a sample that is not UTF-8: compressed data has 11 %, real text next to none."""
_MAX_REPLACED: Final = 0.1
_JAPANESE_MIN_SHARE: Final = 0.3
_JAPANESE: Final = re.compile(r"[\x00-\x7f\u3000-\u30ff\u4e00-\u9fff\uff01-\uff60]*")


def decode(data: bytes, *, charset: str | None = None) -> str:
    """Return the text in ``data``: no byte-order mark, ``\\n`` newlines, no control characters but tabs.

    UTF-8 with or without a mark, UTF-16 and UTF-32 with one, then ``charset`` (what the content says of
    itself), then Windows-1252, which is Latin-1 with the characters people type.

    Raises:
        Empty: there is nothing but white space.
        Binary: it is not text.
    """
    cleaned = _cleaned(data)
    if b"\r" in cleaned:
        cleaned = cleaned.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        text = cleaned.decode("utf-8")
    except UnicodeDecodeError:
        text = _legacy(cleaned, charset)
    if not text or text.isspace():
        raise Empty("The file is empty." if not cleaned else "The file holds nothing but white space.")
    return text


def line_numbers(data: bytes) -> list[int]:
    """Return the number that each line of ``decode(data)`` has for tools to which only ``\\n`` ends a line."""
    numbers = [1]
    for end in _LINE_END.finditer(_cleaned(data)):
        numbers.append(numbers[-1] + end[0].endswith(b"\n"))
    return numbers


def declared_charset(data: bytes) -> str | None:
    """Return the encoding that HTML or XML says it has, None where it says nothing."""
    match = _CHARSET.search(data[:4096])
    return match[1].decode("ascii") if match else None


def scrub(text: str) -> str:
    """Return ``text`` as ``decode`` would: for text that a library or an escape sequence made."""
    if text.isascii() and not _has_controls(text):
        return text
    cleaned = text.encode("utf-8", "replace").translate(_SPACES, _CONTROLS)
    return cleaned.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8")


def line_of(escaped: str) -> str:
    """Return the words of an XML or HTML text, all in one line."""
    return scrub(" ".join(html.unescape(escaped).split()))


def _has_controls(text: str) -> bool:
    return len(text.encode().translate(None, _CONTROLS + b"\v\f\r")) != len(text)


def _cleaned(data: bytes) -> bytes:
    """Return ``data`` without a mark and control characters, in UTF-8 where a mark told the encoding."""
    data = _to_utf8(data)
    cleaned = data.translate(_SPACES, _CONTROLS)
    if len(cleaned) != len(data):
        _refuse_binary(data[:_SAMPLE_BYTES])
        if b"\x1b" in data:
            cleaned = _ANSI_COLOUR.sub(b"", data).translate(_SPACES, _CONTROLS)
    return cleaned


def _to_utf8(data: bytes) -> bytes:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            body = data[len(mark) :]
            if encoding == "utf-8":
                return body
            text = body.decode(encoding, "replace")
            sample = text[:_SAMPLE_BYTES]
            odd = sum(unicodedata.category(char) in ("Cn", "Co") or char == "\ufffd" for char in sample)
            if odd > len(sample) * _MAX_REPLACED + 1:
                raise _binary()
            return text.lstrip("\ufeff").encode()
    return data


def _refuse_binary(sample: bytes) -> None:
    share = (len(sample) - len(sample.translate(None, _CONTROLS))) / len(sample)
    limit = _MAX_CONTROLS if _is_utf8_start(sample) else _MAX_CONTROLS_LEGACY
    if share > limit:
        raise _binary()


def _is_utf8_start(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _binary() -> Binary:
    return Binary("The file is binary, not text.", hint="Exclude it, or convert it to a format that can be read.")


def _legacy(data: bytes, charset: str | None) -> str:
    """Decode bytes that are not UTF-8."""
    if charset:
        try:
            return data.decode(charset, "replace")
        except (LookupError, UnicodeError):  # the content names an encoding that does not exist
            pass
    damaged = data.decode("utf-8", "replace")
    bad = damaged.count("\ufffd")
    ascii_count = len(data) - len(data.translate(None, bytes(range(128))))
    good = len(damaged) - bad - ascii_count
    if bad * 4 <= good:
        return damaged  # UTF-8 with a flaw
    if len(data) - ascii_count > len(data) * _JAPANESE_MIN_SHARE:
        try:
            japanese = data.decode("cp932")
        except UnicodeDecodeError:
            pass
        else:
            # Other East Asian encodings read as Shift-JIS give half-width katakana, which this excludes.
            if _JAPANESE.fullmatch(japanese):
                return japanese
    return data.decode("cp1252", "replace")
