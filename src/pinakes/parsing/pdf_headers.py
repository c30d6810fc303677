"""Detects headers, footers and page numbers of printed pages, and removes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pinakes.core.records import ReadingNote

_EDGE_LINES: Final = 3
"""Headers and footers are among this many first or last lines of a page, and at most a quarter of it each."""
_LEAST_PAGES: Final = 3
_SHARE: Final = 0.5
"""A line on this share of all pages, or of all left or all right ones, is a header or footer."""
_MAX_CHARS: Final = 150
_LEAST_NUMBERED: Final = 4
"""A number beside words is a page number only if it counts up on this many pages: chapters have numbers, too."""
_LARGEST_OFFSET: Final = 1000
"""A number beside words that is larger by this than that of its page is one of a series, such as invoices, unless its
place alternates between left and right pages, as in journals."""
_LEAST_SIDES: Final = 2
_YEARS: Final = (1800, 2100)
"""A number alone that may be a year, unless the document has as many pages."""
_MAX_EXAMPLE_CHARS: Final = 60

_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_SIGNS: Final = re.compile(r"[\W_]+")
_PAGE: Final = r"(?:pages?|seite|página|pagina|pág\.|pag\.|p\.|pg\.|s\.)"
_OF: Final = r"(?:\s*(?:/|of|von|de|di|sur|\|)\s*\d{1,5})"
_ALONE: Final = re.compile(
    rf"[-–—(\[|\s]*(?:{_PAGE}\s*)?(?P<number>[1-9]\d{{0,4}}|[ivxl]{{1,8}}){_OF}?[-–—)\]|\s]*", re.IGNORECASE
)
_NAMED: Final = re.compile(
    rf"[-–—(\[|\s]*(?:{_PAGE}\s*(?P<named>\d{{1,5}}){_OF}?|[-–—]\s*(?P<dashed>\d{{1,5}})\s*[-–—])[)\]|\s]*",
    re.IGNORECASE,
)
_BEGINS: Final = re.compile(
    rf"(?P<named>{_PAGE}\s*)?(?P<number>[1-9]\d{{0,4}}|[ivxl]{{2,8}}){_OF}?(?P<gap>\s*[|·•]\s*|\s+)(?P<rest>\S.*)",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(
    rf"(?P<rest>\S.*?)(?P<gap>\s*[|·•]\s*|\s+)(?P<named>\(?{_PAGE}\s*)?(?P<number>[1-9]\d{{0,4}}|[ivxl]{{2,8}}){_OF}?\)?",
    re.IGNORECASE,
)
_IDENTIFIES: Final = re.compile(
    r"\b(?:no|nr|num|number|nummer|numéro|número|id|total|sum|summe|amount|betrag|balance|score|qty|room|seat)\.?\s*$"
    r"|^\W*(?:jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|février|mar(?:ch|s|zo)?|märz|apr(?:il|ile)?|avril|abril|may|mai|mayo"
    r"|maggio|june?|juni?|juin|junio|giugno|july?|juli?|juillet|julio|luglio|aug(?:ust)?|août|agosto|sept?(?:ember|embre)?"
    r"|septiembre|settembre|o[ck]t(?:ober|obre)?|octubre|ottobre|nov(?:ember|embre)?|noviembre|de[cz](?:ember)?|décembre"
    r"|diciembre|dicembre|enero|gennaio|febrero|febbraio|days?|weeks?|tage?|wochen?|jours?|semaines?)\W*$",
    re.IGNORECASE,
)
"""Words beside a value that is not a page number: those before it, or the month of a day."""
_INTRODUCES: Final = re.compile(r"[:#№=.]\s*$")
"""The end of words before such a value."""

_SERIES: Final = re.compile(
    r"\b(?:order|case|file|offer|claim)|invoice|receipt|certificate|ticket|voucher|quote|policy|contract|customer|patient"
    r"|delivery|shipment|sample|account|rechnung|quittung|bestell|auftrag|akte|zertifikat|bescheinigung|beleg|gutschein"
    r"|angebot|vertrag|kunde|lieferschein|probe|konto|facture|reçu|commande|dossier|certificat|devis|contrat|client"
    r"|factura|recibo|pedido|certificado|contrato|fattura|ricevuta|ordine|pratica|certificato|contratto",
    re.IGNORECASE,
)
"""Words of what is numbered in a series, as pages are: a large number beside one of them is no page number."""

_ROMAN: Final = {
    f"{tens}{ones}": 10 * at_tens + at
    for at_tens, tens in enumerate(("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx"))
    for at, ones in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if len(tens + ones) > 1
}
"""Roman page numbers before the first chapter; single letters are too ambiguous."""


@dataclass(frozen=True, slots=True)
class CleanedPages:
    """Pages without headers, footers and page numbers; the lines removed, from how many pages, and an example."""

    pages: list[str]
    lines: int = 0
    of_pages: int = 0
    example: str = ""

    def note(self) -> ReadingNote | None:
        """Return the note for the report, None if nothing was removed."""
        if not self.lines:
            return None
        lines = "1 line" if self.lines == 1 else f"{self.lines} lines"
        pages = "1 page" if self.of_pages == 1 else f"{self.of_pages} pages"
        message = f"{lines} of {pages} left out: headers, footers and page numbers, such as {self.example!r}"
        return ReadingNote("running-lines", message, count=self.lines)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A line with a possible page number, and the words beside it.

    ``sure``: its form identifies a page number, as in ``Page 3`` or ``3 | Title``; ``named``: a word says so;
    ``first``: the number begins the line.
    """

    at: int
    number: int
    rest: str = ""
    sure: bool = False
    first: bool = False
    named: bool = False


