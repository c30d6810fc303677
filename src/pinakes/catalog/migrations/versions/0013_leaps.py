"""Numbers of events leap where a home is restored."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "leaps",
        sa.Column("upto", _ID, autoincrement=False, nullable=False),
        sa.Column("after", _ID, nullable=False),
        sa.PrimaryKeyConstraint("upto", name="pk_leaps"),
    )
