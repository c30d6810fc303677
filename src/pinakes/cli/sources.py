"""``sources``: how each source stands, taking one out, and taking in KnowledgeSource documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pinakes.cli.collections import ask
from pinakes.cli.options import OneOrAll, command, usual_command
from pinakes.cli.screen import aligned, labelled
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import InvalidInput, NotFound, PinakesError, storing
from pinakes.core.wording import counted
from pinakes.platform.permissions import make_private
from pinakes.services.run_progress import duration

if TYPE_CHECKING:
    from pinakes.services.sync.syncing import SourceStatus
    from pinakes.settings.knowledge_sources import Declared, KnowledgeSourceFiles, RefusedSource

sources_app = typer.Typer(help="List sources and how they stand; take them out, or in.")

_Source: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Its name or location, as `pinakes sources`.")]
_HEADS = ("source", "collection", "kind", "documents", "last sync", "next run", "state")
_GONE = "no longer configured"
_NUMBERS = 3
_MOST_SHOWN = 20


@usual_command(sources_app)
@command(sources_app, "list")
def list_sources(session: Session, collection: OneOrAll = None) -> None:
    """List the sources: when they were read, what came of it, when they are read next."""
    screen = session.screen
    refused = _refused(session)
    with session.library(create=_named(session, refused)) as library:
        found = library.syncing.list_all(collection)
    screen.document({"sources": [asdict(one) for one in found], "refused": [asdict(one) for one in refused]})
    heads, *lines = aligned([_HEADS, *map(_cells, found)], right=(_NUMBERS,))
    if found:
        screen.show(heads)
    for one, line in zip(found, lines, strict=True):
        screen.lines((line, *(f"  {word}" for word in _problems(session, one))))
    if not found:
        screen.say(f"There are no sources yet. Add one: {session.command('add', 'PATH')}")


def _named(session: Session, refused: Sequence[RefusedSource]) -> bool:
    """Return whether settings name sources, or what they name is refused: then there is something to show."""
    settings = session.settings
    return bool(refused or settings.sources or any(one.sources for one in settings.collections.values()))


@command(sources_app, "show")
def show(session: Session, name: _Source) -> None:
    """Show all of one source: its last run, what was left out and why, what failed and when it is tried again."""
    with session.library() as library:
        one = library.syncing.find(name)
    session.screen.document(asdict(one))
    screen = session.screen
    lines = {
        "source": one.name,
        "collection": one.collection,
        "kind": one.kind,
        "location": one.location,
        "part": one.part,
        "include": " ".join(one.include),
        "exclude": " ".join(one.exclude),
        "state": one.state,
        "named by": {"settings": "the settings", "added": "pinakes add"}[one.by] if one.state != _GONE else "",
        "schedule": one.schedule,
        "read at": " ".join(filter(None, (one.ref, one.commit))),
        "last sync": _when(one.last_sync),
        "last try": _when(one.last_try) if one.state == "failed" else "",
        "next run": _next(one),
        "documents": f"{one.documents:,}",
        "files": ", ".join(f"{count:,} {status}" for status, count in one.files.items()),
        "last run": _counts(one),
        "gone files": "their documents stay" if one.on_delete == "keep" else "",
        "followed": one.followed or "",
    }
    for label, text in lines.items():
        if text:
            screen.show(f"{label:<11} {text}")
    screen.lines(f"{'skipped':<11} {count:,} × {reason}" for reason, count in list(one.skipped.items())[:_MOST_SHOWN])
    screen.lines(f"{'trouble':<11} {word}" for word in _problems(session, one))
    for file in one.failing[:_MOST_SHOWN]:
        again = f"; tried {file.tries}×, again {_when(file.retry_at)}" if file.retry_at else ""
        screen.lines([f"{'failed':<11} {file.path}: {file.reason}{again}"])
    if len(one.failing) > _MOST_SHOWN:
        screen.show(f"{'failed':<11} and {len(one.failing) - _MOST_SHOWN:,} more: --json")


@command(sources_app, "remove")
def remove(
    session: Session, name: _Source, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Take a source out, with the documents read from it; one that was imported is forgotten. Its files stay."""
    from pinakes.services.collections.management import Removed

    with session.library(create=_named(session, _refused(session))) as library:
        one = library.syncing.find(name)
    if not yes:
        ask(session, f"Take out {labelled(one.location, one.part)} with its {counted(one.documents, 'document')}?")
    with _undeclared(session, one) as without, without.library(create=True) as library:
        try:
            removed = library.collecting.remove_source(one.collection, one.location, one.part)
        except NotFound as error:  # it was never read
            if without is session:
                raise InvalidInput(
                    f"The settings name the source {one.name!r} of collection {one.collection!r}.",
                    hint="Take it out of the settings: nothing was read from it.",
                ) from error
            removed = Removed(one.collection, one.location, 0, 0)
    session.screen.document(asdict(removed))
    session.screen.show(f"{removed.collection}: {counted(removed.documents, 'document')} removed")
    if removed.handed_over:
        left = f"{counted(removed.handed_over, 'document')} of files that another source has: that goes on with them"
        session.screen.show(f"{removed.collection}: {left}")
        session.screen.say(f"to read them as files of that one: {session.command('sync', '-c', removed.collection)}")


