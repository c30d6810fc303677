"""Converts the lines of printed pages to Markdown: headings, list items, paragraphs, lines kept as they are.

``mended`` restores words that line breaks split or joined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

_FULL_SHARE: Final = 0.7
"""A line with this share of the usual width continues in the next one."""
_WIDTH_RANK: Final = 0.75
_NEARLY: Final = 0.9
_HALF: Final = 0.5
_FIGURES_SHARE: Final = 0.25
"""A line with this share of words with digits is a table row, and stays a separate line."""
_MIN_WIDTH: Final = 45
_MAX_HEADING_CHARS: Final = 90
_MAX_HEADING_WORDS: Final = 12
_DEEPEST: Final = 6

_NUMBERED: Final = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(?P<name>[^\W\d_].*[^\W\d_)?!”\"'])")
_NAMED: Final = re.compile(
    r"abstract|introduction|contents|table of contents|references|bibliography|acknowledge?ments?|conclusions?|"
    r"appendix|glossary|preface|foreword|index|zusammenfassung|einleitung|inhaltsverzeichnis|literaturverzeichnis|vorwort|anhang|"
    r"résumé|summary|références|bibliographie|sommaire|table des matières",
    re.IGNORECASE,
)
_DOTS: Final = re.compile(r"(?:\s?\.){4,}")
_LEADERS: Final = re.compile(r"(?:\s*\.){4,}\s*")
_BULLET: Final = re.compile(r"[•▪■●◦‣∙·▸➢❑*–-]\s+(?=\S)|[•▪■●◦‣∙▸➢❑](?=\S)")
_ITEM: Final = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]|\[\d{1,3}\])\s+\S")
_REFERENCE: Final = re.compile(r"\[(?P<number>\d{1,4})\]\s+\S")
_CLAUSE: Final = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){1,3})\.?\s+[^\W\d_a-z]")
"""The beginning of a clause of a contract: ``3.2 The supplier``."""
_SENTENCE_END: Final = (".", "!", "?", ":", ".”", '."', ".)", "。")
_GOING_ON: Final = (",", ";", "–", "—", "(")
_FIGURE: Final = re.compile(r"\d")
_RULE: Final = re.compile(r"[-=_*~.·]{4,}")
_CELLS: Final = re.compile(r"\| .* \|")
"""A table row that is already Markdown."""
_BELOW_NAMES: Final = re.compile(r"(?:\| --- )+\|")
_MARKS: Final = re.compile(r"#{1,6}\s|>|\+\s|~~~|```")

Number: TypeAlias = tuple[int, ...]
_BREAK: Final = "(?:[\x02\ufffe]\n?|[-‐]\n)"
"""A hyphen at the end of a line: as a control character, or as printed."""
_BREAKS: Final = ("\x02", "\ufffe", "-\n", "‐\n")
_BROKEN: Final = re.compile(
    rf"(?<![^\W\d_])(?P<head>[^\W\d_]{{2,}}|[^\W\d_](?=[\x02\ufffe]|[-‐]\n[^\W\d_A-Z]{{2}})){_BREAK}(?P<tail>\w+)"
)
"""Single letters with a printed hyphen at the end of a line may be grades, one below the other: ``A-``, ``B-``."""
_HYPHEN_MARKS: Final = re.compile("[\x02\ufffe]\n?")
_SOFT_HYPHEN: Final = re.compile("\u00ad\n?")
_LIGATURES: Final = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_UNSEEN: Final = dict.fromkeys((0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF))
_CUT: Final = {**_LIGATURES, **_UNSEEN}
_WORD: Final = re.compile(r"[^\W\d_]{2,}(?:[-‐]\w{2,})*")
_SUSPENDED: Final = frozenset(("and", "bzw", "eller", "och", "oder", "og", "sowie", "und"))
"""Conjunctions, which end no word at a syllable: the hyphen before one stands for the rest of the next word."""
_JOINED: Final = re.compile(r"(?<![\w/.:@#`-])(?P<left>[a-zà-ÿ]{3,})(?P<right>[A-ZÀ-Þ][a-zà-ÿ]{2,})(?![\w/(@`])")


class Pages:
    """Converts the lines of pages in order; heading numbers are tracked across pages."""

    def __init__(self, title: str) -> None:
        self._title = _folded(title)
        self._number: Number = ()
        self._references: set[Number] = set()
        self._clauses: set[Number] = set()

    def markdown(self, page: str) -> str:
        """Return a page as Markdown; ``""`` if it has no text."""
        lines = [" ".join(line.split()) for line in page.split("\n")]
        lines = [line for line in lines if line and not _RULE.fullmatch(line)]
        width = _width([line for line in lines if not _CELLS.fullmatch(line)])
        cells = [_CELLS.fullmatch(line) is not None for line in lines]
        levels = [0 if cells[at] else self._level(lines, at, width) for at in range(len(lines))]
        works = _numbered(lines, _REFERENCE, width, self._references)
        clauses = _numbered(lines, _CLAUSE, width, self._clauses)
        goes_on = _going_on(lines, works, width)
        rows = [cells[at] or (not goes_on[at] and _is_row(line)) for at, line in enumerate(lines)]
        parts: list[str] = []
        for at, line in enumerate(lines):
            shown = f"{'#' * levels[at]} {line}" if levels[at] else line if cells[at] else _shown(line)
            parts.append(shown)
            if at + 1 < len(lines):
                heading = levels[at] or levels[at + 1] or cells[at] != cells[at + 1] or _begins_table(lines, at + 1)
                row = rows[at] or rows[at + 1]
                if goes_on[at] and goes_on[at + 1]:
                    gap = "\n\n" if at + 1 in works else " "
                elif not row and at + 1 in clauses and line.endswith(_SENTENCE_END):
                    gap = "\n\n"
                else:
                    gap = "\n" if row else _between(line, lines[at + 1], width)
                parts.append("\n\n" if heading else gap)
        return "".join(parts)

    def _level(self, lines: Sequence[str], at: int, width: int) -> int:
        """Return the level of a heading line, 0 if it is not a heading."""
        line = lines[at]
        if self._title and _folded(line) == self._title:
            self._title = ""
            return 1
        if len(line) > _MAX_HEADING_CHARS or len(line.split()) > _MAX_HEADING_WORDS or _DOTS.search(line):
            return 0
        if line[0].isdigit() and (match := _NUMBERED.fullmatch(line)):
            return self._numbered(match, lines, at, width)
        if _NAMED.fullmatch(line.rstrip(":.")):
            return 2
        return (3 if self._number else 2) if _stands_alone(lines, at, width) else 0

    def _numbered(self, match: re.Match[str], lines: Sequence[str], at: int, width: int) -> int:
        """Return the level of a line such as ``2.1 Methods``, if its number is the next one; else 0."""
        number = tuple(map(int, match["number"].split(".")))
        beside = (*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2])
        in_list = any(
            (other := _NUMBERED.fullmatch(line)) and other["number"].count(".") == len(number) - 1 for line in beside
        )
        after = lines[at + 1] if at + 1 < len(lines) else ""
        full = len(after) >= width * _FULL_SHARE
        before_text = len(number) > 1 or not after or full or bool(_NUMBERED.fullmatch(after))
        fits = before_text and match["name"][0].isupper() and len(lines[at]) <= width * _NEARLY
        if in_list or not fits or not _follows(number, self._number):
            return 0
        self._number = number
        return min(len(number) + 1, _DEEPEST)


def _follows(number: Number, last: Number) -> bool:
    """Return whether a heading with this number may follow: 2.1 after 2, 2.2 after 2.1, 3 after 2.1."""
    if not last:
        return number in ((1,), (1, 1))
    if number == (*last, 1):
        return True
    depth = len(number)
    return depth <= len(last) and number[:-1] == last[: depth - 1] and number[-1] == last[depth - 1] + 1


def _stands_alone(lines: Sequence[str], at: int, width: int) -> bool:
    """Return whether a short line is between prose: after the end of a sentence, before a line of full width."""
    line = lines[at]
    if not line[0].isupper() or len(line) > width * _FULL_SHARE or line.endswith((".", ",", ";", ":", "-", "–", "|")):
        return False
    letters = sum(char.isalpha() or char.isspace() for char in line)
    if letters < len(line) * _NEARLY or letters < 4:
        return False
    before = lines[at - 1] if at else ""
    after = lines[at + 1] if at + 1 < len(lines) else ""
    ended = not before or before.endswith(_SENTENCE_END)
    return ended and len(after) >= width * _FULL_SHARE and after[0].isupper() and _continues(after)


def _numbered(lines: Sequence[str], pattern: re.Pattern[str], width: int, seen: set[Number]) -> set[int]:
    """Return the lines that begin with a number, if no sentence goes on in them and the number is not the only one.

    The one before or behind it must begin a line of the page, or be in ``seen``, to which the numbers are added.
    """
    numbers: dict[int, Number] = {}
    for at, line in enumerate(lines):
        if match := pattern.match(line):
            above = lines[at - 1] if at else "."
            if above.endswith(_SENTENCE_END) or len(above) < width * _FULL_SHARE or not _continues(above):
                numbers[at] = tuple(map(int, match["number"].split(".")))
    known = seen | set(numbers.values())
    found = {at for at, (*outer, last) in numbers.items() if {(*outer, last - 1), (*outer, last + 1)} & known}
    seen |= {numbers[at] for at in found}
    return found


def _going_on(lines: Sequence[str], works: set[int], width: int) -> list[bool]:
    """Return for each line whether it begins a numbered reference, or goes on one below a full line."""
    found: list[bool] = []
    for at, line in enumerate(lines):
        full = at > 0 and len(lines[at - 1]) >= width * _FULL_SHARE
        found.append(at in works or (full and found[-1] and not (_BULLET.match(line) or _ITEM.match(line))))
    return found


def _begins_table(lines: Sequence[str], at: int) -> bool:
    return at + 1 < len(lines) and _BELOW_NAMES.fullmatch(lines[at + 1]) is not None


def _between(line: str, following: str, width: int) -> str:
    """Return the separator of a line and the next: a space within a paragraph, else newlines."""
    if _BULLET.match(following) or _ITEM.match(following):
        return "\n"
    ended = line.endswith(_SENTENCE_END)
    goes_on = _continues(line) or (following[0].islower() and not ended)
    next_sentence = ended and len(line) >= width * _NEARLY and len(following) >= width * _HALF
    if len(line) >= width * _FULL_SHARE and (goes_on or next_sentence):
        return " "
    return "\n\n" if ended else "\n"


def _is_row(line: str) -> bool:
    if _FIGURE.search(line) is None:
        return False
    words = line.split()
    return len(words) > 1 and sum(_FIGURE.search(word) is not None for word in words) >= len(words) * _FIGURES_SHARE


def _continues(line: str) -> bool:
    """Return whether a line ends within a sentence. Digits and capitals at its end may be those of a table."""
    return line[-1].islower() or line.endswith(_GOING_ON)


def _shown(line: str) -> str:
    """Return a line with its bullet as in Markdown, and with other Markdown markup escaped."""
    if "..." in line or ". ." in line:
        line = _LEADERS.sub(" … ", line).rstrip()
    if line[0].isalnum():
        return line
    if found := _BULLET.match(line):
        return f"- {line[found.end() :]}"
    return f"\\{line}" if _MARKS.match(line) else line


def _width(lines: Sequence[str]) -> int:
    """Return the usual width of a page's lines, in characters."""
    lengths = sorted(map(len, lines))
    return max(_MIN_WIDTH, lengths[int(len(lengths) * _WIDTH_RANK)] if lengths else 0)


