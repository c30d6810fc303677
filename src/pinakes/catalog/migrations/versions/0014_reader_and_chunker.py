"""Documents record the versions of reader and chunker that made them, reading notes, and the lines of their file."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    for name in ("notes", "lines"):
        op.add_column("documents", sa.Column(name, sa.JSON(none_as_null=True), nullable=True))
    for name in ("reader", "chunker"):
        op.add_column("documents", sa.Column(name, sa.Text(), nullable=False, server_default=sa.text("''")))
