"""The commands as they are typed. Each declares its words and options and hands over to the module that does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pinakes.cli import graph_answers, graphing, managing, models
from pinakes.cli.asking import ask
from pinakes.cli.auditing import audit_app, explain
from pinakes.cli.calling import call, tools
from pinakes.cli.collections import collections_app
from pinakes.cli.comparing import compare
from pinakes.cli.describing import metadata
from pinakes.cli.editing import document_app
from pinakes.cli.evaluating import evaluate
from pinakes.cli.events import events, webhooks_app
from pinakes.cli.keys import keys_app
from pinakes.cli.moving import backup, export, import_, migrate, restore
from pinakes.cli.options import (
    AddOptions,
    AsOf,
    AsSource,
    Blame,
    Collection,
    DryRun,
    Exclude,
    Include,
    ModelChangeOptions,
    OneOrAll,
    ReadOnly,
    Searched,
    SearchOptions,
    Toolsets,
    Yes,
    YesToAll,
    command,
    with_common_options,
)
from pinakes.cli.secrets import secrets_app
from pinakes.cli.session import Session
from pinakes.cli.sources import sources_app
from pinakes.cli.staging import outline, summarize
from pinakes.cli.tuning import tune
from pinakes.core.errors import InvalidInput

app = typer.Typer(
    name="pinakes",
    help="Pinakes: search documents, code and git repositories by words and by meaning.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
model_app = typer.Typer(help="See or install the local models.")

_FIND, _KEEP, _SERVE, _MEASURE = "Add and find", "Look after it", "Serve", "Measure it"
app.add_typer(document_app, name="document", rich_help_panel=_FIND)
app.add_typer(collections_app, name="collections", rich_help_panel=_KEEP)
app.add_typer(sources_app, name="sources", rich_help_panel=_FIND)
app.add_typer(graph_answers.graph_app, name="graph", rich_help_panel=_FIND)
app.add_typer(model_app, name="model", rich_help_panel=_KEEP)
app.add_typer(audit_app, name="audit", rich_help_panel=_KEEP)
app.add_typer(keys_app, name="keys", rich_help_panel=_KEEP)
app.add_typer(secrets_app, name="secrets", rich_help_panel=_KEEP)
app.add_typer(webhooks_app, name="webhooks", rich_help_panel=_KEEP)


@app.callback(invoke_without_command=True)
@with_common_options
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


@command(app, "add", panel=_FIND)
def add(session: Session, wanted: AddOptions, dry_run: DryRun = False) -> None:
    """Read folders, files, git repositories, web pages or exports; what is unchanged is skipped."""
    from pinakes.cli import adding, forecasting

    (forecasting.add if dry_run else adding.add)(session, wanted)


@command(app, "search", panel=_FIND)
def search(session: Session, question: SearchOptions) -> None:
    """Find chunks that answer a question or contain words."""
    from pinakes.cli import searching, staging

    (staging.summaries if question.summaries else searching.search)(session, question)


@command(app, "read", panel=_FIND)
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


@command(app, "sync", panel=_FIND)
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


@command(app, "watch", panel=_FIND)
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


command(app, "init", panel=_KEEP)(managing.init)
command(app, "status", panel=_KEEP)(managing.status)
command(app, "plugins", panel=_KEEP)(managing.list_plugins)


@command(app, "serve", panel=_SERVE)
def serve(
    session: Session,
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Address to bind.")] = None,
    port: Annotated[int | None, typer.Option("--port", metavar="N", help="Port to bind; 0 = any free one.")] = None,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Read all sources again and build the indexes anew.")
    ] = False,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Allow an address that other machines reach, without authentication.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes that answer, about one for each core.")
    ] = None,
    mock: Annotated[
        bool, typer.Option("--mock", help="Serve samples, for building a client; port 3001 where none is named.")
    ] = False,
    toolsets: Toolsets = None,
    read_only: ReadOnly = False,
) -> None:
    """Serve HTTP: the API, MCP at /mcp and the documentation at /docs."""
    from pinakes.cli import serving

    if mock and port is None:
        port = serving.MOCK_PORT
    chosen = session.with_settings(
        server__host=host, server__port=port, server__no_auth=no_auth or None, server__workers=workers
    )
    serving.serve(serving.offering(chosen, toolsets, read_only=read_only), reindex=reindex, mock=mock)


@command(app, "worker", panel=_SERVE)
def worker(
    session: Session,
    queues: Annotated[
        str, typer.Option("--queues", metavar="NAMES", help="What to take: embed, parse, or both with a comma between.")
    ] = "embed",
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", min=1, help="Chunks that are taken at once; a crash loses as many.")
    ] = 128,
    folders: Annotated[
        bool, typer.Option("--folders", help="Read folders too: their paths mean the same here as at the servers.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Embed and read for the servers of a shared catalogue (catalog.url), until stopped."""
    from pinakes.api import serve_worker
    from pinakes.platform.memory import collect_seldom

    collect_seldom()
    names = [name.strip() for name in queues.split(",") if name.strip()]
    say = session.screen.say
    serve_worker(session.settings, queues=names, batch=batch, folders=folders, agreed=yes, say=say)


@command(app, "mcp", panel=_SERVE)
def mcp(
    session: Session,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Ask this running server instead of opening the home.")
    ] = None,
    toolsets: Toolsets = None,
    read_only: ReadOnly = False,
) -> None:
    """Serve MCP over stdio, for agents that start their own server."""
    from pinakes.cli import serving

    if url and (toolsets is not None or read_only):
        raise InvalidInput("The server at --url decides on its tools.", hint="Leave out --toolsets and --read-only.")
    serving.mcp(serving.offering(session, toolsets, read_only=read_only), url)


@command(app, "reindex", panel=_KEEP)
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
    from pinakes.cli import adding, changing

    if graph:
        graphing.rebuild(session, collection)
    elif change.check(embed):
        changing.change(session, collection, change, yes)
    else:
        adding.reindex(session, collection, embed, yes)


command(app, "verify", panel=_KEEP)(managing.verify)
command(app, "config", panel=_KEEP)(managing.config)
command(model_app, "status")(models.status)
command(model_app, "install")(models.install)
command(app, "ask", panel=_FIND)(ask)
command(app, "outline", panel=_FIND)(outline)
command(app, "explain", panel=_FIND)(explain)
command(app, "summarize", panel=_KEEP)(summarize)
command(app, "export", panel=_KEEP)(export)
command(app, "import", panel=_KEEP)(import_)
command(app, "backup", panel=_KEEP)(backup)
command(app, "restore", panel=_KEEP)(restore)
command(app, "migrate", panel=_KEEP)(migrate)
command(app, "metadata", panel=_KEEP)(metadata)
command(app, "events", panel=_KEEP)(events)
command(app, "tools", panel=_SERVE)(tools)
command(app, "call", panel=_SERVE)(call)
command(app, "evaluate", panel=_MEASURE)(evaluate)
command(app, "tune", panel=_MEASURE)(tune)
command(app, "compare", panel=_MEASURE)(compare)
