"""``metadata``: how complete the metadata of collections is, and what is missing where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.options import OneOrAll
from pinakes.cli.screen import Screen
from pinakes.cli.session import Session
from pinakes.core.wording import counted, percent

if TYPE_CHECKING:
    from pinakes.services.collections.completeness import Completeness, FieldReport

_MOST_OTHERS = 20


def metadata(
    session: Session,
    collection: OneOrAll = None,
    fields: Annotated[
        Sequence[str],
        typer.Option("--field", metavar="NAME", help="Look at this field of every document. May be repeated."),
    ] = (),
    missing: Annotated[
        int, typer.Option("--missing", metavar="N", min=0, help="Name so many documents that lack a field.")
    ] = 10,
) -> None:
    """Show which metadata fields documents have, and which documents lack what they should have."""
    with session.library() as library:
        reports = library.completeness(collection, fields=fields, missing=missing)
    screen = session.screen
    screen.document({"collections": [{**asdict(report), "reached": report.reached} for report in reports]})
    for report in reports:
        _show(session, report)
    if not reports:
        screen.say("There are no collections yet.")


def _show(session: Session, report: Completeness) -> None:
    screen = session.screen
    screen.show(f"{report.collection}: {counted(report.documents, 'document')}")
    required = [one for one in report.fields if one.required]
    for one in required:
        _show_field(screen, one)
    if report.share is not None and report.with_defaults is not None:
        target = f"target: more than {percent(report.target)}"
        share = f"  complete  {percent(report.share)} of what is required ({target})"
        assumed = "" if report.with_defaults == report.share else f"; with defaults {percent(report.with_defaults)}"
        screen.show(f"{share}{assumed}; {report.whole:,} documents have all of it")
    _show_others(screen, [one for one in report.fields if not one.required])
    if report.unlike_count:
        screen.show(f"  values that are not what their field says: {report.unlike_count:,}")
        screen.lines(f"    {unlike.path}: {unlike.reason}" for unlike in report.unlike)
    if not required and report.documents:
        screen.say("nothing is required: name fields in the setting collections.NAME.required")
    elif any(one.lacking > len(one.missing) for one in required):
        screen.say(f"all that lack a field: {session.command('metadata', '--missing', '100000', '--json')}")


def _show_field(screen: Screen, one: FieldReport) -> None:
    assumed = f", {one.by_default:,} by default" if one.by_default else ""
    filled = one.stated + one.by_default
    share = percent(one.share) if one.wanted else "–"
    counts = f"{filled:,} of {one.wanted:,}{assumed}"
    screen.show(f"  {one.name:<20} {share:>7}  {counts}  {_types(one)}".rstrip())
    screen.lines(f"    missing in {path}" for path in one.missing)


def _show_others(screen: Screen, others: Sequence[FieldReport]) -> None:
    if others:
        screen.show("  other fields")
    screen.lines(f"    {one.name:<20} {percent(one.share):>7}  {_types(one)}" for one in others[:_MOST_OTHERS])
    if len(others) > _MOST_OTHERS:
        screen.show(f"    … and {len(others) - _MOST_OTHERS:,} more")


def _types(one: FieldReport) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in one.types.items())
