"""The engine that keeps words and vectors in the catalogue's PostgreSQL; imported only where a setting names it."""

from __future__ import annotations

from pinakes.core.errors import MissingExtra

try:
    import psycopg  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("The index engine 'postgres'", "postgres") from error
