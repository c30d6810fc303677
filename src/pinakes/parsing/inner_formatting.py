"""Restores words that formatting splits in reStructuredText and AsciiDoc. Line numbers do not change."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import Final

from pinakes.parsing.scripts import scripted

_LETTER: Final = r"[^\W\d_]"
_WORD: Final = rf"{_LETTER}{{1,40}}"
_SHORT: Final = r"[\w+\-=()]{1,20}"
_RST: Final = re.compile(
    r"(?P<kept>``[^`\n]*``)"
    rf"|(?:(?<=[^\W_])\\[ ])?:(?P<role>sub|sup|subscript|superscript):`(?P<script>{_SHORT})`(?:\\[ ](?=\w))?"
    rf"|(?P<opened>(?<=\w)\\[ ])?(?P<star>\*\*?)(?P<word>{_WORD})(?P=star)(?(opened)(?:\\[ ](?=\w))?|\\[ ](?=\w))"
)
_ASCIIDOC: Final = re.compile(
    r"`[^`\n]+`|\+{1,3}[^+\n]+\+{1,3}"
    r"|\b\w[\w.+-]{0,30}://[^\s\[]*|\{[\w-]{1,100}\}(?:/\S*)?|<<[^>,\n]{1,300}|\[\[[^\]\n]{1,300}"  # addresses
    r"|\b(?:pass|stem|latexmath|asciimath):[\w,]{0,20}\[[^\]\n]{0,500}|\b\w{1,30}::?[^\s\[]{0,300}\["  # macros
    rf"|(?<={_LETTER})(?P<after>\*\*|__|\#\#)(?P<end>{_WORD})(?P=after)"
    rf"|(?P<before>\*\*|__|\#\#)(?P<start>{_WORD})(?P=before)(?={_LETTER})"
    r"|(?P<entity>&(?:#\d{2,6}|#x[\da-fA-F]{2,5}|[A-Za-z]\w{1,30});)"
    rf"|(?<=\w)(?P<sign>[~^])(?P<script>{_SHORT})(?P=sign)"
)
_FENCE: Final = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,})|(`{3,})[\w+#,.-]*")
_ATTRIBUTE: Final = re.compile(r":!?\w[^:]*:(?:\s.*)?")
_ABOVE_BLOCK: Final = re.compile(r"\+|\[.*\]|\.[^\s.].*|//.*")
_LISTING: Final = re.compile(r"\[(?:(?:source|listing|literal|pass|stem|latexmath|asciimath)\b|,).*\]")
_INDENTED: Final = re.compile(r"[ \t]++(?!(?:[*.-]{1,5}|(?:\d{1,5}|[a-zA-Z])[.)]|<\w{1,5}>)[ \t]|[|])(?!.*::(?:\s|\Z))")
_TITLE: Final = re.compile(r"(?![.\[:*/|<+-])(?=.*\w).*(?<!\])")
_FURTHEST: Final = 2
"""Difference in length of an old-style title of AsciiDoc and its underline."""

_DIRECTIVE: Final = re.compile(r"[ \t]*\.\. (?:\|[^|]+\| )?([\w:.+-]+)::(?:\s|\Z)")
_PROSE: Final = re.compile(
    r"admonition|attention|caution|danger|error|hint|important|note|tip|warning|seealso|todo|topic|sidebar|rubric"
    r"|container|compound|epigraph|highlights|pull-quote|figure|table|list-table|csv-table|replace|header|footer"
    r"|only|version\w+|deprecated|centered|glossary|(?:\w+:)?(?:function|class|method|module|attribute|data|option)"
)
"""Directives of reStructuredText that contain paragraphs. The content of the others stays."""
_BULLET: Final = re.compile(r"[ \t]*(?:(?:[-*+]|(?:\d{1,5}|[a-zA-Z\#])[.)])[ \t]+)?")


def whole_words_of_rst(text: str) -> str:
    """Return reStructuredText without the marks of formatting within a word; superscripts are characters.

    Literal blocks and the content of directives without paragraphs stay.
    """
    if "\\ " not in text and ":su" not in text:
        return text
    lines, kept_from = list[str](), -1  # the column after which lines belong to the block that stays
    for line in text.split("\n"):
        bare = line.strip()
        if bare and len(line) - len(line.lstrip()) <= kept_from:
            kept_from = -1
        if kept_from >= 0 or bare.startswith(">>>"):
            lines.append(line)
            continue
        directive = _DIRECTIVE.match(line)
        stays = bool(directive and not _PROSE.fullmatch(directive[1]))
        if stays or (bare.endswith("::") and not directive):
            bullet = _BULLET.match(line)
            kept_from = bullet.end() if bullet else 0
        lines.append(line if stays else _RST.sub(_of_rst, line))
    return "\n".join(lines)


def whole_words_of_asciidoc(text: str) -> str:
    """Return AsciiDoc without the marks of formatting within a word; superscripts are characters.

    Listings, literal paragraphs, attributes, addresses and targets of macros stay.
    """
    lines, fence, listing, literal = list[str](), "", False, False
    before, above = "", ""  # the last line, and the line above it
    for line in text.split("\n"):
        bare = line.rstrip()
        found = _FENCE.fullmatch(bare)
        literal = literal and bool(bare)
        stays = True
        if fence:
            fence = "" if bare == fence else fence
        elif literal:
            pass
        elif (found and not _is_underline(bare, before, above)) or (listing and bare == "--"):
            fence, listing = (found[1] or found[2] if found else bare), False
        elif _LISTING.fullmatch(bare):
            listing = True
        elif _ABOVE_BLOCK.fullmatch(bare) and listing:
            pass
        elif bare and (listing or (_begins(before) and _INDENTED.match(line))):
            literal, listing = True, False
        else:
            stays = bool(_ATTRIBUTE.fullmatch(bare))
        lines.append(line if stays else _ASCIIDOC.sub(_of_asciidoc, line))
        before, above = bare, before
    return "\n".join(lines)


def _begins(before: str) -> bool:
    """Return whether a block begins after the line ``before``."""
    return not before or bool(_ABOVE_BLOCK.fullmatch(before) or _ATTRIBUTE.fullmatch(before))


def _is_underline(line: str, before: str, above: str) -> bool:
    """Return whether ``line`` underlines the title ``before``, and does not open a listing."""
    near = line[0] in "-+" and abs(len(line) - len(before)) <= _FURTHEST
    return near and _begins(above) and bool(_TITLE.fullmatch(before))


def _of_rst(found: re.Match[str]) -> str:
    if script := found["script"]:
        before = found.string[max(0, found.start() - 40) : found.start()]
        return scripted(script, "super" if found["role"].startswith("sup") else "sub", before)
    return found["word"] or found[0]


def _of_asciidoc(found: re.Match[str]) -> str:
    if script := found["script"]:
        before = found.string[max(0, found.start() - 40) : found.start()]
        return scripted(script, "super" if found["sign"] == "^" else "sub", before)
    if entity := found["entity"]:
        char = unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)
        return entity if char in "<>&" or char in "\r\n" else char
    return found["end"] or found["start"] or found[0]
