"""Functions that SQLite and PostgreSQL call differently."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    CursorResult,
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


class _Each(FunctionElement[str]):
    """The members of a list in JSON, as a table."""

    inherit_cache = True


class _EachNamed(FunctionElement[str]):
    """The fields of an object in JSON, as a table."""

    inherit_cache = True


class _EachOf(FunctionElement[str]):
    """What a field of an object holds: the members of a list, else the value itself, with its type, as a table."""

    inherit_cache = True


class _HasKey(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True


@compiles(_Each)
@compiles(_EachNamed)
def _each(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Each, "postgresql")
def _each_in_postgresql(element: _Each, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS JSON))"


@compiles(_EachNamed, "postgresql")
def _named_in_postgresql(element: _EachNamed, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each_text(CAST({compiler.process(element.clauses, **options)} AS JSON))"


@compiles(_EachOf)
def _each_of(element: _EachOf, compiler: SQLCompiler, **options: Any) -> str:
    document, key = (compiler.process(part, **options) for part in element.clauses)
    return f"json_each({document}, '$.' || json_quote({key}))"


@compiles(_EachOf, "postgresql")
def _each_of_in_postgresql(element: _EachOf, compiler: SQLCompiler, **options: Any) -> str:
    document, key = (compiler.process(part, **options) for part in element.clauses)
    value = f"(({document}) -> {key})"
    members = f"CASE json_typeof({value}) WHEN 'array' THEN {value} ELSE json_build_array({value}) END"
    of = f"json_array_elements(CASE WHEN {value} IS NOT NULL THEN {members} END)"
    return f"LATERAL (SELECT one #>> '{{}}' AS value, json_typeof(one) AS type FROM {of} AS one)"  # noqa: S608


@compiles(_HasKey)
def _has_key(element: _HasKey, compiler: SQLCompiler, **options: Any) -> str:
    document, key = (compiler.process(part, **options) for part in element.clauses)
    return f"json_type({document}, '$.' || json_quote({key})) IS NOT NULL"


@compiles(_HasKey, "postgresql")
def _has_key_in_postgresql(element: _HasKey, compiler: SQLCompiler, **options: Any) -> str:
    document, key = (compiler.process(part, **options) for part in element.clauses)
    return f"(({document}) -> {key}) IS NOT NULL"


class _Among(FunctionElement[Any]):
    """No ``Boolean``, which SQLite would compare with 1, and then use no index."""

    inherit_cache = True


@compiles(_Among)
def _among(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    value, listed = (compiler.process(part, **options) for part in element.clauses)
    return f"{value} IN {listed}"


@compiles(_Among, "postgresql")
def _among_in_postgresql(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    value, listed = (compiler.process(part, **options) for part in element.clauses)
    return f"{value} = ANY (ARRAY{listed})"  # an index is looked up by an array, not by a table of unknown size


class _ThisHome(FunctionElement[str]):
    type = Text()
    inherit_cache = True


@compiles(_ThisHome)
def _only_home(*_: Any, **__: Any) -> str:
    return "''"


@compiles(_ThisHome, "postgresql")
def _home_of_transaction(*_: Any, **__: Any) -> str:
    return f"current_setting('{HOME}')"


class _Clock(FunctionElement[float]):
    type = Float()
    inherit_cache = True


@compiles(_Clock)
def _clock(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Clock, "postgresql")
def _clock_in_postgresql(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


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


def inserted_id(result: CursorResult[Any]) -> int:
    """Return the id of the row that a statement inserted."""
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])


def greater(one: ColumnElement[int], other: ColumnElement[int]) -> ColumnElement[int]:
    """Return the greater of two numbers."""
    return case((one > other, one), else_=other)
