"""The graph in PostgreSQL, and writers that meet one new name."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from pinakes.catalog import Catalog, collections, documents
from pinakes.catalog.documents import NewDocument
from pinakes.core.graph_records import EntityName
from pinakes.core.records import Document
from pinakes.extraction import Extraction, Listing
from pinakes.graph.feeding import GraphFeed
from pinakes.graph.following import follow
from pinakes.settings import CatalogSettings, GraphRules, Settings


def test_ten_writers_of_one_new_name_neither_wait_for_ever_nor_lose_a_mention(new_database: Callable[[], str]) -> None:
    rules = GraphRules.model_validate({"types": {"VENDOR": {}}})
    extraction = Extraction(rules, [Listing(EntityName("VENDOR", name), ()) for name in ("Acme", "Globex", "Initech")])
    feed = GraphFeed(extraction)
    with closing(Catalog.of(Settings(catalog=CatalogSettings(url=new_database())))) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "kept", "")

        def write(number: int) -> None:
            for each in range(5):
                path = f"{number}-{each}.md"
                names = "Acme Globex Initech" if number % 2 else "Initech Globex Acme"
                new = feed.read(NewDocument(path, path, Document(f"{names} met."), (), path, path, {}))
                feed.name(catalog, record.id, [new])
                with catalog.write() as connection:
                    documents.add(connection, record.id, new)

        with ThreadPoolExecutor(10) as pool:
            list(pool.map(write, range(10)))
        assert follow(catalog, record, extraction)
        with catalog.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT entity_name, documents, mentions, metadata FROM knowledge_entities ORDER BY entity_name"
            ).all()
            assert [tuple(row[:3]) for row in rows] == [("Acme", 50, 50), ("Globex", 50, 50), ("Initech", 50, 50)]
            assert rows[0][3]["canonical"] == "Acme"
            assert connection.exec_driver_sql("SELECT count(*) FROM entity_relationships").scalar() == 0
