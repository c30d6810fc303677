"""A document may have one change of each kind: its vectors change without its text."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_COLUMNS = ["collection_id", "document_id"]


def upgrade() -> None:
    connection = op.get_bind()
    newest = connection.execute(sa.text("SELECT max(seq) FROM sqlite_sequence WHERE name = 'changes'")).scalar() or 0
    with op.batch_alter_table("changes", table_kwargs={"sqlite_autoincrement": True}) as table:
        table.drop_constraint("uq_changes_collection_id_document_id", type_="unique")
        table.create_unique_constraint("uq_changes_collection_id_document_id_op", [*_COLUMNS, "op"])
    op.create_index("ix_changes_collection_id_op_seq", "changes", ["collection_id", "op", "seq"], unique=False)
    # The table is made anew; a number must not come again, also where the newest change is gone.
    connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = 'changes'"))
    connection.execute(
        sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', :newest)"), {"newest": newest}
    )
