"""A process that writes documents which name the same new entities as those of other processes, in another order."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pinakes.catalog import Catalog, collections
from pinakes.catalog.documents import NewDocument, add
from pinakes.core.graph_records import EntityName
from pinakes.core.records import Document
from pinakes.extraction import Extraction, Listing
from pinakes.graph.feeding import GraphFeed
from pinakes.settings import CatalogSettings, GraphRules, Settings

NAMES = ("Acme", "Globex", "Initech")
RULES = {"types": {"VENDOR": {}}, "links": True, "topics": True, "co_occurs": 3, "candidates": False}


def extraction() -> Extraction:
    """Return the extraction that all of them use."""
    listings = [Listing(EntityName("VENDOR", name), ()) for name in NAMES]
    return Extraction(GraphRules.model_validate(RULES), listings)


def opened(home: str, url: str) -> Catalog:
    """Return the catalogue of a home, or that at ``url``."""
    return Catalog.of(Settings(home=Path(home), catalog=CatalogSettings(url=url)))


def write(catalog: Catalog, number: int, documents: int) -> None:
    """Write documents that name all entities, each with an entity of its own."""
    feed = GraphFeed(extraction())
    with catalog.write() as connection:
        record = collections.ensure(connection, "kept", "")
    for each in range(documents):
        path = f"writer{number}/{each}.md"
        names = NAMES if number % 2 else NAMES[::-1]
        text = f"{' '.join(names)} met. See [the first](0.md)."
        new = feed.read(NewDocument(path, path, Document(text), (), path, path, {}))
        feed.name(catalog, record.id, [new])
        with catalog.write() as connection:
            add(connection, record.id, new)


def write_there(home: str, url: str, number: int, documents: int) -> None:
    """Do the same in the catalogue of a home, or in that at ``url``: the work of a process."""
    with closing(opened(home, url)) as catalog:
        write(catalog, number, documents)
