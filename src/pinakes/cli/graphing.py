"""``graph``: entities, their relations, paths, what names mean, and what the graph says of documents and people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pinakes.cli.options import Searched, command
from pinakes.cli.session import Session
from pinakes.core.errors import InvalidInput
from pinakes.core.graph_records import folded
from pinakes.core.wording import counted, cut, megabytes

if TYPE_CHECKING:
    from pinakes.library import Library
    from pinakes.services.graph_expertise import Affected
    from pinakes.services.graph_report import GraphReport
    from pinakes.services.knowledge_graph import PathRelation, Relation

_MOST_QUOTED_CHARS = 160
_LINKS = {"about": "is about it", "states": "states a relation", "mentions": "mentions it", "related": "is related"}
VENDOR = "VENDOR"

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name or alias; TYPE:NAME where several are called so.")]
Types = Annotated[
    list[str] | None, typer.Option("--type", "-t", metavar="TYPE", help="Only entities of this type. May be repeated.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--relation-type", "--relation", "-r", metavar="TYPE", help="Only relations of this type. May be repeated."
    ),
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="As documents said on this day, or at this time (UTC).")
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=100_000, help="How many.")]
PathLimit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=100, help="How many paths.")]

graph_app = typer.Typer(
    help="See who is related to whom, as documents say.", context_settings={"help_option_names": ["-h", "--help"]}
)


@command(graph_app, "show")
def show(session: Session, name: Name, collection: Searched = None, limit: Limit = 30, as_of: AsOf = None) -> None:
    """Show an entity: its names, its relations with the words that state them, and where it is mentioned."""
    with session.library() as library:
        graph = library.graph
        chosen = graph.choose(name, collection or None, unmentioned=bool(as_of))
        entity = chosen.entity
        report = graph.as_of(entity, as_of, limit=limit) if as_of else graph.show(entity, limit=limit)
    screen, entity = session.screen, report.entity
    screen.document(asdict(report))
    screen.lines([f"{entity.name}  {entity.type}  ({entity.collection})"])
    if entity.aliases:
        screen.show(f"  also called {', '.join(entity.aliases)}")
    screen.show(
        f"  in {counted(entity.documents, 'document')}, {counted(entity.mentions, 'mention')}; "
        f"confidence {entity.confidence:.2f}"
    )
    if report.missing:
        screen.show(f"  missing: {report.missing}")
    if entity.note:
        screen.show(f"  not resolved: {entity.note}")
    screen.lines(f"  merged: {other} ({why})" for other, why in report.merged)
    for relation in report.relations:
        _show_relation(session, relation)
    screen.lines(f"  mentioned in {place.path or place.title}" for place in report.mentions)
    screen.say(*(*report.notes, *chosen.notes))
    _say_cut(session, len(report.relations), report.total)


@command(graph_app, "neighbours")
def neighbours(
    session: Session,
    name: Name,
    relations: Kinds = None,
    direction: Annotated[
        Literal["out", "in", "both"], typer.Option("--direction", help="From the entity, to it, or both.")
    ] = "both",
    least: Annotated[
        float, typer.Option("--min-confidence", metavar="X", min=0, max=1, help="Only relations as sure as this.")
    ] = 0.0,
    collection: Searched = None,
    limit: Limit = 50,
) -> None:
    """List the relations of an entity, the surest first."""
    with session.library() as library:
        entity = library.graph.one(name, collection or None)
        page = library.graph.relations(
            entity, types=relations or (), direction=direction, min_confidence=least, limit=limit, evidence=1
        )
    found = [asdict(one) for one in page.relations]
    session.screen.document(
        {"entity": asdict(entity), "relations": found, "total": page.total, "notes": list(page.notes)}
    )
    for relation in page.relations:
        _show_relation(session, relation)
    session.screen.say(*page.notes)
    _say_cut(session, len(found), page.total)


@command(graph_app, "path")
def path(
    session: Session,
    source: Name,
    target: Annotated[str, typer.Argument(metavar="OTHER", help="The entity at the other end.")],
    relations: Kinds = None,
    hops: Annotated[int, typer.Option("--hops", metavar="N", min=1, max=6, help="At most so many relations.")] = 4,
    direction: Annotated[
        Literal["out", "in", "both"],
        typer.Option(
            "--direction", help="out = along all relations, as from a caller to what is called; in = against."
        ),
    ] = "both",
    through_owner: Annotated[
        bool | None,
        typer.Option(
            "--through-owner/--not-through-owner",
            help="Whether paths go through the owner (`we`), to whom nearly all are related; else only where need be.",
        ),
    ] = None,
    collection: Searched = None,
    limit: PathLimit = 3,
) -> None:
    """Show the shortest paths between two entities, with the direction of each step and the words that state it."""
    with session.library() as library:
        ends = [library.graph.choose(name, collection or None) for name in (source, target)]
        found = library.graph.paths(
            *(one.entity for one in ends),
            types=relations or (),
            most_hops=hops,
            limit=limit,
            direction=direction,
            through_owner=through_owner,
        )
    notes = [note for one in ends for note in one.notes] + list(found.notes)
    session.screen.document({"paths": [[_step(one) for one in each] for each in found.paths], "notes": notes})
    for number, each in enumerate(found.paths, start=1):
        session.screen.show(f"path {number}: {counted(len(each), 'hop')}")
        for one in each:
            _show_step(session, one)
    session.screen.say(*notes)


def _step(one: PathRelation) -> dict[str, Any]:
    return {"from": one.start.name, "to": one.end.name, **asdict(one)}


@command(graph_app, "top")
def top(session: Session, types: Types = None, collection: Searched = None, limit: Limit = 20) -> None:
    """List the entities that most documents mention."""
    with session.library() as library:
        found = library.graph.top(collection or None, types or (), limit)
        there = {} if found else library.graph.counts(collection or None)
        absent = [] if found else library.graph.absent(collection or None)
    session.screen.document({"entities": [asdict(one) for one in found], "notes": absent})
    session.screen.lines(f"{one.documents:>6}  {one.type:<14} {one.name}" for one in found)
    if there:
        wanted = ", ".join(one.upper() for one in types or ())
        session.screen.say(f"There are no entities of type {wanted}. There are {', '.join(there)}.")
    session.screen.say(*absent)


@command(graph_app, "missing")
def missing(session: Session, collection: Searched = None, limit: Limit = 20) -> None:
    """Show how complete the graph is, and what its lists lack or name in vain."""
    with session.library() as library:
        reports = [library.graph.report(name, limit) for name in library.named(collection)]
    session.screen.document({"collections": [asdict(one) for one in reports]})
    for one in reports:
        _show_report(session, one)


@command(graph_app, "merge")
def merge(
    session: Session,
    name: Name,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="A name of the same entity.")],
    collection: Searched = None,
) -> None:
    """Make another entity a name of this one; that is remembered when documents are read again."""
    _decide(session, "merge", name, other, collection)


@command(graph_app, "alias")
def alias(
    session: Session,
    name: Name,
    other: Annotated[str, typer.Argument(metavar="ALIAS", help="Another name of it.")],
    collection: Searched = None,
) -> None:
    """Give an entity another name; the same as merge."""
    _decide(session, "merge", name, other, collection)


@command(graph_app, "split")
def split(
    session: Session,
    name: Name,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="A name that means another entity.")],
    collection: Searched = None,
) -> None:
    """Have a name that was merged into an entity be one of its own; that is remembered, too."""
    _decide(session, "split", name, other, collection)


@command(graph_app, "experts")
def experts(session: Session, name: Name, collection: Searched = None, limit: Limit = 10) -> None:
    """Show who wrote most about an entity, by authors in git and metadata, with documents that show it."""
    with session.library() as library:
        entity = library.graph.one(name, collection or None)
        found = library.graph.experts(entity, limit)
    session.screen.document({"entity": asdict(entity), **asdict(found)})
    for one in found.experts:
        counts = (
            f"wrote {counted(one.wrote, 'document')}, answers for {one.answers:,}, {counted(one.mentions, 'mention')}"
        )
        session.screen.show(f"{one.name}  {counts}")
        session.screen.lines(
            f"    {each.path or each.title} ({', '.join(each.fields)}; {each.mentions:,})" for each in one.documents
        )
    session.screen.say(*found.notes)
    if not found.total:
        session.screen.say(f"No document that mentions {entity.name} names people in its metadata.")


@command(graph_app, "impact")
def impact(session: Session, name: Name, collection: Searched = None, limit: Limit = 20) -> None:
    """List the documents to look at when an entity changes, the most direct first, with the words that say so."""
    with session.library() as library:
        entity = library.graph.one(name, collection or None)
        found = library.graph.impact(entity, limit)
    session.screen.document({"entity": asdict(entity), **asdict(found)})
    for one in found.documents:
        _show_affected(session, one)
    session.screen.say(*found.notes)
    if not found.total:
        session.screen.say(f"No document speaks of {entity.name}.")


def _show_affected(session: Session, one: Affected) -> None:
    mentions = f"  ({counted(one.mentions, 'mention')})" if one.mentions else ""
    session.screen.lines([f"{one.path or one.title}: {_LINKS[one.link]}{mentions}"])
    session.screen.lines(f"    {relation}" for relation in one.relations[:3])
    if one.text:
        session.screen.show(f"    {_quoted(one.text)}")


@command(graph_app, "report")
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
    reports = []
    with session.library() as library:
        for name in library.named(collection):
            [metadata] = library.completeness(name)
            found = library.graph.report(name, limit)
            repeated = _repeats(library, name, searches) if searches else None
            reports.append(_CollectionReport(found, metadata.share, metadata.target, repeated))
    session.screen.document(
        {
            "collections": [
                {**asdict(one.found), "duplicate_share": one.found.duplicates.share}
                | {"metadata_share": one.metadata, "vendors_repeated_in_top_5": one.repeated}
                for one in reports
            ]
        }
    )
    for one in reports:
        session.screen.lines(_lines(one))


@dataclass(frozen=True, slots=True)
class _CollectionReport:
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


def _lines(one: _CollectionReport) -> Iterator[str]:
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
    if count := len(found.unlisted) + len(found.candidates) + len(found.unseen) + len(found.missing):
        yield f"  what lists and documents lack: {count} names; pinakes graph missing"


def _share(words: str, part: int, total: int, target: str = "") -> str:
    share = f" = {part / total:.1%}" if total else ""
    return f"  {words:<28} {part:,} of {total:,}{share}" + (f"  ({target})" if target else "")


@command(graph_app, "export")
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
    session.screen.report(f"{file}: the graph of {name} as {form}, {megabytes(size)}")


def _decide(session: Session, kind: Literal["merge", "split"], name: str, other: str, collection: str | None) -> None:
    with session.library() as library:
        entity = library.graph.one(name, collection or None)
        there = {one.collection for one in library.graph.find(entity.name, collection or None, (entity.type,))}
        if len(there) > 1:
            raise InvalidInput(
                f"{entity.type}:{entity.name} is in several collections: {', '.join(sorted(there))}.",
                hint="Say in which: -c NAME",
            )
        before = library.graph.show(entity, mentions=0).entity.aliases
        other_kind, rest = library.graph.typed(other, entity.collection)
        library.graph.decide(kind, entity, rest, other_kind)
        report = library.graph.show(library.graph.one(entity.name, entity.collection, (entity.type,)), mentions=0)
    session.screen.document({"entity": asdict(report.entity), "merged": [list(one) for one in report.merged]})
    key = folded(rest)  # of a name that no document has, only that form is kept
    names = ", ".join(rest if one == key else one for one in report.entity.aliases) or "none"
    session.screen.show(f"{report.entity.name}: other names: {names}")
    if report.entity.aliases != before:
        return
    if kind == "merge" and key in map(folded, before):
        session.screen.say(f"{rest!r} is another name of {report.entity.name} already")
    else:
        of_type = other_kind or entity.type
        session.screen.warn(f"nothing changes by now: {rest!r} is no entity of type {of_type} that this is about.")
        session.screen.say("It is remembered for documents to come. Of another type write TYPE:NAME.")


def rebuild(session: Session, collection: str | None) -> None:
    """Extract all documents again and build the graphs anew; decisions on names stay."""
    with session.library() as library:
        names = [record.name for record in library.collections(collection)]
        done = {name: library.graph.update(name, again=True) for name in names}
        removed = {name: library.graph.remove(name) for name in names if not library.graph.types(name)}
        counts = {name: library.graph.counts(name) for name, built in done.items() if built}
    session.screen.document({"graphs": counts, "removed": removed})
    for name, built in done.items():
        types = ", ".join(f"{number:,} {kind}" for kind, number in counts.get(name, {}).items())
        session.screen.report(f"{name}: {types or 'no entities'}" if built else f"{name}: has no graph")
        if removed.get(name):
            session.screen.say(f"{name}: {counted(removed[name], 'entity', 'entities')} of an earlier graph removed")


def _show_report(session: Session, one: GraphReport) -> None:
    show = session.screen.show
    show(f"{one.collection}: {counted(one.entities, 'entity', 'entities')}, {counted(one.relations, 'relation')}")
    show(f"  documents with an entity  {one.documents_with_entity:,} of {one.documents:,}")
    show(f"  vendors with a product    {one.vendors_with_product:,} of {one.vendors:,}")
    show(f"  without relations         {one.orphans:,}")
    show(f"  names merged              {one.merged:,}; names without a type {one.candidates_count:,}")
    if one.left_out:
        show(f"  mentions over the limits  {one.left_out:,}")
    for path, number in one.left_out_of:
        show(f"  left out of {path}: {counted(number, 'mention')}")
    for source, kind, target in one.conflicts:
        show(f"  stated both ways: {source} {kind} {target}")
    for kind, name, documents in one.unlisted:
        show(f"  not in a list: {kind} {name} ({counted(documents, 'document')})")
    for _, name, documents in one.candidates:
        show(f"  without a type: {name} ({counted(documents, 'document')})")
    for kind, name in one.unseen:
        show(f"  listed, never mentioned: {kind} {name}")
    for reason, number in one.missing_by_reason.items():
        show(f"  without a document        {number:,}: {reason}")
    for each in one.missing:
        referred = f"{', '.join(each.fields)}, {counted(each.references, 'reference')}"
        show(f"  no document: {each.type} {each.name} ({referred}; {each.reason})")
    session.screen.warn(*one.problems)


def _show_relation(session: Session, relation: Relation) -> None:
    _show_stated(session, relation, f"{relation.source.name} {relation.type} {relation.target.name}")


def _show_step(session: Session, one: PathRelation) -> None:
    arrow = f"-{one.type}->" if one.direction == "out" else f"<-{one.type}-"
    reads = f"  ({one.reads})" if one.reads not in ("", one.type) else ""
    _show_stated(session, one, f"{one.start.name} {arrow} {one.end.name}{reads}")


def _show_stated(session: Session, relation: Relation, words: str) -> None:
    times = f"  ({counted(relation.statements, 'statement')})" if relation.statements > 1 else ""
    session.screen.show(f"  {words}  {relation.confidence:.2f}{times}")
    for place in relation.evidence:
        where = f"{place.path}, metadata" if place.field else place.path
        session.screen.show(f"    {where}: {_quoted(place.text)}")


def _say_cut(session: Session, shown: int, total: int) -> None:
    if shown < total:
        session.screen.say(f"{shown:,} of {total:,} relations are shown; all by --limit {total}")


def _quoted(text: str) -> str:
    """Return words of a document on one line, shortened."""
    return cut(" ".join(text.split()), _MOST_QUOTED_CHARS)
