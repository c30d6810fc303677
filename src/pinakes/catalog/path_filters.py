"""What the paths of a filter mean: as they are, absolute below a source, or the end of the only path that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, select

from pinakes.catalog import sources
from pinakes.catalog.path_conditions import ends_with
from pinakes.catalog.references import absolute, real
from pinakes.catalog.schema import fields
from pinakes.core.filters import normal_text
from pinakes.core.records import Condition

_MAGIC = frozenset("*?")


def resolved(connection: Connection, collection_id: int, condition: Condition) -> Condition:
    """Return a condition on paths with those that documents have for the ones that it names otherwise."""
    if condition.glob:
        return replace(condition, glob=_below_sources(connection, collection_id, condition.glob))
    paths = _below_sources(connection, collection_id, condition.any_of or condition.none_of)
    if condition.none_of:
        return replace(condition, none_of=paths)
    named = and_(fields.c.collection_id == collection_id, fields.c.name == "path", fields.c.value.in_(paths))
    if paths and not connection.scalar(select(fields.c.value).where(named).limit(1)):
        paths = tuple(ending(connection, collection_id, paths)) or paths
    return replace(condition, any_of=paths)


def _below_sources(connection: Connection, collection_id: int, texts: Sequence[str]) -> tuple[str, ...]:
    """Return paths and patterns, those that are absolute as they are called in the sources that they lie below."""
    places = {text: str(place) for text in texts if (place := absolute(text))}
    if not places:
        return tuple(texts)
    roots = list(_roots(connection, collection_id))
    found = dict.fromkeys(text for text in texts if text not in places)
    for text, at in places.items():
        slash = "/" if text.endswith("/") else ""
        within = [_within(normal_text(at), root) for root in roots]
        found.update(dict.fromkeys(f"{path}{slash}" for path in within if path) or {text: None})
    return tuple(found)


def ending(connection: Connection, collection_id: int, texts: Sequence[str]) -> Iterator[str]:
    """Yield for each of ``texts`` the only path of the collection that ends so; nothing where there are several."""
    for text in (one.removeprefix("./").strip("/") for one in texts):
        if not text or _MAGIC & set(text):
            continue
        named = and_(fields.c.collection_id == collection_id, fields.c.name == "path")
        query = select(fields.c.value).where(named, ends_with(fields.c.value, text)).distinct().limit(2)
        if len(found := list(connection.scalars(query))) == 1:
            yield from found


def _roots(connection: Connection, collection_id: int) -> Iterator[str]:
    for source in sources.list_all(connection, collection_id):
        root = absolute(source.location)
        yield from {normal_text(str(one)) for one in (root, root and real(root)) if one}


def _within(place: str, root: str) -> str:
    """Return what ``place`` is called below ``root``, ** for that itself; "" where it is elsewhere."""
    if place == root:
        return "**"
    return place.removeprefix(f"{root}/") if place.startswith(f"{root}/") else ""
