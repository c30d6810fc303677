"""Servers and workers of a shared catalogue, what they embed, and which programs may read and write it."""

import sqlalchemy as sa
from alembic import op

from pinakes.catalog.schema.types import ID, TEXT

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    for name in ("min_reader", "min_writer"):
        op.add_column("installation", sa.Column(name, TEXT, nullable=False, server_default="0020"))
    op.create_table(
        "servers",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("home", TEXT, nullable=False),
        sa.Column("host", TEXT, nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("version", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("beat_at", sa.Float(), nullable=False),
        sa.Column("positions", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_servers"),
    )
    op.create_table(
        "embedding_claims",
        sa.Column("model_id", ID, autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("refused", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_embedding_claims_model_id"),
        sa.PrimaryKeyConstraint("model_id", "key", name="pk_embedding_claims"),
    )
