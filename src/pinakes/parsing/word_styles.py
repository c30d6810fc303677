"""Styles and numbering of Word documents: headings, hidden and raised text, list labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.openxml import number, on
from pinakes.parsing.scripts import Script

_HEADING: Final = re.compile(r"heading ?(\d)", re.IGNORECASE)
_TEXT_LEVEL: Final = 9
_LEVELS: Final = 9
_DEEPEST: Final = 20
"""Maximum depth of style inheritance."""
_PLACE: Final = re.compile(r"%(\d)")
_ROMAN: Final = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_SCRIPTS: Final[dict[str, Script]] = {"superscript": "super", "subscript": "sub"}


@dataclass(frozen=True, slots=True)
class Look:
    """The relevant properties of text; None means unset."""

    bold: bool | None = None
    italic: bool | None = None
    struck: bool | None = None
    hidden: bool | None = None
    script: Script | None = None

    def over(self, below: Look) -> Look:
        """Return this look, with the properties of ``below`` where this one's are unset."""
        if self is PLAIN or below is PLAIN:
            return below if self is PLAIN else self
        return Look(
            self.bold if self.bold is not None else below.bold,
            self.italic if self.italic is not None else below.italic,
            self.struck if self.struck is not None else below.struck,
            self.hidden if self.hidden is not None else below.hidden,
            self.script if self.script is not None else below.script,
        )


PLAIN: Final = Look()
_LOOKS: Final = frozenset(("b", "i", "strike", "vanish", "vertAlign"))


def look_of(properties: Element | None) -> Look:
    """Return the look in the properties of a run, a paragraph mark or a style."""
    if properties is None:
        return PLAIN
    found = {one.tag: one for one in properties if one.tag in _LOOKS}
    if not found:
        return PLAIN
    align = found.get("vertAlign")
    return Look(
        on(found["b"]) if "b" in found else None,
        on(found["i"]) if "i" in found else None,
        on(found["strike"]) if "strike" in found else None,
        on(found["vanish"]) if "vanish" in found else None,
        _SCRIPTS.get(align.get("val", ""), "") if align is not None else None,
    )


@dataclass(frozen=True, slots=True)
class Style:
    """The properties of a style: heading level (0 for text, None if unset), list, look."""

    name: str = ""
    level: int | None = None
    list_id: str | None = None
    list_level: int | None = None
    look: Look = PLAIN


class Styles:
    """The styles of a document, with inherited properties."""

    def __init__(self, part: Element) -> None:
        self._own: dict[str, tuple[Style, str]] = {}
        self._found: dict[str, Style] = {}
        for one in part.iter("style"):
            self._own[one.get("styleId", "")] = self._read(one)

    def of(self, name: str) -> Style:
        """Return the style called ``name``, an empty one if there is none."""
        if name not in self._found:
            chain: list[Style] = []
            at = name
            while at in self._own and len(chain) < _DEEPEST:
                style, at = self._own[at]
                chain.append(style)
            whole = Style() if chain else Style(name, _level_called(name))
            for style in reversed(chain):
                whole = replace(
                    style,
                    level=whole.level if style.level is None else style.level,
                    list_id=whole.list_id if style.list_id is None else style.list_id,
                    list_level=whole.list_level if style.list_level is None else style.list_level,
                    look=style.look.over(whole.look),
                )
            self._found[name] = whole
        return self._found[name]

    @staticmethod
    def _read(style: Element) -> tuple[Style, str]:
        """Return a style, and the name of its parent style."""
        named, based = style.find("name"), style.find("basedOn")
        name = named.get("val", "") if named is not None else ""
        level = _level_called(name)
        list_id = list_level = None
        properties = style.find("pPr")
        if properties is not None:
            outline = properties.find("outlineLvl")
            if outline is not None:
                level = outline_level(outline)
            list_id, list_level = list_of(properties)
        look = look_of(style.find("rPr"))
        if style.get("type") == "paragraph":  # bold of a paragraph style is no emphasis
            look = Look(hidden=look.hidden) if look.hidden is not None else PLAIN
        return Style(name, level, list_id, list_level, look), based.get("val", "") if based is not None else ""


def _level_called(name: str) -> int | None:
    """Return the heading level in the name of a style, None if it has none."""
    if match := _HEADING.fullmatch(name):
        return min(max(int(match[1]), 1), 6)
    return 1 if name.lower() == "title" else None


