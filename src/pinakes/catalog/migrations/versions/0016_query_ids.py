"""Calls in the audit log have an id that answers repeat."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("audit", sa.Column("query_id", sa.Text(), nullable=False, server_default=sa.text("''")))
