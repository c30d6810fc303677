"""Where pages begin, when files that failed are tried again, and what came of the last run over a source."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("documents", sa.Column("pages", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("files", sa.Column("tries", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("files", sa.Column("retry_at", sa.Text(), nullable=True))
    op.add_column("sources", sa.Column("report", sa.JSON(none_as_null=True), nullable=True))