def outline_level(outline: Element) -> int:
    """Return the level of a heading, 0 for text."""
    level = number(outline.get("val"), _TEXT_LEVEL)
    return min(level + 1, 6) if 0 <= level < _TEXT_LEVEL else 0


def list_of(properties: Element) -> tuple[str | None, int | None]:
    """Return the list of a paragraph or a style, and its level; None if unset."""
    numbering = properties.find("numPr")
    if numbering is None:
        return None, None
    list_id, level = numbering.find("numId"), numbering.find("ilvl")
    return (
        list_id.get("val") if list_id is not None else None,
        min(max(number(level.get("val")), 0), _LEVELS - 1) if level is not None else None,
    )


@dataclass(slots=True)
class _Level:
    kind: str = "decimal"
    text: str | None = None
    start: int = 1
    plain: bool = False


class Numbering:
    """The lists of a document; labels are counted in the order of its paragraphs."""

    def __init__(self, part: Element, styles: Styles) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, list[int | None]] = {}
        links: dict[str, str] = {}
        for one in part.iter("abstractNum"):
            name = one.get("abstractNumId", "")
            self._levels[name] = dict(_level(level) for level in one.iterfind("lvl"))
            link = one.find("numStyleLink")
            if link is not None:
                links[name] = link.get("val", "")
        for one in part.iterfind("num"):
            own, of = one.get("numId", ""), one.find("abstractNumId")
            self._lists[own] = of.get("val", "") if of is not None else ""
            overrides = {number(level.get("ilvl")): level for level in one.iterfind("lvlOverride")}
            starts = {at: level.find("startOverride") for at, level in overrides.items()}
            self._restarts[own] = {at: number(one.get("val"), 1) for at, one in starts.items() if one is not None}
            changed = {at: found for at, level in overrides.items() if (found := level.find("lvl")) is not None}
            if changed:
                self._lists[own] = f"{own} "  # a separate list
                self._levels[f"{own} "] = {
                    **self._levels.get(of.get("val", "") if of is not None else "", {}),
                    **{at: _level(level)[1] for at, level in changed.items()},
                }
        for name, style in links.items():
            other = self._lists.get(styles.of(style).list_id or "", "")
            if not self._levels[name] and other in self._levels:
                self._levels[name] = self._levels[other]

    def label(self, list_id: str, level: int) -> str | None:
        """Return the label of the next paragraph of a list, "-" for a bullet, None if there is no such list."""
        name = self._lists.get(list_id)
        if name is None:
            return None
        levels = self._levels.get(name, {})
        own = levels.get(level, _Level())
        counts = self._counts.setdefault(name, [None] * _LEVELS)
        restarts = self._restarts.get(list_id, {})
        if level in restarts:
            counts[level] = restarts.pop(level) - 1
        count = counts[level]
        counts[level] = (own.start if count is None else count + 1) if own.kind != "bullet" else count
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.kind == "bullet":
            return "-"
        return self._text(own, level, levels, counts)

    @staticmethod
    def _text(own: _Level, level: int, levels: dict[int, _Level], counts: list[int | None]) -> str:
        def counted(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            if not 0 <= at < _LEVELS:
                return ""
            one = levels.get(at, _Level())
            count = counts[at]
            if count is None:
                count = counts[at] = one.start
            return counted_as("decimal" if own.plain and at != level else one.kind, count)

        return _PLACE.sub(counted, f"%{level + 1}." if own.text is None else own.text).strip()


def _level(level: Element) -> tuple[int, _Level]:
    found = {one.tag: one for one in level}
    kind, text, start = (found[tag].get("val", "") if tag in found else None for tag in ("numFmt", "lvlText", "start"))
    own = _Level(kind or "decimal", text, number(start, 1), "isLgl" in found and on(found["isLgl"]))
    return number(level.get("ilvl")), own


def counted_as(kind: str, count: int) -> str:
    """Return a list number in the notation of its kind."""
    if kind == "none":
        return ""
    if count < 1 or count > 9999:
        return str(count)
    if kind in ("lowerRoman", "upperRoman"):
        text = ""
        for value, letters in _ROMAN:
            text += letters * (count // value)
            count %= value
        return text.upper() if kind == "upperRoman" else text
    if kind in ("lowerLetter", "upperLetter"):
        letter = chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, 50)
        return letter.upper() if kind == "upperLetter" else letter
    if kind == "ordinal":
        ending = "th" if 10 < count % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
        return f"{count}{ending}"
    return f"{count:02d}" if kind == "decimalZero" else str(count)
