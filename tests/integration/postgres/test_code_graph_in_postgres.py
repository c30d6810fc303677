"""The graph of code in PostgreSQL: the same statements as in SQLite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from pinakes.catalog import Catalog, code_symbols, collections, documents, entities
from pinakes.catalog.documents import NewDocument
from pinakes.core.records import Document
from pinakes.extraction import Extraction
from pinakes.graph.feeding import GraphFeed
from pinakes.graph.following import follow
from pinakes.settings import CatalogSettings, GraphRules, Settings

FILES = {
    "a.h": "#define twice(x) once(x)\n",
    "a.c": "static int helper(int x)\n{\n\treturn twice(x);\n}\n\nint main_part(int x)\n{\n\treturn helper(x);\n}\n",
    "b.c": "static int helper(int x)\n{\n\treturn gone(x);\n}\n" + "int f1(void)\n{\n\treturn main_part(1);\n}\n",
}


def test_references_are_resolved_counted_and_told(new_database: Callable[[], str]) -> None:
    kinds = {kind: {} for kind in ("FUNCTION", "MACRO", "FILE")}
    extraction = Extraction(GraphRules.model_validate({"types": kinds, "code": True, "candidates": False}))
    feed = GraphFeed(extraction)
    with closing(Catalog.of(Settings(catalog=CatalogSettings(url=new_database())))) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "kept", "")
        for path, text in FILES.items():
            document = Document(text, title=path, kind="code", language="c")
            new = feed.read(NewDocument(path, path, document, (), path, path, {}))
            feed.name(catalog, record.id, [new])
            with catalog.write() as connection:
                documents.add(connection, record.id, new)
        assert follow(catalog, record, extraction)
        with catalog.read() as connection:
            [macro] = entities.named(connection, [record.id], "twice", "twice")
            helpers = entities.named(connection, [record.id], "helper", "helper")
            [gone] = entities.named(connection, [record.id], "gone", "gone")
            [part] = entities.named(connection, [record.id], "main part", "main_part")
            defined, found, undefined = code_symbols.figures(connection, record.id)
    assert (macro.type, macro.documents, macro.confidence) == ("MACRO", 2, 1.0)
    assert {one.name for one in helpers} == {"helper@a.c", "helper@b.c"}
    assert (gone.why, part.documents) == ("no document defines it", 2)
    assert (defined, found, undefined) == (8, 1, 2)
