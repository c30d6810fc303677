"""Writes displayed values into a web page before conversion, and removes tags inside of words.

The values are superscripts and subscripts, check boxes, form fields and item numbers.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from pinakes.parsing.scripts import scripted
from pinakes.parsing.word_styles import counted_as
from pinakes.text.markup import Element, cut, elements

Change: TypeAlias = tuple[int, int, str]

_LIST_TAG: Final = re.compile(r"<(/?)(ul|ol|li)\b[^<>]*>", re.IGNORECASE)
_MOST_CHARS: Final = 5_000_000
"""Larger pages are read unchanged, since finding their elements would take too long."""
_UNSEEN: Final = re.compile(
    "<wbr\\b[^<>]*>|[\u00ad\u200b\u2060\ufeff]"
    "|&(?:shy|ZeroWidthSpace|NoBreak|#0*(?:173|8203|8288|65279)|#[xX]0*(?:[aA][dD]|200[bB]|2060|[fF][eE][fF][fF]));",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<[^<>]*>")
_LOOKS: Final = ("b", "strong", "i", "em", "u", "s", "mark", "small", "big", "cite", "dfn", "var", "tt")
"""Formatting that the conversion marks."""
_INLINE: Final = re.compile(
    rf"</?(?:{'|'.join((*_LOOKS, 'a', 'sup', 'sub', 'span', 'font', 'bdi'))})\b[^<>]*>", re.IGNORECASE
)
_AROUND_CHARS: Final = 300
_SCRIPT_CHARS: Final = 60
_SCRIPT_SOURCE: Final = 1000
_REFERENCES: Final = frozenset(
    ("reference", "footnote", "footnote-ref", "footnoteref", "noteref", "fn", "cite", "citation")
)
_LETTERS: Final = r"[^\W\d_\u0590-\U0010ffff]{1,30}"
"""Letters of scripts that separate words by spaces, so that a link cannot grow over a sentence."""
_LETTERS_BEHIND: Final = re.compile(_LETTERS)
_LETTERS_BEFORE: Final = re.compile(rf"{_LETTERS}\Z")
_FIELDS: Final = frozenset(
    ("", "text", "number", "date", "time", "datetime-local", "month", "week", "email", "tel", "url", "search")
)
_KINDS: Final = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_PLACED: Final = {
    "mfrac": ("", "/"),
    "mroot": ("", "^(1/"),
    **dict.fromkeys(("msup", "mover"), ("", "^")),
    **dict.fromkeys(("msub", "munder"), ("", "_")),
    **dict.fromkeys(("msubsup", "munderover"), ("", "_", "^")),
}
"""Element of MathML → the signs before its parts."""
_ANNOTATIONS: Final = ("annotation", "annotation-xml")
"""What repeats a formula in another notation."""
_ROWS: Final = ("math", "mrow", "mstyle", "mpadded", "menclose", "mtd", "msqrt")
"""Elements of MathML whose parts stand side by side."""
_MATH_WORD: Final = re.compile(r">\s*[^<\s]")
_MATH_PLACE: Final = re.compile(r"</?m(?:frac|sqrt|root|sup|sub|over|under)")
_FORM: Final = re.compile(r"(</?)form(?=[\s/>])", re.IGNORECASE)
"""The conversion drops forms with all of their text, which is the whole page for some web frameworks."""
_UNKNOWN: Final = (
    r"acronym|applet|big|blink|canvas|content|dir|font|marquee|multicol|nobr|noembed|noindex|portal|shadow|slot|tt"
    r"|h[7-9]|[a-zA-Z][\w.]*[-:][\w.:-]*+"
)
"""Elements that the conversion does not know: it drops the line break before and after them."""
_BETWEEN: Final = re.compile(
    r"<(?P<as_is>pre|textarea)\b.*?(?:</(?P=as_is)\s*>|\Z)"
    rf"|(?P<end></(?:{_UNKNOWN})\s*>)\s++(?=<)|(?<=>)\s++(?=<(?:{_UNKNOWN})[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
_OPENED, _CLOSED = "☐", "☒"
_SHUT: Final = "</"


def with_values(source: str) -> str:
    """Return a page whose values and words survive the conversion."""
    source = _BETWEEN.sub(_parted, _FORM.sub(r"\1div", _UNSEEN.sub("", source)))
    if len(source) > _MOST_CHARS:
        return source
    source = _closed_items(source)
    found = elements(source)
    changes = [*_scripts(source, found), *_controls(source, found), *_whole_words(source, found)]
    changes += _mathematics(source, found)
    return cut(source, (0, len(source)), changes)


def _parted(found: re.Match[str]) -> str:
    """Return a space for the line break beside an element; text whose line breaks are shown stays."""
    return found[0] if found["as_is"] else f"{found['end'] or ''} "


def _closed_items(source: str) -> str:
    """Return a page with the implied end tags of list items."""
    parts: list[str] = []
    at = 0
    opened: list[bool] = []  # for each open list, whether it has an open item
    for match in _LIST_TAG.finditer(source):
        name, ends = match[2].lower(), bool(match[1])
        if name == "li":
            if opened and opened[-1] and not ends:
                parts += [source[at : match.start()], "</li>"]
                at = match.start()
            if opened:
                opened[-1] = not ends
        elif not ends:
            opened.append(False)
        elif opened and opened.pop():
            parts += [source[at : match.start()], "</li>"]
            at = match.start()
    return "".join([*parts, source[at:]])


def _scripts(source: str, found: Sequence[Element]) -> Iterator[Change]:
    """Yield replacements of raised and lowered text by characters; links to other pages are kept."""
    links = {element.parent for element in found if element.tag == "a" and not _is_here(element)}
    for at, element in enumerate(found):
        if element.tag not in ("sup", "sub") or at in links or element.inner_end - element.inside > _SCRIPT_SOURCE:
            continue
        inner = source[element.inside : element.inner_end]
        text = html.unescape(_TAG.sub("", inner))
        if not text.strip() or len(text) > _SCRIPT_CHARS or "<sup" in inner or "<sub" in inner:
            continue
        before = _text_before(source, element.start)
        reference = "<a " in inner or bool(element.words & _REFERENCES)
        script = scripted(text, "super" if element.tag == "sup" else "sub", before, reference=reference)
        yield element.start, element.end, html.escape(script, quote=False)


def _mathematics(source: str, found: Sequence[Element]) -> Iterator[Change]:
    """Yield the signs that MathML shows by the places of its parts: fractions, powers, indexes, roots."""
    if "<math" not in source:
        return
    parts: dict[int | None, list[int]] = {}
    for at, element in enumerate(found):
        parts.setdefault(element.parent, []).append(at)
        if element.tag in _ANNOTATIONS:
            yield element.start, element.end, ""
    for at, element in enumerate(found):
        if element.tag == "msqrt":
            yield element.start, element.start, "√"
            yield from _grouped(source, element)
        for sign, part in zip(_PLACED.get(element.tag, ()), parts.get(at, ()), strict=False):
            yield found[part].start, found[part].start, sign
            yield from _grouped(source, found[part])
            if sign.startswith("^("):
                yield found[part].end, found[part].end, ")"
        if element.tag in _ROWS:
            sides = [found[part] for part in parts.get(at, ())]
            yield from (
                (right.start, right.start, " ") for left, right in pairwise(sides) if _would_join(source, left, right)
            )


def _would_join(source: str, left: Element, right: Element) -> bool:
    """Return whether two parts of a formula, of which one has other places than the line, would read as one word."""
    before = source[max(left.start, left.end - _AROUND_CHARS) : left.end]
    after = source[right.start : min(right.end, right.start + _AROUND_CHARS)]
    if right.tag == "msqrt" or not (_MATH_PLACE.search(before) or _MATH_PLACE.search(after)):
        return False
    ends, begins = (html.unescape(_TAG.sub("", one)).strip() for one in (before, after))
    return ends[-1:].isalnum() and begins[:1].isalnum()


def _grouped(source: str, part: Element) -> Iterator[Change]:
    """Yield brackets around a part of a formula that consists of several words."""
    if len(_MATH_WORD.findall(source, part.inside, part.inner_end)) > 1:
        yield part.inside, part.inside, "("
        yield part.inner_end, part.inner_end, ")"


def _is_here(link: Element) -> bool:
    """Return whether a link leads to a place in the same page."""
    href = link.attributes.get("href", "")
    return not href or "#" in href


def _text_before(source: str, at: int) -> str:
    """Return the end of the text before an offset in a line, ignoring formatting tags."""
    text = source[max(0, at - _AROUND_CHARS) : at]
    text = _INLINE.sub("", text)
    return html.unescape(text[text.rfind(">") + 1 :][-40:])


def _text_after(source: str, at: int) -> str:
    text = _INLINE.sub("", source[at : at + _AROUND_CHARS])
    return html.unescape(text.partition("<")[0][:40])


def _controls(source: str, found: Sequence[Element]) -> Iterator[Change]:
    """Yield the values of form fields, and the numbers of lists that do not simply count."""
    counts: dict[int, int] = {}
    items = Counter(one.parent for one in found if one.tag == "li")
    listed = {
        at
        for at, one in enumerate(found)
        if one.tag == "ol" and (one.attributes.get("type") in _KINDS or "reversed" in one.attributes)
    }
    for at, element in enumerate(found):
        tag, attributes = element.tag, element.attributes
        if tag == "input":
            if shown := _shown(attributes):
                is_text = shown not in (_OPENED, _CLOSED)  # of which the conversion drops the space before a line break
                yield element.start, element.end, f"<span> {shown} </span>" if is_text else f" {shown} "
        elif tag == "option":
            yield element.start, element.inside, f" {_CLOSED if 'selected' in attributes else _OPENED} "
            if element.end > element.inner_end:
                yield element.inner_end, element.end, " "
        elif at in listed:
            start = attributes.get("start", "")
            step = -1 if "reversed" in attributes else 1
            first = items[at] if step < 0 else 1
            counts[at] = (int(start) if start.isdecimal() and len(start) < 7 else first) - step
            yield element.start, element.inside, "<ul>"
            if source.startswith(_SHUT, element.inner_end):
                yield element.inner_end, element.end, "</ul>"
        elif tag == "li" and element.parent is not None and found[element.parent].tag == "ol":
            yield from _item(element, found[element.parent], element.parent, counts)


def _item(item: Element, of: Element, at: int, counts: dict[int, int]) -> Iterator[Change]:
    """Yield an item with its explicit number, or with that of a list which does not count 1, 2, 3."""
    value = item.attributes.get("value", "")
    stated = int(value) if value.isdecimal() and len(value) < 7 else None
    if at in counts:
        step = -1 if "reversed" in of.attributes else 1
        counts[at] = counts[at] + step if stated is None else stated
        kind = _KINDS.get(of.attributes.get("type", ""), "decimal")
        yield item.inside, item.inside, f"{counted_as(kind, counts[at])}. "
    elif stated is not None:
        yield item.start, item.inside, f'</ol><ol start="{stated}"><li>'


def _shown(attributes: dict[str, str]) -> str:
    """Return the displayed value of a field, "" for a button or an empty field."""
    kind = attributes.get("type", "").lower()
    if kind in ("checkbox", "radio"):
        return _CLOSED if "checked" in attributes else _OPENED
    return html.escape(attributes.get("value", "").strip()) if kind in _FIELDS else ""


def _whole_words(source: str, found: Sequence[Element]) -> Iterator[Change]:
    """Yield replacements of tags inside of a word: formatting tags are removed, links extended to the whole word."""
    for element in found:
        if element.tag in _LOOKS:
            if _in_word(source, element.start, element.inside) or _in_word(source, element.inner_end, element.end):
                yield element.start, element.inside, ""
                if element.end > element.inner_end:
                    yield element.inner_end, element.end, ""
        elif element.tag == "a" and element.end > element.inner_end and element.inner_end > element.inside:
            yield from _whole_link(source, element)


def _in_word(source: str, begin: int, end: int) -> bool:
    """Return whether the tag at ``source[begin:end]`` is between two characters of a word."""
    before, after = source[begin - 1 : begin], source[end : end + 1]
    if not (before.isalnum() or before in (">", ";")) or not (after.isalnum() or after in ("<", "&")):
        return False
    return _text_before(source, begin)[-1:].isalnum() and _text_after(source, end)[:1].isalnum()


def _whole_link(source: str, link: Element) -> Iterator[Change]:
    begun = _LETTERS_BEFORE.search(source, max(0, link.start - 30), link.start)
    if begun and source[link.inside].isalpha():
        yield begun.start(), link.inside, source[link.start : link.inside] + begun[0]
    rest = _LETTERS_BEHIND.match(source, link.end)
    if rest and source[link.inner_end - 1].isalpha():
        yield link.inner_end, rest.end(), rest[0] + source[link.inner_end : link.end]
