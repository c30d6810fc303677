"""``add``, ``sync`` and ``reindex``: everything that reads documents or builds indexes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pinakes.cli.models import prepare
from pinakes.cli.options import AddOptions
from pinakes.cli.progress import following
from pinakes.cli.screen import Screen, labelled
from pinakes.cli.session import IncompleteError, Session
from pinakes.cli.spending import SpendingLimit
from pinakes.core.errors import (
    InvalidInput,
    ModelUnavailable,
    PinakesError,
    SourceError,
    TooCostly,
    Unreadable,
    WouldRemove,
)
from pinakes.core.records import JSON
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.ingestion.report import Event, Report
    from pinakes.library import Library, OnEvent
    from pinakes.services.collections.status import CollectionStatus
    from pinakes.services.sync import adding

Following: TypeAlias = "Callable[[], AbstractContextManager[OnEvent]]"
"""Shows how far a run is, for as long as the block takes."""

_NAMED_PATHS = 10
_NAMED_REASONS = 10


def add(session: Session, wanted: AddOptions) -> None:
    """Add every location; what goes wrong with one does not keep the others from being added."""
    screen = session.screen
    reports: list[Report] = []
    errors: list[tuple[str, PinakesError]] = []
    with session.library(create=True) as library:
        prepare_or_warn(session)
        embedding = _Embedding(session)
        spending = SpendingLimit(session, library, wanted.yes)
        for location in wanted.locations:
            try:
                report = read_one(session, library, embedding.following, location, wanted)
                show_report(screen, report)
                reports.append(report)
                _check_single_file(report)
            except PinakesError as error:
                _tell_what_stays(session, library, location)
                if len(wanted.locations) == 1 and not reports:
                    raise
                screen.fail(error.message if location in error.message else f"{location}: {error.message}", error.hint)
                errors.append((location, error))
        session.found((), _touched(reports))
        unpaid = _settled(library, embedding, spending, reports)
        embedding.tell_what_waits(library, reports)
    _conclude(session, reports, errors, wanted.collection, unpaid, spending)


def sync(
    session: Session, collection: str | None, yes: bool = False, *, names: Sequence[str] = (), retry: bool = False
) -> None:
    """Read the known sources again, or those that are called so."""
    if names and collection:
        raise InvalidInput("Give names of sources or --collection, not both.")
    with session.library(create=True) as library:
        prepare_or_warn(session)
        embedding = _Embedding(session)
        spending = SpendingLimit(session, library, yes)
        with embedding.following() as on_event:
            reports = library.sync(collection, on_event, names=names, retry=retry)
        for report in reports:
            if report.error is None:
                show_report(session.screen, report)
            else:
                session.screen.fail(
                    f"{labelled(report.source, report.part)}: {report.error.message}", report.error.hint
                )
        session.found((), _touched(reports))
        unpaid = _settled(library, embedding, spending, reports)
        embedding.tell_what_waits(library, reports)
        _tell_of_abandoned(session, library, names)
    if not reports:
        session.screen.say(f"There is nothing to sync yet. Add a source: {session.command('add', 'PATH')}")
    errors = [(report.source, report.error) for report in reports if report.error is not None]
    read = [report for report in reports if report.error is None]
    _conclude(session, read, errors, collection, unpaid, spending)


def reindex(session: Session, collection: str | None, embed: bool, yes: bool = False) -> None:
    """Build the indexes anew."""
    with session.library() as library:
        if embed:
            prepare_or_warn(session)
        embedding = _Embedding(session)
        spending = SpendingLimit(session, library, yes)
        try:
            with embedding.following() as on_event:
                library.reindex(collection, embed=embed, on_event=on_event)
        except TooCostly as error:
            if not spending.agrees(error):
                raise
            with embedding.following() as on_event:
                library.reindex(collection, embed=embed, on_event=on_event)
        states = library.status(collection)
        spending.tell()
        spent = spending.document()
    session.screen.document({"collections": [{"name": s.name, "index": dict(s.index)} for s in states], **spent})
    for state in states:
        chunks, vectors = state.index.get("keyword_chunks", 0), state.index.get("vectors", 0)
        session.screen.report(f"{state.name}: index built of {chunks:,} chunks and {vectors:,} vectors")
        if state.pending:
            embedding.tell(state)
    if not states:
        session.screen.say("There are no collections yet.")


def _settled(
    library: Library, embedding: _Embedding, spending: SpendingLimit, reports: Sequence[Report]
) -> list[TooCostly]:
    """Embed what waits for somebody to agree to its costs, where they do; return what is left."""
    unpaid = spending.unpaid(reports)
    if unpaid and spending.agrees(unpaid[0]):
        for name in dict.fromkeys(report.collection for report in reports if report.degraded):
            with embedding.following() as on_event:
                library.embed_pending(name, on_event)
        unpaid = []
    spending.tell()
    return unpaid


def prepare_or_warn(session: Session) -> None:
    """Make the model ready, showing progress; without it documents wait for their vectors."""
    try:
        prepare(session)
    except ModelUnavailable as error:
        hint = session.screen.with_home(error.hint)
        session.screen.warn(f"{error.message} Search is by keywords until it is there. {hint}")


def _touched(reports: Sequence[Report]) -> int:
    """Return how many documents are not as they were."""
    return sum(report.added + report.changed + report.moved + report.removed for report in reports)


def show_report(screen: Screen, report: Report) -> None:
    """Print how an ingest ended, for people."""
    files = {name: getattr(report, name) for name in ("added", "changed", "moved", "removed", "unchanged")}
    chunks = {name: getattr(report, name) for name in ("embedded", "reused", "pending")}
    only = f", only {' '.join(report.paths)}" if report.paths else ""
    screen.report(f"{report.collection}: {labelled(report.source, report.part)}{only}")
    show_patterns(screen, report.include, report.exclude, report.before)
    if report.overlaps:
        others = ", ".join(map(repr, report.overlaps))
        screen.report(f"  overlaps {others}: a file of both is read once, by the source that read it first")
    screen.report(f"  files    {_counts(files)}")
    screen.report(f"  chunks   {report.chunks:,}: {_counts(chunks)}")
    for label, entries in (("skipped", report.skipped), ("failed", report.failed), ("unlike", report.unlike)):
        if entries:
            _show_left_out(screen, label, [(entry.path, entry.reason) for entry in entries])
    if report.reread:
        screen.report(f"  again    {report.reread:,} changed as older readers or chunkers had made them")
    if report.notes:
        _show_left_out(screen, "noted", [(path, str(note)) for path, note in report.notes])
    screen.report(*(f"  rules    {reason[:1].lower()}{reason[1:]}" for reason in report.excluded))
    if not any(files.values()) and not report.skipped and not report.failed:
        screen.warn("there is no file to read in it")
    seconds = ", ".join(f"{stage} {value:.1f}" for stage, value in report.seconds.items())
    screen.report(f"  seconds  {sum(report.seconds.values()):.1f}: {seconds}")
    if report.degraded:
        waiting = (
            counted(report.pending, "chunk waits", "chunks wait") if report.pending else "chunks of earlier runs wait"
        )
        screen.warn(f"{waiting} for a vector: {report.degraded}")


def show_patterns(screen: Screen, include: Sequence[str], exclude: Sequence[str], before: Mapping[str, JSON]) -> None:
    """Print which patterns a source is read by, and what they were before, where that was another."""
    from pinakes.services.sync.adding import shown_value

    for name, patterns in (("include", include), ("exclude", exclude)):
        was = f" (was {shown_value(before[name])})" if name in before else ""
        if patterns or was:
            screen.report(f"  {name:<8} {shown_value(patterns)}{was}")
    if "ref" in before:
        screen.report(f"  ref      was {shown_value(before['ref'])}")


def _show_left_out(screen: Screen, label: str, entries: Sequence[tuple[str, str]]) -> None:
    by_reason: dict[str, list[str]] = {}
    for path, reason in entries:
        by_reason.setdefault(reason, []).append(path)
    common = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    screen.report(f"  {label:<8} {len(entries):,}")
    left = _NAMED_PATHS
    for reason, paths in common[:_NAMED_REASONS]:
        each = max(1, _NAMED_PATHS // min(len(common), _NAMED_REASONS))
        named = paths[: min(left, each)]
        left -= len(named)
        more = f" and {len(paths) - len(named):,} more" if len(paths) > len(named) else ""
        screen.report(f"    {len(paths):,} × {reason} ({', '.join(named)}{more})")
    if len(common) > _NAMED_REASONS:
        screen.report(f"    … and {len(common) - _NAMED_REASONS:,} other reasons")


def report_document(report: Report) -> dict[str, JSON]:
    """Return all of a report, with the reasons counted."""
    fields = {name: value for name, value in asdict(report).items() if name != "error"}
    notes = [{"path": path, **asdict(note)} for path, note in report.notes]
    return {**fields, "notes": notes, "reasons": dict(report.reasons().most_common())}


class _Embedding:
    """Who embeds what a call of a command leaves waiting, as far as its events and the settings tell."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lazy = session.settings.embedding.mode == "lazy"
        self._elsewhere = False

    @contextmanager
    def following(self) -> Iterator[OnEvent]:
        """Give a function that shows the events of a run."""
        with following(self._session.screen, lazy=self._lazy) as show:

            def on_event(event: Event) -> None:
                self._elsewhere |= event.stage == "elsewhere"
                show(event)

            yield on_event

    def tell_what_waits(self, library: Library, reports: Iterable[Report]) -> None:
        """Print of each collection whether chunks wait for exact vectors, where no warning said so."""
        warned = {report.collection for report in reports if report.degraded}
        read = {report.collection for report in reports if report.error is None}
        for name in sorted(read - warned):
            [state] = library.status(name)
            if state.pending:
                self.tell(state)

    def tell(self, state: CollectionStatus) -> None:
        """Print how exact a collection with waiting chunks is, and when that changes."""
        from pinakes.tools.exactness import exactness

        screen = self._session.screen
        screen.report(f"{state.name}: vectors {exactness(state)}")
        if self._elsewhere:
            screen.say(f"another process embeds what waits; how far it is: {self._session.command('status')}")
            return
        now = self._session.command("reindex", "--embed", "-c", state.name)
        if self._lazy:
            screen.say("what waits is embedded when searches meet it")
            now += " --set embedding.mode=full"
        screen.say(f"to embed all of it now: {now}")


