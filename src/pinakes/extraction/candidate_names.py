"""Names that no list has: sequences of capitalised words, with types from the text around them.

A candidate whose type the text gives gets it; the others may get one later from the statistics of the collection
(``graph.canonical``).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from pinakes.core.filters import glob_matches
from pinakes.core.graph_records import UNTYPED, EntityName, ExtractionSubject, Findings, Link, Mention
from pinakes.settings import GraphRules

_WORD: Final = r"[A-Z0-9][\w'’]*(?:[.&+/'’-]\w+)*|[a-z]+[A-Z]\w*"
_ROW: Final = re.compile(rf"(?<![\w./#@-])(?:{_WORD})(?:(?:[ ]&)?[ ](?:(?:St|[A-Z])\.(?=[ ][A-Z])|{_WORD})){{0,5}}")
_SAYS: Final = re.compile(
    r"[\"')*_]{0,4}(?: \([^()\n]{1,60}\))? (?:is|are|was) (?:an?|the|our|one of)\b(?P<what>[^.;:\n]{1,160})"
)
_HEADING_LINE: Final = re.compile(r"^#{1,6}[ \t]+(?P<title>[^\n]+)$", re.MULTILINE)
_HEAD: Final = re.compile(r"^(?:#{1,6}[ \t]+(?P<heading>[^\n]+)|(?P<line>[^\n|#][^\n]*):[ \t*_]*)$", re.MULTILINE)
_NAME_OF_ITEM: Final = re.compile(r"[A-Z0-9][^\n,:;()–|\]]*?(?=[\])*_]*(?:[ ]?[,:;(–|]|[ ]-[ ]|[ ]is[ ]|$))")
_MOST_OF_ITEM: Final = 4
_TABLE_ROW: Final = re.compile(r"^[ \t]*\|(?P<cells>[^\n]+)$", re.MULTILINE)
_CELL: Final = re.compile(r"[^|]+")
_MOST_COLUMNS: Final = 200
_RULE: Final = re.compile(r"^[ \t|:-]+$")
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?P<item>[^\n]{1,200})$", re.MULTILINE)
_LIST: Final = re.compile(r"(?:[ \t]*\n)++[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_NUMBER: Final = re.compile(r"[\d.,:/%$€£+-]+[a-zA-Z]?")
_SMALL_LETTERS: Final = bytes(one if ord("a") <= one <= ord("z") else ord(" ") for one in range(256))
_WRITTEN: Final = re.compile(r"\S+")
_NEXT: Final = re.compile(r"[\]*_\"'’s]{0,4}[ \t\n]([A-Za-z]+)")
_PREVIOUS: Final = re.compile(r"([A-Za-z]+)[ \t\n][\[*_\"(]*\Z")
_BRACKETED: Final = re.compile(r"[ \t]*[(\[]")
_PERSON: Final = re.compile(r"[^\W\d_]['’]?[^\W\d_]*(?:-[^\W\d_]+)?\.?")
_MOST_TITLE_CHARS: Final = 100
_LOOKED_AT: Final = 24
_MOST_WORDS: Final = 6
_REMEMBERED: Final = 20_000

_STOP: Final = frozenset(
    "a about after again all also although always an and any are as at be because been before both but by can "
    "check click contact day do does during each either every example faq find first follow for from get give go "
    "has have he her here his how i if in into is it its just last let like link look make many may me more most "
    "my new next no not note now of on once one only open or other our out over per please read refer review see "
    "select she should since so some still such take than that the their them then there these they this those "
    "through to today together two under until up update us use using via was we week were what when where which "
    "while who why will with within without would yes you your january february march april june july august "
    "september october november december monday tuesday wednesday thursday friday saturday sunday jan feb mar apr "
    "jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun q1 q2 q3 q4 fy tbd todo tl;dr eta am pm pst pdt "
    "utc hi hello hey dear thanks vp svp evp ceo cfo head interim ask email notify submit send add remove join create "
    "request schedule complete download install enable set visit write share post log sign access view manage "
    "entire whole another same step ensure work keep help provide build define track learn watch want need".split()
)

TYPED_BY: Final = {
    "domains": 0.8,
    "links": 0.85,
    "titles": 0.9,
    "columns": 0.75,
    "headings": 0.6,
    "says": 0.7,
    "suffixes": 0.65,
    "ends": 0.6,
    "behind": 0.4,
    "before": 0.4,
}
"""What gives the type of a candidate → how sure that is."""

UNTYPED_CONFIDENCE: Final = {"run": 0.4, "heading": 0.3, "link": 0.35, "cell": 0.35, "start": 0.15}


class CandidateNames:
    """Finds names by their form."""

    def __init__(self, rules: GraphRules) -> None:
        self._types = rules.types
        self._not_names = frozenset(" ".join(word.casefold().split()) for word in rules.not_names)
        self._suffixes = _by_word((name, one.suffixes) for name, one in rules.types.items())
        self._behind = _by_word((name, one.behind) for name, one in rules.types.items())
        self._before = _by_word((name, one.before) for name, one in rules.types.items())
        self._ends = _by_word((name, one.ends) for name, one in rules.types.items())
        self._titles = {name: one.titles for name, one in rules.types.items() if one.titles}
        self._people = frozenset(name for name, one in rules.types.items() if one.given_names)
        self._headed = _by_word((name, one.headings) for name, one in rules.types.items())
        words = "|".join(re.escape(word) for word in sorted(self._headed, key=len, reverse=True))
        self._headings = re.compile(rf"(?:^|[ ])({words})$", re.IGNORECASE) if words else None
        self._nouns = {
            name: re.compile(rf"\b(?:{'|'.join(re.escape(word) for word in one.says)})s?\b", re.IGNORECASE)
            for name, one in rules.types.items()
            if one.says
        }
        self.fingerprint = f"candidates:2 {sorted(self._not_names)!r} {rules.types!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the candidates beside the mentions that are there, with their types as far as the text gives them."""
        prose = subject.prose
        lower = frozenset(prose.encode("ascii", "replace").translate(_SMALL_LETTERS).split())
        used = [(one.start, one.end) for one in subject.mentions]
        found: dict[tuple[int, int], Mention] = {}

        def note(start: int, end: int, kind: str, clue: str, sure: float) -> None:
            known = found.get((start, end))
            name = " ".join(prose[start:end].split())
            rank = kind != UNTYPED, sure, kind
            if name and (known is None or (known.entity.type != UNTYPED, known.confidence, known.entity.type) < rank):
                found[start, end] = Mention(EntityName(kind, name), start, end, sure, f"candidates:{clue}")

        for start, end in self._rows(prose):
            if _overlaps_used((start, end), used):
                continue
            for kind, clue, sure in self._judged(prose, start, end, lower):
                note(start, end, kind, clue, sure)
        for start, end, kind, clue in (
            *self._of_links(prose, subject.links),
            *self._of_columns(prose),
            *self._of_headings(prose),
            *self._of_title(subject),
        ):
            note(start, end, kind, clue, TYPED_BY[clue])
        return Findings([found[span] for span in sorted(found) if not _overlaps_used(span, used)])

    def _rows(self, prose: str) -> Iterator[tuple[int, int]]:
        """Yield rows of words with capitals, without stop words at their ends."""
        for row in _ROW.finditer(prose):
            first, last = _trimmed(row[0])
            if first < last and row[0][first:last].casefold() not in self._not_names:
                yield row.start() + first, row.start() + last

    def _judged(self, prose: str, start: int, end: int, lower: frozenset[bytes]) -> Iterator[tuple[str, str, float]]:
        """Yield type, clue and confidence of what the words at a place and around it say."""
        name = prose[start:end]
        before = prose[max(0, start - _LOOKED_AT) : start]
        at_start = _is_start(before)
        is_word = " " not in name and name[1:].islower()
        is_common = is_word and name.lower().encode("ascii", "replace") in lower
        following = _NEXT.match(prose, end, end + _LOOKED_AT)
        behind = following[1].casefold() if following else ""
        if kind := self._suffixes.get(behind):
            yield kind, "suffixes", TYPED_BY["suffixes"]
        elif len(name) < 2 or (is_word and at_start and (is_common or len(name) < 3)):
            return
        yield UNTYPED, "start" if at_start else "run", UNTYPED_CONFIDENCE["start" if at_start else "run"]
        if is_common or (len(name) < 5 and name.isupper()):  # NDA, API: rather what is used than whose it is
            return
        if kind := self._behind.get(behind):
            yield kind, "behind", TYPED_BY["behind"]
        if self._before and (word := _PREVIOUS.search(before)) and (kind := self._before.get(word[1].casefold())):
            yield kind, "before", TYPED_BY["before"]
        if (
            " " in name
            and name.count(" ") < _MOST_OF_ITEM
            and (kind := self._ends.get(name.rsplit(" ", 1)[1].casefold()))
        ):
            yield kind, "ends", TYPED_BY["ends"]
        says = _SAYS.match(prose, end, end + 240) if self._nouns else None
        for kind, nouns in self._nouns.items() if says else ():
            if says and nouns.search(says["what"]):
                yield kind, "says", TYPED_BY["says"]

    def _of_title(self, subject: ExtractionSubject) -> Iterator[tuple[int, int, str, str]]:
        """Yield the name in the first heading of a document about an entity, without what is in brackets."""
        heading = _HEADING_LINE.search(subject.prose) if self._titles else None
        if heading is None or len(heading["title"]) > _MOST_TITLE_CHARS:
            return
        start, end = _stripped(subject.prose, heading.start("title"), heading.end("title"))
        name = _BRACKETED.split(subject.prose[start:end], maxsplit=1)[0]
        end = start + len(name)
        if name[:1].isupper() and len(name.split()) <= _MOST_WORDS:
            last = name.rsplit(" ", 1)
            for kind, paths in self._titles.items():
                if glob_matches(paths, subject.path):
                    has_suffix = len(last) > 1 and self._suffixes.get(last[-1].casefold()) == kind
                    yield start, end - (len(last[-1]) + 1 if has_suffix else 0), kind, "titles"

    def _of_links(self, prose: str, links: Sequence[Link]) -> Iterator[tuple[int, int, str, str]]:
        for link in links:
            start, end = _stripped(prose, link.start, link.end)
            name = _BRACKETED.split(prose[start:end], maxsplit=1)[0]
            end = start + len(name)
            if not name or len(name.split()) > _MOST_WORDS or "\n" in name:
                continue
            for kind, one in self._types.items():
                if one.links and self._may_be(kind, name, 1) and glob_matches(one.links, link.target):
                    yield start, end, kind, "links"
                elif one.domains and _is_domain_of(name, link.target):
                    yield start, end, kind, "domains"

    def _of_columns(self, prose: str) -> Iterator[tuple[int, int, str, str]]:
        wanted = {word.casefold(): name for name, one in self._types.items() for word in one.columns}
        if not wanted:
            return
        kinds: list[str] = []
        last_end = -1
        for row in _TABLE_ROW.finditer(prose):
            cells = list(islice(_CELL.finditer(row[0]), _MOST_COLUMNS))
            if row.start() != last_end + 1:
                kinds = [wanted.get(cell[0].strip(" *_").casefold(), "") for cell in cells]
            elif any(kinds) and not _RULE.match(row[0]):
                for cell, kind in zip(cells, kinds, strict=False):
                    start, end = _stripped(prose, row.start() + cell.start(), row.start() + cell.end())
                    if kind and start < end and self._may_be(kind, prose[start:end]):
                        yield start, end, kind, "columns"
            last_end = row.end()

    def _may_be(self, kind: str, name: str, least: int = 2) -> bool:
        """Say whether a name has the form of a type: those of people have ``least`` to four words, all of letters."""
        words = name.split()
        if not name[:1].isupper() or len(words) > _MOST_WORDS:
            return False
        return kind not in self._people or (least <= len(words) <= 4 and all(map(_PERSON.fullmatch, words)))

    def _of_headings(self, prose: str) -> Iterator[tuple[int, int, str, str]]:
        """Yield the items below headings, and lines with a colon, whose last words name a type."""
        if not self._headings:
            return
        last, until = 0, -1
        for head in _HEAD.finditer(prose):
            if head.start() < last:
                continue
            type_words = self._headings.search((head["heading"] or head["line"])[-_MOST_TITLE_CHARS:].strip(" *_#:"))
            if not type_words:
                continue
            kind = self._headed[type_words[1].casefold()]
            if until < head.end():
                until = prose.find("\n#", head.end())
                until = len(prose) if until < 0 else until
            if head["line"] and not _LIST.match(prose, head.end()):
                continue
            at = head.end()
            for item in _ITEM.finditer(prose, at, until):
                if head["line"] and prose[at : item.start()].strip():
                    break  # the list of the line has ended
                at = last = item.end()
                first, end = _stripped(prose, item.start("item"), item.end("item"))
                name = _NAME_OF_ITEM.match(prose, first, end)
                if name and len(name[0].split()) <= _MOST_OF_ITEM and self._may_be(kind, name[0]):
                    yield *_stripped(prose, *name.span()), kind, "headings"


