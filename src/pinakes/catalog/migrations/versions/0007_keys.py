"""Keys by which others are let in."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "keys",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("collections", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("per_minute", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=True) for name in ("expires_at", "last_used_at", "revoked_at")),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("name", name="uq_keys_name"),
        sa.UniqueConstraint("prefix", name="uq_keys_prefix"),
        sqlite_autoincrement=True,
    )
