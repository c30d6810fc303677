"""Who wrote lines, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pinakes.cli.screen import printable

if TYPE_CHECKING:
    from pinakes.core.records import Blame, Hit
    from pinakes.services.documents.reading import Text

_COMMIT_CHARS = 10
_DAY_CHARS = len("2026-01-31")
_AUTHOR_CHARS = 16
_MOST = 5


def of_hit(hit: Hit) -> Iterator[str]:
    """Yield who wrote the lines of a hit, some lines of one commit in a row together."""
    blame = hit.blame or ()
    for one in blame[:_MOST]:
        lines = f"lines {one.start_line}-{one.end_line}" if one.end_line > one.start_line else f"line {one.start_line}"
        yield printable(f"{lines}: {_who(one)}").replace("\n", " ")
    if len(blame) > _MOST:
        yield f"… and {len(blame) - _MOST} more"


def of_text(text: Text, blame: Sequence[Blame]) -> Iterator[str]:
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
