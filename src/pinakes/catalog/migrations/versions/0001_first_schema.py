"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "models",
        sa.Column("id", _ID, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.UniqueConstraint("fingerprint", name="uq_models_fingerprint"),
    )
    op.create_table(
        "collections",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("model_id", _ID, nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_collections_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_collections"),
        sa.UniqueConstraint("name", name="uq_collections_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "embeddings",
        sa.Column("id", _ID, nullable=False),
        sa.Column("key", sa.LargeBinary(length=16), nullable=False),
        sa.Column("model_id", _ID, nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_embeddings_model_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_embeddings"),
        sa.UniqueConstraint("key", "model_id", name="uq_embeddings_key_model_id"),
    )
    op.create_table(
        "changes",
        sa.Column("seq", _ID, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("document_id", _ID, nullable=False),
        sa.Column("op", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_changes_collection_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("seq", name="pk_changes"),
        sa.UniqueConstraint("collection_id", "document_id", name="uq_changes_collection_id_document_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_changes_collection_id_seq", "changes", ["collection_id", "seq"], unique=False)
    op.create_table(
        "sources",
        sa.Column("id", _ID, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=True),
        sa.Column("synced_at", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_sources_collection_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("collection_id", "kind", "location", name="uq_sources_collection_id_kind_location"),
    )
    op.create_table(
        "documents",
        sa.Column("id", _ID, nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("source_id", _ID, nullable=True),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("inherited", sa.JSON(), nullable=False),
        sa.Column("group_key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_documents_collection_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_documents_source_id", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sa.UniqueConstraint("collection_id", "uri", name="uq_documents_collection_id_uri"),
        sa.UniqueConstraint("uid", name="uq_documents_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_documents_collection_id_group_key_path", "documents", ["collection_id", "group_key", "path"], unique=False
    )
    op.create_index("ix_documents_collection_id_path", "documents", ["collection_id", "path"], unique=False)
    op.create_index("ix_documents_source_id", "documents", ["source_id"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("id", _ID, nullable=False),
        sa.Column("document_id", _ID, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("start_line", sa.Integer(), nullable=False),
        sa.Column("end_line", sa.Integer(), nullable=False),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.Column("header", sa.Text(), nullable=False),
        sa.Column("heading_path", sa.JSON(), nullable=False),
        sa.Column("symbols", sa.JSON(), nullable=False),
        sa.Column("embedding_key", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_chunks_document_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_chunks"),
        sa.UniqueConstraint("document_id", "ordinal", name="uq_chunks_document_id_ordinal"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_chunks_embedding_key", "chunks", ["embedding_key"], unique=False)
    op.create_table(
        "fields",
        sa.Column("id", _ID, nullable=False),
        sa.Column("document_id", _ID, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("number", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_fields_collection_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_fields_document_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_fields"),
    )
    op.create_index("ix_fields_collection_id_name_value", "fields", ["collection_id", "name", "value"], unique=False)
    op.create_index("ix_fields_document_id", "fields", ["document_id"], unique=False)
    op.create_table(
        "files",
        sa.Column("id", _ID, nullable=False),
        sa.Column("source_id", _ID, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("document_id", _ID, nullable=True),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_files_document_id", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_files_source_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.UniqueConstraint("source_id", "path", name="uq_files_source_id_path"),
    )
    op.create_index("ix_files_document_id", "files", ["document_id"], unique=False)
    op.create_table(
        "versions",
        sa.Column("document_id", _ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_versions_document_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document_id", "number", name="pk_versions"),
    )
