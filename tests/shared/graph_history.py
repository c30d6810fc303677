"""Random puts, changes and deletes of documents; the graph that follows each is compared with one computed anew."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

from sqlalchemy import select

from pinakes.catalog import (
    Catalog,
    Connection,
    changes,
    collections,
    documents,
    entities,
    graph_listing,
    graph_lookups,
    stated_edges,
)
from pinakes.catalog.documents import NewDocument
from pinakes.catalog.entities import Decision
from pinakes.catalog.relation_ends import CANONICAL, SOURCE, TARGET, WRITTEN_SOURCE, WRITTEN_TARGET
from pinakes.catalog.schema import documents as documents_table
from pinakes.catalog.schema import entities as entities_table
from pinakes.catalog.schema import entity_facts, entity_mentions, entity_relations
from pinakes.core.graph_records import EntityName, folded
from pinakes.core.records import Chunk, Document
from pinakes.extraction import Extraction, Listing
from pinakes.graph.feeding import GraphFeed
from pinakes.graph.following import follow
from pinakes.settings import GraphRules

RULES = {
    "types": {
        "VENDOR": {"merge": True, "suffixes": ["Inc"], "behind": ["tool"]},
        "PERSON": {"given_names": True, "before": ["by"]},
        **{kind: {} for kind in ("FUNCTION", "MACRO", "CLASS", "STRUCT", "FILE")},
    },
    "relations": [
        {"type": "USES", "source": ["VENDOR"], "target": ["VENDOR"], "patterns": ["{source} uses {target}"]},
        {"type": "CALLS", "source": ["FUNCTION"], "target": ["FUNCTION"]},
    ],
    "links": True,
    "topics": True,
    "co_occurs": 2,
    "code": True,
}
LISTS = [Listing(EntityName("VENDOR", "Globex"), ("Globex Corp",)), Listing(EntityName("PERSON", "Ada Lovelace"), ())]
NAMES = (
    *("Globex", "Globex Corp", "Initech", "Initech Inc", "Initechs", "Umbrella Tools", "Umbrela Tools", "UTC"),
    *("Ada Lovelace", "Ada Byron", "Ada", "Grace Hopper", "Grace", "Unified Test Corp", "Hooli", "Hoolie"),
)
HEADINGS = ("Billing", "Billings", "On call", "Hiring", "Pay 1", "Pay 2")
FUNCTIONS = ("load", "store", "close_all", "spin", "Twice")


def prose(chance: random.Random) -> Document:
    """Return a text with headings, names, relations and links."""
    lines = [f"# Page {chance.randint(1, 3)}"]
    for heading in chance.sample(HEADINGS, chance.randint(1, 4)):
        lines += ["", f"## {heading}", ""]
        for _ in range(chance.randint(2, 5)):
            one, other = chance.sample(NAMES, 2)
            lines.append(
                chance.choice((f"We asked {one} tool and {other}.", f"{one} uses {other}.", f"Made by {one}, {other}."))
            )
        lines.append(f"See [it](p{chance.randint(0, 5)}.md) and load().")
    return Document("\n".join(lines), lines[0][2:], "text", "markdown")


def code(chance: random.Random, language: str) -> Document:
    """Return a file of C or Python that defines some functions and calls others."""
    own, called = chance.sample(FUNCTIONS, 2), chance.sample(FUNCTIONS, 3)
    if language == "c":
        macro = [f"#define {chance.choice(FUNCTIONS)}(x) {called[0]}(x)"] if chance.random() < 0.4 else []
        static = "static " if chance.random() < 0.5 else ""
        bodies = [f"{static}int {one}(int x)\n{{\n\treturn {' + '.join(f'{c}(x)' for c in called)};\n}}" for one in own]
        include = f"#include <s{chance.randint(0, 4)}.h>\n"
        return Document(include + "\n\n".join((*macro, *bodies)) + "\n", "", "code", "c")
    base = chance.choice(("", "Base", "Other"))
    imported = f"from m{chance.randint(0, 4)} import {called[0]}, Base, Other\n\n\n"
    methods = "".join(f"    def {one}(self):\n        self.{called[1]}()\n        {called[0]}()\n\n" for one in own)
    return Document(
        f"{imported}class {chance.choice(('Base', 'Other', 'Own'))}({base}):\n{methods}", "", "code", "python"
    )


def new_document(chance: random.Random, path: str) -> NewDocument:
    """Return a document for a path, with a chunk for each section."""
    extension = path.rpartition(".")[2]
    document = prose(chance) if extension == "md" else code(chance, "python" if extension == "py" else "c")
    text, spans, start = document.text, list[tuple[int, int, tuple[str, ...]]](), 0
    while start < len(text):
        end = text.find("\n## ", start + 1)
        end = len(text) if end < 0 else end
        title = text[start:end].strip().split("\n", 1)[0].strip("# ")
        spans.append((start, end, (document.title, title) if extension == "md" and start else (document.title,)))
        start = end
    chunks = [Chunk(at, text[a:b], a, b, 1, 1, 10, "", heading_path=titles) for at, (a, b, titles) in enumerate(spans)]
    return NewDocument(path, path, document, chunks, path, path, {})


def paths() -> list[str]:
    """Return the paths that documents of a history have."""
    prose_paths = [f"{folder}/p{number}.md" for folder in ("team", "team/pay", "sales") for number in range(4)]
    return [
        *prose_paths,
        *(f"src/s{n}.c" for n in range(4)),
        *(f"src/s{n}.h" for n in range(2)),
        *(f"src/m{n}.py" for n in range(4)),
    ]


def play(catalog: Catalog, seed: int, steps: int, compared_each: int) -> None:
    """Change documents by chance, have the graph follow, and compare it with one that is computed anew."""
    chance = random.Random(seed)
    extraction = Extraction(GraphRules.model_validate(RULES), LISTS)
    feed = GraphFeed(extraction)
    with catalog.write() as connection:
        record = collections.ensure(connection, "kept", "")
    for step in range(1, steps + 1):
        for _ in range(1 if chance.random() < 0.5 else 4):
            _change(catalog, feed, record.id, chance)
        assert follow(catalog, record, extraction) or step > 1
        if step % compared_each == 0:
            followed = rows(catalog, record.id)
            with catalog.write() as connection:
                entities.forget(connection, record.id)
            follow(catalog, record, extraction)
            anew = rows(catalog, record.id)
            for title, those in anew.items():
                assert Counter(followed[title]) - Counter(those) == Counter(), (title, seed, step)
                assert Counter(those) - Counter(followed[title]) == Counter(), (title, seed, step)


def _change(catalog: Catalog, feed: GraphFeed, collection_id: int, chance: random.Random) -> None:
    path = chance.choice(paths())
    new = feed.read(new_document(chance, path))
    feed.name(catalog, collection_id, [new])
    with catalog.write() as connection:
        query = select(documents_table.c.id).where(documents_table.c.path == path)
        old = connection.scalar(query)
        if chance.random() < 0.08:
            one, other = sorted(map(folded, chance.sample(NAMES, 2)))
            entities.decide(
                connection, collection_id, Decision(chance.choice(("merge", "split")), "VENDOR", one, other)
            )
        if old is None:
            documents.add(connection, collection_id, new)
        elif chance.random() < 0.15:
            documents.remove(connection, old)
        else:
            documents.rewrite(connection, old, new)
        assert changes.head(connection, collection_id)


def rows(catalog: Catalog, collection_id: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return title → the rows of a graph, without ids, in order."""
    entity, main, table = entities_table, entities_table.alias(), entity_relations
    named = (entity.c.type, entity.c.name)
    of_collection = entity.c.collection_id == collection_id
    queries = {
        "entities": select(
            *named, main.c.type, main.c.name, entity.c.why, entity.c.confidence, entity.c.documents, entity.c.mentions
        )
        .outerjoin_from(entity, main, main.c.id == entity.c.canonical_id)
        .where(of_collection),
        "facts": select(*named, *(entity_facts.c[one] for one in ("extractor", "documents", "mentions", "confidence")))
        .join_from(entity_facts, entity, entity.c.id == entity_facts.c.entity_id)
        .where(of_collection),
        "mentions": select(
            documents_table.c.path, *named, *(entity_mentions.c[one] for one in ("start", "end", "extractor"))
        )
        .join_from(entity_mentions, entity, entity.c.id == entity_mentions.c.entity_id)
        .join(documents_table, documents_table.c.id == entity_mentions.c.document_id)
        .where(of_collection),
        "relations": select(
            *(table.c.document_id, WRITTEN_SOURCE.c.name, SOURCE.c.name, table.c.type, WRITTEN_TARGET.c.name),
            *(TARGET.c.name, table.c.start, table.c.end, table.c.confidence, table.c.extractor, table.c.fits),
        )
        .select_from(CANONICAL)
        .where(SOURCE.c.collection_id == collection_id),
    }
    with catalog.read() as connection:
        found = {
            title: sorted((tuple(row) for row in connection.execute(query)), key=repr)
            for title, query in queries.items()
        }
        return {**found, "evidence": _evidence(connection, collection_id)}


def _evidence(connection: Connection, collection_id: int) -> list[tuple[Any, ...]]:
    """Return the places that are quoted for each relation, those that searches go by, and those of each entity."""
    edges = stated_edges.all_edges(connection, collection_id)
    quoted = stated_edges.statements(connection, edges, 2)
    held = [one.id for one in entities.every(connection, collection_id)]
    hops = graph_lookups.hops(connection, held)
    places = graph_lookups.statements(connection, [one.statement for one in hops])
    listed = graph_listing.each_relation(connection, collection_id)
    return [
        *(("quoted", key, *((one.path, one.start, one.extractor) for one in each)) for key, each in quoted.items()),
        *(("hop", one.source_id, one.type, one.target_id, replace(places[one.statement], id=0)) for one in hops),
        *(("listed", one) for one in listed),
        *(("mention", one, *((e.path, e.start) for e in stated_edges.mentions(connection, one, 3))) for one in held),
    ]
