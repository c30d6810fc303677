"""Views for people who use SQL. They are made after every migration, see ``schema.views``."""

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
