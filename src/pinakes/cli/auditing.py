"""``audit`` and ``explain``: what was asked before, and why documents rank where they do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pinakes.cli.hit_lines import one_line
from pinakes.cli.options import Searched, command, usual_command
from pinakes.cli.screen import Screen
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import NotFound
from pinakes.core.records import JSON, SearchMode
from pinakes.core.wording import counted, cut

if TYPE_CHECKING:
    from pinakes.search.explaining import Explanation, Explanations, RetrieverRank
    from pinakes.search.results.matches import Match
    from pinakes.services.audit import AuditEntry, AuditQuery

_SHOWN_CHARS = 100


@dataclass(frozen=True, slots=True)
class CallFilters:
    """Which calls are wanted, in the order of ``AuditQuery``."""

    tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="Only calls of this tool or command.")] = ""
    of_session: Annotated[str, typer.Option("--session", metavar="ID", help="Only calls of this session.")] = ""
    caller: Annotated[str, typer.Option("--caller", metavar="NAME", help="Only calls by this caller.")] = ""
    interface: Annotated[
        str, typer.Option("--interface", metavar="NAME", help="cli, http, mcp, websocket or python.")
    ] = ""
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Only calls about this collection.")
    ] = ""
    outcome: Annotated[str, typer.Option("--outcome", metavar="CODE", help="ok, failed, or the code of an error.")] = ""
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="TIME",
            help="From this day or time on, UTC: 2026-01-31; or how long ago: 30m, 1h, 2d, 1w.",
        ),
    ] = ""
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="Up to this day or time, included, or so long ago.")
    ] = ""
    text: Annotated[
        str, typer.Option("--text", metavar="WORDS", help="Only where the parameters have these words, or of this id.")
    ] = ""

    def query(self) -> AuditQuery:
        """Return them as the audit log takes them."""
        from pinakes.services.audit import AuditQuery

        return AuditQuery(*astuple(self))


audit_app = typer.Typer(help="See what was asked before.")


@usual_command(audit_app)
def listed(
    session: Session,
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", help="How many.")] = 20,
    *,
    wanted: CallFilters,
) -> None:
    """Show the last calls, newest first."""
    from pinakes.services.audit import as_data

    with session.library() as library:
        entries = library.audit.entries(last, wanted.query())
        session.found((), len(entries))
    session.screen.document({"entries": [as_data(entry) for entry in entries], "total_entries": len(entries)})
    for entry in entries:
        _show(session.screen, entry)
    if not entries:
        session.screen.say("no call was recorded" if wanted == CallFilters() else "no call is like that")


@command(audit_app, "export")
def exported(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to write, JSON lines; - is stdout.")],
    wanted: CallFilters,
) -> None:
    """Write calls to a file as JSON lines, oldest first."""
    from pinakes.services.audit import as_data

    with session.library() as library:
        if file == "-":
            for entry in library.audit.lines(wanted.query()):
                sys.stdout.write(json.dumps(as_data(entry), ensure_ascii=False) + "\n")
            return
        count = library.audit.export(Path(file), wanted.query())
        session.found((), count)
    session.screen.document({"file": file, "entries": count})
    session.screen.report(f"{count:,} calls written to {file}")


def explain(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What was searched for.")],
    documents: Annotated[
        list[str], typer.Argument(metavar="DOCUMENT", help="Path, end of a path, uri or id. One or several.")
    ],
    collection: Searched = None,
    mode: Annotated[SearchMode | None, typer.Option("--mode", help="As in `pinakes search`.")] = None,
    filters: Annotated[
        Sequence[str], typer.Option("--filter", "-f", metavar="NAME=VALUE", help="As in `pinakes search`.")
    ] = (),
    paths: Annotated[Sequence[str], typer.Option("--path", metavar="GLOB", help="As in `pinakes search`.")] = (),
    fusion: Annotated[
        Literal["weighted", "rrf"] | None, typer.Option("--fusion", help="As in `pinakes search`.")
    ] = None,
) -> None:
    """Say why documents rank where they do for a query, or why they are not found."""
    from pinakes.cli.searching import filter_of

    with session.library() as library:
        found = library.explain(
            query, documents, collection, mode=mode, filters=filter_of(filters, paths), fusion=fusion
        )
        session.found([one.document_id for one in found.documents])
    document = _as_data(found)
    _say(session.screen, found)
    if found.unknown:
        error = NotFound(
            f"There is no document {', '.join(map(repr, found.unknown))} in {found.collection!r}.",
            hint="`pinakes search` shows paths and ids.",
            ids=found.unknown,
        )
        if not session.screen.as_json:
            session.screen.fail(error.message, error.hint)
        raise IncompleteError(error, document)
    session.screen.document(document)


def _show(screen: Screen, entry: AuditEntry) -> None:
    """Print a call in a line: when, what, who, how long, how it went."""
    given = json.dumps(dict(entry.parameters), ensure_ascii=False) if entry.parameters else ""
    results = counted(entry.result_count, "result")
    went = results if entry.outcome == "ok" else f"{entry.outcome}: {entry.message}"
    who = entry.interface if entry.caller == "local" else f"{entry.interface} ({entry.caller})"
    line = f"{entry.at[:19]}Z  {entry.tool:<18} {who:<9} {entry.latency_ms:>8.1f} ms  {one_line(went)}"
    screen.show(f"{line}  {cut(given, _SHOWN_CHARS)}".rstrip())


def _as_data(found: Explanations) -> dict[str, JSON]:
    """Return explanations whose chunks have the form of hits."""
    from pinakes.schemas.hits import hit_data

    documents = [
        {**asdict(replace(one, passage=None)), "passage": one.passage and hit_data(one.passage, whole=True)}
        for one in found.documents
    ]
    return {**asdict(replace(found, documents=())), "documents": documents}


def _say(screen: Screen, found: Explanations) -> None:
    if screen.as_json:
        return
    for one in found.documents:
        _show_document(screen, one)
    if found.degraded:
        screen.warn(found.degraded)
    screen.note(*found.notes)
    screen.say(f"{found.candidates:,} chunks of {found.ranked:,} documents were ranked for {found.searched_for!r}")


def _show_document(screen: Screen, one: Explanation) -> None:
    from rich.text import Text as Rich

    screen.show(Rich.assemble((one_line(one.path), "cyan"), f"  {one_line(one.title)}"))
    screen.show(f"    {one.text}")
    for name, at, what in (("by words", one.keyword, "BM25"), ("by meaning", one.vector, "cosine")):
        if at is not None:
            screen.show(f"    {name:<12} {_rank(at, what)}")
    if one.document_cosine is not None or one.document_bm25 is not None:
        cosine = "none" if one.document_cosine is None else f"{one.document_cosine:.4f}"
        screen.show(f"    {'as a whole':<12} cosine {cosine}, BM25 {one.document_bm25 or 0:.2f}")
    if one.parts:
        screen.show(f"    {'score from':<12} " + ", ".join(f"{name} {value:.4f}" for name, value in one.parts.items()))
    if one.passage is not None:
        hit = one.passage
        screen.show(f"    {'chunk':<12} lines {hit.start_line}-{hit.end_line}{' (approximate)' * hit.approximate}")
    screen.lines(f"    {'has':<12} {_match(match)}" for match in one.matches)
    screen.lines(f"    {'has parts of':<12} {_match(match)}: {', '.join(match.parts)}" for match in one.partly)
    if one.missing:
        screen.show(f"    {'lacks':<12} {', '.join(one.missing)}")
    screen.show()


def _rank(at: RetrieverRank, what: str) -> str:
    from pinakes.search.results.explanation import rank_words

    score = f"{what} {at.score:.4g} (best {at.best:.4g})" if at.score is not None else f"no {what}"
    return f"{rank_words(at.rank, at.of)}, {score}"


def _match(match: Match) -> str:
    lines = ", ".join(map(str, match.lines))
    weight = "" if match.weight is None else f", {match.weight:.0%} of the weight"
    where = ", ".join(match.fields) + (f", line{'s'[: len(match.lines) > 1]} {lines}" if lines else "")
    return f"{match.word}: {where}{weight}"
