"""The graph of a collection as GraphML or JSON-LD, row by row, for programs that draw or query graphs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from pinakes.app import App
from pinakes.catalog import Connection, graph_listing
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.graph_listing import ListedEntity, ListedRelation
from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.graph.metadata_evidence import field_of, outside_words
from pinakes.platform.archives import appearing
from pinakes.settings import GraphRules

GraphFormat: TypeAlias = Literal["graphml", "jsonld"]

MEDIA_TYPES: Final[Mapping[GraphFormat, str]] = {
    "graphml": "application/graphml+xml",
    "jsonld": "application/ld+json",
}

_Form: TypeAlias = Callable[[Connection, CollectionRecord, GraphRules], Iterator[str]]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have, even escaped."""

_NODE_KEYS: Final = {
    "name": "string",
    "type": "string",
    "aliases": "string",
    "confidence": "double",
    "documents": "int",
    "mentions": "int",
}
_EDGE_KEYS: Final = {
    "relation": "string",
    "confidence": "double",
    "statements": "int",
    "document": "string",
    "path": "string",
    "chunk": "string",
    "words": "string",
    "extractor": "string",
    "field": "string",
}
_CLASSES: Final = {
    "VENDOR": "Organization",
    "TEAM": "Organization",
    "SIG": "Organization",
    "PRODUCT": "Product",
    "TEAM_MEMBER": "Person",
    "PERSON": "Person",
    "REGION": "Place",
    "FILE": "DigitalDocument",
    "FUNCTION": "SoftwareSourceCode",
}
"""Types of entities that schema.org has a word for; others are a ``Thing``."""

_CONTEXT: Final[dict[str, JSON]] = {
    "schema": "https://schema.org/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "type": "urn:pinakes:type:",
    "relation": "urn:pinakes:relation:",
    "pinakes": "urn:pinakes:",
    "name": "schema:name",
    "aliases": "schema:alternateName",
    "documents": "pinakes:documents",
    "mentions": "pinakes:mentions",
    "confidence": "pinakes:confidence",
    "statements": "pinakes:statements",
    "extractor": "pinakes:extractor",
    "field": "pinakes:field",
    "subject": {"@id": "rdf:subject", "@type": "@id"},
    "predicate": {"@id": "rdf:predicate", "@type": "@vocab"},
    "object": {"@id": "rdf:object", "@type": "@id"},
    "evidence": "schema:citation",
    "words": "schema:text",
    "chunk": "pinakes:chunk",
    "document": "schema:isPartOf",
    "identifier": "schema:identifier",
    "path": "pinakes:path",
    "title": "schema:headline",
}


def entity_uri(collection: str, kind: str, name: str) -> str:
    """Return the address of an entity."""
    return "pinakes://entity/" + "/".join(quote(part, safe="") for part in (collection, kind, name))


def parts(app: App, collection: str, form: GraphFormat) -> Iterator[str]:
    """Return the pieces of a file with the graph of a collection, of one state; some hundred rows are in memory.

    Each relation has the place that states it most surely.

    Raises:
        NotFound: there is no such collection.
        InvalidInput: it has no graph, or there is no such format.
    """
    if form not in MEDIA_TYPES:
        raise InvalidInput(f"There is no graph format {form!r}.", hint=f"There are {', '.join(MEDIA_TYPES)}.")
    record = app.record(collection)
    if app.graphs.of(record).extraction is None:
        raise InvalidInput(
            f"Collection {collection!r} has no graph.", hint="Add it with --profile handbook, kep or kernel."
        )
    return _written(app, record, _graphml if form == "graphml" else _jsonld)


def write_file(parts: Iterator[str], place: Path, *, force: bool = False) -> int:
    """Write the pieces of a file, which appears at the end, or not at all; return its size in bytes.

    Raises:
        InvalidInput: ``place`` is there already, without ``force``, or its folder is not.
        StorageFull: it cannot be written.
    """
    with appearing(place, f"The file {str(place)!r}", force=force) as file:
        file.writelines(part.encode() for part in parts)
        return file.tell()


