"""The topics of a collection: its folders, and headings that come again in several documents, as a hierarchy."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import Levenshtein

from pinakes.catalog.derived_rows import SectionedDocument
from pinakes.core.graph_records import MAX_NAME_CHARS, folded
from pinakes.core.records import Span

LEAST_DOCUMENTS: Final = 3
"""So many documents, or groups of them, share a topic."""

MOST_SHARE: Final = 0.2
"""A heading that more of them have is that of a form, not a topic; so is one all over the folders."""

MOST_TOPICS: Final = 500
_MOST_DEPTH: Final = 8
_MOST_HEADING_WORDS: Final = 6
_SIMILARITY: Final = 0.85
_MOST_OF_BLOCK: Final = 50
_MOST_HEADINGS: Final = 200_000
_TITLE: Final = re.compile(r"[^\W\d_][^|?\[\]{}<>=:]{2,}")
"""Questions, rows of tables and numbers are no names of topics."""

_DIGITS: Final = re.compile(r"\d+")


@dataclass(slots=True)
class Topic:
    """A topic: the topic above it, "" for none, and where documents are about it; an empty span is all of one."""

    name: str
    parent: str = ""
    places: list[tuple[int, Span]] = field(default_factory=list)


@dataclass(slots=True)
class _Heading:
    written: Counter[str] = field(default_factory=Counter)
    units: set[str] = field(default_factory=set)
    folders: Counter[str] = field(default_factory=Counter)
    places: dict[int, Span] = field(default_factory=dict)


def topics_of(held: Iterable[SectionedDocument], not_names: Collection[str] = ()) -> list[Topic]:
    """Return the topics of a collection, those that most documents share, by name. Linear in the chunks.

    ``not_names``: headings that are none.
    """
    units: set[str] = set()
    folders: dict[str, set[str]] = defaultdict(set)
    inside: dict[int, str] = {}
    headings: dict[str, _Heading] = defaultdict(_Heading)
    for one in held:
        units.add(one.unit)
        inside[one.id] = one.path.rpartition("/")[0]
        above = _and_above(inside[one.id])
        for folder in above:
            folders[folder].add(one.unit)
        seen = set[str]()
        for path, span in one.sections:
            for title in path[1:]:
                if title not in seen and (written := _as_name(title)) is not None:
                    _note(headings, *written, one, span, above)
                seen.add(title)
    top = _common(inside.values())
    shared = {
        name for name, of_units in folders.items() if len(of_units) >= LEAST_DOCUMENTS and name not in _and_above(top)
    }
    kept = sorted(shared, key=lambda name: (-len(folders[name]), name))[:MOST_TOPICS]
    found = {
        name: Topic(_relative_to(name, top), _relative_to(_nearest(name, set(kept)), top))
        for name in kept
        if len(name) <= MAX_NAME_CHARS
    }
    for document, folder in sorted(inside.items()):
        for name in _and_above(folder):
            if name in found:
                found[name].places.append((document, (0, 0)))
    most = max(LEAST_DOCUMENTS, int(MOST_SHARE * len(units)))
    names = {folded(name) for name in (*not_names, *(one.name for one in found.values()))}
    topics = [one for one in _clustered(headings) if LEAST_DOCUMENTS <= len(one.units) <= most]
    topics.sort(key=lambda one: (-len(one.units), min(one.written)))
    small = {name for name in found if 2 * len(folders[name]) <= len(units)}
    placed = ((one, _home(one, small)) for one in topics if folded(_name(one)) not in names)
    of_headings = [
        Topic(_name(one), _relative_to(home, top), sorted(one.places.items())) for one, home in placed if home
    ]
    return sorted([*found.values(), *of_headings[: MOST_TOPICS - len(found)]], key=lambda one: one.name)


@lru_cache(_MOST_HEADINGS // 10)  # headings come again
def _as_name(title: str) -> tuple[str, str] | None:
    """Return a title as it is written and as it is compared; None for what is no name of a topic."""
    plain = " ".join(title.split())
    key = folded(plain)
    if not _TITLE.fullmatch(plain) or len(plain) > MAX_NAME_CHARS or len(key.split()) > _MOST_HEADING_WORDS:
        return None
    return plain, key


def _note(
    headings: dict[str, _Heading], plain: str, key: str, one: SectionedDocument, span: Span, above: Sequence[str]
) -> None:
    if key not in headings and len(headings) >= _MOST_HEADINGS:
        return
    heading = headings[key]
    if one.id not in heading.places:
        heading.written[plain] += 1
        heading.units.add(one.unit)
        heading.places[one.id] = span
        heading.folders.update(above)


def _clustered(headings: Mapping[str, _Heading]) -> list[_Heading]:
    """Return the headings with those that are written nearly alike as one; those are compared that begin alike."""
    blocks: dict[str, list[str]] = defaultdict(list)
    found: dict[str, _Heading] = {}
    for key in sorted(headings, key=lambda key: (-len(headings[key].units), key)):
        for other in blocks[key[:3]][:_MOST_OF_BLOCK]:
            alike = Levenshtein.normalized_similarity(key, other, score_cutoff=_SIMILARITY)
            if alike >= _SIMILARITY and _DIGITS.findall(key) == _DIGITS.findall(other):
                main, one = found[other], headings[key]
                main.units |= one.units
                main.folders.update(one.folders)
                main.places = one.places | main.places
                break
        else:
            blocks[key[:3]].append(key)
            found[key] = headings[key]
    return list(found.values())


def _name(one: _Heading) -> str:
    return min(one.written, key=lambda name: (-one.written[name], name))


def _home(one: _Heading, folders: set[str]) -> str:
    """Return the deepest of ``folders`` with more than half of the documents of a heading; "" where it is all over."""
    holding = [name for name, count in one.folders.items() if name in folders and 2 * count > len(one.places)]
    return max(holding, key=lambda name: (name.count("/"), name), default="")


def _and_above(folder: str) -> Sequence[str]:
    """Return a folder and those above it, without the root."""
    parts = folder.split("/")[:_MOST_DEPTH] if folder else []
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _nearest(folder: str, shared: set[str]) -> str:
    return next((one for one in reversed(_and_above(folder)[:-1]) if one in shared), "")


def _common(folders: Iterable[str]) -> str:
    """Return the folder that all documents lie in."""
    common: list[str] | None = None
    for folder in folders:
        parts = folder.split("/") if folder else []
        if common is None:
            common = parts
        else:
            same = next(
                (at for at, (a, b) in enumerate(zip(common, parts, strict=False)) if a != b),
                min(len(common), len(parts)),
            )
            common = common[:same]
    return "/".join(common or [])


def _relative_to(folder: str, top: str) -> str:
    return folder.removeprefix(f"{top}/") if top else folder
