"""Decodes bytes to clean text: encodings, newlines, control characters; rejects binary data."""

from __future__ import annotations

import codecs
import contextlib
import html
import re
import unicodedata
from typing import Final

from pinakes.core.errors import Binary, Empty, Unreadable
from pinakes.core.records import ReadingNote
from pinakes.parsing.encodings import guess, is_ebcdic, known_encoding, shifting_encoding, wide_encoding

_BOMS: Final = (  # longest first: the UTF-16 LE mark is a prefix of the UTF-32 LE mark
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BOMS: Final = tuple(mark for mark, _ in _BOMS)
"""Byte-order marks."""

_CHARSET: Final = re.compile(rb"""<(?:meta\b[^>]*?charset|\?xml\b[^>]*?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I)
"""What HTML and XML say about the encoding."""
_IN_COMMENT: Final = re.compile(
    rb"""\A@charset\s+["']([\w.:-]{2,40})["']"""
    rb"""|-\*-[^\n]{0,80}?(?<!\w)coding\s*[:=]\s*([\w.:-]{2,40}?)(?:-(?:unix|dos|mac))?(?![\w.:-])"""
    rb"""|\bvim?:[^\n]{0,80}?(?<!\w)(?:fenc|fileencoding)=([\w.:-]{2,40})"""
    rb"""|\A(?:\#[^\n]*\n)?\#[^\n]{0,80}?(?<!\w)coding[:=][ \t]*([\w.:-]{2,40})"""
    rb"""|^%[ \t]*(?:!TEX[ \t]+)?encoding[ \t]*[:=][ \t]*([\w.:-]{2,40})[ \t]*\r?$"""
    rb"""|^"Content-Type:[^\n]{0,80}?;[ \t]*charset=([\w.:-]{2,40})"""
    rb"""|^[^%\n]{0,200}?\\usepackage[ \t]*\[(?:\w+,\s*)*([\w-]{2,40})\]\s*\{inputenc\}""",
    re.IGNORECASE | re.MULTILINE,
)
"""What CSS, Emacs, Vim, Python, TeX, translations (PO) and LaTeX write about it, in forms that prose has not."""
_OF_LATEX: Final = {"ansinew": "cp1252", "applemac": "mac_roman", "maccyr": "mac_cyrillic", "cp437de": "cp437"}
_CONTROLS: Final = bytes({*range(32), 127} - {*b"\t\n\v\f\r"})
_SPACES: Final = bytes.maketrans(b"\v\f", b"  ")
_ANSI_COLOUR: Final = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
_SURELY: Final = 6
_PART: Final = re.compile(rb"(?=[\n<])")
"""The start of a line or element; no encoding has these bytes within a character."""
_CUT_OFF: Final = re.compile(rb"(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})\s*\Z")
"""The beginning of a character of UTF-8 at the end of a part."""
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_SAMPLE_BYTES: Final = 8192
_MAX_CONTROLS: Final = 0.3
"""Maximum share of control bytes in a valid UTF-8 sample; above, it is binary."""
_MAX_CONTROLS_LEGACY: Final = 0.02
"""The same for a sample that is not UTF-8: compressed data has 11 %, text almost none."""
_MAX_REPLACED: Final = 0.1
_DOUBTFUL: Final = "doubtful-encoding"


def decode(data: bytes, *, charset: str | None = None) -> str:
    """Return the text in ``data`` without byte-order mark and control characters except tabs, with ``\\n`` newlines.

    Raises:
        Empty: there is only white space.
        Binary: it is not text.
        Unreadable: its encoding is not supported.
    """
    cleaned = _cleaned(data, charset)
    if b"\r" in cleaned:
        cleaned = cleaned.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = cleaned.decode("utf-8", "replace")
    if not text or text.isspace():
        raise Empty("The file is empty." if not cleaned else "The file holds nothing but white space.")
    return text


def to_utf8(data: bytes, charset: str | None = None) -> tuple[bytes, tuple[ReadingNote, ...]]:
    """Return the text ``data`` in UTF-8 without a byte-order mark, and a note if its encoding is uncertain.

    The encoding is determined by a byte-order mark, then by whether it is UTF-8, then by ``charset`` (declared by the
    content) if that is possible, then by which encoding yields likely words.

    Raises:
        Binary: it is not text.
        Unreadable: its encoding is not supported.
    """
    if data.isascii() and b"~{" not in data and len(data.translate(None, _CONTROLS)) == len(data):
        return data, ()
    for mark, marked in _BOMS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], marked), ()
    is_utf8 = _is_utf8(data)
    if stateful := wide_encoding(data) or (shifting_encoding(data) if is_utf8 else None):
        return data.decode(stateful, "replace").lstrip("\ufeff").encode(), ()
    if is_utf8:
        return data, ()
    if declared := known_encoding(charset):
        with contextlib.suppress(UnicodeError):
            return _composed(data.decode(declared), declared).lstrip("\ufeff").encode("utf-8", "replace"), ()
    is_declared = declared == "utf-8"
    if _is_damaged_utf8(data, is_declared=is_declared) or (
        is_declared and any(map(_is_surely_utf8, _PART.split(data)))
    ):
        return _in_parts(data)
    if is_ebcdic(data):
        raise Unreadable(
            "The file is text in EBCDIC, an encoding of mainframes, which is not read.", hint="Convert it to UTF-8."
        )
    _refuse_binary(data[:_SAMPLE_BYTES])
    found = guess(data)
    text = _composed(data.decode(found.encoding, "replace"), found.encoding)
    return text.encode("utf-8", "replace"), () if found.sure else (_doubt(found.encoding, text),)


