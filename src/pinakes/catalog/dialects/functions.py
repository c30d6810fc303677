"""Functions that SQLite and PostgreSQL write differently: JSON, lists as one parameter, the clock, this home."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Float,
    Select,
    TableValuedAlias,
    Text,
    bindparam,
    case,
    cast,
    column,
    literal,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from pinakes.catalog.schema.types import ID, JSON_TEXT, TEXT

HOME: Final = "pinakes.home"
"""The setting of a transaction in PostgreSQL that names the home which asks."""


class _PerDatabase(FunctionElement[Any]):
    """What each database writes in a way of its own: templates, with the arguments as ``{0}`` and ``{1}``."""

    sqlite: ClassVar[str]
    postgresql: ClassVar[str]


@compiles(_PerDatabase)
def _written(element: _PerDatabase, compiler: SQLCompiler, **options: Any) -> str:
    template = element.postgresql if compiler.dialect.name == "postgresql" else element.sqlite
    return template.format(*(compiler.process(part, **options) for part in element.clauses))


class _Each(_PerDatabase):
    """The members of a list in JSON, as a table."""

    inherit_cache = True
    sqlite = "json_each({0})"
    postgresql = "json_array_elements_text(CAST({0} AS JSON))"


class _EachNamed(_PerDatabase):
    """The fields of an object in JSON, as a table."""

    inherit_cache = True
    sqlite = "json_each({0})"
    postgresql = "json_each_text(CAST({0} AS JSON))"


class _EachOf(_PerDatabase):
    """What a field of an object holds: the members of a list, else the value itself, with its type, as a table."""

    inherit_cache = True
    sqlite = "json_each({0}, '$.' || json_quote({1}))"
    postgresql = (
        "LATERAL (SELECT one #>> '{{}}' AS value, json_typeof(one) AS type FROM json_array_elements("
        "CASE WHEN (({0}) -> {1}) IS NOT NULL THEN CASE json_typeof((({0}) -> {1})) WHEN 'array' "
        "THEN (({0}) -> {1}) ELSE json_build_array((({0}) -> {1})) END END) AS one)"
    )


class _HasKey(_PerDatabase):
    type = Boolean()
    inherit_cache = True
    sqlite = "json_type({0}, '$.' || json_quote({1})) IS NOT NULL"
    postgresql = "(({0}) -> {1}) IS NOT NULL"


class _Among(_PerDatabase):
    """No ``Boolean``, which SQLite would compare with 1, and then use no index.

    PostgreSQL looks an index up by an array, not by a table of unknown size.
    """

    inherit_cache = True
    sqlite = "{0} IN {1}"
    postgresql = "{0} = ANY (ARRAY{1})"


class _ThisHome(_PerDatabase):
    type = Text()
    inherit_cache = True
    sqlite = "''"
    postgresql = f"current_setting('{HOME}')"


class _Clock(_PerDatabase):
    type = Float()
    inherit_cache = True
    sqlite = "((julianday('now') - 2440587.5) * 86400.0)"
    postgresql = "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def clock() -> ColumnElement[float]:
    """Return the time by the clock of the database, in seconds since 1970."""
    return _Clock()


def is_shared(connection: Connection) -> bool:
    """Say whether homes on several machines may have this catalogue."""
    return connection.dialect.name == "postgresql"


def this_home() -> ColumnElement[str]:
    """Return the name of the home that asks, "" where only one has the catalogue."""
    return _ThisHome()


def json_texts(name: str) -> Select[tuple[str]]:
    """Return the texts of the parameter ``name``, a list in JSON: a statement is compiled once, however many it has."""
    return select(_Each(bindparam(name, type_=JSON_TEXT)).table_valued(column("value", TEXT)).c.value)


def json_ids(name: str) -> Select[tuple[int]]:
    """Return the numbers of the parameter ``name``, a list in JSON."""
    return select(cast(_Each(bindparam(name, type_=JSON_TEXT)).table_valued("value").c.value, ID))


def among(value: ColumnElement[Any], listed: Select[Any]) -> ColumnElement[bool]:
    """Return the test whether ``value`` is one of ``json_texts`` or ``json_ids``, which are few."""
    return _Among(value, listed.scalar_subquery())


def text_list(values: Sequence[str]) -> Select[tuple[str]]:
    """Return ``values`` as one parameter, since a statement may not have one for each of many."""
    return select(_Each(literal(json.dumps(list(values)), JSON_TEXT)).table_valued(column("value", TEXT)).c.value)


def id_list(values: Collection[int]) -> Select[tuple[int]]:
    """Return ids as one parameter; see ``text_list``."""
    held = literal(json.dumps(sorted(values)), JSON_TEXT)
    return select(cast(_Each(held).table_valued("value").c.value, ID))


def pairs(values: Mapping[int, str]) -> TableValuedAlias:
    """Return ``values`` as a table with the columns ``key`` and ``value``, both text."""
    return _EachNamed(literal(json.dumps(dict(values)), Text)).table_valued("key", "value")


def has_key(document: ColumnElement[Any], key: str) -> ColumnElement[bool]:
    """Return the test whether an object in JSON has the field ``key``."""
    return _HasKey(document, literal(key, TEXT))


def values_of(document: ColumnElement[Any], key: str) -> TableValuedAlias:
    """Return what the field ``key`` holds as a table with the columns ``value`` and ``type``: a list by its members."""
    columns = column("value", TEXT), column("type", Text)
    return _EachOf(document, literal(key, TEXT)).table_valued(*columns)


def greater(one: ColumnElement[int], other: ColumnElement[int]) -> ColumnElement[int]:
    """Return the greater of two numbers."""
    return case((one > other, one), else_=other)
