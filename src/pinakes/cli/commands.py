"""The commands as they are typed. Each declares its words and options and hands over to the module that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from pinakes.cli.options import (
    AddOptions,
    AsOf,
    AsSource,
    Blame,
    Collection,
    Command,
    DryRun,
    Exclude,
    Include,
    ModelChangeOptions,
    OneOrAll,
    Searched,
    SearchOptions,
    Yes,
    YesToAll,
    command,
)
from pinakes.cli.session import Session
from pinakes.core.errors import InvalidInput

_Path = Annotated[str, typer.Option("--path", metavar="PATH|URL", help="What to read.")]
_Type = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Accepted; the type is found from the file itself.")
]


def root(
    session: Session,
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Pinakes: search documents, code and git repositories by words and by meaning."""
    if version:
        from pinakes import __version__

        session.screen.document({"version": __version__})
        session.screen.show(f"pinakes {__version__}")
    elif context.invoked_subcommand is None:
        if session.screen.as_json:
            raise InvalidInput("No command was given.", hint="See pinakes --help")
        session.screen.show(context.get_help())


def add(session: Session, wanted: AddOptions, dry_run: DryRun = False) -> None:
    """Read folders, files, git repositories, web pages or exports; what is unchanged is skipped."""
    from pinakes.cli import adding, forecasting

    (forecasting.add if dry_run else adding.add)(session.for_collection(wanted.collection), wanted)


def search(session: Session, question: SearchOptions) -> None:
    """Find chunks that answer a question or contain words."""
    if question.summaries:
        from pinakes.cli import staging

        staging.summaries(session, question)
    else:
        from pinakes.cli import searching

        searching.search(session, question)


def read(
    session: Session,
    reference: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="Id, uri, path or end of a path; lines may follow: guide.md:10-20."),
    ],
    lines: Annotated[
        str | None, typer.Option("--lines", metavar="A-B", help="Only these lines, counted from 1.")
    ] = None,
    section: Annotated[
        str | None, typer.Option("--section", metavar="NAME", help="Only what stands under this heading.")
    ] = None,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="As it was in this version.")] = None,
    as_of: AsOf = None,
    blame: Blame = False,
    collection: Searched = None,
) -> None:
    """Print a document, a section or some lines of it."""
    from pinakes.cli import searching, staging

    if section and (lines or blame):
        raise InvalidInput(f"Give --section or {'--lines' if lines else '--blame'}, not both.")
    if section:
        staging.section(session, reference, section, collection)
    else:
        searching.read(session, reference, lines, collection, version=version, as_of=as_of, blame=blame)


