"""PostgreSQL keeps texts as they are: chunks are cut from those of documents. Views for SQL are made after all."""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in ("documents", "versions"):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN text SET STORAGE EXTERNAL")
