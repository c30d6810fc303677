"""The state of the graph of a collection: what it was derived from, who updates it, its removal."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, select, update

from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.engine import now
from pinakes.catalog.schema import (
    documents,
    entities,
    entity_aliases,
    entity_changes,
    entity_mentions,
    entity_relations,
    extractions,
    graphs,
)

_NEWEST, _TIMES = "newest entity", "times computed"


@dataclass(frozen=True, slots=True)
class GraphState:
    """What the derived part of a graph was computed from.

    ``newest``: the highest id of its entities then; ``times``: how often it was computed.
    """

    position: int = 0
    recipe: str = ""
    decided: int = 0
    computed_at: str = ""
    newest: int = 0
    times: int = 0


def state(connection: Connection, collection_id: int) -> GraphState:
    """Return what the graph of a collection was computed from."""
    row = connection.execute(select(graphs).where(graphs.c.collection_id == collection_id)).first()
    if row is None:
        return GraphState()
    numbers = (int(row.figures.get(name, 0)) for name in (_NEWEST, _TIMES))
    return GraphState(row.position, row.recipe, row.decided, row.computed_at, *numbers)


def is_anew(connection: Connection, collection_id: int, recipe: str) -> bool:
    """Say whether the graph was computed by another recipe, so that all of it is computed anew.

    That is noted: nobody takes what was computed by the other recipe for up to date any more.
    """
    if state(connection, collection_id).recipe == recipe:
        return False
    other = and_(graphs.c.collection_id == collection_id, graphs.c.recipe.not_in([recipe, begun := f"before {recipe}"]))
    connection.execute(update(graphs).where(other).values(recipe=begun))
    return True


def take_turn(connection: Connection, collection_id: int, known: GraphState) -> bool:
    """Wait for others that write the derived part of a graph; say whether it is still as it was ``known``."""
    first = {"collection_id": collection_id, "position": 0, "recipe": "", "computed_at": "", "figures": {}}
    connection.execute(insert(graphs).values(first).on_conflict_do_nothing())
    connection.execute(select(graphs.c.position).where(graphs.c.collection_id == collection_id).with_for_update())
    return state(connection, collection_id) == known


def put_state(connection: Connection, collection_id: int, reached: GraphState) -> None:
    """Write what the derived part of a graph was computed from by now."""
    values = {
        "position": reached.position,
        "recipe": reached.recipe,
        "decided": reached.decided,
        "computed_at": now(),
        "figures": {_NEWEST: reached.newest, _TIMES: reached.times},
    }
    written = insert(graphs).values(collection_id=collection_id, **values)
    connection.execute(written.on_conflict_do_update(index_elements=["collection_id"], set_=values))


def remove(connection: Connection, collection_id: int) -> int:
    """Remove what documents and lists say of a graph, and return how many entities went.

    Decisions on names stay, since nothing but people can make them again.
    """
    own = select(documents.c.id).where(documents.c.collection_id == collection_id)
    for table in (entity_mentions, entity_relations, extractions):
        connection.execute(delete(table).where(table.c.document_id.in_(own)))
    for held in (entity_aliases, entity_changes, graphs):
        connection.execute(delete(held).where(held.c.collection_id == collection_id))
    return connection.execute(delete(entities).where(entities.c.collection_id == collection_id)).rowcount
