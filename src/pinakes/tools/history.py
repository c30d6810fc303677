"""The tools of document history: versions, and restoring one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.library import Library
from pinakes.tools.declare import Reply, tool
from pinakes.tools.failures import as_word
from pinakes.tools.parameters import Changed, Collection, DocId, changing_in, looking_in


class DocumentVersion(Reply):
    """What happened to a document once. ``readable``: its text of then can be read and restored."""

    version: int
    operation: str
    at: str
    by: str
    changed: list[str]
    title: str
    content_hash: str
    readable: bool


class History(Reply):
    """What happened to a document, newest first; ``text`` is that of the version that was asked for."""

    doc_id: str
    versions: list[DocumentVersion]
    text: str | SkipJsonSchema[None] = None


class Restored(Reply):
    """A document as it was."""

    doc_id: str
    status: str = "restored"
    title: str
    version: int


@tool(toolset="history", error_data=as_word)
def document_history(
    library: Library,
    doc_id: DocId,
    collection: Collection = "",
    version: Annotated[int, Field(description="Also give its text as of this version; 0 = no text.", ge=0)] = 0,
) -> History:
    """Tell what happened to a document, also to one that was deleted: when, by whom, what changed."""
    with looking_in(library, collection, doc_id, deleted=True) as name:
        versions = library.documents.history(doc_id, collection=name)
    text = library.documents.version(doc_id, version, collection=name) if version else None
    return History(
        doc_id=doc_id,
        versions=[
            DocumentVersion(
                version=one.number,
                operation=one.op,
                at=one.at,
                by=one.by,
                changed=list(one.changed),
                title=one.title,
                content_hash=one.content_hash,
                readable=one.readable,
            )
            for one in versions
        ],
        text=text,
    )


@tool(toolset="history", read_only=False, idempotent=True, error_data=as_word)
def restore_document(
    library: Library,
    doc_id: DocId,
    collection: Changed = "",
    version: Annotated[int, Field(description="As of this version; 0 = as it last was.", ge=0)] = 0,
) -> Restored:
    """Bring back a deleted document, or an older version of one."""
    with changing_in(library, collection, doc_id, deleted=True) as name:
        library.documents.history(doc_id, collection=name)
    document = library.documents.restore(doc_id, collection=name, version=version or None).document
    return Restored(doc_id=document.uid, title=document.title, version=document.version)
