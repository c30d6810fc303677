"""A collection that was made by a call keeps the settings it was made with."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("collections", sa.Column("settings", sa.JSON(none_as_null=True), nullable=True))
