"""Joins runs of text with different looks: emphasis at word boundaries, scripts, links, hidden text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from pinakes.parsing.openxml import line
from pinakes.parsing.scripts import scripted
from pinakes.parsing.word_styles import Look

_WITHIN_MARKS: Final = str.maketrans({sign: f"%{ord(sign):02X}" for sign in " ()"})
"""Signs that would end an address in Markdown."""
_SCRIPT: Final = re.compile(r"\s*(?:javascript|vbscript):", re.IGNORECASE)
_EDGE: Final = re.compile(r"(\s*)(.*?)(\s*)\Z", re.DOTALL)


def linked(text: str, address: str) -> str:
    """Return a text as a link, unchanged if the address says no more than the text, or runs a script."""
    address = line(address)
    says_more = address and address not in (text, f"mailto:{text}") and not _SCRIPT.match(address)
    return f"[{text}]({address.translate(_WITHIN_MARKS)})" if says_more else text


class Piece(NamedTuple):
    """A run of text with one look, and the address of its link."""

    text: str
    look: Look
    link: str = ""


def joined(pieces: Sequence[Piece], *, marked: bool = True) -> tuple[str, int]:
    """Return the text of runs, with equal neighbours merged, so that no emphasis mark splits a word.

    Also returns the number of hidden parts. If not ``marked``, emphasis marks are omitted.
    """
    there = (piece for piece in pieces if piece.text)
    groups = [
        Piece("".join([piece.text for piece in same]), look, link)
        for (look, link), same in groupby(there, key=lambda piece: (piece.look, piece.link))
    ]
    parts: list[str] = []
    before, hidden = "", 0
    for at, group in enumerate(groups):
        text = scripted(group.text, group.look.script, before) if group.look.script else group.text
        after = groups[at + 1].text[:1] if at + 1 < len(groups) else ""
        plain = text
        if marked and not group.look.script:
            text = _emphasised(text, group.look, before, after)
        if group.look.hidden and text.strip():
            hidden += 1
            text = f"[hidden: {text.strip()}]"
        if group.link and plain.strip():
            text = linked(text.strip(), group.link) + text[len(text.rstrip()) :]
        parts.append(text)
        before = (before + plain)[-40:]
    return "".join(parts), hidden


def _emphasised(text: str, look: Look, before: str, after: str) -> str:
    """Return text with emphasis marks, if both of its ends are word boundaries."""
    sign = ("**" if look.bold else "") + ("*" if look.italic else "")
    match = _EDGE.match(text)
    if not match or not match[2] or "\n" in match[2] or not (sign or look.struck):
        return text
    left, inner, right = match.groups()
    if (not left and before[-1:].isalnum() and inner[0].isalnum()) or (
        not right and after.isalnum() and inner[-1].isalnum()
    ):
        return text
    if not any(char.isalnum() for char in inner):
        return text
    struck = "~~" if look.struck else ""
    return f"{left}{struck}{sign}{inner}{sign[::-1]}{struck}{right}"
