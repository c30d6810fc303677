"""Tokens of Rich Text Format (RTF), encodings of its fonts, and its symbols."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<value>-?\d{1,10})?[ ]?|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<sign>[^a-zA-Z'])"
    r"|(?P<group>[{}])|(?P<text>[^\\{}\r\n]+)"
)
_BINARY: Final = "bin"

SIGNS: Final = {
    "~": " ",
    "_": "-",
    "-": "",
    "\\": "\\",
    "{": "{",
    "}": "}",
}
SYMBOLS: Final = {
    **dict.fromkeys(("tab", "emspace", "enspace", "qmspace", "nestcell"), " "),
    "line": "\n",
    "softline": "\n",
    "lbr": "\n",
    "page": "\n",
    "column": "\n",
    "emdash": "—",
    "endash": "–",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
    "zwj": "\u200d",
    "zwnj": "\u200c",
    "zwbo": "",
    "zwnbo": "",
    "ltrmark": "",
    "rtlmark": "",
}
"""Control word → its text."""

_CODE_PAGES: Final = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
"""Character set number of a font → encoding."""


class Token(NamedTuple):
    """A control word with its value (None if it has none), a "{" or "}", a symbol, text, or a hexadecimal byte."""

    kind: str
    text: str
    value: int | None = None


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of a file, given as one character per byte; binary data is skipped."""
    at = 0
    while match := _TOKEN.search(source, at):
        at = match.end()
        kind = match.lastgroup or ""
        if kind in ("word", "value"):
            value = int(match["value"]) if match["value"] else None
            if match["word"] == _BINARY:
                at += max(value or 0, 0)
                continue
            yield Token("word", match["word"], value)
        else:
            yield Token(kind, match[kind])


def encoding_of(charset: int, otherwise: str) -> str:
    """Return the encoding of a font's character set; ``otherwise`` if the number implies none."""
    return _CODE_PAGES.get(charset, otherwise) if charset not in (1, 2) else otherwise


def encoding_called(number: int) -> str:
    """Return the encoding of a code page, that of Western Windows if it is unknown."""
    name = {10000: "mac_roman", 65001: "utf-8"}.get(number, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
