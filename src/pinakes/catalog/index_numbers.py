"""Numbers of the index folders of a collection. No number is given twice.

Where one home has the catalogue, a generation's number is that of its folder. Where homes on several machines share
the catalogue, a home that builds an index anew takes a number of its own, and the others keep the indexes they have.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Integer, Update, func, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from pinakes.catalog.dialects.functions import greater, is_shared, this_home
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.schema import beside, collections, index_numbers


class _OfThisHome(FunctionElement[int]):
    """The first of two numbers that is not NULL; where one home has the catalogue, the second."""

    type = Integer()
    inherit_cache = True


@compiles(_OfThisHome)
def _usual(element: _OfThisHome, compiler: SQLCompiler, **options: object) -> str:
    return compiler.process(list(element.clauses)[1], **options)


@compiles(_OfThisHome, "postgresql")
def _own(element: _OfThisHome, compiler: SQLCompiler, **options: object) -> str:
    return compiler.process(func.coalesce(*element.clauses), **options)


def of_this_home(line: ColumnElement[int], usual: ColumnElement[int]) -> ColumnElement[int]:
    """Return the number of the folder of a generation, by its ``line``, in the home that asks."""
    own = select(index_numbers.c.number).where(
        index_numbers.c.home == this_home(),
        index_numbers.c.collection_id == collections.c.id,
        index_numbers.c.line == line,
    )
    return _OfThisHome(own.scalar_subquery(), usual)


def newer(connection: Connection, collection_id: int) -> int:
    """Return a number for a folder that none of the collection ever had."""
    newest = greater(collections.c.generation, collections.c.newest)
    return int(connection.execute(select(newest + 1).where(collections.c.id == collection_id)).scalar_one())


def following(connection: Connection, collection_id: int, line: int) -> int:
    """Return the number of the folder in which a generation's next index is built, 0 where that is not known yet."""
    if not is_shared(connection):
        return newer(connection, collection_id)
    mine = index_numbers.c.collection_id == collection_id, index_numbers.c.line == line
    found = select(index_numbers.c.following).where(index_numbers.c.home == this_home(), *mine)
    return connection.execute(found).scalar() or 0


def reserve(connection: Connection, collection_id: int, line: int, number: int) -> int:
    """Return the number of the folder in which the next index of a generation, now ``number``, is built from now on."""
    begun = following(connection, collection_id, line)
    if begun:
        return begun
    newest = greater(collections.c.generation, collections.c.newest) + 1
    raised = update(collections).where(collections.c.id == collection_id).values(newest=newest)
    begun = int(connection.execute(raised.returning(collections.c.newest)).scalar_one())
    mine = {"home": this_home(), "collection_id": collection_id, "line": line}
    statement = insert(index_numbers).values(**mine, number=number, following=begun)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["home", "collection_id", "line"], set_={"following": statement.excluded.following}
        )
    )
    return begun


def take(connection: Connection, collection_id: int, line: int) -> int:
    """Let the index that was built in the following folder answer; return the number of that."""
    if is_shared(connection):
        mine = index_numbers.c.collection_id == collection_id, index_numbers.c.line == line
        increased = update(index_numbers).where(index_numbers.c.home == this_home(), *mine)
        values = {"number": index_numbers.c.following, "following": None}
        return int(connection.execute(increased.values(values).returning(index_numbers.c.number)).scalar_one())
    number = newer(connection, collection_id)
    of_collection = update(collections).where(collections.c.id == collection_id)
    connection.execute(of_collection.values(newest=number))
    of_line: Update = of_collection.where(collections.c.line == line)
    if not connection.execute(of_line.values(generation=number)).rowcount:
        of_beside = beside.c.collection_id == collection_id, beside.c.line == line
        connection.execute(update(beside).where(*of_beside).values(generation=number))
    return number
