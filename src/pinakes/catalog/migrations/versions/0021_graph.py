"""The knowledge graph: entities, mentions, relations."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from pinakes.catalog.schema.types import ID, TEXT

revision = "0021"
down_revision = "0020"


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, TEXT, nullable=False) for name in names]


def _owner(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def _id(name: str = "id", *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, ID, nullable=nullable)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), server_default="0", nullable=False)


def _fits() -> sa.Column[int]:
    return sa.Column("fits", sa.Integer(), server_default="1", nullable=False)


def upgrade() -> None:
    op.create_table(
        "entities",
        _id(),
        _id("collection_id"),
        *_texts("type", "name", "folded"),
        _id("canonical_id", nullable=True),
        sa.Column("why", TEXT, server_default=sa.text("''"), nullable=False),
        sa.Column("confidence", sa.Float(), server_default="0", nullable=False),
        _count("documents"),
        _count("mentions"),
        _owner("entities", "collection_id", "collections"),
        sa.PrimaryKeyConstraint("id", name="pk_entities"),
        sa.UniqueConstraint("collection_id", "type", "folded", name="uq_entities_collection_id_type_folded"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entities_canonical_id", "entities", ["canonical_id"])
    op.create_index("ix_entities_collection_id_folded", "entities", ["collection_id", "folded"])
    op.create_table(
        "entity_aliases",
        _id(),
        _id("collection_id"),
        *_texts("type", "name", "alias", "folded"),
        _owner("entity_aliases", "collection_id", "collections"),
        sa.PrimaryKeyConstraint("id", name="pk_entity_aliases"),
        sa.UniqueConstraint(
            "collection_id", "type", "name", "folded", name="uq_entity_aliases_collection_id_type_name_folded"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entity_aliases_collection_id_folded", "entity_aliases", ["collection_id", "folded"])
    _decisions()
    _of_documents()


def _decisions() -> None:
    op.create_table(
        "entity_decisions",
        _id(),
        _id("collection_id"),
        *_texts("kind", "type", "name", "other"),
        sa.Column("other_type", TEXT, server_default=sa.text("''"), nullable=False),
        *_texts("at"),
        _owner("entity_decisions", "collection_id", "collections"),
        sa.PrimaryKeyConstraint("id", name="pk_entity_decisions"),
        sa.UniqueConstraint(
            "collection_id",
            "kind",
            "type",
            "name",
            "other",
            name="uq_entity_decisions_collection_id_kind_type_name_other",
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "graphs",
        sa.Column("collection_id", ID, autoincrement=False, nullable=False),
        _id("position"),
        *_texts("recipe"),
        sa.Column("decided", ID, server_default="0", nullable=False),
        *_texts("computed_at"),
        sa.Column("figures", sa.JSON(), nullable=False),
        _owner("graphs", "collection_id", "collections"),
        sa.PrimaryKeyConstraint("collection_id", name="pk_graphs"),
    )


def _of_documents() -> None:
    op.create_table(
        "extractions",
        sa.Column("document_id", ID, autoincrement=False, nullable=False),
        *_texts("recipe"),
        _count("left_out"),
        _owner("extractions", "document_id", "documents"),
        sa.PrimaryKeyConstraint("document_id", name="pk_extractions"),
    )
    mentions: list[sa.Column[Any]] = [_id("entity_id")]
    relations: list[sa.Column[Any]] = [_id("source_id"), *_texts("type"), _id("target_id")]
    for table, refers in (("entity_mentions", mentions), ("entity_relations", relations)):
        op.create_table(
            table,
            _id(),
            _id("document_id"),
            *refers,
            sa.Column("start", sa.Integer(), nullable=False),
            sa.Column("end", sa.Integer(), nullable=False),
            sa.Column("confidence", sa.Float(), nullable=False),
            *_texts("extractor"),
            *([_fits()] if table == "entity_relations" else []),
            _owner(table, "document_id", "documents"),
            *(_owner(table, column.name, "entities") for column in refers if column.name != "type"),
            sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
            sqlite_autoincrement=True,
        )
        op.create_index(f"ix_{table}_document_id", table, ["document_id"])
    op.create_index("ix_entity_mentions_entity_id_document_id", "entity_mentions", ["entity_id", "document_id"])
    for column in ("source_id", "target_id"):
        op.create_index(f"ix_entity_relations_{column}_type", "entity_relations", [column, "type"])
