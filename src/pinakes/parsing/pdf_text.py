"""The text of a PDF page with its layout: words and boxes, lines, superscripts, drop caps, right-to-left order."""

from __future__ import annotations

import bisect
import ctypes
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pinakes.parsing.pdf_fonts import missing_fonts
from pinakes.parsing.pdf_frames import Frame, frames_of
from pinakes.parsing.pdf_gaps import Box, NarrowGaps
from pinakes.parsing.pdf_vertical import columns, from_right_to_left, is_set_vertically
from pinakes.parsing.pdf_words import PageLine, Word

_WORD: Final = re.compile(r"[^\s\x00\x01\x03-\x1f]+")
_CONTROLS: Final = re.compile(r"[\x01\x03-\x08\x0b\x0c\x0e-\x1f]")
"""Codes of a font that the library returns for characters without a mapping."""
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LEFT_TO_RIGHT: Final = re.compile(
    "[^\\W_\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
    "(?:[^\\s\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]*[^\\W_\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])?"
)
_MIRRORED: Final = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_LINE: Final = re.compile("[^\r\n\x02]+\x02?|\x02")
_HYPHEN: Final = "\x02"
"""The character for a hyphen at which a line breaks a word."""
_HYPHEN_CODE: Final = 2
_INVISIBLE: Final = 3
"""The render mode of text that is neither filled nor stroked."""
_PICTURES: Final = (3, 5)
"""Page object types: image, and form, which may contain an image."""
_HIDDEN: Final = "[hidden: "
_UNMAPPED: Final = "\ufffe"
_VOWELS: Final = frozenset("aeiouyäöüéèêà")
_WIDE_LIGATURE: Final = 0.6
_MAY_HAVE_SCRIPT: Final = re.compile(r"[^\W\d_]\d")
_ORDINAL: Final = re.compile(r"(?:st|nd|rd|th|er|re|ère|e|ème|o|a|os|as|te|de|ste)(?![^\W\d_])", re.IGNORECASE)
_EXPONENT: Final = re.compile(r"[+\-−–]?\w")
_MINUS: Final = str.maketrans("−–", "--")

_SMALLER: Final = 0.86
_SMALLEST: Final = 0.42
"""A character smaller than this share of its word's height may be a superscript or subscript."""
_SHIFT: Final = 0.12
"""Minimum shift of its bottom or top, as a share of the height of the other characters."""
_WORD_GAP: Final = 0.16
_KERNING: Final = 0.06
"""Letters closer than this share of their height belong to one word, even if the library inserts a space."""
_SINGLE: Final = re.compile(r"(?:^|[\W\d_])[^\W\d_] [^\W\d_]|[^\W\d_] [A-Z](?:[\W\d_]|$)")
"""A single letter beside a space: letters of formula fonts are so wide apart that the library inserts one."""
_DROP_CAP: Final = 1.75
_NEAR: Final = 6
_LONG: Final = 40
_LONGEST_SCRIPT: Final = 8
_SAMPLE: Final = 40
"""Number of characters that tell the direction of a page's text."""
_TURNS: Final[tuple[Callable[[Box], Box], ...]] = (
    lambda box: box,
    lambda box: (-box[3], -box[2], box[0], box[1]),
    lambda box: (-box[1], -box[0], -box[3], -box[2]),
    lambda box: (box[2], box[3], -box[1], -box[0]),
)
"""What turns a box upright for text of 0, 90, 180 and 270 degrees, clockwise."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The lines of a page, in the order of the file.

    ``outside``: number of words outside of the visible page; ``unmapped``: number of characters without a Unicode
    mapping; ``hidden``: number of lines drawn invisibly, which are marked; ``no_fonts``: names of fonts without which
    text of the page has no letters; ``frames``: the lines drawn around cells of tables.
    """

    lines: list[PageLine]
    outside: int = 0
    unmapped: int = 0
    hidden: int = 0
    no_fonts: frozenset[str] = frozenset()
    frames: tuple[Frame, ...] = ()


def load_text(library: Any, page: Any) -> Any:
    """Return the text of a page in the library's form, None if it is damaged; the caller closes it.

    The library orders words by their places on the displayed page, so the page is displayed with its text upright.
    """
    textpage = library.FPDFText_LoadPage(page)
    if not textpage:
        return None
    rotation = -_direction(library, textpage) % 4
    if rotation == library.FPDFPage_GetRotation(page) or library.FPDFText_CountChars(textpage) <= 0:
        return textpage
    library.FPDFText_ClosePage(textpage)
    library.FPDFPage_SetRotation(page, rotation)
    return library.FPDFText_LoadPage(page)