def cleaned(pages: Sequence[str]) -> CleanedPages:
    """Return pages without headers, footers and page numbers.

    A header or footer is a line that repeats exactly on half of the pages (or half of the left or right ones), at least
    on three; its first occurrence is kept. A page number is a number that counts up with the pages, alone or beside
    words that no other line has. All other lines are kept, including those that differ only in numbers.
    """
    split = [page.split("\n") for page in pages]
    edges = [_edges(lines) for lines in split]
    running = _running([{_key(line) for line in edge.values()} for edge in edges])
    numbered = [_numbered(edge, running, lines) for edge, lines in zip(edges, split, strict=True)]
    offsets = _offsets(numbered, len(pages))
    rests = Counter(_signless(one.rest) for page in numbered for one in page if one.rest)
    elsewhere = _lines_elsewhere(split, edges) if rests else set()
    seen: set[str] = set()
    dropped = of_pages = 0
    example = ""
    for page, (lines, edge) in enumerate(zip(split, edges, strict=True), start=1):
        found = [one for one in numbered[page - 1] if _is_page_number(one, page, offsets, rests)]
        changed = {one.at: one for one in found[:1]}
        before = dropped
        for at, line in edge.items():
            key, kept = _key(line), line
            if at in changed:
                rest = _signless(changed[at].rest)
                kept = "" if rest in elsewhere else changed[at].rest
                elsewhere.add(rest)
            elif key in running:
                kept = line if key not in seen else ""
                seen.add(key)
            if kept != line:
                lines[at] = kept
                dropped += 1
                example = example or " ".join(line.split())[:_MAX_EXAMPLE_CHARS]
        of_pages += dropped > before
    return CleanedPages(["\n".join(lines) for lines in split], dropped, of_pages, example)


