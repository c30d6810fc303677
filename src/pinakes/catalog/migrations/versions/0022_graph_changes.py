"""What the graph was computed from, by entity, so that a change of one document is one of its entities only."""

import sqlalchemy as sa
from alembic import op

from pinakes.catalog.schema.types import ID, TEXT

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "entity_facts",
        sa.Column("entity_id", ID, autoincrement=False, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["entity_id"], ["entities.id"], name="fk_entity_facts_entity_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("entity_id", "extractor", name="pk_entity_facts"),
    )
    op.create_table(
        "entity_changes",
        sa.Column("id", ID, nullable=False),
        sa.Column("collection_id", ID, nullable=False),
        sa.Column("entity_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_entity_changes_collection_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_entity_changes"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entity_changes_collection_id", "entity_changes", ["collection_id"])
    op.execute("DELETE FROM graphs")