def _tell_of_abandoned(session: Session, library: Library, names: Sequence[str]) -> None:
    """Say which sources were left alone since the settings do not name them any more."""
    every = () if names else library.syncing.list_all()
    left = [one.name for one in every if one.state == "no longer configured"]
    if left:
        session.screen.say(f"not read, being no longer configured: {', '.join(left)} ({session.command('sources')})")


def add_request(location: str, wanted: AddOptions) -> adding.AddRequest:
    """Return what is to be added at one location."""
    from pinakes.services.sync import adding

    return adding.AddRequest(location, wanted.ref, wanted.kind, wanted.include, wanted.exclude, wanted.as_source)


def read_one(session: Session, library: Library, follow: Following, location: str, wanted: AddOptions) -> Report:
    """Add one location; where that removes documents say so, and ask."""
    read = partial(
        library.add,
        location,
        wanted.collection,
        ref=wanted.ref,
        kind=wanted.kind,
        include=wanted.include,
        exclude=wanted.exclude,
        as_source=wanted.as_source,
    )
    try:
        with follow() as on_event:
            return read(on_event=on_event)
    except WouldRemove as error:
        if not _agreed_to_remove(session, error, wanted.yes):
            raise
    with follow() as on_event:
        return read(remove=True, on_event=on_event)


