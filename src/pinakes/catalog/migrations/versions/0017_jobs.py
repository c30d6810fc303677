"""Work that waits or runs, with leases."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "jobs",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("key", "kind")),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=True) for name in ("run_at", "owner", "expires_at")),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_jobs"),
    )
