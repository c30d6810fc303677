"""``collections``: list them, make, describe, rename, copy and delete them, and take sources out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pinakes.cli.options import command, usual_command
from pinakes.cli.progress import progress
from pinakes.cli.screen import aligned, printable
from pinakes.cli.session import Session, assigned
from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.services.collections.management import CollectionRecord

_Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The collection.")]
_NewName: TypeAlias = Annotated[str, typer.Argument(metavar="NEW", help="A name that no collection has.")]
_Keep: TypeAlias = Annotated[
    Sequence[str],
    typer.Option(
        "--keep", metavar="NAME=VALUE", help="A setting of its own: chunking.size=100, retrieval=vector. Repeatable."
    ),
]
_Forget: TypeAlias = Annotated[
    Sequence[str],
    typer.Option("--forget", metavar="NAME", help="A setting of its own that it gives up. Repeatable."),
]
_Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

collections_app = typer.Typer(help="List, make, change and delete collections.")
_HEADS = ("collection", "documents", "chunks", "tokens", "")


@usual_command(collections_app)
@command(collections_app, "list")
def list_all(session: Session) -> None:
    """List, make, change and delete collections."""
    with session.library() as library:
        rows = [asdict(held) for held in library.collecting.list_all()]
    session.screen.document({"collections": rows})
    figures = ("documents", "chunks", "tokens")
    cells = [(row["name"], *(f"{row[name]:,}" for name in figures), row["description"]) for row in rows]
    session.screen.lines(
        line.replace("\n", " ") for line in (aligned([_HEADS, *cells], right=(1, 2, 3)) if rows else ())
    )
    if not rows:
        session.screen.say(f"There are no collections yet. Add documents: {session.command('add', 'PATH')}")


@command(collections_app, "create")
def create(
    session: Session,
    name: _NewName,
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="What is in it.")] = "",
    keep: _Keep = (),
) -> None:
    """Make an empty collection, with settings of its own where it needs other ones."""
    with session.library(create=True) as library:
        record = library.collecting.create(name, description, **_settings(keep))
    _show_collection(session, record, f"{record.name}: made")


@command(collections_app, "describe")
def describe(
    session: Session, name: _Name, description: Annotated[str, typer.Argument(metavar="TEXT", help="What is in it.")]
) -> None:
    """Say what is in a collection, for people and agents."""
    with session.library() as library:
        record = library.collecting.describe(name, description)
    _show_collection(session, record, f"{record.name}: {record.description}")


@command(collections_app, "configure")
def configure(session: Session, name: _Name, keep: _Keep = (), forget: _Forget = ()) -> None:
    """Change the settings of its own that a collection keeps, or show them."""
    wanted: dict[str, JSON] = {**_settings(keep), **dict.fromkeys(forget)}
    with session.library() as library:
        had_graph = bool(library.graph.types(name)) if "graph" in wanted else False
        record = library.collecting.configure(name, **wanted)
        has_graph = bool(library.graph.types(name)) if "graph" in wanted else False
    shown = dict(record.kept or {})
    if isinstance(graph := shown.get("graph"), dict):
        shown["graph"] = f"{counted(len(graph['types']), 'type')} of a profile"
    _show_collection(session, record, f"{record.name}: {json.dumps(shown, ensure_ascii=False)}")
    if had_graph and not has_graph:
        session.screen.say("its graph was removed; what was decided on names (graph merge, split) is kept")
    elif "graph" in wanted and has_graph and wanted["graph"] is None:
        session.screen.warn("it has a graph still: the profile or the settings of the home name types")
    if "chunking" in wanted:
        session.screen.say(f"files are cut anew by: {session.command('sync', '-c', record.name)}")
        session.screen.say(f"what was put one by one, by: {session.command('reindex', '-c', record.name)}")


@command(collections_app, "rename")
def rename(session: Session, name: _Name, new: _NewName) -> None:
    """Give a collection another name."""
    with session.library() as library:
        record = library.collecting.rename(name, new)
    _show_collection(session, record, f"{name}: called {record.name} now")


@command(collections_app, "copy")
def copy(session: Session, name: _Name, new: _NewName) -> None:
    """Make a collection that holds the same; nothing is embedded again."""
    with session.library() as library:
        record = library.collecting.copy(name, new)
    _show_collection(session, record, f"{name}: copied to {record.name}")


@command(collections_app, "move")
def move(
    session: Session,
    name: _Name,
    engine: Annotated[str, typer.Option("--engine", metavar="ENGINE", help="Where to: as `index.engine`.")],
) -> None:
    """Move the index of a collection to another engine while it answers; nothing is embedded again."""
    with session.library() as library, progress(session.screen) as show:
        for event in library.collecting.move(name, engine):
            show(f"{name}: building the index", event.done, event.total)
        record = library.collection(name)
    _show_collection(session, record, f"{record.name}: its index is in {engine} now")


@command(collections_app, "delete")
def delete(session: Session, name: _Name, yes: _Yes = False) -> None:
    """Delete a collection with all it holds, for good. Files and repositories stay as they are."""
    with session.library() as library:
        name = library.collection(name).name
        [held] = [one for one in library.collecting.list_all() if one.name == name]
        if not yes:
            ask(session, f"Delete collection {name!r} with its {counted(held.documents, 'document')}, for good?")
        removed = library.collecting.delete(name)
        configured = name in library.settings.collections
    session.screen.document(asdict(removed))
    session.screen.show(f"{name}: deleted, {counted(removed.documents, 'document')}")
    if configured:
        session.screen.warn(f"the settings name {name!r}: the next sync or server makes it anew")


@command(collections_app, "remove-source")
def remove_source(
    session: Session,
    name: _Name,
    location: Annotated[
        str, typer.Argument(metavar="LOCATION", help="Folder or repository, as `pinakes status` shows it.")
    ],
) -> None:
    """Take a source out of a collection, with the documents read from it. Its files stay as they are."""
    with session.library() as library:
        removed = library.collecting.remove_source(name, location)
        days = library.settings.history.days
    session.screen.document(asdict(removed))
    session.screen.show(f"{removed.collection}: {counted(removed.documents, 'document')} removed")
    if removed.documents and days:
        session.screen.say(f"each of them can be restored for {days:g} days; to have all again, add the source again")


@command(collections_app, "stats")
def stats(session: Session, name: _Name) -> None:
    """Show what a collection holds in figures: by tag, by origin, from when to when."""
    with session.library() as library:
        found = asdict(library.collecting.stats(name))
    session.screen.document(found)
    for figure, value in found.items():
        if not isinstance(value, dict):
            shown = f"{value:,}" if isinstance(value, int) else str(value)
            session.screen.show(f"{figure:<20} {shown}".rstrip())
        session.screen.lines(
            f"{figure.partition('_')[0]:<20} {count:>8,}  {part}".replace("\n", " ")
            for part, count in (value.items() if isinstance(value, dict) else ())
        )


def _show_collection(session: Session, record: CollectionRecord, line: str) -> None:
    document = {"name": record.name, "description": record.description, "settings": dict(record.kept or {})}
    session.screen.document(document)
    session.screen.show(line)


def ask(session: Session, question: str) -> None:
    """Have the user agree.

    Raises:
        InvalidInput: there is nobody to ask, or the answer is no.
    """
    if session.screen.as_json or not sys.stdin.isatty():
        raise InvalidInput(question, hint="Say --yes to do it.")
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidInput("Nothing was deleted.", hint="Say --yes, or answer y, to do it.")


def _settings(words: Sequence[str]) -> dict[str, JSON]:
    """Return the settings that NAME=VALUE words spell; tables and lists are JSON.

    Raises:
        InvalidInput: not of that form.
    """
    found: dict[str, JSON] = {}
    for name, text in assigned("--keep", words, "chunking.size=100"):
        section, dot, rest = name.partition(".")
        value = _value(text)
        if not dot:
            found[section] = value
        elif isinstance(table := found.setdefault(section, {}), dict):
            table[rest] = value
    return found


def _value(text: str) -> JSON:
    try:
        return json.loads(text) if text.lstrip().startswith(("[", "{")) else text
    except ValueError as error:
        raise InvalidInput(f"{text!r} is no JSON: {error}.", hint="Quote it for the shell.") from error