def text_of(library: Any, page: Any, textpage: Any) -> PageText:
    """Return the text of a loaded page; ``library`` is the module ``pypdfium2.raw``."""
    count = library.FPDFText_CountChars(textpage)
    if count <= 0:
        return PageText([], no_fonts=frozenset() if _has_picture(library, page) else missing_fonts(library, page))
    rectangle = library.FS_RECTF()
    shows = bool(library.FPDF_GetPageBoundingBox(page, ctypes.byref(rectangle)))
    turn = _TURNS[_direction(library, textpage)]
    area = turn((rectangle.left, rectangle.right, rectangle.bottom, rectangle.top))
    box_of = _boxes(library, textpage, turn)
    gaps = NarrowGaps(box_of)

    def guessed(at: int) -> bool:
        return bool(library.FPDFText_IsGenerated(textpage, at) == 1)

    lines: list[list[Word]] = []
    hidden: list[list[Word]] = []
    outside = 0
    was_hidden = False
    ends: dict[int, float] = {}
    has_columns = False
    characters, unmapped = _characters(library, textpage, count, box_of)
    for match in _LINE.finditer(characters):
        if down := columns(match[0], match.start(), box_of):
            lines += [[word] for word, _ in down if not shows or _within(word, area)]
            outside += sum(shows and not _within(word, area) for word, _ in down)
            ends |= {id(word): end for word, end in down if is_set_vertically(library, textpage, word.at)}
            has_columns = True
            continue
        if not match[0].isspace() and (words := _words(match[0], match.start(), box_of, guessed, gaps)):
            seen = [word for word in words if _within(word, area)] if shows else words
            outside += len(words) - len(seen)
            is_hidden = _is_invisible(library, textpage, match.end() - len(match[0].lstrip()))
            if seen and not (lines and is_hidden == was_hidden and _joined_to_previous(lines[-1], seen)):
                lines.append(seen)
                hidden += [seen] if is_hidden else []
            was_hidden = is_hidden
    if len(hidden) > len(lines) // 2 and _has_picture(library, page):  # a scanned page with a text layer
        hidden = []
    for words in hidden:
        words[0].text = f"{_HIDDEN}{words[0].text}"
        words[-1].text += "]"
    ordered = from_right_to_left(lines, ends) if has_columns else _with_drop_caps(lines)
    frames = () if has_columns else frames_of(library, page, turn)
    printed = [PageLine(words) for words in ordered]
    return PageText(printed, outside, unmapped, len(hidden), missing_fonts(library, page, textpage), frames)


def _has_picture(library: Any, page: Any) -> bool:
    objects = (library.FPDFPage_GetObject(page, at) for at in range(library.FPDFPage_CountObjects(page)))
    return any(library.FPDFPageObj_GetType(one) in _PICTURES for one in objects)


def _is_invisible(library: Any, textpage: Any, at: int) -> bool:
    """Return whether a character is drawn invisibly, as in text layers for searching."""
    drawn = library.FPDFText_GetTextObject(textpage, at)
    return bool(drawn) and library.FPDFTextObj_GetTextRenderMode(drawn) == _INVISIBLE


def _joined_to_previous(line: list[Word], words: list[Word]) -> bool:
    """Append words to the previous line if they are beside it: the library splits lines at scripts and wide gaps."""
    last, first = line[-1], words[0]
    gap = first.left - last.right
    if _script_kind(last, first):
        line[:] = _joined_scripts([*line, *words], lambda _: True)
        return True
    height = min(last.height, first.height)
    if abs(last.bottom - first.bottom) > _SHIFT * height or gap < -_WORD_GAP * height:
        return False
    if gap < _WORD_GAP * height:
        last.text += first.text
        last.right = first.right
        words = words[1:]
    line.extend(words)
    return True


def _within(word: Word, area: Box) -> bool:
    """Return whether the middle of a word is on the page. A box without height has no known position."""
    across, down = (word.left + word.right) / 2, (word.bottom + word.top) / 2
    return (area[0] <= across <= area[1] and area[2] <= down <= area[3]) or word.top <= word.bottom


