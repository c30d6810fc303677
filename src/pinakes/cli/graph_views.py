"""``graph experts``, ``impact``, ``report`` and ``export``: what the graph says of documents and people."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pinakes.cli.graphing import Limit, Name, entity_named, graph_app, quoted
from pinakes.cli.options import Searched, with_common_options
from pinakes.cli.screen import printable
from pinakes.cli.session import Session
from pinakes.core.wording import counted, megabytes

if TYPE_CHECKING:
    from pinakes.services.graph_expertise import Affected

_LINKS = {"about": "is about it", "states": "states a relation", "mentions": "mentions it", "related": "is related"}


@graph_app.command("experts")
@with_common_options
def experts(session: Session, name: Name, collection: Searched = None, limit: Limit = 10) -> None:
    """Show who wrote most about an entity, by authors in git and metadata, with documents that show it."""
    with session.library() as library:
        entity = entity_named(library, name, collection)
        found = library.graph.experts(entity, limit)
    session.screen.document({"entity": asdict(entity), "experts": [asdict(one) for one in found]})
    for one in found:
        counts = (
            f"wrote {counted(one.wrote, 'document')}, answers for {one.answers:,}, {counted(one.mentions, 'mention')}"
        )
        session.screen.show(printable(f"{one.name}  {counts}"))
        for each in one.documents:
            session.screen.show(
                printable(f"    {each.path or each.title} ({', '.join(each.fields)}; {each.mentions:,})")
            )
    if not found:
        session.screen.say(f"No document that mentions {entity.name} names people in its metadata.")


@graph_app.command("impact")
@with_common_options
def impact(session: Session, name: Name, collection: Searched = None, limit: Limit = 20) -> None:
    """List the documents to look at when an entity changes, the most direct first, with the words that say so."""
    with session.library() as library:
        entity = entity_named(library, name, collection)
        found = library.graph.impact(entity, limit)
    session.screen.document({"entity": asdict(entity), "documents": [asdict(one) for one in found]})
    for one in found:
        _show_affected(session, one)
    if not found:
        session.screen.say(f"No document speaks of {entity.name}.")


def _show_affected(session: Session, one: Affected) -> None:
    mentions = f"  ({counted(one.mentions, 'mention')})" if one.mentions else ""
    session.screen.show(printable(f"{one.path or one.title}: {_LINKS[one.link]}{mentions}"))
    for relation in one.relations[:3]:
        session.screen.show(printable(f"    {relation}"))
    if one.text:
        session.screen.show(printable(f"    {quoted(one.text)}"))


@graph_app.command("export")
@with_common_options
def export(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - writes to the output.")],
    form: Annotated[
        Literal["graphml", "jsonld"], typer.Option("--format", help="GraphML, or JSON-LD with terms of schema.org.")
    ] = "graphml",
    collection: Searched = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
) -> None:
    """Write the graph of a collection to a file, each relation with the words that state it."""
    from pinakes.services.graph_export import write_file

    with session.library() as library:
        name = library.chosen(collection or None)
        parts = library.graph.export(name, form)
        if file == "-":
            sys.stdout.writelines(parts)
            return
        size = write_file(parts, Path(file).expanduser(), force=force)
    session.screen.document({"collection": name, "file": file, "format": form, "bytes": size})
    session.screen.report(printable(f"{file}: the graph of {name} as {form}, {megabytes(size)}"))


__all__ = ("graph_app",)
