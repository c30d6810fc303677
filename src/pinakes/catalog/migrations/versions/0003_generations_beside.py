"""A collection may have a model of its own, and a second generation beside the one that answers."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("collections", sa.Column("embedding", sa.JSON(none_as_null=True), nullable=True))
    for name in ("line", "newest"):
        op.add_column("collections", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "beside",
        sa.Column("collection_id", _ID, autoincrement=False, nullable=False),
        sa.Column("model_id", _ID, nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("embedding", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_beside_collection_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_beside_model_id"),
        sa.PrimaryKeyConstraint("collection_id", name="pk_beside"),
    )