@command(sources_app, "import")
def import_documents(
    session: Session,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="YAML files of KnowledgeSource documents.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="The collection that they fill.")
    ] = None,
) -> None:
    """Take in KnowledgeSource documents: each becomes a source, one of the same name is replaced."""
    from pinakes.settings import PlacedSource, knowledge_sources, sources_folder
    from pinakes.sources.git_addresses import check_declared

    screen, settings = session.screen, session.settings
    folder = sources_folder(settings.home, settings.sources_dir)
    found, kept = _read(files), []
    if not (found.declared or found.refused):
        raise InvalidInput(
            f"There is no document in {', '.join(files)}.", hint="Give files of KnowledgeSource documents."
        )
    for one in found.declared:
        try:
            source = PlacedSource.model_validate({**one.source, "open_network_only": True})
            check_declared(source, settings.fetch)
            kept.append((one, _write_declared(session, folder, one, collection)))
        except PinakesError as error:
            found.refused.append(knowledge_sources.RefusedSource(one.origin, str(error)))
    imported = [{"name": one.name, "file": str(path), "source": one.source} for one, path in kept]
    document = {"imported": imported, "refused": [asdict(one) for one in found.refused]}
    for one, path in kept:
        screen.lines([f"{one.name}: {one.source['location']} → {path}"])
        if variable := one.source.get("token_variable"):
            screen.say(f"{one.name} reads its token from the environment variable {variable}")
    for bad in found.refused:
        screen.fail(f"{bad.origin}: {bad.reason}")
    if found.refused:
        failure = InvalidInput(f"{len(found.refused)} documents cannot be used.", hint="The others are taken in.")
        if not kept:
            failure = InvalidInput("None of the documents can be used.", hint="Mend them, and import them again.")
        raise IncompleteError(failure, document)
    screen.document(document)
    screen.say(f"next: {session.command('sync')}")


def _cells(one: SourceStatus) -> tuple[str, ...]:
    last, following = _when(one.last_sync) or "never", _next(one) or "–"
    return one.name, one.collection, one.kind, f"{one.documents:,}", last, following, one.state


def _problems(session: Session, one: SourceStatus) -> list[str]:
    """Return what the user should know about a source, in words."""
    from pinakes.services.sync.syncing import failures

    words = []
    if one.overlaps:
        words.append(f"overlaps {', '.join(one.overlaps)}: a file of both is read by the source that read it first")
    if one.state == _GONE:
        command = session.command("sources", "remove", one.name)
        words.append(f"the settings do not name it any more: its documents stay as they are. To remove them: {command}")
    failed = failures(len(one.failing))
    if one.error and one.error != failed:
        often = f" ({one.failures} times in a row)" if one.failures > 1 else ""
        words.append(f"{one.error}{often}")
    if one.failing:
        first = min((file.retry_at for file in one.failing if file.retry_at), default=None)
        again = f"; tried again {_when(first)}, or now: {session.command('sync', '--retry')}" if first else ""
        words.append(f"{failed}{again}")
    return words


