"""A hit as people read it on a terminal, and what is odd about a document, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any

from pinakes.cli.screen import Screen, printable
from pinakes.core.wording import cut, rounded
from pinakes.schemas.hit_text import path_line
from pinakes.text.injection import WARNING
from pinakes.text.page_numbers import page_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pinakes.core.records import Blame, ContextLine, Hit, Neighbour, Results
    from pinakes.services.documents.reading import Text as DocumentText

_RETRIEVERS = {"vector": "meaning", "keyword": "words"}
_WIDEST = 100
_NARROWEST = 40
_MARGIN = "    "
_MARK = "bold yellow"
_MOST_DUPLICATES = 3
_STEP = " › "
_COLUMNS = " | "
_LONGEST_PART = 60
_LONGEST_BREADCRUMB = 120
_COMMIT_CHARS = 10
_DAY_CHARS = len("2026-01-31")
_AUTHOR_CHARS = 16
_MOST_BLAMED = 5


def line_of(rank: int, hit: Hit, results: Results) -> str:
    """Return a hit in one line: ``1. kmalloc.c:142 - title (0.89 confidence)``."""
    place = f"{_collection(hit, results)}{hit.path}:{hit.start_line}"
    same = f" - the same in {_same(hit)}" if hit.duplicates else ""
    return one_line(f"{rank}. {place} - {hit.title} ({_mark(hit)}{hit.confidence:.2f} confidence){same}")


def show_hit(screen: Screen, rank: int, hit: Hit, results: Results, *, explain: bool) -> None:
    """Show where a hit stands, its headings, what is odd about it, the lines that answer; ``explain``: also why."""
    from rich.text import Text

    page = f"  {page_words(hit.page, hit.page_end)}" if hit.page else ""
    place = one_line(f"{_collection(hit, results)}{hit.path}:{hit.start_line}-{hit.end_line}") + page
    headings = [part for part in hit.heading_path if part != hit.title]
    found_by = "graph" if hit.match == "graph" else " + ".join(_RETRIEVERS[name] for name in hit.matched_by)
    score = f"{rank:>2}  {_mark(hit)}{hit.score:.3f}  "
    screen.show(Text.assemble((score, "bold"), (place, "cyan"), (f"  [{found_by}]", "dim")))
    screen.show(Text(_MARGIN + breadcrumb(hit.title, headings), "bold"))
    show_caveats(screen, hit.changed, hit.suspicious, gone=hit.source_state == "missing")
    if hit.link:
        screen.show(Text(_MARGIN + one_line(hit.link), "dim"))
    screen.lines(blocks(hit, screen.out))
    if hit.relationship_path:
        screen.show(Text(_MARGIN + one_line(path_line(hit.relationship_path)), "dim"))
    screen.lines(Text(_MARGIN + who, "dim") for who in (*blame_of_hit(hit), *(_why(hit) if explain else ())))
    screen.show()


def show_caveats(screen: Screen, changed: bool | None, suspicious: bool, *, gone: bool = False) -> None:
    """Show why a document is to be read with care; nothing where nothing is odd about it."""
    from rich.text import Text

    if changed:
        what = "file is gone since it was indexed" if gone else "file changed since it was indexed"
        screen.show(Text(_MARGIN + what, "yellow"))
    if suspicious:
        screen.show(Text(f"{_MARGIN}suspicious: {WARNING}", "yellow"))


def _collection(hit: Hit, results: Results) -> str:
    """Return the hit's collection, to stand before its place, where several were asked."""
    return f"{hit.collection} › " if results.several else ""


def _mark(hit: Hit) -> str:
    return "~" if hit.approximate else ""


def _why(hit: Hit) -> Iterator[str]:
    raw: dict[str, float] = {name: value for name, value in asdict(hit.scores).items() if value is not None}
    first: dict[str, float] = {name: raw[name] for name in ("cosine", "bm25", "fused", "rerank") if name in raw}
    yield printable(hit.explanation)
    yield _numbers({**first, "confidence": hit.confidence, **raw})
    yield f"score from {_numbers(rounded(hit.score_parts))}"


def _numbers(named: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in named.items())


def blocks(hit: Hit, screen: Console) -> Iterator[Text]:
    """Yield the lines that stand below the heading of a hit, folded to the width of the screen."""
    from rich.text import Text

    before = [one for one in hit.neighbours if one.chunk_index < hit.chunk_index]
    after = hit.neighbours[len(before) :]
    last = max((*(line.number for line in hit.context), *(one.end_line for one in hit.neighbours)), default=0)
    digits = len(str(last))
    for neighbour in before:
        yield from _surroundings(neighbour, digits, screen)
    yield from _numbered(hit.context, digits, screen)
    for neighbour in after:
        yield from _surroundings(neighbour, digits, screen)
    if hit.duplicates:
        yield Text(f"{_MARGIN}the same in {one_line(_same(hit))}", "dim")