def _agreed_to_remove(session: Session, error: WouldRemove, yes: bool) -> bool:
    """Say what is to be removed; return whether whoever sits at the terminal agrees, unless they did before."""
    screen = session.screen
    if yes:
        screen.warn(error.message)
        return True
    if screen.as_json or not sys.stdin.isatty():
        return False
    screen.say(error.message)
    import typer

    return typer.confirm("Go on?", err=True)


def _tell_what_stays(session: Session, library: Library, location: str) -> None:
    """Say that a location that could not be read is a source all the same, where it is."""
    with suppress(PinakesError):
        one = library.syncing.find(location)
        if not one.documents:
            forget = session.command("sources", "remove", one.name)
            session.screen.say(f"{one.location} stays a source: `pinakes sync` tries it again. To forget it: {forget}")


def _check_single_file(report: Report) -> None:
    """Make sure that a source which is one file gave a document: whoever names a file wants that file.

    Raises:
        Unreadable: it was refused.
    """
    from pinakes.services.sync.staleness import HELD

    refused = [entry for entry in report.skipped if entry.path in report.paths] or report.skipped
    alone = Path(report.source).is_file() and not report.added + report.changed + report.unchanged
    if refused and refused[0].code != HELD and (alone or refused[0].path in report.paths):
        reason = refused[0].reason
        raise Unreadable(
            f"{'/'.join((report.source, *report.paths))!r} was not read: {reason}{'' if reason.endswith('.') else '.'}",
            hint="Mend it, save it in another form, or raise the limit that it is over; then add it again.",
        )


def _conclude(
    session: Session,
    reports: Sequence[Report],
    errors: Sequence[tuple[str, PinakesError]],
    collection: str | None,
    unpaid: Sequence[TooCostly],
    spending: SpendingLimit,
) -> None:
    document: dict[str, JSON] = {
        "reports": [report_document(report) for report in reports],
        "errors": [{"location": location, **session.screen.error_document(error)} for location, error in errors],
        **spending.document(),
    }
    skipped = sum(len(report.skipped) for report in reports)
    if skipped > _NAMED_PATHS:
        session.screen.say(f"all that was skipped: {session.command('status', '--problems')}")
    if any(report.added or report.changed or report.moved or report.unchanged for report in reports):
        where = ["-c", collection] if collection else []
        session.screen.say(f"next: {session.command('search', 'your question', *where)}")
    failed = sum(len(report.failed) for report in reports)
    if errors:
        raise IncompleteError(errors[0][1], document)
    if unpaid:
        raise session.incomplete(unpaid[0], document)
    if failed:
        error = SourceError(
            f"{counted(failed, 'file')} could not be read; the rest is done.",
            hint="They are tried again later, by a server or the next run. At once: pinakes sync --retry",
        )
        raise session.incomplete(error, document)
    session.screen.document(document)


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
