"""What all tables have in common: names of constraints, references, column types, values that PostgreSQL accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import BigInteger, Dialect, ForeignKey, Integer, MetaData, Text, TypeDecorator

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
    written = json.dumps(value, ensure_ascii=False)
    if "\\u0000" in written or _TO_STORE.search(written):
        written = json.dumps(_each_text(value, stored_text), ensure_ascii=False)
    return written


def shown_json(text: str | bytes) -> Any:
    """Return the value of JSON text that ``stored_json`` returned."""
    value = json.loads(text)
    written = text if isinstance(text, str) else text.decode()
    return _each_text(value, shown_text) if _TO_SHOW.search(written) else value


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
        return dialect.type_descriptor(Text(collation="C"))

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


JSON_TEXT: Final = Text().with_variant(_StoredJSONText(), "postgresql")
TEXT: Final = Text().with_variant(_StoredText(), "postgresql")
ID: Final = BigInteger().with_variant(Integer, "sqlite")


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def owner(table: str, *, nullable: bool = False) -> ForeignKey:
    """Return a reference to ``table``: rows go with the one that they refer to, or stay without it (``nullable``)."""
    return ForeignKey(f"{table}.id", ondelete="SET NULL" if nullable else "CASCADE")
