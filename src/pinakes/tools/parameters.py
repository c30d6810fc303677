"""Parameters that several families of tools have, and which collection is meant by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from pinakes.catalog import briefs, collections
from pinakes.errors import NotFound
from pinakes.library import Library
from pinakes.types import JSON

Collection = Annotated[str, Field(description="Empty = the default one.")]

NOT_FOUND = "Document not found"

_DEFAULT = "default"


def undefaulted(schema: dict[str, JSON]) -> None:
    """Leave out the default of a parameter that may be left out but has none."""
    schema.pop("default", None)


def meant(library: Library, collection: str) -> str | None:
    """Return the collection that is named, None for the usual one, which models like to call "default".

    Where there is a collection that is called so, that one is meant. Of several with commas between them all are.
    """
    parts = [part.strip() for part in collection.split(",")]
    if _DEFAULT in parts and not _has_default(library):
        parts = [library.usual if part == _DEFAULT else part for part in parts]
    name = ",".join(parts)
    return None if name in ("", library.usual) else name


def asked_about(library: Library, collection: str) -> str:
    """Return the collection that is named, "" where nothing is, which may be the same as all."""
    return meant(library, collection) or (library.chosen() if collection.strip() else "")


@contextmanager
def looking_in(library: Library, collection: str, doc_id: str = "", *, several: bool = False) -> Iterator[str | None]:
    """Give the collection in which a document is looked for; one that is not there is told in the same words always.

    ``several``: ``collection`` may name more than one, as ``Library.named`` understands it. The hint says where else
    there is a document ``doc_id``.

    Raises:
        NotFound: a collection was named that is not there, or the document is not.
    """
    name = meant(library, collection)
    if name:
        for one in library.named(name) if several else [name]:
            library.collection(one)
    try:
        yield name
    except NotFound as error:
        ids = [doc_id] if doc_id else []
        raise NotFound(NOT_FOUND, hint=elsewhere(library, ids), ids=ids) from error


def _has_default(library: Library) -> bool:
    if library.usual == _DEFAULT:
        return True
    with library.shelves.catalog.read() as connection:
        return collections.find(connection, _DEFAULT) is not None


def elsewhere(library: Library, doc_ids: Sequence[str]) -> str:
    """Return a hint where collections that the caller may use have documents of these ids, "" else."""
    with library.shelves.catalog.read() as connection:
        names = {one.id: one.name for one in collections.everything(connection)}
        found = briefs.of_uids(connection, list(names), doc_ids) if doc_ids else {}
    return " ".join(f"Give collection {names[one.collection_id]!r} for {uid!r}." for uid, one in found.items())
