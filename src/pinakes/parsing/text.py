"""Plain text, reStructuredText, AsciiDoc, LaTeX and calendars: the text with words whole, and its title."""

from __future__ import annotations

import quopri
import re
from typing import Final

from pinakes.core.errors import Binary, Unreadable
from pinakes.core.records import Document
from pinakes.parsing.code import language_of_script
from pinakes.parsing.decode import decode, to_utf8
from pinakes.parsing.escapes import unescaped_log, unescaped_po, unescaped_properties
from pinakes.parsing.inner_formatting import whole_words_of_asciidoc, whole_words_of_rst
from pinakes.parsing.latex_letters import with_letters
from pinakes.parsing.limits import LimitedReader
from pinakes.parsing.titles import cut, first_line, plain

_CONFIGURATION: Final = (".ini", ".cfg", ".conf", ".properties")
_PROSE: Final = (".txt", ".text")
_TRANSLATIONS: Final = (".po", ".pot")
_ADORNMENT: Final = r"[=\-`:'\"~^_*+#<>.]"
_RST_TITLE: Final = re.compile(
    rf"^(?:(?P<over>(?P<o>{_ADORNMENT})(?P=o){{2,}})[ \t]*\n)?"
    rf"(?P<title>[ \t]*[^\s][^\n]*)\n(?P<under>(?P<u>{_ADORNMENT})(?P=u){{1,}})[ \t]*$",
    re.MULTILINE,
)
_ABOVE_ASCIIDOC_TITLE: Final = re.compile(
    r"""
    (?:---[ \t]*\n.*?\n---[ \t]*\n)?  # front matter
    (?:
      [ \t]*\n
      | (?P<fence>/{4,}|-{4,}|\.{4,})[ \t]*\n(?:.*?\n)??(?P=fence)[ \t]*(?:\n|\Z)  # comments and listings
      | //(?!/)[^\n]*(?:\n|\Z)
      | :[^\s:][^:\n]{0,100}:(?:[ \t](?:[^\n]*[ ]\\\n)*[^\n]*)?(?:\n|\Z)  # attributes
      | \[{1,2}[^\]\n]*\]{1,2}[ \t]*\n
      | (?:include|ifn?def|ifeval|endif)::[^\n]*(?:\n|\Z)
    )*
    """,
    re.VERBOSE | re.DOTALL,
)
_ASCIIDOC_TITLE: Final = re.compile(r"[=#][ \t]+(\S[^\n]*)|(\S[^\n]*)\n={3,}[ \t]*$", re.MULTILINE)
_LATEX_COMMENT: Final = re.compile(r"(?<!\\)%[^\n]*\n?")
_LATEX_TITLE: Final = re.compile(
    r"\\title\s*(?:\[[^\]\n]{0,200}\]\s*)?\{((?:[^{}]|\{(?:[^{}]|\{[^{}]{0,200}\}){0,200}\}){1,500})\}"
)
_LATEX_COMMAND: Final = re.compile(r"\\[A-Za-z]+\*?|\\\\|[{}~$]|\s+")
_HEAD_CHARS: Final = 20_000
_RST_ROLE: Final = re.compile(r":[\w:+.-]+:`([^`<]+?)(?:\s*<[^`>]*>)?`")
_RST_LITERAL: Final = re.compile(r"``([^`]+)``|`([^`<]+?)(?:\s*<[^`>]*>)?`_{0,2}")

_FOLDED_LINES: Final = re.compile(r"^[A-Za-z][^\n]*(?:\n[ \t][^\n]*)+", re.MULTILINE)
"""A line of a calendar that goes on in the next lines, which begin with a blank that does not count."""
_QUOTED_PRINTABLE: Final = re.compile(
    r"^([A-Za-z][^:\n]{0,80});(?:ENCODING=)?QUOTED-PRINTABLE([^:\n]{0,80}):([^\n]*(?:(?<==)\n[^\n]*)*)",
    re.MULTILINE | re.IGNORECASE,
)
_CARD_CHARSET: Final = re.compile(r";CHARSET=([\w-]+)", re.IGNORECASE)
_CALENDAR_ESCAPE: Final = re.compile(
    r"^(?:ATTACH|CONFERENCE|IMAGE|LOGO|PHOTO|SOUND|SOURCE|TZURL|URL)[;:][^\n]*|\\([nN,;\\])", re.MULTILINE
)
"""An escape, or a whole line with an address, which has none."""