def _is_stop(word: str) -> bool:
    plain = word.casefold()
    if plain in _STOP or ("'" in plain and plain.partition("'")[0] in _STOP):
        return True
    return not plain[0].isalpha() and bool(_NUMBER.fullmatch(plain))


@lru_cache(_REMEMBERED)  # most rows come again
def _trimmed(row: str) -> tuple[int, int]:
    """Return where a row begins and ends without stop words and a possessive ending; (0, 0) for nothing."""
    words = [found.span() for found in _WRITTEN.finditer(row)]
    while words and _is_stop(row[slice(*words[0])]):
        words.pop(0)
    while words and (_is_stop(row[slice(*words[-1])]) or row[slice(*words[-1])] == "&"):
        words.pop()
    if not words:
        return 0, 0
    start, end = words[0][0], words[-1][1]
    return start, end - 2 if row[start:end].endswith(("'s", "’s")) else end


def _by_word(words: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    return {word.casefold(): kind for kind, each in words for word in each}


def _is_start(before: str) -> bool:
    """Say whether a sentence, item, cell or emphasis begins behind ``before``."""
    plain = before.rstrip(" \t\"'([*_")
    opening = before[len(plain) :]
    if not plain or "*" in opening or "_" in opening or plain[-1] in "\n.!?:;|>#•-":
        return True
    return plain[-1] == ")" and plain[-2:-1].isdecimal()


def _is_domain_of(name: str, target: str) -> bool:
    """Say whether a link's text is the name of the domain that it leads to: [Fivetran](https://www.fivetran.com/)."""
    if not target.startswith(("http://", "https://")) or not name[0].isalnum():
        return False
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    if plain not in target.lower().replace(".", ""):  # most; reading an address is slow
        return False
    try:
        host = urlsplit(target).hostname or ""
    except ValueError:
        return False
    labels = host.split(".")
    return len(plain) > 2 and len(labels) > 1 and plain in {labels[-2], "".join(labels[-2:])}


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the blanks and marks at its ends."""
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip(" \t*_`\"'([#:"))
    return start, start + len(text[start:end].rstrip(" \t*_`\"')].,:;"))


def _overlaps_used(span: tuple[int, int], used: Sequence[tuple[int, int]]) -> bool:
    """Say whether a place is, or lies in, one of ``taken``, which are in order."""
    at = bisect_right(used, (span[0], 1 << 60)) - 1
    if at >= 0 and used[at][1] >= span[1]:
        return True
    return at >= 0 and used[at][1] > span[0] and used[at][0] < span[0]
