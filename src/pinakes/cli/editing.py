"""``document``: single documents put, shown, changed, deleted and brought back."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pinakes.cli.hit_lines import one_line
from pinakes.cli.options import Collection, One, Searched, command
from pinakes.cli.session import Session, assigned
from pinakes.core.errors import InvalidInput, NotFound, storing
from pinakes.core.records import JSON
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.library import Library
    from pinakes.services.documents.editing import FullDocument, WrittenDocument

document_app = typer.Typer(help="Put, show, change, delete and restore single documents.")

Reference = Annotated[str, typer.Argument(metavar="REFERENCE", help="Id, uri, path or end of a path.")]
Known = Annotated[str, typer.Argument(metavar="REFERENCE", help="As before, also of a deleted document.")]
TextFile = Annotated[str, typer.Argument(metavar="FILE", help="File with the text; - is stdin.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", help="A tag. May be repeated.")]
Fields = Annotated[
    list[str] | None, typer.Option("--field", metavar="NAME=VALUE", help="A metadata field. May be repeated.")
]
Summary = Annotated[str | None, typer.Option("--summary", metavar="TEXT", help="What it is about.")]
Source = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Where it comes from.")]
IfVersion = Annotated[
    int | None, typer.Option("--if-version", metavar="N", help="Only if it still is this version; else exit code 13.")
]


@command(document_app, "put")
def put(
    session: Session,
    file: TextFile,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="What it is called.")],
    uri: Annotated[str, typer.Option("--uri", metavar="URI", help="Its address; what stands there is replaced.")] = "",
    kind: Annotated[
        Literal["markdown", "code", "text"], typer.Option("--kind", help="How it is cut into chunks.")
    ] = "markdown",
    tags: Tags = None,
    fields: Fields = None,
    summary: Summary = None,
    source: Source = None,
    if_version: IfVersion = None,
    collection: Collection = None,
) -> None:
    """Put a document that is no file of a source: a note, an answer, a page fetched elsewhere."""
    text = _read(file)
    with session.library(create=True) as library:
        written = library.documents.put(
            text,
            title=title,
            uri=uri,
            collection=collection,
            kind=kind,
            tags=tags,
            metadata=_fields(fields),
            summary=summary,
            source=source or "",
            if_version=if_version,
        )
        session.found([written.document.uid])
    _show_written(session, written)


@command(document_app, "show")
def show(session: Session, reference: Reference, collection: Searched = None) -> None:
    """Show all that is known of a document, without its text; ``--json`` gives text and chunks, too."""
    with session.library() as library:
        uid = library.read(reference, collection).document.uid
        document = library.documents.get(uid, collection=collection, chunks=True)
        session.found([uid])
    session.screen.document(asdict(document))
    _show(session, document)


@command(document_app, "history")
def history(
    session: Session,
    reference: Known,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="Print the text of this version instead.")
    ] = None,
    collection: Searched = None,
) -> None:
    """Show what happened to a document, newest first: when, by whom, what changed. Also of a deleted one."""
    with session.library() as library:
        name, uid = _known(library, reference, collection)
        session.found([uid])
        if version is not None:
            text = library.documents.version(uid, version, collection=name)
            session.screen.document({"uid": uid, "version": version, "text": text})
            session.screen.text(text)
            return
        versions = library.documents.history(uid, collection=name)
    session.screen.document({"uid": uid, "versions": [asdict(one) for one in versions]})
    for one in versions:
        changed = f": {', '.join(one.changed)}" if one.changed else ""
        lost = "" if one.readable or one.op == "deleted" else "  (not kept)"
        line = f"{one.number:>4}  {one.at[:19]}Z  {one.op}{changed}  by {one.by or 'unknown'}{lost}"
        session.screen.show(line)


@command(document_app, "update")
def update(
    session: Session,
    reference: Reference,
    file: Annotated[
        str | None, typer.Option("--text", metavar="FILE", help="File with a new text; - is stdin.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="A new title.")] = None,
    tags: Tags = None,
    fields: Fields = None,
    summary: Summary = None,
    source: Source = None,
    if_version: IfVersion = None,
    collection: One = None,
) -> None:
    """Change what is given of a document; an empty value takes a field away, ``--tag ''`` all tags."""
    text = None if file is None else _read(file)
    with session.library() as library:
        name, uid = _to_change(library, reference, collection)
        written = library.documents.update(
            uid,
            collection=name,
            title=title,
            text=text,
            tags=tags,
            metadata=_fields(fields),
            summary=summary,
            source=source,
            if_version=if_version,
        )
        session.found([written.document.uid])
    _show_written(session, written)


@command(document_app, "delete")
def delete(session: Session, reference: Reference, if_version: IfVersion = None, collection: One = None) -> None:
    """Delete a document. It can be restored for some time (``history.days``)."""
    with session.library() as library:
        name, uid = _to_change(library, reference, collection)
        gone = library.documents.delete(uid, collection=name, if_version=if_version)
        days = library.settings.history.days
        session.found([uid])
    undo = session.command("document", "restore", uid, "-c", name)
    restorable = {"days": days, "undo": undo} if days else {}
    session.screen.document({"uid": uid, "path": gone.path, "collection": name, "deleted": True, **restorable})
    session.screen.show(f"{uid}  deleted: {one_line(gone.path)}")
    session.screen.say(f"to have it back, within {days:g} days: {undo}" if days else "It is gone: history.days is 0.")


@command(document_app, "restore")
def restore(
    session: Session,
    reference: Known,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="As it was in this version.")] = None,
    collection: One = None,
) -> None:
    """Bring back a deleted document, or an older version of one."""
    with session.library() as library:
        name, uid = _known(library, reference, library.chosen(collection))
        written = library.documents.restore(uid, collection=name, version=version)
        session.found([uid])
    _show_written(session, written, done="restored")


@command(document_app, "deleted")
def deleted(session: Session, collection: Searched = None) -> None:
    """List the deleted documents that can be restored, deleted latest first."""
    with session.library() as library:
        names = library.named(collection)
        found = library.documents.deleted(collection)
        session.found([uid for uid, _ in found])
    documents = [{"uid": uid, **asdict(version)} for uid, version in found]
    session.screen.document({"collection": ", ".join(names), "documents": documents})
    for uid, version in found:
        by = f" by {version.by}" if version.by else ""
        session.screen.show(f"{uid}  {version.at[:19]}Z{by}  {one_line(version.title)}")
    if not found:
        session.screen.say("nothing that could be restored")


def _to_change(library: Library, reference: str, collection: str | None) -> tuple[str, str]:
    """Return the collection and the id of a document that is to be changed, which ``Library.chosen`` has.

    Raises:
        NotFound: it has none; the hint says which other collection does.
    """
    name = library.chosen(collection)
    try:
        return name, library.read(reference, name).document.uid
    except NotFound as error:
        if collection:
            raise
        there = name
        with suppress(NotFound, InvalidInput):
            there = library.collection_of(library.read(reference, "*").document)
        if there == name:
            raise
        message = f"There is no document {reference!r} in collection {name!r}, which is the one that is changed."
        hint = f"There is one in collection {there!r}: -c {shlex.quote(there)}"
        raise NotFound(message, hint=hint, ids=[reference]) from error


def _known(library: Library, reference: str, collection: str | None) -> tuple[str | None, str]:
    """Return the collection that is given, and the id of a document, which may be a deleted one."""
    try:
        return collection, library.read(reference, collection).document.uid
    except NotFound as error:
        try:
            library.documents.history(reference, collection=collection)
            return collection, reference
        except NotFound:
            pass
        gone = [uid for uid, _ in library.documents.deleted(collection, reference=reference)]
        if len(gone) == 1:
            return collection, gone[0]
        if gone:
            hint = f"Name one of them: {', '.join(gone[:5])}."
            raise InvalidInput(f"{len(gone)} deleted documents went by {reference!r}.", hint=hint) from None
        elsewhere = library.naming.elsewhere([reference], library.named(collection), deleted=True)
        hint = elsewhere or f"{error.hint} `pinakes document deleted` lists those that were deleted."
        raise NotFound(error.message, hint=hint) from None


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"There is no file {file!r}.", hint="- reads the text from stdin.")
    with storing(f"The file {file!r}"):
        return path.read_text("utf-8-sig", "replace")


def _fields(words: list[str] | None) -> Mapping[str, JSON] | None:
    """Return metadata as ``name=value`` words state it; a value may be JSON, an empty one takes the field away."""
    if not words:
        return None
    return {name: _value(value) for name, value in assigned("--field", words, "status=draft")}


def _value(text: str) -> JSON:
    """Return what ``text`` spells in JSON, else the text itself; None where there is none."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def _show_written(session: Session, written: WrittenDocument, *, done: str = "") -> None:
    document, screen = written.document, session.screen
    about: dict[str, JSON] = {"outcome": written.outcome, "degraded": written.degraded, "document": asdict(document)}
    about |= {"notes": [asdict(note) for note in written.notes]} if written.notes else {}
    screen.document(about)
    screen.show(
        f"{document.uid}  {done or written.outcome}: {one_line(document.title)} "
        f"(version {document.version}, chunks: {document.chunk_count:,}, collection: {document.collection})"
    )
    if written.degraded:
        screen.say(f"found by words only until a model is there: {written.degraded}")
    screen.say(*(f"note: {note}" for note in written.notes))


def _show(session: Session, document: FullDocument) -> None:
    rows = {
        "id": document.uid,
        "title": document.title,
        "collection": document.collection,
        "path": document.path,
        "uri": document.uri,
        "source": document.source,
        "kind": f"{document.kind} {document.language or ''}".strip(),
        "tags": ", ".join(document.tags),
        **{str(name): str(value) for name, value in document.metadata.items()},
        "holds": f"{counted(document.chunk_count, 'chunk')}, {counted(document.token_count, 'token')}",
        "version": f"{document.version}, of {document.updated_at[:19]}Z; there since {document.created_at[:19]}Z",
        "summary": f"({document.summary_by}) {document.summary}" if document.summary else "",
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        if value:
            session.screen.show(f"{name:<{width}}  {one_line(value)}")
