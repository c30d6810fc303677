"""Prepares outlines (OPML) and Org files for kreuzberg 4, which would drop some of their content.

- Notes of outline lines are attributes. They are appended to the text of the line until it is converted.
- Captions of Org tables are keywords, and become paragraphs. Tags of headings are put in parentheses.
"""

from __future__ import annotations

import re
from typing import Final

_LINE: Final = re.compile(rb"""<outline\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*+>""")
_ATTRIBUTE: Final = re.compile(rb"""\s([\w:.-]+)\s*=\s*("[^"<]*"|'[^'<]*')""")
_NEW_LINE: Final = re.compile(rb"(?:\r|&#(?:13|x0?[dD]);)?(?:\n|&#(?:10|x0?[aA]);)")
_CAPTION: Final = rb"^[ \t]*#\+CAPTION(?:\[[^\]\n]*\])?:[ \t]*(?P<caption>[^\n]*)$"
_TAGGED: Final = rb"^(?P<line>\*+[ \t][^\n]*?)(?<![ \t])[ \t]+(?P<tags>:(?:[\w@#%\x80-\xff]+:)+)[ \t]*$"
_BLOCK: Final = rb"^[ \t]*#\+BEGIN_(?P<block>\w+)[^\n]*+(?:\n(?![ \t]*#\+END_(?P=block)\b)[^\n]*+)*+"
_ORG: Final = re.compile(b"|".join((_BLOCK, _CAPTION, _TAGGED)), re.MULTILINE | re.IGNORECASE)
_IN_BLOCK: Final = re.compile(_CAPTION, re.MULTILINE | re.IGNORECASE)
_LISTINGS: Final = (b"src", b"example", b"export", b"comment", b"verse", b"html", b"latex")
"""Blocks without Org markup, and so without captions; no block contains headings."""
_MARK, _MARK_OF_LINE = "\ue0e0", "\ue0e1"
_NOTE: Final = re.compile(f"^(?P<line>[^\n{_MARK}]*){_MARK}(?P<note>[^\n]*)", re.MULTILINE)


def prepared(data: bytes, extension: str) -> bytes:
    """Return a file in a form whose notes and captions are converted; other formats are unchanged."""
    if extension == ".org":
        return _ORG.sub(_rewritten, data)
    return _LINE.sub(_with_note, data) if extension == ".opml" else data


def restored(text: str) -> str:
    """Return the converted text of an outline with each note below its line."""
    return _NOTE.sub(_below, text)


def _rewritten(found: re.Match[bytes]) -> bytes:
    if block := found["block"]:
        return found[0] if block.lower() in _LISTINGS else _IN_BLOCK.sub(_paragraph, found[0])
    if tags := found["tags"]:
        return b"%b (%b)" % (found["line"], b", ".join(tags.strip(b":").split(b":")))
    return _paragraph(found)


def _paragraph(caption: re.Match[bytes]) -> bytes:
    return b"\n%b\n" % caption["caption"]


def _with_note(line: re.Match[bytes]) -> bytes:
    values = {name: value[1:-1] for name, value in _ATTRIBUTE.findall(line[0])}
    note = values.get(b"_note", b"").strip()
    if not note:
        return line[0]
    marked = _reference(_MARK) + _NEW_LINE.sub(_reference(_MARK_OF_LINE), note)
    text = (values.get(b"text", b"") + marked).replace(b'"', b"&quot;")
    rest = _ATTRIBUTE.sub(lambda one: b"" if one[1] in (b"text", b"_note") else one[0], line[0])
    return rest.replace(b"<outline", b'<outline text="%b"' % text, 1)


def _reference(char: str) -> bytes:
    return b"&#x%X;" % ord(char)  # independent of the encoding of the file


def _below(match: re.Match[str]) -> str:
    line, note = match["line"].rstrip(), match["note"].replace(_MARK_OF_LINE, "\n").strip()
    return f"{line}\n\n{note}" if line.strip("# ") else note
