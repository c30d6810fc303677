"""Words of Markdown that marks cut: entities for letters, bold type and tags inside of a word. Code stays as it is."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_LETTERS: Final = r"[^\W\d_]{1,40}"
_TAGS: Final = "b|i|em|strong|span|u|mark|font|small"
_BEFORE: Final = rf"\*\*(?<=[^\W\d_]\*\*){_LETTERS}\*\*|\*\*{_LETTERS}\*\*(?=[^\W\d_])"
_TAGGED: Final = rf"<(?:{_TAGS})\b[^<>\n]{{0,200}}>{_LETTERS}</(?:{_TAGS})>"
_ENTITY: Final = r"&(?:#[0-9]{2,6}|#[xX][0-9a-fA-F]{2,6}|[A-Za-z]{2,31}[0-9]{0,2});"
_CODE: Final = (
    r"^[ \t>]{0,12}(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]{0,12}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|``[^\n]{1,500}?``|`[^`\n]{1,500}`"
)
_CUT: Final = tuple(re.compile(pattern) for pattern in (_BEFORE, _TAGGED, _ENTITY, "<wbr ?/?>"))
_ALL: Final = re.compile(
    rf"(?P<code>{_CODE})|(?P<entity>{_ENTITY})|(?P<bold>{_BEFORE})|(?P<tag>{_TAGGED})|(?P<break><wbr ?/?>)",
    re.MULTILINE | re.DOTALL,
)
_INNER: Final = re.compile(rf"(?:\*\*|>)({_LETTERS})")


def joined(text: str) -> str:
    """Return Markdown in which such words are whole; no line moves."""
    return _ALL.sub(_whole, text) if any(pattern.search(text) for pattern in _CUT) else text


def _whole(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "entity":
        return _character(found[0])
    if kind == "break":
        return ""
    inner = _INNER.search(found[0]) if kind in ("bold", "tag") else None
    if inner is None or (kind == "tag" and not _touches(found)):
        return found[0]
    return inner[1]


def _touches(found: re.Match[str]) -> bool:
    """Say whether a letter stands right before or behind it."""
    text = found.string
    return text[found.start() - 1 : found.start()].isalpha() or text[found.end() : found.end() + 1].isalpha()


def _character(entity: str) -> str:
    """Return the letter or digit that an entity stands for, nothing for a mark without width, else the entity."""
    char = html.unescape(entity)
    if char.isascii() or len(char) > 2:
        return entity
    if all(unicodedata.category(one) == "Cf" for one in char):
        return ""
    return char if all(one.isalnum() or unicodedata.combining(one) for one in char) else entity
