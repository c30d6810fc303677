"""The catalogue: collections, sources, documents, chunks, embeddings and the record of changes."""

from pinakes.catalog.engine import Catalog

__all__ = ["Catalog"]
