"""The fields of documents that filters compare: path, metadata, and metadata of the group."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, update

from pinakes.catalog.dialects.functions import among, json_ids, json_texts
from pinakes.catalog.dialects.inserts import insert_rows
from pinakes.catalog.document_queries import RECORD
from pinakes.catalog.schema import documents, fields
from pinakes.core.content_types import FIELD as CONTENT_TYPE
from pinakes.core.content_types import content_type
from pinakes.core.filters import flatten, normal_text, number
from pinakes.core.records import JSON, Metadata


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """A document as filters see it: its ``place``, and its ``own`` metadata, which win over what it inherits."""

    document_id: int
    collection_id: int
    place: Metadata
    own: Metadata
    inherited: Metadata


def place_of(uri: str, path: str, title: str, kind: str, language: str | None) -> dict[str, JSON]:
    """Return the fields that every document has."""
    name = path.rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    return {
        "uri": uri,
        "path": path,
        "title": title,
        "kind": kind,
        "language": language,
        "file_name": name,
        "file_type": extension,
    }


def add(connection: Connection, many: Sequence[DocumentFields]) -> None:
    """Write what filters see of new documents."""
    insert_rows(connection, fields, [row for one in many for row in _rows(one)])


def replace(connection: Connection, many: Sequence[DocumentFields]) -> None:
    """Write anew what filters see of documents."""
    connection.execute(_DROP, {"documents": json.dumps([one.document_id for one in many])})
    add(connection, many)


def refresh(connection: Connection, document_id: int) -> None:
    """Write anew what filters see of a document whose row was changed."""
    row = connection.execute(RECORD.where(documents.c.id == document_id)).one()
    replace(connection, [_fields_of(row, row.inherited)])


def inherit(connection: Connection, collection_id: int, group_keys: Collection[str], file_name: str) -> None:
    """Give every document of these groups the metadata of its group's file called ``file_name``; "" is none."""
    groups = sorted({*group_keys} - {""}) if file_name else []
    wanted = {"collection": collection_id, "groups": json.dumps(groups)}
    rows = connection.execute(_OF_GROUPS, wanted).all() if groups else []
    changed = [(row, given) for _, group in groupby(rows, _group) for row, given in _inherited(list(group), file_name)]
    if changed:
        connection.execute(_INHERIT, [{"document": row.id, "of_group": given} for row, given in changed])
        replace(connection, [_fields_of(row, given) for row, given in changed])


def _inherited(group: Sequence[Any], file_name: str) -> Iterator[tuple[Any, dict[str, JSON]]]:
    """Yield the documents of a group that are to inherit something else, with that."""
    giver = next((row for row in group if row.path.rpartition("/")[2] == file_name), None)
    metadata: Mapping[str, JSON] = giver.metadata if giver else {}
    for row in group:
        given = {} if row is giver else dict(metadata)
        if given != row.inherited:
            yield row, given


def _group(row: Any) -> str:
    return str(row.group_key)


def _fields_of(row: Any, inherited: Metadata) -> DocumentFields:
    place = place_of(row.uri, row.path, row.title, row.kind, row.language)
    return DocumentFields(row.id, row.collection_id, place, row.metadata, inherited)


def _rows(one: DocumentFields) -> Iterator[dict[str, Any]]:
    given = {**one.inherited, **one.own}
    purpose = content_type(str(one.place["kind"]), str(one.place["path"]), given.get(CONTENT_TYPE))
    pairs = (*flatten({**one.place, CONTENT_TYPE: purpose}), *flatten(given))
    owner = {"document_id": one.document_id, "collection_id": one.collection_id}
    values = {(name, normal_text(value)): number(value) for name, value in pairs}
    for (name, value), as_number in values.items():
        yield {**owner, "name": name, "value": value, "number": as_number}


_DROP = delete(fields).where(among(fields.c.document_id, json_ids("documents")))
_OF_GROUPS = RECORD.where(
    documents.c.collection_id == bindparam("collection"), among(documents.c.group_key, json_texts("groups"))
).order_by(documents.c.group_key, func.length(documents.c.path), documents.c.path)
_INHERIT = (
    update(documents)
    .where(documents.c.id == bindparam("document"))
    .values(inherited=bindparam("of_group", type_=documents.c.inherited.type))
)
