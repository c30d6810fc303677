"""Styles of OpenDocument files: hidden and raised text, numbering of lists and headings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.openxml import number
from pinakes.parsing.scripts import Script
from pinakes.parsing.word_styles import PLAIN, Look, counted_as

_DEEPEST: Final = 20
"""Maximum depth of style inheritance."""
_LEVELS: Final = 10
_KINDS: Final = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_NONE: Final = ("", "none", "normal", "0%", "0% 100%")
_LIST_STYLES: Final = ("list-style", "outline-style")
OUTLINE: Final = "\0outline"
"""The name under which headings are numbered like a list."""


@dataclass(frozen=True, slots=True)
class Style:
    """The properties of a style, its own and inherited ones."""

    look: Look = PLAIN
    list_name: str = ""
    level: int | None = None
    hidden: bool = False
    """Whether a table, section or page is hidden."""


@dataclass(frozen=True, slots=True)
class Level:
    """How a list level is numbered: ``kind`` as in Word, or "bullet"; ``levels``: how many levels its numbers show."""

    kind: str = "bullet"
    before: str = ""
    after: str = ""
    levels: int = 1
    start: int = 1


class Styles:
    """Styles by family and name, and lists by name, from several parts of a file; later parts take precedence."""

    def __init__(self, *parts: Element) -> None:
        self._own: dict[tuple[str, str], Element] = {}
        self._found: dict[tuple[str, str], Style] = {}
        self._lists: dict[str, dict[int, Level]] = {}
        for one in (one for part in parts for one in part):
            if one.tag == "style":
                self._own[one.get("family", ""), one.get("name", "")] = one
            elif one.tag in _LIST_STYLES:
                name = OUTLINE if one.tag == "outline-style" else one.get("name", "")
                self._lists[name] = dict(_levels(one))

    def of(self, family: str, name: str) -> Style:
        """Return the style of a family ("paragraph", "text", "table" …); an empty one if there is none."""
        key = family, name
        if key not in self._found:
            chain: list[Element] = []
            at = name
            while (family, at) in self._own and len(chain) < _DEEPEST:
                chain.append(self._own[family, at])
                at = chain[-1].get("parent-style-name", "")
            whole = Style()
            for one in reversed(chain):
                whole = _over(one, whole)
            self._found[key] = whole
        return self._found[key]

    def level(self, list_name: str, level: int) -> Level:
        """Return the numbering of a list level; an unknown list has bullets."""
        return self._lists.get(list_name, {}).get(level, Level("none" if list_name == OUTLINE else "bullet"))


def _over(style: Element, below: Style) -> Style:
    """Return the properties of a style, with those of ``below`` as defaults."""
    look, hidden = below.look, below.hidden
    for one in style:
        if one.tag == "text-properties":
            look = _look(one).over(look)
        elif one.tag.endswith("-properties"):
            visibility = (one.get("display"), one.get("visibility"))  # for tables, for slides
            hidden = visibility[0] in ("false", "none") or visibility[1] == "hidden" if any(visibility) else hidden
    level = style.get("default-outline-level")
    return Style(
        look,
        style.get("list-style-name", below.list_name),
        number(level) if level is not None else below.level,
        hidden,
    )


def _look(properties: Element) -> Look:
    found = {name: value.strip().lower() for name, value in properties.items()}
    weight, slant, line = (found.get(name) for name in ("font-weight", "font-style", "text-line-through-style"))
    return Look(
        None if weight is None else weight == "bold" or number(weight) >= 600,
        None if slant is None else slant in ("italic", "oblique"),
        None if line is None else line != "none",
        None if "display" not in found else found["display"] == "none",
        None if "text-position" not in found else _script(found["text-position"]),
    )


def _script(position: str) -> Script:
    """Return the script of a position such as ``super 58%`` or ``-33% 58%``."""
    first = position.split(" ")[0]
    if position in _NONE or first in _NONE:
        return ""
    if first in ("super", "sub"):
        return "super" if first == "super" else "sub"
    return "sub" if first.startswith("-") else "super"


def _levels(style: Element) -> Iterator[tuple[int, Level]]:
    for one in style:
        at = number(one.get("level"), 1) - 1
        if one.tag.endswith(("-number", "outline-level-style")):
            kind = _KINDS.get(one.get("num-format", "").strip(), "none")
            start = one.get("start-value")
            before, after = one.get("num-prefix", ""), one.get("num-suffix", "")
            yield at, Level(kind, before, after, number(one.get("display-levels"), 1), number(start, 1))
        elif one.tag.startswith("list-level-style-"):
            yield at, Level()


class Counter:
    """Numbers the items of one list in order."""

    def __init__(self, styles: Styles, name: str) -> None:
        self._styles = styles
        self.name: Final = name
        self._counts: list[int | None] = [None] * _LEVELS

    def label(self, level: int, start: int | None = None) -> str:
        """Return the label of the next item, "-" for a bullet, "" for none; ``start``: its number, if given."""
        level = min(level, _LEVELS - 1)
        own = self._styles.level(self.name, level)
        count = self._counts[level]
        self._counts[level] = start if start is not None else own.start if count is None else count + 1
        self._counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.kind == "bullet":
            return "-"
        if own.kind == "none":
            return ""
        first = max(level - max(own.levels, 1) + 1, 0)
        numbers = [self._number(at) for at in range(first, level + 1)]
        return f"{own.before}{'.'.join(filter(None, numbers))}{own.after}".strip()

    def again(self, level: int) -> None:
        """Restart the numbering of a level."""
        self._counts[min(level, _LEVELS - 1) :] = [None] * (_LEVELS - min(level, _LEVELS - 1))

    def _number(self, level: int) -> str:
        one = self._styles.level(self.name, level)
        count = self._counts[level]
        if count is None:
            count = self._counts[level] = one.start
        return counted_as(one.kind, count) if one.kind not in ("bullet", "none") else ""