def sync(
    session: Session,
    names: Annotated[
        Sequence[str], typer.Argument(metavar="NAME", help="Sources, as `pinakes sources` has them; none = all.")
    ] = (),
    collection: OneOrAll = None,
    retry: Annotated[
        bool,
        typer.Option(
            "--retry", help="Also files that failed before, or lacked a password or OCR, which wait otherwise."
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Read all known sources again, and those of the settings; or some of them."""
    from pinakes.cli import adding, forecasting

    if dry_run:
        forecasting.sync(session, collection, names)
    else:
        adding.sync(session, collection, yes, names=names, retry=retry)


def watch(
    session: Session,
    locations: Annotated[
        Sequence[str], typer.Argument(metavar="PATH", help="Folders or files; none = those of the settings.")
    ] = (),
    collection: Collection = None,
    include: Include = (),
    exclude: Exclude = (),
    as_source: AsSource = False,
    yes: YesToAll = False,
) -> None:
    """Read folders, then follow them as they change, until stopped. A server does so by itself."""
    from pinakes.cli import watching

    wanted = AddOptions(list(locations), collection, include=include, exclude=exclude, as_source=as_source, yes=yes)
    watching.watch(session, wanted)


def reindex(
    session: Session,
    collection: OneOrAll = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Also embed what has no vector by the model of the collection.")
    ] = False,
    *,
    change: ModelChangeOptions,
    graph: Annotated[bool, typer.Option("--graph", help="Build the knowledge graph anew, and nothing else.")] = False,
    yes: Yes = False,
) -> None:
    """Build the indexes anew from the catalogue, or change the model; nothing is embedded twice."""
    from pinakes.cli import adding, changing, graphing

    if graph:
        graphing.rebuild(session, collection)
    elif change.check(embed):
        changing.change(session, collection, change, yes)
    else:
        adding.reindex(session, collection, embed, yes)


def query(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for.")],
    content_types: Annotated[
        str | None, typer.Option("--content-types", metavar="A,B", help="Only where `content_type` is one of these.")
    ] = None,
    paths: Annotated[
        Sequence[str], typer.Option("--paths", metavar="GLOB", help="Only such paths. May be repeated.")
    ] = (),
    min_similarity: Annotated[
        float, typer.Option("--min-similarity", metavar="X", help="Least similarity: cosine of query and chunk.")
    ] = 0.0,
    collection: Searched = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", metavar="N", help="How many chunks.")] = None,
) -> None:
    """Find chunks, one line each."""
    from pinakes.cli import searching

    filters = [f"content_type={content_types}"] if content_types else []
    question = SearchOptions(text, [collection] if collection else None, top_k, filters=filters, paths=paths)
    searching.query(session, question, min_similarity)


def index(session: Session, path: _Path, _type: _Type = None, collection: Collection = None) -> None:
    """Read one file or folder."""
    from pinakes.cli import adding

    adding.add(session, AddOptions([path], collection))


def index_directory(
    session: Session,
    path: _Path,
    _type: _Type = None,
    recursive: Annotated[bool, typer.Option("--recursive/--no-recursive", help="Read the folders below, too.")] = True,
    collection: Collection = None,
) -> None:
    """Read a folder."""
    from pinakes.cli import adding

    exclude = () if recursive else ("/*/**",)
    adding.add(session, AddOptions([path], collection, exclude=exclude))


_FIND, _KEEP, _SERVE, _MEASURE = "Add and find", "Look after it", "Serve", "Measure it"

_COMMANDS: tuple[tuple[str | None, str, Callable[..., None] | str], ...] = (
    (_FIND, "add", add),
    (_FIND, "search", search),
    (_FIND, "read", read),
    (_FIND, "sync", sync),
    (_FIND, "watch", watch),
    (_FIND, "ask", "asking:ask"),
    (_FIND, "outline", "staging:outline"),
    (_FIND, "explain", "auditing:explain"),
    (_KEEP, "init", "managing:init"),
    (_KEEP, "status", "managing:status"),
    (_KEEP, "plugins", "managing:list_plugins"),
    (_KEEP, "reindex", reindex),
    (_KEEP, "verify", "managing:verify"),
    (_KEEP, "config", "managing:config"),
    (_KEEP, "summarize", "staging:summarize"),
    (_KEEP, "export", "moving:export"),
    (_KEEP, "import", "moving:import_"),
    (_KEEP, "backup", "moving:backup"),
    (_KEEP, "restore", "moving:restore"),
    (_KEEP, "migrate", "moving:migrate"),
    (_KEEP, "metadata", "describing:metadata"),
    (_KEEP, "events", "events:events"),
    (_SERVE, "serve", "serving:serve"),
    (_SERVE, "worker", "serving:worker"),
    (_SERVE, "mcp", "serving:mcp"),
    (_SERVE, "tools", "calling:tools"),
    (_SERVE, "call", "calling:call"),
    (_MEASURE, "evaluate", "evaluating:evaluate"),
    (_MEASURE, "tune", "tuning:tune"),
    (_MEASURE, "compare", "comparing:compare"),
    (None, "query", query),  # from here on spellings of other systems: they work, but are not listed
    (None, "index", index),
    (None, "index-directory", index_directory),
    (None, "verify-index", "managing:verify"),
)
"""Panel, name and function of each command, or where in ``pinakes.cli`` that is: one call needs one of the modules."""

_GROUPS = (
    (_FIND, "document", "editing:document_app"),
    (_KEEP, "collections", "collections:collections_app"),
    (_FIND, "sources", "sources:sources_app"),
    (_FIND, "graph", "graphing:graph_app"),
    (_KEEP, "model", "models:model_app"),
    (_KEEP, "audit", "auditing:audit_app"),
    (_KEEP, "keys", "keys:keys_app"),
    (_KEEP, "secrets", "secrets:secrets_app"),
    (_KEEP, "webhooks", "events:webhooks_app"),
)

NAMES = tuple(name for _, name, _ in (*_COMMANDS, *_GROUPS))


def program(names: Sequence[str] = NAMES) -> typer.Typer:
    """Return the program with the commands and groups ``names``, and load the modules of those."""
    app = typer.Typer(
        name="pinakes",
        help="Pinakes: search documents, code and git repositories by words and by meaning.",
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(Command(root))
    for panel, name, function in _COMMANDS:
        if name in names:
            command(app, name, panel=panel, hidden=panel is None)(_loaded(function))
    for panel, name, group in _GROUPS:
        if name in names:
            app.add_typer(_loaded(group), name=name, rich_help_panel=panel)
    return app


def _loaded(place: Any) -> Any:
    """Return what is at ``place``, as ``module:name``; anything else is what it is."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    return getattr(import_module(f"pinakes.cli.{module}"), name)
