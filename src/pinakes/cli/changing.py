"""``reindex --beside``, ``--switch``, ``--rollback`` and ``--drop-beside``: another model for what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from pinakes.cli.adding import prepare_or_warn
from pinakes.cli.models import fetch_model
from pinakes.cli.options import ModelChangeOptions
from pinakes.cli.progress import progress
from pinakes.cli.session import IncompleteError, Session
from pinakes.cli.spending import SpendingLimit
from pinakes.core.errors import ModelCorrupt, ModelUnavailable, NotFound, PinakesError, TooCostly
from pinakes.core.records import JSON
from pinakes.core.wording import megabytes
from pinakes.services.run_progress import duration

if TYPE_CHECKING:
    from pinakes.ingestion.report import Event
    from pinakes.library import Library, OnEvent
    from pinakes.services.collections.status import CollectionStatus


def change(session: Session, collection: str | None, wanted: ModelChangeOptions, yes: bool) -> None:
    """Do what is asked for in one collection, or in all that it concerns; one's trouble does not stop the others."""
    documents: list[dict[str, JSON]] = []
    errors: list[dict[str, JSON]] = []
    first: PinakesError | None = None
    with session.library() as library:
        library.spending().allow(yes)
        names = [collection] if collection else _concerned(library, wanted)
        act = partial(_switch if wanted.switch else _roll_back if wanted.rollback else _drop, session, library)
        if wanted.beside:
            act = partial(_build, session, library, wanted, yes)
        for name in names:
            try:
                documents.append({"name": name, **act(name)})
            except PinakesError as error:
                if len(names) == 1:
                    raise
                session.screen.fail(f"{name}: {error.message}", error.hint)
                errors.append({"collection": name, **session.screen.error_document(error)})
                first = first or error
    document = {"collections": documents, "errors": errors}
    if first is not None:
        raise IncompleteError(first, document)
    session.screen.document(document)


def beside_line(state: CollectionStatus) -> str | None:
    """Return what ``status`` says of the generation beside the one that answers; None where there is none."""
    beside = state.beside
    if beside is None:
        return None
    embedded = f"{beside.embedded:,} of {beside.chunks:,} embedded"
    size = megabytes(beside.bytes)
    if beside.state == "previous":
        missing = f"; {beside.waiting:,} came since, to be embedded after going back" if beside.waiting else ""
        return f"{beside.model}: answered before, kept to go back to ({embedded}{missing}; {size})"
    words = "ready" if beside.state == "ready" else "not ready, reindex --beside goes on"
    missing = f"; {beside.waiting:,} to be embedded when it is switched to" if beside.waiting else ""
    return f"{beside.model}: {words} ({embedded}{missing if beside.state == 'ready' else ''}; {size})"


def _concerned(library: Library, wanted: ModelChangeOptions) -> list[str]:
    """Return the collections that a change concerns where none is named.

    Raises:
        NotFound: there is no such collection.
    """
    states = library.status()
    named = [state.name for state in states if wanted.beside or state.beside is not None]
    if not states:
        raise NotFound("There are no collections yet.", hint="Add documents: pinakes add PATH")
    if not named:
        hint = "Build one: pinakes reindex --beside --model MODEL"
        if wanted.rollback or wanted.drop_beside:
            hint = f"There is nothing to {'go back to' if wanted.rollback else 'drop'}. See: pinakes status"
        raise NotFound("No collection has a generation beside it.", hint=hint)
    return named


def _build(session: Session, library: Library, wanted: ModelChangeOptions, yes: bool, name: str) -> dict[str, JSON]:
    _prepare(session, library, name, wanted.model)
    spending = SpendingLimit(session, library, yes)
    while True:
        try:
            with _following(session, name) as on_event:
                state = library.build_beside(wanted.model, name, anyway=wanted.anyway, on_event=on_event)
            break
        except TooCostly as error:
            if not spending.agrees(error):
                hint = f"Agree to it: pinakes reindex --beside --yes -c {quote(name)}. Or give it up: --drop-beside."
                raise TooCostly(error.message, hint=hint) from error
    spending.tell()
    beside = state.beside
    assert beside is not None
    session.screen.report(f"{name}: built beside what answers: {beside_line(state)}")
    if beside.waiting:
        session.screen.warn(f"{beside.waiting:,} chunks have no vector by it: they are found by words only")
    session.screen.say(f"to have it answer: {session.command('reindex', '--switch', '-c', name)}")
    return {**_described(state), **spending.document()}


def _prepare(session: Session, library: Library, name: str, model: str | None) -> None:
    """Fetch and convert a local model where that is still to do, showing progress."""
    settings = library.chosen_model(name, model)
    try:
        fetch_model(session, settings)
    except ModelCorrupt:
        raise
    except ModelUnavailable as error:
        if model is None or Path(model).is_dir():
            raise
        hint = "Check the name; or run it where there is a network; or give a folder with its files: --model FOLDER"
        raise ModelUnavailable(error.message, hint=hint) from error


def _switch(session: Session, library: Library, name: str) -> dict[str, JSON]:
    with _following(session, name) as on_event:
        state = library.switch(name, on_event)
    _report(session, state)
    session.screen.say(f"to go back: {session.command('reindex', '--rollback', '-c', name)}")
    session.screen.say(f"to free that room: {session.command('reindex', '--drop-beside', '-c', name)}")
    return _described(state)


def _roll_back(session: Session, library: Library, name: str) -> dict[str, JSON]:
    state = library.roll_back(name)
    _report(session, state)
    if state.pending:
        session.screen.report(f"{name}: {state.pending:,} chunks came since; they are embedded now")
        prepare_or_warn(session)
        with _following(session, name) as on_event:
            library.embed_pending(name, on_event)
        [state] = library.status(name)
    session.screen.say(f"to switch again: {session.command('reindex', '--switch', '-c', name)}")
    return _described(state)


def _drop(session: Session, library: Library, name: str) -> dict[str, JSON]:
    [before] = library.status(name)
    freed = library.drop_beside(name)
    [state] = library.status(name)
    dropped = before.beside.model if before.beside else ""
    session.screen.report(f"{name}: {dropped} is dropped, {megabytes(freed)} are free again")
    if before.beside and before.beside.state == "previous":
        session.screen.say("files are cut for the model that answers from now on: the next sync reads them again")
    return {"freed_bytes": freed, **_described(state)}


def _report(session: Session, state: CollectionStatus) -> None:
    session.screen.report(f"{state.name}: answered by {state.model} from now on")
    session.screen.report(f"  beside   {beside_line(state)}")


def _described(state: CollectionStatus) -> dict[str, JSON]:
    return {"model": state.model, "pending": state.pending, "beside": state.beside}


@contextmanager
def _following(session: Session, name: str) -> Iterator[OnEvent]:
    """Give a function that shows how far the vectors and the index of another model are."""
    start = time.monotonic()
    first: int | None = None
    with progress(session.screen) as show:

        def on_event(event: Event) -> None:
            nonlocal first
            if event.stage == "embed":
                first = event.done if first is None else first
                words = f"{name}: {event.done:,} of {event.total:,} chunks embedded"
                if left := _time_left(time.monotonic() - start, event.done - first, event.total - event.done):
                    words += f", {left} left"
            elif event.stage == "index":
                words = f"{name}: building the index"
            else:
                words = f"{name}: {event.done:,} of {event.total:,} {event.detail or 'done'}"
            show(words, event.done, event.total)

        yield on_event


def _time_left(passed_s: float, done: int, missing: int) -> str:
    return duration(passed_s * missing / done) if passed_s > 2 and done > 0 else ""
