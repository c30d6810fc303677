"""Sources record by which versions of readers and chunkers they were read to their end."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("sources", sa.Column("read_by", sa.JSON(none_as_null=True), nullable=True))
