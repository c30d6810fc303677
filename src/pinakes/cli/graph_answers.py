"""``graph experts``, ``impact``, ``report`` and ``export``: what the graph says of documents and people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pinakes.cli.graphing import Limit, Name, entity_named, graph_app, quoted
from pinakes.cli.options import Searched, with_common_options
from pinakes.cli.screen import printable
from pinakes.cli.session import Session
from pinakes.core.wording import counted, megabytes

if TYPE_CHECKING:
    from pinakes.library import Library
    from pinakes.services.graph_expertise import Affected
    from pinakes.services.graph_report import GraphReport

VENDOR = "VENDOR"
_LINKS = {"about": "is about it", "states": "states a relation", "mentions": "mentions it", "related": "is related"}


@graph_app.command("experts")
@with_common_options
def experts(session: Session, name: Name, collection: Searched = None, limit: Limit = 10) -> None:
    """Show who wrote most about an entity, by authors in git and metadata, with documents that show it."""
    with session.library() as library:
        entity = entity_named(library, name, collection)
        found = library.graph.experts(entity, limit)
    session.screen.document({"entity": asdict(entity), **asdict(found)})
    for one in found.experts:
        counts = (
            f"wrote {counted(one.wrote, 'document')}, answers for {one.answers:,}, {counted(one.mentions, 'mention')}"
        )
        session.screen.show(printable(f"{one.name}  {counts}"))
        for each in one.documents:
            session.screen.show(
                printable(f"    {each.path or each.title} ({', '.join(each.fields)}; {each.mentions:,})")
            )
    for note in found.notes:
        session.screen.say(note)
    if not found.total:
        session.screen.say(f"No document that mentions {entity.name} names people in its metadata.")


@graph_app.command("impact")
@with_common_options
def impact(session: Session, name: Name, collection: Searched = None, limit: Limit = 20) -> None:
    """List the documents to look at when an entity changes, the most direct first, with the words that say so."""
    with session.library() as library:
        entity = entity_named(library, name, collection)
        found = library.graph.impact(entity, limit)
    session.screen.document({"entity": asdict(entity), **asdict(found)})
    for one in found.documents:
        _show_affected(session, one)
    for note in found.notes:
        session.screen.say(note)
    if not found.total:
        session.screen.say(f"No document speaks of {entity.name}.")


def _show_affected(session: Session, one: Affected) -> None:
    mentions = f"  ({counted(one.mentions, 'mention')})" if one.mentions else ""
    session.screen.show(printable(f"{one.path or one.title}: {_LINKS[one.link]}{mentions}"))
    for relation in one.relations[:3]:
        session.screen.show(printable(f"    {relation}"))
    if one.text:
        session.screen.show(printable(f"    {quoted(one.text)}"))


@graph_app.command("report")
@with_common_options
def report(
    session: Session,
    collection: Searched = None,
    limit: Limit = 20,
    searches: Annotated[
        int,
        typer.Option("--searches", metavar="N", min=0, max=200, help="Search for so many vendors, to count repeats."),
    ] = 20,
) -> None:
    """Judge a graph: coverage, duplicates, conflicts, the metadata, and how often answers repeat a vendor."""
    told = []
    with session.library() as library:
        for name in library.named(collection):
            [metadata] = library.completeness(name)
            found = library.graph.report(name, limit)
            repeated = _repeats(library, name, searches) if searches else None
            told.append(_Judged(found, metadata.share, metadata.target, repeated))
    session.screen.document(
        {
            "collections": [
                {**asdict(one.found), "duplicate_share": one.found.duplicates.share}
                | {"metadata_share": one.metadata, "vendors_repeated_in_top_5": one.repeated}
                for one in told
            ]
        }
    )
    for one in told:
        for line in _lines(one):
            session.screen.show(printable(line))


@dataclass(frozen=True, slots=True)
class _Judged:
    found: GraphReport
    metadata: float | None
    target: float
    repeated: float | None


def _repeats(library: Library, collection: str, searches: int) -> float | None:
    """Return the share of the first five hits that repeat a vendor, of searches for the most mentioned vendors."""
    from pinakes.services.graph_defects import repeats

    types = {VENDOR} & library.graph.types(collection)
    names = [one.name for one in library.graph.top(collection, types, searches)] if types else []
    answers = (library.search(name, collection, top_k=5, expand=0).hits for name in names)
    return repeats(([hit.metadata for hit in hits] for hits in answers), "vendor")


def _lines(one: _Judged) -> Iterator[str]:
    found = one.found
    yield f"{found.collection}: {counted(found.entities, 'entity', 'entities')}, {counted(found.relations, 'relation')}"
    yield _share("documents with an entity", found.documents_with_entity, found.documents, "> 80 %")
    if found.vendors:
        yield _share("vendors with a product", found.vendors_with_product, found.vendors, "> 80 %")
    yield _share("entities without relations", found.orphans, found.entities)
    doubtful = round(found.duplicates.share * found.duplicates.judged)
    if found.duplicates.judged:
        yield _share("duplicates in a sample", doubtful, found.duplicates.judged, "< 5 %")
    if one.metadata is not None:
        yield f"  {'metadata found':<28} {one.metadata:.1%}  (> {one.target:.0%})"
    if one.repeated is not None:
        yield f"  {'vendors repeated in top 5':<28} {one.repeated:.1%}  (< 30 %)"
    for each in found.duplicates.pairs:
        yield f"  may be one: {each.type} {each.name} and {each.other} ({each.reason})"
    for name, types in found.several_types:
        yield f"  of several types: {name} ({', '.join(types)})"
    for source, kind, targets in found.several_targets:
        yield f"  more than one: {source} {kind} {', '.join(targets)}"
    for source, kind, target in found.conflicts:
        yield f"  stated both ways: {source} {kind} {target}"
    if lacking := len(found.unlisted) + len(found.candidates) + len(found.unseen) + len(found.missing):
        yield f"  what lists and documents lack: {lacking} names; pinakes graph missing"


def _share(words: str, part: int, total: int, target: str = "") -> str:
    share = f" = {part / total:.1%}" if total else ""
    return f"  {words:<28} {part:,} of {total:,}{share}" + (f"  ({target})" if target else "")


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
        name = library.graph.only(collection or None)
        parts = library.graph.export(name, form)
        if file == "-":
            sys.stdout.writelines(parts)
            return
        size = write_file(parts, Path(file).expanduser(), force=force)
    session.screen.document({"collection": name, "file": file, "format": form, "bytes": size})
    session.screen.report(printable(f"{file}: the graph of {name} as {form}, {megabytes(size)}"))


__all__ = ("graph_app",)
