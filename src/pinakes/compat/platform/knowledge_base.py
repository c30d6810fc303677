"""The collection of the knowledge base, and its uris and sources, in which case matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pinakes.core.errors import NotFound
from pinakes.core.filters import normal_text
from pinakes.core.records import Condition, Filter, Hit, Results
from pinakes.library import Library
from pinakes.services.collections.management import CollectionRecord
from pinakes.services.documents.lookup import BY_ID
from pinakes.services.documents.reading import DocumentRecord

COLLECTION = "knowledge-base"
SOURCE_FIELD = "sourceIdentifier"
"""The metadata field that says which source a document belongs to."""


def existing(library: Library) -> CollectionRecord | None:
    """Return the collection of the knowledge base, None where there is none yet."""
    try:
        return library.collection(COLLECTION)
    except NotFound:
        return None


def found(library: Library, query: str, limit: int, *, uri_filter: str = "", source_id: str = "") -> Results | None:
    """Return the best chunks of the knowledge base, None where it does not exist yet.

    Filters of the catalogue ignore capitals. Where that lets something in, the documents meant are named one by one.

    Raises:
        as ``Library.search``.
    """
    record = existing(library)
    if record is None:
        return None
    only_at = _is_document(library, record, uri_filter)
    where: Filter = ()
    if uri_filter:
        where += (_equal("uri", uri_filter) if only_at else Condition("uri", low=uri_filter, high=uri_filter),)
    if source_id:
        where += (_equal(SOURCE_FIELD, source_id),)

    def is_meant(one: Hit | DocumentRecord) -> bool:
        at = one.uri == uri_filter if only_at else one.uri.startswith(uri_filter)
        return at and source_id in ("", one.metadata.get(SOURCE_FIELD))

    ask = partial(library.search, query, COLLECTION, top_k=min(limit, library.settings.search.max_top_k))
    results = ask(filters=where)
    uids = [copy.document_id for hit in results.hits for copy in hit.duplicates]
    copies = library.lookup.of_uids(record.id, uids).values() if uids else ()
    if not (all(map(is_meant, results.hits)) and all(map(is_meant, copies))):
        meant = tuple(one.uid for one in library.lookup.matching(record.id, where) if is_meant(one))
        results = ask(filters=(Condition(BY_ID, any_of=meant),)) if meant else results
        results = replace(results, hits=tuple(filter(is_meant, results.hits)))
    if uri_filter and not only_at and not uri_filter.endswith("/"):
        note = f"no document has the URL {uri_filter!r}: all whose URL begins with it were searched"
        results = replace(results, notes=(note, *results.notes))
    return results


def source_at(library: Library, uri: str) -> str:
    """Return the source of the document at ``uri``, "" where there is none."""
    record = existing(library)
    if record is None:
        return ""
    at = [one for one in library.lookup.find(record.id, uri) if one.uri == uri]
    return str(at[0].metadata.get(SOURCE_FIELD) or "") if at else ""


def remove_at(library: Library, uri: str, *, files: bool = True) -> list[DocumentRecord]:
    """Delete the document at ``uri``; return it, if there was one.

    Raises:
        Refused: it is the document of a file, and those are not to be deleted (``files``).
    """
    return removed(library, "uri", uri, lambda one: one.uri == uri, files=files)


def removed(
    library: Library, field: str, value: str, is_meant: Callable[[DocumentRecord], bool], *, files: bool = True
) -> list[DocumentRecord]:
    """Delete the documents with this value, in one step; return them.

    Raises:
        Refused: as ``remove_at``.
    """
    if existing(library) is None:
        return []
    return library.documents.delete_many(COLLECTION, (_equal(field, value),), is_meant, files=files)


def _equal(field: str, value: str) -> Condition:
    return Condition(field.casefold(), any_of=(normal_text(value),))


def _is_document(library: Library, record: CollectionRecord, uri: str) -> bool:
    """Say whether ``uri`` is to be taken as that of one document, not as the beginning of several."""
    if not uri or uri.endswith("/"):
        return False
    return bool(library.lookup.chunk_counts(record.id, [uri]))
