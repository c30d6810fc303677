"""The catalogue: collections, sources, documents, chunks, embeddings and the record of changes.

No other folder knows SQL or SQLAlchemy: a ``Connection`` is only passed on to what is here.
"""

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from pinakes.catalog.engine import Catalog

__all__ = ["Catalog", "Connection", "IntegrityError"]
