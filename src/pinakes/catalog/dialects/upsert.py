"""``INSERT … ON CONFLICT``, which SQLite and PostgreSQL write alike: the class for SQLite serves both.

So a home in SQLite does not load all of PostgreSQL.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite.dml import OnConflictClause, OnConflictDoNothing, OnConflictDoUpdate
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

insert = sqlite.insert


@compiles(OnConflictDoNothing, "postgresql")
@compiles(OnConflictDoUpdate, "postgresql")
def _on_conflict_in_postgresql(clause: OnConflictClause, compiler: SQLCompiler, **options: Any) -> str:
    clause.constraint_target = None  # type: ignore[attr-defined]  # PostgreSQL can also name a constraint
    written: str = getattr(compiler, f"visit_{clause.__visit_name__}")(clause, **options)
    return written