def _folded(line: str) -> str:
    return " ".join(line.split()).casefold()


def mended(pages: Sequence[str]) -> list[str]:
    """Return pages in which split words are joined, and joined words (``endStart``) are split.

    Other occurrences in the pages decide: ``well-known`` keeps its hyphen if it is written so elsewhere. Hyphens are
    also kept before a capital or a number, after single letters (``d-dimensional``), and in words with several
    (``state-of-the-art``), since these are not hyphenated at syllables; before a conjunction (``pre-and postfix``) a
    space follows them. Two words are split only if both occur separately elsewhere and the joined form occurs once, so
    that names such as ``eBay`` and ``camelCase`` stay.
    """
    pages = [page if page.isascii() else _SOFT_HYPHEN.sub("", page).translate(_CUT) for page in pages]
    if not any((_may_break(page) and _BROKEN.search(page)) or _JOINED.search(page) for page in pages):
        return [_HYPHEN_MARKS.sub("-", page) for page in pages]
    words: Counter[str] = Counter()
    for page in pages:
        words.update(_WORD.findall((_BROKEN.sub(" ", page) if _may_break(page) else page).lower()))

    def whole(match: re.Match[str]) -> str:
        head, tail = match["head"], match["tail"]
        if words[(head + tail).lower()]:
            return head + tail
        if tail in _SUSPENDED:
            return f"{head}- {tail}"
        hyphened = match.start() > 0 and match.string[match.start() - 1] in "-‐"
        compound = hyphened or len(head) == 1 or not tail[0].islower() or words[f"{head}-{tail}".lower()]
        return f"{head}-{tail}" if compound else head + tail

    def apart(match: re.Match[str]) -> str:
        left, right = match["left"], match["right"]
        known = words[left] and words[right.lower()] and words[match[0].lower()] == 1
        return f"{left} {right}" if known else match[0]

    whole_words = (_HYPHEN_MARKS.sub("-", _BROKEN.sub(whole, page)) if _may_break(page) else page for page in pages)
    return [_JOINED.sub(apart, page) for page in whole_words]


def _may_break(page: str) -> bool:
    """Return whether a page may have a split word: much faster than looking for one."""
    return any(mark in page for mark in _BREAKS)
