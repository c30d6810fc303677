"""A hit as text for agents: its place, warnings, and its text, quoted."""

from __future__ import annotations

from collections.abc import Sequence

from pinakes.core.graph_paths import PathStep
from pinakes.core.records import Blame, Hit, Neighbour
from pinakes.text.injection import WARNING
from pinakes.text.page_numbers import page_words
from pinakes.text.quoting import Quoting, one_line

_MOST_CHARS = 500
_MOST_NAMES = 1000
"""Longest line of headings and column names, in characters."""


def heading(number: int, hit: Hit, *, several: bool) -> str:
    """Return the line above a hit's text; ``several``: with its collection."""
    place = f"{hit.path}:{hit.start_line}-{hit.end_line}"
    place += f", {page_words(hit.page, hit.page_end)}" if hit.page else ""
    place += f" in collection {hit.collection!r}" if several else ""
    names = one_line(" › ".join(dict.fromkeys([hit.title, *hit.heading_path])), _MOST_NAMES)
    score = f"{'~' if hit.approximate else ''}{hit.score:.2f} ({hit.confidence_word} match)"
    odd = caveats(hit.changed, hit.suspicious, gone=hit.source_state == "missing")
    link = f" · {one_line(hit.link, _MOST_CHARS)}" if hit.link else ""
    by = f" · by {one_line(path_line(hit.relationship_path), _MOST_CHARS)}" if hit.relationship_path else ""
    return f"[{number}] {one_line(place, _MOST_CHARS)} · {names} · score {score}{odd}{_copies(hit)}{link}{by}"


def path_line(path: Sequence[PathStep]) -> str:
    """Return the relations that lead to a hit: ``Acme OFFERS Anvil 2 (acme.md: "Acme sells Anvil 2.")``."""
    steps = []
    for one in path:
        where = f" ({one.path}: {one.text!r})" if one.text else f" ({one.path})" if one.path else ""
        steps.append(f"{one.source} {one.relation} {one.target}{where}")
    return "; ".join(steps)


def caveats(changed: bool | None, suspicious: bool | None, *, gone: bool = False) -> str:
    """Return why a chunk is to be read with care, to stand behind its place; "" where nothing is odd about it."""
    stale = f" · its file {'is gone' if gone else 'has changed'} since" if changed else ""
    return stale + (f" · suspicious: {WARNING}" if suspicious else "")


def quoted(fence: Quoting, hit: Hit) -> str:
    """Return the text of a hit, where neighbours were asked for among them, each with its lines; and who wrote it."""
    text = hit.text
    if hit.neighbours:
        parts: list[Hit | Neighbour] = sorted([*hit.neighbours, hit], key=lambda one: one.chunk_index)
        text = "\n".join(f"(lines {one.start_line}-{one.end_line})\n{one.text}" for one in parts)
    return with_blame(fence, text, hit.blame or ())


def with_blame(fence: Quoting, text: str, blame: Sequence[Blame]) -> str:
    """Return ``text`` and who wrote it, fenced: names and subjects are words of strangers as well."""
    wrote = "\n".join(map(_wrote, blame))
    return f"{fence.around(text)}\n{fence.around(wrote)}" if wrote else fence.around(text)


def _wrote(one: Blame) -> str:
    who = f"{one.author}, {one.date}, commit {one.commit[:12]}: {one.subject}" if one.commit else one.subject
    return one_line(f"lines {one.start_line}-{one.end_line}: {who}", _MOST_CHARS)


def _copies(hit: Hit) -> str:
    """Name one of the chunks that were left out because the hit says the same."""
    if not hit.duplicates:
        return ""
    first, more = hit.duplicates[0], len(hit.duplicates) - 1
    return f" · same in {one_line(first.place, _MOST_CHARS)}" + (f" and {more} more" if more else "")
