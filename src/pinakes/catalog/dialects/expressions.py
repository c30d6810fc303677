"""Functions of JSON that SQLite and PostgreSQL call differently, and the types of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    CursorResult,
    Dialect,
    Integer,
    Select,
    TableValuedAlias,
    Text,
    TypeDecorator,
    bindparam,
    case,
    cast,
    column,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

_NONCHARACTERS: Final = (
    *range(0xFDD0, 0xFDF0),
    *(0x10000 * plane + end for plane in range(17) for end in (0xFFFE, 0xFFFF)),
)
_CHAIN: Final = (0, *_NONCHARACTERS)
_STORED: Final = {**dict(pairwise(_CHAIN)), _CHAIN[-1]: 0xFFFD}
_SHOWN: Final = {stored: shown for shown, stored in pairwise(_CHAIN)}
_TO_STORE: Final = re.compile(f"[{''.join(map(chr, _CHAIN))}]")
_TO_SHOW: Final = re.compile(f"[{''.join(map(chr, _NONCHARACTERS))}]")


def stored_text(text: str) -> str:
    """Return ``text`` as PostgreSQL can keep it: as long, and each text another.

    It refuses the character NUL. The 66 characters that Unicode keeps for a program's own use take its place: NUL is
    written as the first of them, the first as the second, and so on. Only the last, U+10FFFF, becomes U+FFFD.
    """
    return text.translate(_STORED) if _TO_STORE.search(text) else text


def shown_text(text: str) -> str:
    """Return a text that ``stored_text`` returned as it was."""
    return text.translate(_SHOWN) if _TO_SHOW.search(text) else text


def stored_json(value: Any) -> str:
    """Return ``value`` as JSON text that PostgreSQL can keep; see ``stored_text``."""
    told = json.dumps(value, ensure_ascii=False)
    if "\\u0000" in told or _TO_STORE.search(told):
        told = json.dumps(_each_text(value, stored_text), ensure_ascii=False)
    return told


def shown_json(text: str | bytes) -> Any:
    """Return the value of JSON text that ``stored_json`` returned."""
    value = json.loads(text)
    told = text if isinstance(text, str) else text.decode()
    return _each_text(value, shown_text) if _TO_SHOW.search(told) else value


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): _each_text(one, change) for name, one in value.items()}
    return [_each_text(one, change) for one in value] if isinstance(value, list | tuple) else value


class _StoredText(TypeDecorator[str]):
    """Text in PostgreSQL, sorted by code points, as SQLite and Python sort it."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(postgresql.TEXT(collation="C"))

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else stored_text(value)

    def process_result_value(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else shown_text(value)


class _StoredJSONText(TypeDecorator[str]):
    """A parameter that is JSON text, as PostgreSQL can read it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else stored_json(json.loads(value))


HOME: Final = "pinakes.home"
"""The setting of a transaction in PostgreSQL that names the home which asks."""

_JSON_TEXT: Final = Text().with_variant(_StoredJSONText(), "postgresql")
TEXT: Final = Text().with_variant(_StoredText(), "postgresql")
ID: Final = BigInteger().with_variant(Integer, "sqlite")


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


class _ThisHome(FunctionElement[str]):
    type = Text()
    inherit_cache = True


@compiles(_ThisHome)
def _only_home(*_: Any, **__: Any) -> str:
    return "''"


@compiles(_ThisHome, "postgresql")
def _home_of_transaction(*_: Any, **__: Any) -> str:
    return f"current_setting('{HOME}')"


def is_shared(connection: Connection) -> bool:
    """Say whether homes on several machines may have this catalogue."""
    return connection.dialect.name == "postgresql"


def this_home() -> ColumnElement[str]:
    """Return the name of the home that asks, "" where only one has the catalogue."""
    return _ThisHome()


def json_texts(name: str) -> Select[tuple[str]]:
    """Return the texts of the parameter ``name``, a list in JSON: a statement is compiled once, however many it has."""
    return select(_Each(bindparam(name, type_=_JSON_TEXT)).table_valued(column("value", TEXT)).c.value)


def json_ids(name: str) -> Select[tuple[int]]:
    """Return the numbers of the parameter ``name``, a list in JSON."""
    return select(cast(_Each(bindparam(name, type_=_JSON_TEXT)).table_valued("value").c.value, ID))


def text_list(values: Sequence[str]) -> Select[tuple[str]]:
    """Return ``values`` as one parameter, since a statement may not have one for each of many."""
    return select(_Each(literal(json.dumps(list(values)), _JSON_TEXT)).table_valued(column("value", TEXT)).c.value)


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
