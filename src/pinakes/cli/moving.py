"""``export``, ``import``, ``backup`` and ``restore``: collections and homes as files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.progress import counting
from pinakes.cli.session import Session
from pinakes.core.wording import counted, megabytes

if TYPE_CHECKING:
    from pinakes.services.backup.exporting import Exported
    from pinakes.services.backup.importing import Imported

_WORDS = {
    "catalogue": "copying the catalogue",
    "index": "building the index",
    "checking": "checking what was unpacked",
}


def _words(what: str) -> str:
    return _WORDS.get(what, what)


def export(
    session: Session,
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="The collection.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The archive to write, a zip file.")],
    history: Annotated[
        bool, typer.Option("--history", help="Also what documents were before, and those that can be restored.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
) -> None:
    """Write a collection to one file, with its vectors: elsewhere nothing is embedded again."""
    with session.library() as library, counting(session.screen, _words) as on_step:
        name = library.collection(collection).name
        done = library.exchange.export(name, file, history=history, force=force, on_step=on_step)
        session.found((), done.documents)
    screen = session.screen
    screen.document(asdict(done))
    screen.report(f"{done.file}: {_counts(done)}, {megabytes(done.bytes)} in {done.seconds:.1f} s")
    if done.pending:
        have = counted(done.pending, "chunk has", "chunks have")
        screen.say(f"{have} no vector yet; what waits here waits where it is imported, too")


def import_(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `pinakes export` wrote.")],
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Call the collection so.")] = None,
    without_sources: Annotated[
        bool, typer.Option("--without-sources", help="Leave out where it came from: no sync reads it again.")
    ] = False,
    embed_anew: Annotated[
        bool, typer.Option("--embed-anew", help="Leave out its vectors: the model of this home makes new ones.")
    ] = False,
) -> None:
    """Take in a collection from a file; all of it, or nothing."""
    with session.library(create=True) as library, counting(session.screen, _words) as on_step:
        sources = not without_sources
        done = library.exchange.take_in(file, name, sources=sources, embed_anew=embed_anew, on_step=on_step)
        session.found((), done.documents)
    screen = session.screen
    screen.document(asdict(done))
    screen.report(f"{done.collection}: {_counts(done)} in {done.seconds:.1f} s")
    screen.note(*done.notes)
    if done.renamed:
        screen.note(f"{done.renamed:,} documents have new ids, since there are, or were, documents of their ids here")
    if done.pending:
        again = session.command("reindex", "--embed", "-c", done.collection)
        screen.say(f"{counted(done.pending, 'chunk waits for its vector', 'chunks wait for their vectors')}: {again}")
    if done.sources:
        screen.say(f"the next sync reads its sources again: {', '.join(done.sources)}")


def backup(
    session: Session,
    destination: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER", help="The file to write; in a folder it is named after the time.")
    ],
    with_index: Annotated[
        bool, typer.Option("--with-index", help="Also the search indexes, which are built anew else.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
) -> None:
    """Write the home to one file, while it is in use: catalogue, keys, audit log, settings."""
    with session.library() as library, counting(session.screen, _words, in_bytes=True) as on_step:
        done = library.exchange.back_up(destination, with_index=with_index, force=force, on_step=on_step)
    screen = session.screen
    screen.document(asdict(done))
    held = f"{counted(done.collections, 'collection')}, {counted(done.documents, 'document')}"
    screen.report(f"{done.file}: {held}, {megabytes(done.bytes)} in {done.seconds:.1f} s")
    screen.warn(*(f"left out: {one}" for one in done.left_out))


def restore(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `pinakes backup` wrote.")],
) -> None:
    """Make a home of a backup, where there is none yet (--home FOLDER)."""
    from pinakes.services.backup.backups import restore as restore_

    with counting(session.screen, _words, in_bytes=True) as on_step:
        done = restore_(Path(file), session.settings.home, on_step)
    screen = session.screen
    screen.document(asdict(done))
    held = f"{counted(done.collections, 'collection')}, {counted(done.documents, 'document')}, as of {done.of[:19]}Z"
    screen.report(f"{done.home}: {held}, restored in {done.seconds:.1f} s")
    if not done.with_index and done.documents:
        screen.say("the indexes are built at the first search")
    from pinakes.settings.layers import read_file

    kept = session.settings.home / "config.toml"
    if kept.is_file() and read_file(kept).get("catalog", {}).get("url"):
        to = f"pinakes migrate --home {done.home} --to ADDRESS"
        screen.warn(f"its settings name a catalogue elsewhere; what was restored is catalog.db. Put it there: {to}")


def migrate(
    session: Session,
    to: Annotated[str, typer.Option("--to", metavar="ADDRESS|HOME", help="postgresql://USER@HOST/NAME, or a folder.")],
) -> None:
    """Copy the catalogue into PostgreSQL, or from there into a home, and compare every row."""
    from pinakes.services.backup.migrating import migrate as migrate_

    with counting(session.screen, _words) as on_step:
        done = migrate_(session.settings, to, on_step)
    screen = session.screen
    screen.document(asdict(done))
    rows = counted(sum(done.rows.values()), "row")
    screen.report(f"{done.source} → {done.target}: {rows} copied and compared in {done.seconds:.1f} s")
    if "://" in to:
        screen.say(f'use it from now on: catalog.url = "{done.target}" in {session.settings.home}/config.toml')
    else:
        screen.say(f"use it from now on: --home {done.target}, without catalog.url")
    if not done.keeps_indexes:
        screen.say("the indexes are built at the first search")


def _counts(done: Exported | Imported) -> str:
    held = counted(done.documents, "document"), counted(done.chunks, "chunk"), counted(done.vectors, "vector")
    return ", ".join(held)
