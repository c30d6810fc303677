"""Settings of the catalogue's database."""

from __future__ import annotations

import re
from typing import Final

from pydantic import Field

from pinakes.settings.base import Section

_PASSWORD: Final = re.compile(r"(://[^/@:\s]{0,200}:)[^/@\s]{1,500}@|([?&]password=)[^&\s]{1,500}")


def without_password(url: str) -> str:
    """Return the address of a database as people and logs may see it."""
    return _PASSWORD.sub(lambda match: f"{match[1]}***@" if match[1] else f"{match[2]}***", url)


class CatalogSettings(Section):
    """Where the catalogue is kept: collections, documents, vectors, history, keys and jobs."""

    url: str = Field(
        "",
        description="Its database: `postgresql://USER@HOST/NAME`, which several servers may share; "
        "empty = SQLite, the file `catalog.db` in the home.",
    )
    direct_url: str = Field(
        "", description="The same database for what a pooler of transactions cannot do; empty = `url`."
    )
    max_connections: int = Field(10, ge=1, le=1000, description="So many connections to PostgreSQL a process may open.")
    statement_timeout_s: float = Field(600, gt=0, description="A statement in PostgreSQL that takes longer is ended.")
    lock_timeout_s: float = Field(60, gt=0, description="How long a statement waits for what another one holds.")