def _characters(library: Any, textpage: Any, count: int, box_of: Callable[[int], Box]) -> tuple[str, int]:
    """Return the characters of a page, one per index of the library, and how many have no mapping.

    Unmapped characters within a word are taken for ligatures, which font writers omit most often.
    """
    one = library.FPDFText_GetUnicode
    buffer = (ctypes.c_ushort * (count * 2 + 2))()
    written = library.FPDFText_GetText(textpage, 0, count, buffer)
    text = bytes(buffer)[: max(0, written - 1) * 2].decode("utf-16-le", "replace")
    if len(text) != count:
        text = "".join(map(_character, (one(textpage, at) for at in range(count))))
    controls = len(_CONTROLS.findall(text))
    if _UNMAPPED not in text:
        return text, controls
    codes = {match.start(): one(textpage, match.start()) for match in re.finditer(_UNMAPPED, text)}
    characters = list(text)
    for at, code in codes.items():
        within = 0 < at < count - 1 and text[at - 1].isalpha() and text[at + 1].isalpha()
        characters[at] = _HYPHEN if code == _HYPHEN_CODE else _ligature(text, at, box_of) if within else " "
    return "".join(characters), controls + sum(code != _HYPHEN_CODE for code in codes.values())


def _character(code: int) -> str:
    if code in (0, _HYPHEN_CODE):
        return _UNMAPPED
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _ligature(text: str, at: int, box_of: Callable[[int], Box]) -> str:
    """Return the most likely ligature for an unmapped character, by its width and its neighbours."""
    left, right, bottom, top = box_of(at)
    vowel = text[at + 1].casefold() in _VOWELS
    if right - left > _WIDE_LIGATURE * (top - bottom):
        return "\ufb04" if vowel else "\ufb03"
    if not vowel:
        return "\ufb01"
    return "\ufb00" if text[at - 1].casefold() in _VOWELS else "\ufb02"


