"""What all tables of the catalogue have in common."""

from __future__ import annotations

from sqlalchemy import ForeignKey, MetaData

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
