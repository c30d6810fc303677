"""A document may have one change of each kind: its vectors change without its text."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = ["collection_id", "document_id"]


def upgrade() -> None:
    with op.batch_alter_table("changes", table_kwargs={"sqlite_autoincrement": True}) as table:
        table.drop_constraint("uq_changes_collection_id_document_id", type_="unique")
        table.create_unique_constraint("uq_changes_collection_id_document_id_op", [*_COLUMNS, "op"])
