"""Prepares outlines (OPML) and Org files for kreuzberg 4, which would drop some of their content.

- Notes of outline lines are attributes. They are appended to the text of the line until it is converted.
- Captions of Org tables are keywords, and become paragraphs. Tags of headings are put in parentheses.
- The state of an Org heading (TODO, DONE) is hidden from it by a mark.
- Items of Org lists lose depth and number. Both are put before the text of the item until it is converted.
"""

from __future__ import annotations

import re
from typing import Final

_LINE: Final = re.compile(rb"""<outline\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*+>""")
_ATTRIBUTE: Final = re.compile(rb"""\s([\w:.-]+)\s*=\s*("[^"<]*"|'[^'<]*')""")
_NEW_LINE: Final = re.compile(rb"(?:\r|&#(?:13|x0?[dD]);)?(?:\n|&#(?:10|x0?[aA]);)")
_CAPTION: Final = rb"^[ \t]*#\+CAPTION(?:\[[^\]\n]*\])?:[ \t]*(?P<caption>[^\n]*)$"
_TAGGED: Final = rb"^(?P<line>\*+[ \t][^\n]*?)(?<![ \t])[ \t]+(?P<tags>:(?:[\w@#%\x80-\xff]+:)+)[ \t]*$"
_STATE: Final = re.compile(rb"^\*+[ \t]+(?=(?:TODO|DONE)\b)", re.MULTILINE)
_BLOCK: Final = rb"^[ \t]*#\+BEGIN_(?P<block>\w+)[^\n]*+(?:\n(?![ \t]*#\+END_(?P=block)\b)[^\n]*+)*+"
_ITEM: Final = rb"^(?:(?P<indent>[ \t]*)(?P<bullet>[-+]|\d{1,9}[.)])|(?P<deep>[ \t]+)\*)[ \t]+(?=\S)"
_ORG: Final = re.compile(b"|".join((_BLOCK, _CAPTION, _TAGGED, _ITEM)), re.MULTILINE | re.IGNORECASE)
_IN_BLOCK: Final = re.compile(b"|".join((_CAPTION, _ITEM)), re.MULTILINE | re.IGNORECASE)
_LISTINGS: Final = (b"src", b"example", b"export", b"comment", b"verse", b"html", b"latex")
"""Blocks without Org markup, and so without captions; no block contains headings."""
_MARK, _MARK_OF_LINE, _MARK_OF_ITEM = "\ue0e0", "\ue0e1", "\ue0e2"
_NOTE: Final = re.compile(f"^(?P<line>[^\n{_MARK}]*){_MARK}(?P<note>[^\n]*)", re.MULTILINE)
_MARKS: Final = re.compile(f"[{_MARK}{_MARK_OF_LINE}{_MARK_OF_ITEM}]")
_FOREIGN: Final = re.compile("|".join((_MARK, _MARK_OF_LINE, _MARK_OF_ITEM)).encode())
_REFERENCE: Final = re.compile(rb"&#(?:[xX]0*+[eE]0[eE][0-2]|0*+575(?:6[89]|70));")
_QUOTED: Final = re.compile(r"(?:> ?)*+")
_NEXT_ITEM: Final = re.compile(f"(?=-[ \t]+{_MARK_OF_ITEM})")
_MARKED_ITEM: Final = re.compile(
    f"[ \t]*(?:-[ \t]+)?{_MARK_OF_ITEM}([0-9]{{1,6}}) ([^ {_MARK_OF_ITEM}]+){_MARK_OF_ITEM}"
)
_WIDEST: Final = 999_999
_INDENT: Final = " " * 4
_DEEPEST: Final = 50


def prepared(data: bytes, extension: str) -> bytes:
    """Return a file in a form whose notes and captions are converted; other formats are unchanged."""
    if extension == ".org":
        stated = _STATE.sub(rb"\g<0>" + _MARK_OF_LINE.encode(), _FOREIGN.sub(b"", data))
        return _ORG.sub(_rewritten, stated)
    if extension == ".opml":  # a blank, since what stands around a reference could become another
        return _LINE.sub(_with_note, _REFERENCE.sub(b" ", _FOREIGN.sub(b"", data)))
    return data


def restored(text: str) -> str:
    """Return the converted text of an outline with each note below its line, and each item at its depth."""
    return _MARKS.sub("", _nested(_NOTE.sub(_below, text)))


def _nested(text: str) -> str:
    """Return ``text`` with the depth and the number of each marked item, also where kreuzberg joins two lines."""
    if _MARK_OF_ITEM not in text:
        return text
    lines, widths = [], list[int]()
    for line in text.split("\n"):
        quoted = _QUOTED.match(line)
        quote = quoted[0] if quoted else ""
        first, *others = _NEXT_ITEM.split(line[len(quote) :])
        for part in others if others and not first.strip() else (first, *others):
            item = _MARKED_ITEM.match(part)
            if item is None:
                lines.append(quote + part)
                widths = widths if not line or line[0] in " \t>" else []
                continue
            width = int(item[1])
            while widths and widths[-1] >= width:
                widths.pop()
            indent = _INDENT * min(len(widths), _DEEPEST)
            lines.append(f"{quote}{indent}{item[2]} {part[item.end() :].lstrip()}")
            widths.append(width)
    return "\n".join(lines)


def _rewritten(found: re.Match[bytes]) -> bytes:
    if block := found["block"]:
        return found[0] if block.lower() in _LISTINGS else _IN_BLOCK.sub(_kept, found[0])
    if tags := found["tags"]:
        return b"%b (%b)" % (found["line"], b", ".join(tags.strip(b":").split(b":")))
    return _kept(found)


def _kept(found: re.Match[bytes]) -> bytes:
    """Return a caption as a paragraph, or an item with its depth and number."""
    if (caption := found["caption"]) is not None:
        return b"\n%b\n" % caption
    indent = found["indent"] or found["deep"] or b""
    bullet = (found["bullet"] or b"-").replace(b"+", b"-").replace(b")", b".")
    width = min(len(indent.expandtabs()), _WIDEST)
    return b"%b- %b%d %b%b" % (indent, _MARK_OF_ITEM.encode(), width, bullet, _MARK_OF_ITEM.encode())


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
