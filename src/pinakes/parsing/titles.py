"""Title rules that several formats share."""

from __future__ import annotations

import html
import re
from typing import Final

MAX_TITLE_CHARS: Final = 120
_MIN_LINE_CHARS: Final = 5
_MAX_MARKUP_CHARS: Final = 1000

_HEADING: Final = re.compile(
    r"""
    ^\ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^\ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)  # code
    | ^\ {0,3}<!--.*?(?:-->|\Z)
    | ^\ {0,3}(?P<level>\#{1,6})[ \t]+(?P<atx>[^\n]*)
    | ^(?P<setext>\S[^\n]*)\n={3,}[ \t]*$
    | ^\ {0,3}<h1\b[^<>]*>(?P<html>[^<]{0,300}(?:<(?!/h1)[^<]{0,300}){0,8})</h1>
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_IMAGE: Final = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_LINK: Final = re.compile(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG: Final = re.compile(r"</?[A-Za-z][^>]*>")
_ANCHOR: Final = re.compile(r"\s*\{[#.:][^}]*\}\s*$")
_CLOSING_HASHES: Final = re.compile(r"[ \t]+#+[ \t]*$")
_EMPHASIS: Final = re.compile(r"(\*\*|__|``?)(.+?)\1")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPACE: Final = re.compile(r"\s+")

_PLACEHOLDERS: Final = frozenset(
    (
        "(anonymous)",
        "(unspecified)",
        "(untitled)",
        "anonymous",
        "book1",
        "document",
        "document1",
        "no title",
        "none",
        "null",
        "powerpoint presentation",
        "powerpoint-präsentation",
        "presentation",
        "presentation1",
        "slide 1",
        "title",
        "unknown",
        "unspecified",
        "untitled",
        "untitled document",
        "untitled presentation",
        "workbook",
    )
)
_APPLICATION: Final = re.compile(r"^(?:microsoft (?:word|powerpoint|excel)|libreoffice \w+)\s*[-–:]\s*", re.IGNORECASE)
_FILE_SUFFIX: Final = re.compile(
    r"\.(?:pdf|docx?|odt|rtf|tex|dvi|txt|md|html?|pptx?|odp|xlsx?|ods|epub|jpe?g|png|tiff?|indd|qxd|ps)$", re.IGNORECASE
)


def markdown_title(text: str) -> str:
    """Return the first level-1 heading outside code and comments, else a heading that opens the text, else ``""``."""
    opening = ""
    for match in _HEADING.finditer(text):
        raw = match["atx"] if match["level"] == "#" else match["setext"] or match["html"]
        if raw and (title := plain(raw)):
            return title
        if match["level"] and not opening and not text[: match.start()].strip():
            opening = plain(match["atx"])
    return opening


def first_line(text: str) -> str:
    """Return the first line of at least five characters that is not a number, cut at 120, else ``""``."""
    for line in text.split("\n", 200)[:200]:
        candidate = plain(line.strip(" \t#=*-_~|>+/\\"))
        if len(candidate) >= _MIN_LINE_CHARS and any(char.isalpha() for char in candidate):
            return candidate
    return ""


def own_title(raw: str) -> str:
    """Return a title from a file's properties, cleaned; ``""`` for titles that programs fill in.

    A slug (``annual-report_2024.docx``) becomes words.
    """
    title = _APPLICATION.sub("", _SPACE.sub(" ", html.unescape(raw)).strip())
    title = _FILE_SUFFIX.sub("", title)
    if " " not in title:
        title = _SPACE.sub(" ", title.replace("_", " ").replace("-", " ")).strip()
    if title.casefold() in _PLACEHOLDERS or not any(char.isalpha() for char in title):
        return ""
    return cut(title)


def plain(markup: str) -> str:
    """Return a line of Markdown without markup."""
    text = _CLOSING_HASHES.sub("", markup.strip()[:_MAX_MARKUP_CHARS])
    text = _ANCHOR.sub("", text)
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = html.unescape(_TAG.sub("", text))
    text = _ESCAPE.sub(r"\1", _EMPHASIS.sub(r"\2", text))
    return cut(_SPACE.sub(" ", text).strip())


def cut(title: str) -> str:
    """Return ``title`` cut to 120 characters, between words if possible."""
    if len(title) <= MAX_TITLE_CHARS:
        return title
    head = title[: MAX_TITLE_CHARS - 1]
    words = head.rpartition(" ")[0]
    return (words if len(words) > MAX_TITLE_CHARS // 2 else head).rstrip(" ,;:") + "…"