def _same(hit: Hit) -> str:
    """Return where the chunks stand that say the same as a hit."""
    shown = [one.place for one in hit.duplicates[:_MOST_DUPLICATES]]
    more = len(hit.duplicates) - len(shown)
    return ", ".join([*shown, f"{more} more"] if more else shown)


def one_line(text: Any) -> str:
    """Return ``text`` in one line, without what would steer the terminal."""
    return printable(" ".join(str(text).split()))


def breadcrumb(title: str, headings: Sequence[str]) -> str:
    """Return the title and the headings of a chunk in one line, long ones cut.

    The last heading is kept, of the others the first and as many of the last as there is room for. Names of columns
    are not cut: without them the rows of a table say nothing.
    """
    last = [one_line(part) for part in headings[-1:]]
    kept = [part if _COLUMNS in part else cut(part, _LONGEST_PART) for part in last]
    between = [cut(one_line(part), _LONGEST_PART) for part in headings[:-1]]
    first = cut(one_line(title), _LONGEST_PART)
    room = _LONGEST_BREADCRUMB - len(first) - sum(map(len, kept))
    while between and len(between[-1]) + len(_STEP) <= room:
        room -= len(between[-1]) + len(_STEP)
        kept.insert(0, between.pop())
    return _STEP.join([first, *(["…"] if between else []), *kept])


def _surroundings(neighbour: Neighbour, digits: int, screen: Console) -> Iterator[Text]:
    """Yield the lines of a neighbour that are not blank, less prominent than those of the hit."""
    from rich.text import Text

    lines = neighbour.text.split("\n")
    for number, line in zip(neighbour.numbers or count(neighbour.start_line), lines, strict=False):
        yield from _rows(number, Text(printable(line)), digits, screen, "dim")


def _numbered(lines: Sequence[ContextLine], digits: int, screen: Console) -> Iterator[Text]:
    marked = [(line.number, _marked(line)) for line in lines]
    indent = min((len(text.plain) - len(text.plain.lstrip()) for _, text in marked), default=0)
    for number, text in marked:
        yield from _rows(number, text[indent:], digits, screen)


def _marked(line: ContextLine) -> Text:
    from rich.text import Text

    text = Text(printable(line.text))
    for start, end in line.marks:
        text.stylize(_MARK, start, end)
    text.expand_tabs(4)
    return text


def _rows(number: int, text: Text, digits: int, screen: Console, style: str = "") -> Iterator[Text]:
    """Yield a line folded, its number before the first part; nothing for a blank one."""
    from rich.text import Text

    label = str(number)
    for part in (
        text.wrap(screen, max(_NARROWEST, min(screen.width, _WIDEST) - len(_MARGIN) - digits - 2))
        if text.plain.strip()
        else ()
    ):
        yield Text.assemble((f"{_MARGIN}{label:>{digits}}  ", "dim"), part, style=style)
        label = ""


def blame_of_hit(hit: Hit) -> Iterator[str]:
    """Yield who wrote the lines of a hit, some lines of one commit in a row together."""
    blame = hit.blame or ()
    for one in blame[:_MOST_BLAMED]:
        lines = f"lines {one.start_line}-{one.end_line}" if one.end_line > one.start_line else f"line {one.start_line}"
        yield printable(f"{lines}: {_who(one)}").replace("\n", " ")
    if len(blame) > _MOST_BLAMED:
        yield f"… and {len(blame) - _MOST_BLAMED} more"


def blame_of_text(text: DocumentText, blame: Sequence[Blame]) -> Iterator[str]:
    """Yield the lines of a text, each with who wrote it."""
    by_line = {number: one for one in blame for number in range(one.start_line, one.end_line + 1)}
    digits = len(str(text.end_line))
    for number, line in enumerate(text.text.rstrip("\n").split("\n"), start=text.start_line):
        one = by_line.get(number)
        commit = one.commit[:_COMMIT_CHARS] if one else ""
        day, author = (one.date[:_DAY_CHARS], one.author) if one and commit else ("", one.subject if one else "")
        author = printable(author)[:_AUTHOR_CHARS].replace("\n", " ")
        head = f"{commit:<{_COMMIT_CHARS}} {day:<{_DAY_CHARS}} {author:<{_AUTHOR_CHARS}} {number:>{digits}}"
        yield f"{head}  {printable(line)}".rstrip()


def _who(one: Blame) -> str:
    if not one.commit:
        return one.subject
    return f"{one.author}, {one.date[:_DAY_CHARS]}, {one.commit[:_COMMIT_CHARS]}: {one.subject}"
