"""Every call is recorded."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", _ID, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("at", "interface", "tool", "caller", "session")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("collection", "parameters")),
        sa.Column("result_count", sa.Integer(), nullable=False),
        sa.Column("ids", sa.Text(), nullable=False),
        sa.Column("latency_ms", sa.Float(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("outcome", "message")),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    for name in ("at", "tool", "caller", "session", "collection"):
        op.create_index(f"ix_audit_{name}", "audit", [name], unique=False)
