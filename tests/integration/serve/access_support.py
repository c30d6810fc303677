"""A home with an open collection and closed ones, and keys for a server over it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from pinakes.catalog import keys
from pinakes.library import Library
from pinakes.settings import Settings, load
from pinakes.tools import TOOLS

OPEN, CLOSED = "open", ("closed", "knowledge-base", "open house")
MARK = "Zanzibar"
"""Stands in every document that is closed, in no question, and in nothing that names a document."""

GRAPH = {
    "types": {
        "VENDOR": {"names": {"captain": []}},
        "PRODUCT": {"names": {"treasure": []}},
        "REGION": {"names": {MARK: [], "Lisbon": []}},
    },
    "relations": [
        {
            "type": "LIES_IN",
            "source": ["PRODUCT"],
            "target": ["REGION"],
            "patterns": ["{source} {gap}lies in {target}"],
        },
        {"type": "OFFERS", "source": ["VENDOR"], "target": ["PRODUCT"], "patterns": ["{target} of the {source}"]},
    ],
}
_ONCE = "2999-12-31"
QUESTION = "where does the treasure of the captain lie"


def settings_for_keys(home: Path, **settings: Any) -> Settings:
    toolsets = tuple(sorted({tool.toolset for tool in TOOLS}))
    given = {"collection": OPEN, "server__port": 0, "server__require_keys": True, "toolsets": toolsets, **settings}
    folder = {"knowledge_base__enabled": True, "knowledge_base__collection": "closed"}
    collections = {name: {"graph": GRAPH} for name in (OPEN, *CLOSED)}
    return load(
        home=home, environment={}, embedding__provider="deterministic", collections=collections, **folder, **given
    )


def fill(library: Library, folder: Path) -> None:
    """Put documents into all collections: some that changed, some that are gone, some from a folder."""
    for name in (OPEN, *CLOSED):
        word = MARK if name in CLOSED else "Lisbon"
        text = f"# Treasure\n\nThe treasure of the captain lies in {word}, below the palms.\n"
        put = library.documents.put(text, title="Where it lies", collection=name, tags=[word])
        library.documents.update(put.document.uid, text=f"{text}\nSaid {word}.\n", collection=name)
        gone = library.documents.put(f"In {word} there was more.", title="What was more", collection=name)
        library.documents.delete(gone.document.uid, collection=name)
        library.search(QUESTION, name)
    base = library.settings.home / "knowledge_base"
    for place, name, word in ((folder, "map.md", "Lisbon"), (base, "hoard.md", MARK)):
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"# Map\n\nA map of the treasure in {word}.\n", "utf-8")
    library.add(str(folder), OPEN)
    library.sync("closed")


def key_for(library: Library, name: str, *arguments: Any, **more: Any) -> dict[str, str]:
    """Return the header that shows a new key."""
    with library.app.catalog.write() as connection:
        _, secret = keys.create(connection, name, *arguments, **more)
    return {"Authorization": f"Bearer {secret}"}


def ids_of(library: Library, collection: str) -> list[str]:
    """Return ids and uris by which documents of a collection, and those that are gone, can be named."""
    with library.app.catalog.read() as connection:
        [number] = [one.id for one in library.collections() if one.name == collection]
        read = connection.exec_driver_sql
        rows = read("SELECT uid, uri FROM documents WHERE collection_id = ?", (number,)).all()
        gone = read("SELECT DISTINCT uid FROM versions WHERE collection_id = ?", (number,)).all()
    return sorted({str(value) for row in (*rows, *gone) for value in row})


def state_of(library: Library) -> str:
    """Return all that the closed collections hold, to be compared."""
    held: list[Any] = []
    with library.app.catalog.read() as connection:
        numbers = {one.name: one.id for one in library.collections()}
        for name in CLOSED:
            for table in ("documents", "versions", "sources", "changes"):
                query = f"SELECT * FROM {table} WHERE collection_id = ?"
                rows = connection.exec_driver_sql(query, (numbers[name],)).all()
                held.append([name, table, sorted(map(repr, rows))])
    return json.dumps([sorted(numbers), held])


def calls(name: str, collection: str | None, document: str) -> Iterator[dict[str, Any]]:
    """Yield arguments for a tool that look for a document of a collection, and try to change it."""
    where = {} if collection is None else {"collection": collection}
    asked = {"query": QUESTION, **where}
    one, many = {"doc_id": document, **where}, {"doc_ids": [document], **where}
    fresh = {"title": "New", "text": "Something new.", **where}
    found: dict[str, list[dict[str, Any]]] = {
        "multi_query_search": [{"queries": [QUESTION, "treasure"], **where}],
        "get_documents": [{**many, "include_chunks": True}, {**many, "outline": True}],
        "get_document_chunk": [{**one, "chunk_index": 0}, {**one, "chunk_query": QUESTION}],
        "explain_retrieval": [{**asked, **many}],
        "ingest_document": [fresh],
        "ingest_batch": [{"documents": [fresh, {**fresh, "title": "Newer"}], **where}],
        "update_document": [{**one, "text": "Nothing."}],
        "document_history": [one, {**one, "version": 1}],
        "restore_document": [one, {**one, "version": 1}],
        "retrieval_log": [{"last_n": 1000, **where}],
        "read": [{"document": document, **where, **then} for then in ({}, {"as_of": _ONCE}, {"version": 1})],
        "index_content": [{"content_type": "documentation", "source_path": document, "content": "Nothing.", **where}],
        "get_index_status": [{"content_id": document, **where}, where],
        "manageKnowledge": [
            {"operation": "search", "query": QUESTION},
            {"operation": "getChunk", "chunkId": document},
            {"operation": "ingest", "content": "Nothing.", "uri": document},
            {"operation": "deleteByUri", "uri": document},
            {"operation": "deleteBySource", "sourceId": "user-provided"},
        ],
        "list_collections": [{}],
        "kb_status": [{}],
        "kb_resync": [{}],
        "version": [{}],
    }
    for tool in ("find_similar", "delete_document", "get_document_metadata"):
        found[tool] = [one]
    for tool in ("search_summaries", "hybrid_search", "search", "semantic_search"):
        found[tool] = [asked]
    found["search"] = [asked, {**asked, "as_of": _ONCE}]
    for tool in ("collection_stats", "list_sources", "metadata_report", "status"):
        found[tool] = [where]
    found["ask"] = [{"question": QUESTION, **where}]
    found["find_vendor_info"] = [{"vendor_name": "captain", **where}]
    found["find_entity"] = [{"name": "captain", **where}, {"name": "captin", **where}]
    found["related_entities"] = [{"name": "treasure", **where}]
    found["entity_path"] = [{"source": "captain", "target": "treasure", **where}]
    found["graph_overview"] = [where]
    found["find_experts"] = [{"name": "captain", **where}]
    found["impact_of"] = [{"name": "treasure", **where}]
    found["related_entities"].append({"name": "captain", "as_of": _ONCE, **where})
    yield from found[name]


def json_of(response: httpx.Response) -> Any:
    return json.loads(response.text)
