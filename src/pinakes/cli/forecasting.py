"""``add --dry-run`` and ``sync --dry-run``: what would be read, and what that takes; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pinakes.cli.adding import add_request, prepare_or_warn, show_patterns
from pinakes.cli.options import AddOptions
from pinakes.cli.progress import following
from pinakes.cli.screen import Screen, labelled
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON
from pinakes.core.wording import MEGABYTE, counted, megabytes
from pinakes.services.run_progress import duration

if TYPE_CHECKING:
    from pinakes.library import Library
    from pinakes.services.sync.forecasting import Forecast
    from pinakes.settings import SourceSettings

_NAMED_REASONS = 10


def add(session: Session, wanted: AddOptions) -> None:
    """Say what adding these locations would do."""
    from pinakes.services.sync.forecasting import Forecast

    with _library(session) as library:
        name = wanted.collection or library.naming.written
        chosen: list[tuple[str, SourceSettings, Sequence[str] | None]] = []
        unusable: list[Forecast] = []
        for location in wanted.locations:
            try:
                one = library.addition(name, add_request(location, wanted))
                chosen.append((name, one.source, one.paths))
            except PinakesError as error:
                unusable.append(Forecast(name, location, error=error))
        _show(session, library, chosen, unusable)


def sync(session: Session, collection: str | None, names: Sequence[str] = ()) -> None:
    """Say what reading the known sources again would do."""
    with _library(session) as library:
        _show(session, library, [(*one, None) for one in library.syncing.wanted(collection, names)])


@contextmanager
def _library(session: Session) -> Iterator[Library]:
    """Open the library, an empty one elsewhere where there is none yet: a home is not made by asking."""
    if session.settings.catalog.url or (session.settings.home / "catalog.db").exists():
        with session.library() as library:
            yield library
        return
    from pinakes.library import Library

    with TemporaryDirectory(prefix="pinakes-") as folder:  # noqa: SIM117 - the folder goes last
        with Library(session.settings.model_copy(update={"home": Path(folder)})) as library:
            yield library


def _show(
    session: Session,
    library: Library,
    chosen: Sequence[tuple[str, SourceSettings, Sequence[str] | None]],
    unusable: Sequence[Forecast] = (),
) -> None:
    screen = session.screen
    if chosen:
        prepare_or_warn(session)
    found: list[Forecast] = []
    asked = len(chosen) + len(unusable)
    for one in (*unusable, *_forecast(session, library, chosen)):
        found.append(one)
        if one.error is not None and asked == 1:
            raise one.error
        if one.error is not None:
            message = one.error.message
            screen.fail(message if one.source in message else f"{one.source}: {message}", one.error.hint)
        else:
            _show_one(screen, one)
    document = {"dry_run": True, "forecasts": [_document(screen, one) for one in found]}
    if not asked:
        screen.say(f"There is nothing to sync yet. Add a source: {session.command('add', 'PATH')}")
    if failed := next((one.error for one in found if one.error is not None), None):
        raise IncompleteError(failed, document)
    screen.say("nothing was written: this was a dry run")
    screen.document(document)


def _forecast(
    session: Session, library: Library, chosen: Iterable[tuple[str, SourceSettings, Sequence[str] | None]]
) -> Iterator[Forecast]:
    forecasts = library.forecasts()
    for name, source, paths in chosen:
        with following(session.screen) as on_event:
            one = forecasts.attempted(name, source, on_event, paths)
        yield one


def _show_one(screen: Screen, one: Forecast) -> None:
    def row(label: str, words: str) -> None:
        screen.report(f"  {label:<8} {words}")

    only = f", only {' '.join(one.paths)}" if one.paths else ""
    screen.report(f"{one.collection}: {labelled(one.source, one.part)}{only}")
    show_patterns(screen, one.include, one.exclude, one.before)
    counts = {name: getattr(one, name) for name in ("new", "changed", "unchanged", "removed")}
    row("files", ", ".join(f"{number:,} {name}" for name, number in counts.items()))
    _show_reasons(screen, "skipped", one.skipped)
    for reason in one.excluded:
        row("rules", f"{reason[:1].lower()}{reason[1:]}")
    to_read = one.new + one.changed
    if not to_read:
        row("to read", "nothing")
    else:
        _show_sampled(row, one, to_read)
        _show_reasons(screen, "unread", one.unreadable)
    if one.waiting:
        row(
            "waiting",
            f"{counted(one.waiting, 'chunk')} of earlier runs, about {counted(one.waiting_tokens, 'token')} to embed",
        )
    if not (to_read or one.waiting):
        return
    row("time", _time(one))
    if one.dollars is None:
        row("costs", f"not known for {one.model}")
    else:
        row("costs", f"about ${one.dollars:,.2f} by {one.model}" if one.dollars else "nothing")


def _show_sampled(row: Callable[[str, str], None], one: Forecast, to_read: int) -> None:
    about = "" if one.sampled == to_read else "about "
    row("to read", f"{counted(to_read, 'file')}, {_size(one.bytes)}")
    basis = "all of them were read" if not about else f"from a sample of {counted(one.sampled, 'file')}"
    row("gives", f"{about}{counted(one.chunks, 'chunk')}, {counted(one.tokens, 'token')}; {basis}")
    if one.new_tokens != one.tokens:
        row("to embed", f"{about}{counted(one.new_tokens, 'token')}, the rest is there or comes more than once")


def _time(one: Forecast) -> str:
    reading = f"reading {duration(one.read_s)}"
    if one.embed_s is None:
        return f"{reading}; how long embedding takes is not known"
    return f"about {duration(one.read_s + one.embed_s)}: {reading}, embedding {duration(one.embed_s)}"


def _show_reasons(screen: Screen, label: str, reasons: Mapping[str, int]) -> None:
    if reasons:
        screen.report(f"  {label:<8} {sum(reasons.values()):,}")
    screen.report(*(f"    {number:,} × {reason}" for reason, number in list(reasons.items())[:_NAMED_REASONS]))
    if len(reasons) > _NAMED_REASONS:
        screen.report(f"    … and {len(reasons) - _NAMED_REASONS:,} other reasons")


def _document(screen: Screen, one: Forecast) -> dict[str, JSON]:
    document = {name: value for name, value in asdict(one).items() if name != "error"} | {"seconds": one.seconds}
    return document | ({"error": screen.error_document(one.error)} if one.error is not None else {})


def _size(number: int) -> str:
    return megabytes(number) if number >= MEGABYTE else f"{number / 1000:,.1f} kB"
