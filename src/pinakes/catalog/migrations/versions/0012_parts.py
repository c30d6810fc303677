"""A collection may have several sources of one place, told apart by ``part``."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_PLACE = ["collection_id", "kind", "location"]


def upgrade() -> None:
    with op.batch_alter_table("sources") as table:
        table.add_column(sa.Column("part", sa.Text(), nullable=False, server_default=sa.text("''")))
        table.drop_constraint("uq_sources_collection_id_kind_location", type_="unique")
        table.create_unique_constraint("uq_sources_collection_id_kind_location_part", [*_PLACE, "part"])