def _next(one: SourceStatus) -> str:
    """Return when a source is read next: by its schedule, while a server runs."""
    if one.next_run is None:
        return "as it changes" if one.followed else ""
    left = (datetime.fromisoformat(one.next_run) - datetime.now(UTC)).total_seconds()
    return f"in {duration(left)}" if left > 0 else "due"


def _when(text: str | None) -> str:
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}" if text else ""


def _counts(one: SourceStatus) -> str:
    run = one.last_run or {}
    names = ("added", "changed", "moved", "removed", "unchanged", "skipped", "failed")
    words = ", ".join(f"{run[name]:,} {name}" for name in names if run.get(name))
    return f"{words or 'nothing'}, {run['seconds']:.1f} s" if "seconds" in run else ""


def _refused(session: Session) -> list[RefusedSource]:
    from pinakes.settings import knowledge_sources, sources_folder

    settings = session.settings
    found = knowledge_sources.read_folder(sources_folder(settings.home, settings.sources_dir))
    declared = {one.name for one in found.declared}
    every = [source for rules in settings.collections.values() for source in rules.sources]
    found.keep_apart({one.name for one in every if not (one.part == one.name and one.name in declared)})
    return found.refused


def _read(files: Sequence[str]) -> KnowledgeSourceFiles:
    from pinakes.settings import knowledge_sources

    found = knowledge_sources.KnowledgeSourceFiles()
    for file in files:
        text = sys.stdin.read() if file == "-" else None
        found.take(knowledge_sources.read(text, "-") if text is not None else knowledge_sources.read_file(Path(file)))
    return found


def _write_declared(session: Session, folder: Path, one: Declared, collection: str | None) -> Path:
    """Write a document into the folder of sources, once the settings are fine with it.

    Raises:
        InvalidSetting: they have another source of that name or place.
        StorageFull: it cannot be written.
    """
    import yaml

    from pinakes.settings import knowledge_sources

    path = folder / one.file_name
    for other in knowledge_sources.read_folder(folder).declared:
        if other.name == one.name and not other.origin.startswith(f"{path},"):
            raise InvalidInput(f"{one.name} stands in {other.origin} already.", hint="Change it there.")
        if other.name != one.name and other.origin.startswith(f"{path},"):
            raise InvalidInput(f"{path} holds {other.name}, which is kept under the same name.", hint="Rename one.")
    document = dict(one.document)
    if collection:
        document["spec"] = {**document["spec"], "collection": collection}
        one.source["collection"] = collection
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    before = path.read_text("utf-8-sig") if path.exists() else None
    with storing(f"The folder {str(folder)!r}"):
        make_private(folder)
        _replace(path, text)
    try:
        for refused in _refused(session.with_settings()):
            if refused.origin.startswith(f"{path},"):
                raise InvalidInput(f"{refused.reason}.")
    except PinakesError:
        if before is None:
            path.unlink()
        else:
            _replace(path, before)
        raise
    return path


@contextmanager
def _undeclared(session: Session, one: SourceStatus) -> Iterator[Session]:
    """Give a session whose settings have no imported document of a source; it is back where the block fails."""
    from pinakes.settings import knowledge_sources, sources_folder

    path = sources_folder(session.settings.home, session.settings.sources_dir) / f"{one.name.replace('/', '.')}.yaml"
    declared = knowledge_sources.read_file(path).declared if path.is_file() else ()
    if [document.name for document in declared] != [one.name]:
        yield session
        return
    aside = path.with_suffix(".removed")
    path.replace(aside)
    try:
        yield session.with_settings()
    except BaseException:
        aside.replace(path)
        raise
    aside.unlink()


def _replace(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    with storing(f"The file {str(path)!r}"):
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