def _edges(lines: Sequence[str]) -> dict[int, str]:
    """Return line number → line, for the first and last lines of a page, except table rows."""
    there = [at for at, line in enumerate(lines) if line.strip()]
    some = max(1, min(_EDGE_LINES, len(there) // 4))
    edge = dict.fromkeys((*there[:some], *there[-some:]))
    return {at: lines[at].strip() for at in edge if len(lines[at]) <= _MAX_CHARS and not lines[at].startswith("|")}


def _key(line: str) -> str:
    return " ".join(line.split()).casefold()


def _signless(line: str) -> str:
    """Return the letters and digits of a line, since headers punctuate section names differently than headings."""
    return _SIGNS.sub("", line).casefold()


def _lines_elsewhere(pages: Sequence[Sequence[str]], edges: Sequence[Mapping[int, str]]) -> set[str]:
    """Return the text of lines that are not at the edge of a page."""
    return {
        _signless(line)
        for lines, edge in zip(pages, edges, strict=True)
        for at, line in enumerate(lines)
        if at not in edge and len(line) <= _MAX_CHARS
    }


def _running(edges: Sequence[set[str]]) -> frozenset[str]:
    """Return the lines at the edge of most pages, or of most left or right ones."""
    found: set[str] = set()
    for some in (edges, edges[::2], edges[1::2]):
        counted = Counter(line for edge in some for line in edge)
        least = max(_LEAST_PAGES, len(some) * _SHARE)
        found |= {line for line, count in counted.items() if count >= least and _LETTERS.search(line)}
    return frozenset(found)


def _numbered(edge: Mapping[int, str], running: frozenset[str], lines: Sequence[str]) -> list[_Numbered]:
    """Return possible page numbers, the most likely first, in the first and last line that is not a header or footer.

    A line whose form identifies a page number may be anywhere at the edge.
    """
    there = [at for at, line in edge.items() if _key(line) not in running]
    outer = {*there[:1], *there[-1:]} | {at for at in there if _NAMED.fullmatch(edge[at])}
    found = [one for at in sorted(outer) for one in _numbers(edge[at], at, lines)]
    return sorted(found, key=lambda one: (bool(one.rest), not one.sure, not one.first))


def _numbers(line: str, at: int, lines: Sequence[str]) -> Iterator[_Numbered]:
    """Yield possible page numbers in a line: the whole line, or its start or end."""
    if match := _ALONE.fullmatch(line):
        if number := _value(match["number"]):
            apart = at > 0 and not lines[at - 1].strip()
            yield _Numbered(at, number, sure=apart or _NAMED.fullmatch(line) is not None)
        return
    for pattern in (_BEGINS, _ENDS):
        match = pattern.fullmatch(line)
        if match and (number := _value(match["number"])) and not _identifies(match["rest"], before=pattern is _ENDS):
            wide = bool(match["gap"].strip()) or len(match["gap"]) > 1
            named = match["named"] is not None
            rest = match["rest"].strip(" |·•–—-")
            if pattern is _BEGINS and not wide and rest[:1].islower():  # "30 hours"
                continue
            yield _Numbered(at, number, rest, sure=wide or named, first=pattern is _BEGINS, named=named)


def _identifies(words: str, *, before: bool) -> bool:
    """Return whether words, before or after a number, are those of a value that is not a page number."""
    return bool(_IDENTIFIES.search(words)) or (before and bool(_INTRODUCES.search(words)))


def _value(number: str) -> int:
    return int(number) if number.isdigit() else _ROMAN.get(number.casefold(), 0)


def _offsets(numbered: Sequence[Sequence[_Numbered]], pages: int) -> tuple[frozenset[int], frozenset[int]]:
    """Return the differences between page number and page index: for numbers alone, and beside words.

    A number counts up if the difference is the same on half of the pages, or on most pages of a sequence.
    """
    alone: dict[int, set[int]] = {}
    beside: dict[int, set[int]] = {}
    doubtful: dict[int, set[int]] = {}
    sides: dict[int, Counter[tuple[bool, int]]] = {}
    for page, found in enumerate(numbered, start=1):
        for one in found:
            if not one.rest:
                alone.setdefault(one.number - page, set()).add(page)
            else:
                known = beside if one.sure or one.first else doubtful
                known.setdefault(one.number - page, set()).add(page)
                on_sides = sides.setdefault(one.number - page, Counter())
                on_sides[one.first, page % 2] += not _SERIES.search(one.rest)
    for at in (at for at in sides if _alternates(sides[at])):
        beside[at] = beside.get(at, set()) | doubtful.get(at, set())
    beside = {at: on for at, on in beside.items() if at < _LARGEST_OFFSET or _alternates(sides[at])}
    return tuple(  # type: ignore[return-value]
        frozenset(
            offset
            for offset, on in found.items()
            if (len(on) >= max(least, pages * _SHARE))
            or (len(on) > least and len(on) >= (max(on) - min(on) + 1) * _SHARE)
        )
        for found, least in ((alone, 2), (beside, _LEAST_NUMBERED))
    )


def _alternates(sides: Mapping[tuple[bool, int], int]) -> bool:
    """Return whether numbers begin the lines of left pages and end those of right ones, or the other way round."""
    return any(
        min(sides.get((True, side), 0), sides.get((False, 1 - side), 0)) >= _LEAST_SIDES
        and not sides.get((True, 1 - side), 0) + sides.get((False, side), 0)
        for side in (0, 1)
    )


def _is_page_number(
    one: _Numbered, page: int, offsets: tuple[frozenset[int], frozenset[int]], rests: Mapping[str, int]
) -> bool:
    alone, beside = offsets
    offset = one.number - page
    if offset >= _LARGEST_OFFSET and not one.rest and _YEARS[0] <= one.number <= _YEARS[1]:
        return False
    if not one.rest:
        return offset in alone or (one.sure and offset == 0)
    repeated = rests[_signless(one.rest)] > 1
    return (offset in beside and (one.sure or repeated)) or (one.named and offset == 0 and repeated)
