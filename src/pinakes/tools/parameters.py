"""Parameters that several families of tools have, and which collection is meant by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from pinakes.core.errors import NotFound
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.search.collection_choice import DEFAULT, not_asked

Collection = Annotated[str, Field(description="Empty = the configured one, else all.")]
Searched = Annotated[str, Field(description="One, several as `a,b`, `*` = all; empty = the configured one, else all.")]
Contracted = Annotated[
    str, Field(description="One, several as `a,b`, `*` = all; empty = the configured one, else `default`, else all.")
]
Changed = Annotated[str, Field(description="Empty = the configured one, else the only one, else `default`.")]
DocId = Annotated[str, Field(description="Its doc_id.", min_length=1)]
WrittenTo = Annotated[str, Field(description="Made where it is new; empty = the configured one, else `default`.")]

NOT_FOUND = "Document not found"


def undefaulted(schema: dict[str, JSON]) -> None:
    """Leave out the default of a parameter that may be left out but has none."""
    schema.pop("default", None)


def collection_from(library: Library, collection: str) -> str | None:
    """Return the collection that is named, None where none is.

    Models like to call the usual one "default": where there is a collection that is called so, that one is meant, else
    it names none. Of several with commas between them all are meant.
    """
    parts, configured = [part.strip() for part in collection.split(",")], library.naming.configured
    if DEFAULT in parts and not library.naming.has(DEFAULT):
        usual = "" if parts == [DEFAULT] else DEFAULT
        parts = [configured or usual if part == DEFAULT else part for part in parts]
    name = ",".join(parts)
    return None if name in ("", configured) else name


def contracted(library: Library, collection: str) -> tuple[str | None, str]:
    """Return what is asked by a tool whose contract has the default "default", and a note on what is not, "" else.

    Where no collection is named, and there is one that is called so, it alone is asked.
    """
    name = collection_from(library, collection)
    names = [] if name or library.naming.configured else library.naming.visible()
    if DEFAULT not in names:
        return name, ""
    others = [one for one in names if one != DEFAULT]
    return DEFAULT, not_asked(others) if others else ""


@contextmanager
def looking_in(
    library: Library, collection: str, doc_id: str, *, several: bool = False, deleted: bool = False
) -> Iterator[str | None]:
    """Give the collection in which a document is looked for, None for all; what is not there is told in the same words.

    ``several``: ``collection`` may name more than one, as ``Library.named`` understands it. The hint says where else
    there is a document ``doc_id``, or was (``deleted``).

    Raises:
        NotFound: a collection was named that is not there, or the document is not.
    """
    name = collection_from(library, collection)
    looked_in = library.named(name) if several or not name else [name]
    for one in looked_in if name else ():
        library.collection(one)
    with _in_same_words(library, doc_id, looked_in, deleted=deleted):
        yield name


@contextmanager
def changing_in(library: Library, collection: str, doc_id: str, *, deleted: bool = False) -> Iterator[str]:
    """Give the one collection in which a document is changed; that another one has it is told in the hint.

    Raises:
        NotFound: a collection was named that is not there, or the document is not.
    """
    name = library.chosen(collection_from(library, collection))
    if collection_from(library, collection):
        library.collection(name)
    with _in_same_words(library, doc_id, [name], deleted=deleted):
        yield name


@contextmanager
def _in_same_words(library: Library, doc_id: str, looked_in: Sequence[str], *, deleted: bool) -> Iterator[None]:
    """Tell that a document is not there in the words of all tools, with the collections that have it, or had."""
    try:
        yield
    except NotFound as error:
        hint = library.naming.elsewhere([doc_id], looked_in, deleted=deleted)
        raise NotFound(NOT_FOUND, hint=hint, ids=[doc_id]) from error