def _direction(library: Any, textpage: Any) -> int:
    """Return by how many quarters, clockwise, most characters of the page are turned."""
    count = library.FPDFText_CountChars(textpage)
    places = range(0, count, max(1, count // _SAMPLE))
    quarters = [round(library.FPDFText_GetCharAngle(textpage, at) / (math.pi / 2)) % 4 for at in places]
    return max(range(4), key=quarters.count)


def _boxes(library: Any, textpage: Any, turn: Callable[[Box], Box]) -> Callable[[int], Box]:
    rectangle = library.FS_RECTF()
    pointer, get = ctypes.byref(rectangle), library.FPDFText_GetLooseCharBox

    def box(at: int) -> Box:
        get(textpage, at, pointer)
        return rectangle.left, rectangle.right, rectangle.bottom, rectangle.top

    return box if turn is _TURNS[0] else lambda at: turn(box(at))


def _words(
    raw: str, begin: int, box_of: Callable[[int], Box], guessed: Callable[[int], bool], gaps: NarrowGaps
) -> list[Word]:
    """Return the words of a line whose first character has the index ``begin``.

    ``guessed``: index → whether the library inserted this character because of a gap.
    """
    words: list[Word] = []
    for start, end in _spans(raw, begin, gaps):
        text, first, last = raw[start:end], begin + start, begin + end - 1
        left, right, bottom, top = box_of(first)
        if last > first:
            left_2, right_2, bottom_2, top_2 = box_of(last)
            height, height_2 = top - bottom, top_2 - bottom_2
            lowest = min(height, height_2)
            upright = bottom_2 < top and bottom < top_2
            changes = lowest < _SMALLER * max(height, height_2)
            if upright and (changes or (len(text) < _LONG and _MAY_HAVE_SCRIPT.search(text))):
                words += _with_scripts(text, [box_of(at) for at in range(first, last + 1)])
                continue
            if not upright and len(stacked := _stacked(text, first, box_of)) > 1:
                words += stacked
                continue
            left, right = min(left, left_2), max(right, right_2)
            bottom, top = min(bottom, bottom_2), max(top, top_2)
        if words and _is_kerned(words[-1], text, left, bottom, top) and guessed(first - 1):
            words[-1].text, words[-1].right = words[-1].text + text, right
            continue
        words.append(Word(text, left, right, bottom, top, first))
    if _RIGHT_TO_LEFT.search(raw):
        return _right_to_left(raw, begin, box_of, words)
    return _joined_scripts(words, guessed)


def _stacked(text: str, first: int, box_of: Callable[[int], Box]) -> list[Word]:
    """Return the words of a text whose letters stand far below each other, which the library returns as one."""
    words: list[Word] = []
    for at, char in enumerate(text, first):
        left, right, bottom, top = box_of(at)
        last = words[-1] if words else None
        if last is None or max(bottom - last.top, last.bottom - top) > max(right - left, top - bottom):
            words.append(Word(char, left, right, bottom, top, at))
        else:
            last.text += char
            last.left, last.right = min(last.left, left), max(last.right, right)
            last.bottom, last.top = min(last.bottom, bottom), max(last.top, top)
    return words


def _spans(raw: str, begin: int, gaps: NarrowGaps) -> list[tuple[int, int]]:
    """Return the begin and the end of each word of a line; words that stand too close are parted."""
    found = [match.span() for match in _WORD.finditer(raw)]
    if _RIGHT_TO_LEFT.search(raw):
        return found
    seen = gaps.seen
    parts = _parted(raw, begin, found, gaps)
    return parts if seen == gaps.seen else _parted(raw, begin, found, gaps)  # with the shorter words of the line


def _parted(raw: str, begin: int, found: list[tuple[int, int]], gaps: NarrowGaps) -> list[tuple[int, int]]:
    return [
        (start + left, start + right)
        for start, end in found
        for left, right in gaps.parts(raw[start:end], begin + start)
    ]


def _is_kerned(last: Word, text: str, left: float, bottom: float, top: float) -> bool:
    """Return whether ``text``, which begins at ``left``, follows the last word without a visible gap."""
    if abs(left - last.right) >= _KERNING * (top - bottom) or not last.bottom <= (bottom + top) / 2 <= last.top:
        return False
    both = f"{last.text[-2:]} {text[:2]}"
    return _SINGLE.search(both) is not None and not _RIGHT_TO_LEFT.search(both)


def _with_scripts(text: str, boxes: Sequence[Box]) -> list[Word]:
    """Return a word with its superscripts marked, split if it continues after a gap."""
    base = max(boxes, key=lambda box: box[3] - box[2])
    height = base[3] - base[2]
    kinds = [_script(box, base) for box in boxes]
    parts: list[tuple[str, int]] = []  # (text of a word, its offset)
    word = ""
    begin = 0
    for at, char in enumerate(text):
        changes = at > 0 and kinds[at] != kinds[at - 1]
        if changes and not kinds[at] and boxes[at][0] - boxes[at - 1][1] > _WORD_GAP * height:
            parts.append((word, begin))
            word, begin = "", at
        elif changes and kinds[at] and word:
            end = next((to for to in range(at, len(text)) if kinds[to] != kinds[at]), len(text))
            word += _mark(word[-1], text[at:end], kinds[at])
        word += "-" if kinds[at] > 0 and char in "−–" else char
    parts.append((word, begin))
    ends = [*(begin for _, begin in parts[1:]), len(text)]
    return [
        Word(one, boxes[begin][0], max(box[1] for box in boxes[begin:end]), base[2], base[3])
        for (one, begin), end in zip(parts, ends, strict=True)
    ]


def _script(box: Box, base: Box) -> int:
    """Return 1 for a superscript, -1 for a subscript, 0 for a normal character."""
    height = base[3] - base[2]
    if not _SMALLEST * height < box[3] - box[2] < _SMALLER * height:
        return 0
    if box[2] - base[2] > _SHIFT * height:
        return 1
    return -1 if base[3] - box[3] > _SHIFT * height else 0


def _mark(before: str, script: str, kind: int) -> str:
    """Return the mark between a character and a superscript (1) or subscript (-1) after it."""
    if kind < 0:
        return "_" if before.isdigit() and script[0].isalnum() else ""
    if not _EXPONENT.match(script) or (before.isdigit() and _ORDINAL.match(script)):
        return ""
    return "^" if before not in "^-‐–—(" else ""


def _joined_scripts(words: list[Word], guessed: Callable[[int], bool]) -> list[Word]:
    """Join superscripts and subscripts that the library returns as separate words to their words.

    Words separated by a space in the file are not joined: the boxes of rotated text look like those of scripts.
    """
    if len(words) < 2:
        return words
    joined = words[:1]
    for word in words[1:]:
        last = joined[-1]
        kind = _script_kind(last, word)
        if kind and (word.at < 1 or guessed(word.at - 1)):
            text = word.text.translate(_MINUS) if kind > 0 else word.text
            last.text += _mark(last.text[-1], text, kind) + text
            last.right = max(last.right, word.right)
        else:
            joined.append(word)
    return joined


def _script_kind(last: Word, word: Word) -> int:
    """Return 1 or -1 if a word is a superscript or subscript of the last one, else 0."""
    height = last.height
    near = -height < word.left - last.right < _WORD_GAP * height
    if not near or len(word.text) > _LONGEST_SCRIPT:
        return 0
    if not last.text[-1].isalnum() or not _EXPONENT.match(word.text):
        return 0
    if word.top < last.bottom or word.bottom > last.top:
        return 0
    box = (word.left, word.right, word.bottom, word.top)
    return _script(box, (last.left, last.right, last.bottom, last.top))


def _right_to_left(raw: str, begin: int, box_of: Callable[[int], Box], words: list[Word]) -> list[Word]:
    """Return the words of a right-to-left line in logical order if the library returns them in visual order.

    In a right-to-left word, the first letter is on the right. If it is not, the line is rebuilt from the positions of
    its letters.
    """
    backwards = 0
    for match, word in zip(_WORD.finditer(raw), words, strict=False):
        letters = [at for at in range(match.start(), match.end()) if _RIGHT_TO_LEFT.match(raw[at])]
        if len(letters) > 1:
            first, last = box_of(begin + letters[0])[0], box_of(begin + letters[-1])[0]
            backwards += (first < last) - (first > last)
            if first == last and word.text == match[0]:  # a single glyph
                word.text = word.text[::-1]
    if backwards <= 0:
        return words
    clusters: list[tuple[Box, str]] = []
    marks: list[tuple[Box, str]] = []
    for at, char in enumerate(raw):
        if char > " ":
            (marks if unicodedata.combining(char) else clusters).append((box_of(begin + at), char))
    clusters.sort(key=lambda one: one[0][0])
    for box, char in marks:
        middle = (box[0] + box[1]) / 2
        at = max(0, bisect.bisect_right(clusters, middle, key=lambda one: one[0][0]) - 1)
        if clusters:
            clusters[at] = (clusters[at][0], clusters[at][1] + char)
    return [_logical(clusters)] if clusters else words


def _logical(clusters: Sequence[tuple[Box, str]]) -> Word:
    """Return letters with their marks, sorted from left to right, as a word in reading order."""
    left, right = clusters[0][0][0], max(box[1] for box, _ in clusters)
    bottom, top = min(box[2] for box, _ in clusters), max(box[3] for box, _ in clusters)
    parts: list[str] = []
    last = right
    for box, char in reversed(clusters):
        if parts and last - box[1] > _WORD_GAP * (top - bottom):
            parts.append(" ")
        parts.append(char)
        last = box[0]
    text = _LEFT_TO_RIGHT.sub(lambda match: match[0][::-1], "".join(parts).translate(_MIRRORED))
    return Word(text, left, right, bottom, top)


def _with_drop_caps(lines: list[list[Word]]) -> list[list[Word]]:
    """Join drop caps, which extend over several lines, to their words."""
    taken: set[int] = set()
    for at, line in enumerate(lines):
        cap = line[0]
        if len(line) > 1 or len(cap.text) > 1 or not cap.text.isupper():
            continue
        near = (one for one in range(max(0, at - _NEAR), min(len(lines), at + _NEAR + 1)) if one != at)
        for one in near:
            word = lines[one][0]
            height = word.height
            beside = -0.3 * height < word.left - cap.right < 0.8 * height
            first = cap.bottom < word.bottom and word.top > cap.top - 1.2 * height and word.top <= cap.top + height
            if height > 0 and cap.height > _DROP_CAP * height and beside and first and word.text[0].isalpha():
                apart = cap.text in "AIO" and word.left - cap.right > 0.35 * height
                word.text = f"{cap.text} {word.text}" if apart else cap.text + word.text
                word.left = cap.left
                taken.add(at)
                break
    return [line for at, line in enumerate(lines) if at not in taken] if taken else lines
