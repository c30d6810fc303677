"""Paths of sources are kept in one way: ``~`` and ``..`` are gone, so that the same folder is no second source."""

import os
import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_REMOTE = re.compile(r"[^/]*://|[^/@]+@[^/:]+:")


def upgrade() -> None:
    connection = op.get_bind()
    found = connection.execute(sa.text("SELECT id, collection_id, kind, location FROM sources")).all()
    taken = {(collection, kind, location) for _, collection, kind, location in found}
    for number, collection, kind, location in found:
        path = Path(os.path.expanduser(location))  # noqa: PTH111 - leaves "~nobody" as it is
        if kind in ("http", "push") or _REMOTE.match(location) or not path.is_absolute():
            continue
        up = max((number for number, part in enumerate(path.parts, start=1) if part == ".."), default=0)
        whole = str(Path(os.path.realpath(Path(*path.parts[:up])), *path.parts[up:]) if up else path)
        if (collection, kind, whole) not in taken:
            taken.add((collection, kind, whole))
            connection.execute(
                sa.text("UPDATE sources SET location = :whole WHERE id = :number"), {"whole": whole, "number": number}
            )