def _written(app: App, record: CollectionRecord, write: _Form) -> Iterator[str]:
    with app.catalog.read() as connection:
        yield from write(connection, record, app.rules(record).graph)


def _relations(connection: Connection, collection_id: int, rules: GraphRules) -> Iterator[ListedRelation]:
    """Yield the relations, those that metadata or a path states with these as their words."""
    for one in graph_listing.each_relation(connection, collection_id):
        ends = one.source, one.target
        words = one.text or outside_words(rules, one.extractor, one.path, one.metadata or {}, ends)
        yield replace(one, text=words)


def _graphml(connection: Connection, record: CollectionRecord, rules: GraphRules) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for place, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        for name, kind in keys.items():
            yield f'<key id="{place[0]}_{name}" for="{place}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield f'<graph id={quoteattr(_xml(record.name))} edgedefault="directed">\n'
    for one in graph_listing.each_entity(connection, record.id):
        yield f'<node id="n{one.id}">{_data("n", _of_entity(one))}</node>\n'
    for number, each in enumerate(_relations(connection, record.id, rules)):
        ends = f'source="n{each.source_id}" target="n{each.target_id}"'
        yield f'<edge id="e{number}" {ends}>{_data("e", {"relation": each.type, **_of_relation(each)})}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _data(prefix: str, values: Mapping[str, JSON]) -> str:
    given = {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in values.items()}
    return "".join(
        f'<data key="{prefix}_{name}">{escape(_xml(str(value)))}</data>'
        for name, value in given.items()
        if value is not None and value != ""
    )


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _jsonld(connection: Connection, record: CollectionRecord, rules: GraphRules) -> Iterator[str]:
    collection = record.name
    yield f'{{"@context": {json.dumps(_CONTEXT)},\n"@graph": ['
    before = "\n"
    for one in graph_listing.each_entity(connection, record.id):
        uri = entity_uri(collection, one.type, one.name)
        classes = [f"schema:{_CLASSES.get(one.type, 'Thing')}", f"type:{one.type}"]
        yield before + _line({"@id": uri, "@type": classes, "identifier": one.id, **_of_entity(one)}, but="type")
        before = ",\n"
    for each in _relations(connection, record.id, rules):
        source = entity_uri(collection, each.source_type, each.source)
        target = entity_uri(collection, each.target_type, each.target)
        yield before + _line({"@id": source, f"relation:{each.type}": {"@id": target}})
        stated: dict[str, JSON] = {"subject": source, "predicate": f"relation:{each.type}", "object": target}
        yield ",\n" + _line({"@type": "rdf:Statement", **stated, **_evidence(each)})
    yield "\n]}\n"


def _line(values: Mapping[str, JSON], but: str = "") -> str:
    return json.dumps({name: value for name, value in values.items() if name != but}, ensure_ascii=False)


def _evidence(one: ListedRelation) -> dict[str, JSON]:
    data = _of_relation(one)
    document = {"@type": "schema:DigitalDocument", "identifier": one.uid, "path": one.path, "title": one.title}
    place = {"@type": "schema:Quotation", "words": one.text, "chunk": one.chunk_id, "document": document}
    place["field"] = data["field"]
    kept = {name: data[name] for name in ("confidence", "statements", "extractor")}
    return {**kept, "evidence": {name: value for name, value in place.items() if value not in (None, "")}}


def _of_entity(one: ListedEntity) -> dict[str, JSON]:
    return {
        "name": one.name,
        "type": one.type,
        "aliases": list(one.aliases),
        "confidence": round(one.confidence, 4),
        "documents": one.documents,
        "mentions": one.mentions,
    }


def _of_relation(one: ListedRelation) -> dict[str, JSON]:
    return {
        "confidence": round(one.confidence, 4),
        "statements": one.statements,
        "document": one.uid,
        "path": one.path,
        "chunk": one.chunk_id,
        "words": one.text,
        "extractor": one.extractor,
        "field": field_of(one.extractor),
    }