def _in_parts(data: bytes) -> tuple[bytes, tuple[ReadingNote, ...]]:
    """Return UTF-8 with errors as UTF-8: its lines and elements in another encoding are read as that one."""
    parts = _PART.split(data)
    others = [at for at, part in enumerate(parts) if _is_of_other_encoding(part)]
    rest = b"\n".join(parts[at] for at in others)
    encoding = guess(rest).encoding if others else "utf-8"
    for at in others if _decodes(rest, encoding) else ():
        parts[at] = _composed(parts[at].decode(encoding), encoding).encode()
    text = b"".join(parts).decode("utf-8", "replace")
    notes = []
    if text.count("\ufffd") < data.decode("utf-8", "replace").count("\ufffd"):
        at = 1 + sum(part.startswith(b"\n") for part in parts[: others[0] + 1])
        notes.append(ReadingNote(_DOUBTFUL, f"Parts of the file are not UTF-8; they were read as {encoding}.", at))
    if "\ufffd" in text:
        at = 1 + text[: text.index("\ufffd")].count("\n")
        notes.append(ReadingNote(_DOUBTFUL, "Some bytes are not UTF-8; they were read as U+FFFD.", at))
    return text.encode(), tuple(notes)


def _is_surely_utf8(part: bytes) -> bool:
    """Return whether a part is UTF-8 with so many characters that they cannot be those of another encoding."""
    return not part.isascii() and _is_utf8(part) and sum(char > "\x7f" for char in part.decode()) >= _SURELY


def _is_of_other_encoding(part: bytes) -> bool:
    """Return whether a part has more errors than characters of UTF-8, apart from a character that is cut off."""
    damaged = part.decode("utf-8", "replace")
    foreign = sum(not char.isascii() for char in damaged)
    bad = damaged.count("\ufffd")
    return bad > foreign - bad and not _CUT_OFF.search(part)


def _composed(text: str, encoding: str) -> str:
    """Return text with letters and tones as one character, which Vietnamese in Windows-1258 writes as two."""
    return unicodedata.normalize("NFC", text) if encoding == "cp1258" else text


def line_numbers(data: bytes) -> list[int]:
    """Return the number of each line of ``decode(data)`` for tools that end lines only at ``\\n``."""
    numbers = [1]
    for end in _LINE_END.finditer(_cleaned(data)):
        numbers.append(numbers[-1] + end[0].endswith(b"\n"))
    return numbers


def declared_charset(data: bytes) -> str | None:
    """Return the encoding that a text declares, None if it declares none."""
    head = data[:4096]
    match = _CHARSET.search(head) or _IN_COMMENT.search(head)
    name = match[match.lastindex or 0].decode("ascii").lower() if match else ""
    name = _OF_LATEX.get(name, name)
    is_wide = (known_encoding(name) or "").startswith(("utf-16", "utf-32"))  # it was read byte by byte
    return None if is_wide else name or None


def scrub(text: str) -> str:
    """Return ``text`` cleaned as by ``decode``, for text from a library or an escape sequence."""
    if text.isascii() and not _has_controls(text):
        return text
    cleaned = text.encode("utf-8", "replace").translate(_SPACES, _CONTROLS)
    return cleaned.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8")


def line_of(escaped: str) -> str:
    """Return the unescaped text of XML or HTML on one line."""
    return scrub(" ".join(html.unescape(escaped).split()))


def _has_controls(text: str) -> bool:
    return len(text.encode().translate(None, _CONTROLS + b"\v\f\r")) != len(text)


def _cleaned(data: bytes, charset: str | None = None) -> bytes:
    """Return ``data`` in UTF-8, without byte-order mark and control characters."""
    data, _ = to_utf8(data, charset)
    cleaned = data.translate(_SPACES, _CONTROLS)
    if len(cleaned) != len(data):
        _refuse_binary(data[:_SAMPLE_BYTES])
        if b"\x1b" in data:
            cleaned = _ANSI_COLOUR.sub(b"", data).translate(_SPACES, _CONTROLS)
    return cleaned


def _marked(body: bytes, encoding: str) -> bytes:
    """Return the text after a byte-order mark, in UTF-8."""
    if encoding == "utf-8":
        return body
    text = body.decode(encoding, "replace")
    sample = text[:_SAMPLE_BYTES]
    odd = sum(unicodedata.category(char) in ("Cn", "Co") or char == "\ufffd" for char in sample)
    if odd > len(sample) * _MAX_REPLACED + 1:
        raise _binary()
    return text.lstrip("\ufeff").encode()


def _doubt(encoding: str, text: str) -> ReadingNote:
    line = next((number for number, row in enumerate(text.split("\n"), 1) if not row.isascii()), None)
    return ReadingNote(
        _DOUBTFUL,
        f"The encoding cannot be told for certain; it was read as {encoding}. Save the file as UTF-8.",
        line,
    )


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


def _is_utf8(data: bytes) -> bool:
    return _decodes(data, "utf-8")


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_damaged_utf8(data: bytes, *, is_declared: bool) -> bool:
    """Return whether ``data`` is UTF-8 with a few errors, or, if it declares UTF-8, with fewer errors than letters."""
    damaged = data.decode("utf-8", "replace")
    bad = damaged.count("\ufffd")
    ascii_count = len(data) - len(data.translate(None, bytes(range(128))))
    return bad * (1 if is_declared else 4) <= len(damaged) - bad - ascii_count
