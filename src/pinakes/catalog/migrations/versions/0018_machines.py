"""What tells one catalogue from another, and numbers of index folders that one machine alone has."""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_installation"),
    )
    op.execute(sa.text("INSERT INTO installation (id, epoch) VALUES (1, :epoch)").bindparams(epoch=str(uuid4())))
    op.create_table(
        "index_numbers",
        sa.Column("home", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("line", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("following", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name="fk_index_numbers_collection_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("home", "collection_id", "line", name="pk_index_numbers"),
    )
