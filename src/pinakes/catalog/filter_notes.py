"""Notes on what of a filter no document has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pinakes.core.filters import listed

DOUBT = "no document has"
"""How notes on a filter that nothing passes begin."""

_MOST_NAMED = 10


class Doubt(str):
    """A note that no document has some values of a field.

    ``near``: each of these values → values of documents that are like it. ``there``: some that documents have.
    """

    __slots__ = ("field", "near", "there")

    field: str
    near: Mapping[str, Sequence[str]]
    there: Sequence[str]


def doubt(field: str, near: Mapping[str, Sequence[str]], there: Sequence[str]) -> Doubt:
    """Return the note that no document has the values that are the keys of ``near``; it names up to ten of them."""
    named = listed(list(near)[:_MOST_NAMED], _MOST_NAMED)
    more = f" and {len(near) - _MOST_NAMED:,} more" if len(near) > _MOST_NAMED else ""
    like = list(dict.fromkeys(one for some in near.values() for one in some))
    instead = f"did you mean {listed(like, _MOST_NAMED)}?" if like else f"there are {listed(there)}"
    note = Doubt(f"{DOUBT} {field} = {named}{more}: {instead}")
    note.field, note.near, note.there = field, near, there
    return note


def doubted(notes: Iterable[str]) -> set[tuple[str, str]]:
    """Return what ``notes`` say that no document has: (field, value), or ("", what a note begins with)."""
    return {one for note in notes for one in _doubted(note)}


def still_doubted(note: str, in_doubt: Collection[tuple[str, str]]) -> str:
    """Return ``note`` about what of it is ``in_doubt`` only, "" where nothing is; a note on something else as it is."""
    own = _doubted(note)
    kept = [one for one in own if one in in_doubt]
    if len(kept) == len(own):
        return note
    return (
        doubt(note.field, {one: note.near[one] for _, one in kept}, note.there)
        if isinstance(note, Doubt) and kept
        else ""
    )


def _doubted(note: str) -> list[tuple[str, str]]:
    if isinstance(note, Doubt):
        return [(note.field, value) for value in note.near]
    return [("", note.partition(": ")[0])] if note.startswith(DOUBT) else []
