"""What happened, and how far who wants to know was told of it."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("id", _ID, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("at", "kind", "operation", "collection")),
        *(sa.Column(name, sa.Text(), nullable=True) for name in ("document", "uri", "title")),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("changed", sa.JSON(), nullable=True),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "webhooks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", _ID, nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.Column("delivered", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("delivered_at", sa.Text(), nullable=True),
        sa.Column("missed", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("retry_at", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_webhooks"),
    )
    op.create_table(
        "undelivered",
        sa.Column("id", _ID, nullable=False),
        sa.Column("webhook", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("again", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name="pk_undelivered"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_undelivered_webhook", "undelivered", ["webhook"])