class Text(LimitedReader):
    """Reads text without a known structure. A script without an extension is code."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``; the title is its first line, except in logs and configuration."""
        text = self._limits.check(decode(data))
        if language := language_of_script(text):
            return Document(text=text, kind="code", language=language)
        name = path.rpartition("/")[2].lower()
        if name.endswith(_TRANSLATIONS):
            return Document(text=unescaped_po(text), kind="text")
        if name.endswith(_CONFIGURATION):
            own = unescaped_properties(text) if name.endswith(".properties") else text
            return Document(text=own, kind="text", language="ini")
        text = unescaped_log(text) if name.endswith(".log") else text
        is_prose = name.endswith(_PROSE) or "." not in name
        return Document(text=text, title=text_title(text) if is_prose else "", kind="text")


class RestructuredText(LimitedReader):
    """Reads reStructuredText as it stands, with words whole."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of the first section."""
        text = whole_words_of_rst(self._limits.check(decode(data)))
        return Document(text=text, title=rst_title(text), kind="text", language="rst")


class Asciidoc(LimitedReader):
    """Reads AsciiDoc as it stands, with words whole."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of the document, else its first line of text."""
        text = whole_words_of_asciidoc(self._limits.check(decode(data)))
        above = _ABOVE_ASCIIDOC_TITLE.match(text[:_HEAD_CHARS])
        body = text[above.end() :] if above else text
        found = _ASCIIDOC_TITLE.match(body)
        title = cut(plain(found[1] or found[2])) if found else text_title(body)
        return Document(text=text, title=title, kind="text", language="asciidoc")


class Latex(LimitedReader):
    """Reads LaTeX as it stands, with letters for the commands that stand for them."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of ``\\title`` outside of comments."""
        text = with_letters(self._limits.check(decode(data)))
        found = _LATEX_TITLE.search(_LATEX_COMMENT.sub("", text[:_HEAD_CHARS]))
        title = cut(" ".join(_LATEX_COMMAND.sub(" ", found[1]).split())) if found else ""
        return Document(text=text, title=title, kind="text", language="latex")


class Bibtex(LimitedReader):
    """Reads a bibliography (BibTeX), which writes letters as LaTeX does."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; it has no title."""
        return Document(text=with_letters(self._limits.check(decode(data))), kind="code", language="bibtex")


class Calendar(LimitedReader):
    """Reads calendars and address cards (iCalendar, vCard). The total number of lines does not change."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data`` with long lines that are folded whole, and escapes as what they mean; it has no title."""
        return Document(text=calendar_text(self._limits.check(decode(data))), kind="text")


def calendar_text(text: str) -> str:
    """Return a calendar or address card with whole lines, and escapes as what they mean."""
    whole = _FOLDED_LINES.sub(_unfolded, _QUOTED_PRINTABLE.sub(_printed, text))
    if "\nVERSION:2.1" in whole:
        return whole.replace("\\;", ";")  # the only escape of old address cards
    return _CALENDAR_ESCAPE.sub(
        lambda found: found[0] if not found[1] else " " if found[1] in "nN" else found[1], whole
    )


def _printed(found: re.Match[str]) -> str:
    value = quopri.decodestring(found[3].encode())
    charset = _CARD_CHARSET.search(found[1] + found[2])
    try:
        shown = to_utf8(value, charset[1] if charset else None)[0].decode("utf-8", "replace")
    except (Binary, Unreadable):
        shown = value.decode("utf-8", "replace")
    return f"{found[1]}{found[2]}:{' '.join(shown.split())}" + "\n" * found[3].count("\n")


def _unfolded(found: re.Match[str]) -> str:
    lines = found[0].split("\n")
    return "".join([lines[0], *(line[1:] for line in lines[1:])]) + "\n" * (len(lines) - 1)


def rst_title(text: str) -> str:
    """Return the title of the first section of reStructuredText, ``""`` if there is none."""
    for match in _RST_TITLE.finditer(text):
        title = match["title"].strip()
        over, under = match["over"], match["under"]
        if over and over[0] != under[0]:
            continue
        # An underline may be a little short by mistake; a shorter one is punctuation.
        if len(under) >= min(len(title), 4) and not re.fullmatch(rf"{_ADORNMENT}+", title):
            named = _RST_LITERAL.sub(lambda found: found[1] or found[2], _RST_ROLE.sub(r"\1", title))
            return cut(named.replace("\\", ""))
    return ""


def text_title(text: str) -> str:
    """Return the first non-empty line, or a later one if it is a rule or a number."""
    line = plain(text.lstrip()[:4000].partition("\n")[0].strip(" \t#=*-_~"))
    return line if sum(char.isalpha() for char in line) > 1 else first_line(text)
