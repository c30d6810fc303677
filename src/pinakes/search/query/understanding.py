"""From what was typed to what is searched for: operators, spelling, expansions, the mode."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from pinakes.core.ports import Index, lexicon_of
from pinakes.search.query.expansion import expand
from pinakes.search.query.request import Request, cleaned
from pinakes.search.query.routing import Route, route
from pinakes.search.query.spelling import absent, corrected, missing
from pinakes.search.query.syntax import parse_query
from pinakes.search.query.unmatched import lost
from pinakes.settings import Settings


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request taken apart.

    ``request`` has the filters of the query beside its own, and a mode that is not "auto". ``text`` is searched for by
    words and meaning, ``added`` by words only, at less weight. A chunk must have every one of ``phrases`` and
    none of ``excluded``; those that have more of ``preferred`` come first. ``route`` says why the mode was chosen, if
    it was. ``notes`` say what was done, in words.
    """

    request: Request
    text: str
    added: str = ""
    phrases: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    route: Route | None = None
    notes: tuple[str, ...] = ()


def understand(request: Request, fields: Collection[str], index: Index, settings: Settings) -> ParsedRequest:
    """Take ``request`` apart; ``fields`` are the names by which its query may filter."""
    notes: list[str] = []
    query = parse_query(cleaned(request.query, settings.search.max_query_chars, notes), fields, request.phrases)
    text, notes = query.text, [*notes, *query.notes]
    request = replace(request, where=request.where + query.where)
    route_taken = None
    if request.mode == "auto":
        route_taken = route(text, query.phrases)
        request = replace(request, mode=route_taken.mode)
        notes.append(f"searched by {_NAMES[route_taken.mode]}: {route_taken.reason}")
    notes += lost(text, request.mode)
    if request.mode != "vector":
        text, said = _spelled(text, index, settings)
        notes += said
    expansion = expand(text, settings.expansion)
    return ParsedRequest(
        request,
        text,
        added=" ".join(expansion.terms),
        phrases=query.phrases,
        preferred=query.preferred,
        excluded=query.excluded,
        route=route_taken,
        notes=(*notes, *expansion.notes),
    )


_NAMES = {"keyword": "words", "vector": "meaning", "hybrid": "words and meaning"}


def _spelled(text: str, index: Index, settings: Settings) -> tuple[str, list[str]]:
    """Return ``text``, corrected where that is switched on and sure, and what there is to say of unknown words."""
    spelling = settings.spelling
    lexicon = lexicon_of(index) if (spelling.suggest or spelling.correct) and text else None
    if lexicon is None or not lexicon.holds_any():
        return text, []
    unknown = missing(text, lexicon)
    short = [one.note for one in absent(text, lexicon)] if spelling.suggest else []
    if not spelling.correct:
        return text, [*(one.note for one in unknown), *short]
    mended = {one.word for one in unknown if one.sure}
    notes = [f"searched for {one.near[0].word!r} instead of {one.word!r}" for one in unknown if one.sure]
    notes += [one.note for one in unknown if one.word not in mended and spelling.suggest] + short
    return corrected(text, unknown), notes
