"""One place for what documents were, also those that are gone; documents have summaries."""

import sqlalchemy as sa
from alembic import op

from pinakes.core.content_types import CONTENT_TYPES, FIELD, content_type

revision = "0004"
down_revision = "0003"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for name in ("summary", "summary_by"):
        op.add_column("documents", sa.Column(name, sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("documents", sa.Column("summary_key", sa.LargeBinary(16), nullable=True))
    op.add_column("documents", sa.Column("given", sa.JSON(none_as_null=True), nullable=True))
    op.create_index(
        "ix_documents_collection_id_content_hash", "documents", ["collection_id", "content_hash"], unique=False
    )
    op.rename_table("versions", "former")
    op.create_table(
        "versions",
        sa.Column("collection_id", _ID, autoincrement=False, nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("op", "at", "by")),
        sa.Column("changed", sa.JSON(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text()) for name in ("until", "title", "uri", "path", "kind", "language")),
        sa.Column("source_id", _ID),
        sa.Column("group_key", sa.Text()),
        *(sa.Column(name, sa.JSON(none_as_null=True)) for name in ("metadata", "given")),
        *(sa.Column(name, sa.Text()) for name in ("summary", "summary_by")),
        sa.Column("text", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_versions_collection_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "uid", "number", name="pk_versions"),
    )
    op.execute(
        """
        INSERT INTO versions (collection_id, uid, number, op, at, "by", changed, content_hash, until)
        SELECT d.collection_id, d.uid, f.number, CASE f.number WHEN 1 THEN 'created' ELSE 'updated' END,
               f.recorded_at, '', '[]', f.content_hash,
               LEAD(f.recorded_at) OVER (PARTITION BY f.document_id ORDER BY f.number)
        FROM former AS f JOIN documents AS d ON d.id = f.document_id
        """
    )
    op.drop_table("former")
    op.create_index(
        "ix_versions_collection_id_until",
        "versions",
        ["collection_id", "until"],
        unique=False,
        sqlite_where=sa.text("title IS NOT NULL"),
    )
    _state_content_types()


def _state_content_types() -> None:
    """Let documents be filtered by what they are there for, as new ones are."""
    connection = op.get_bind()
    documents = sa.table("documents", *map(sa.column, ("id", "collection_id", "kind", "path")))
    fields = sa.table("fields", *map(sa.column, ("document_id", "collection_id", "name", "value")))
    of_document = fields.c.document_id == documents.c.id, fields.c.name == FIELD
    stated = sa.exists().where(*of_document, fields.c.value.in_(CONTENT_TYPES))
    rows = [
        {"document_id": row.id, "collection_id": row.collection_id, "name": FIELD, "value": purpose}
        for row in connection.execute(sa.select(documents).where(~stated)).all()
        for purpose in [content_type(row.kind, row.path)]
    ]
    if rows:
        connection.execute(fields.insert(), rows)
