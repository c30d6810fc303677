"""The commands as they are typed. Each declares its words and options and hands over to the module that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from pinakes.cli import collections, graph_answers, graphing
from pinakes.cli.asking import ask
from pinakes.cli.auditing import audit_app, explain
from pinakes.cli.calling import call, tools
from pinakes.cli.comparing import compare
from pinakes.cli.describing import metadata
from pinakes.cli.editing import document_app
from pinakes.cli.evaluating import evaluate
from pinakes.cli.events import events, webhooks_app
from pinakes.cli.keys import keys_app
from pinakes.cli.moving import backup, export, import_, migrate, restore
from pinakes.cli.options import (
    AsOf,
    AsSource,
    Blame,
    CheckContent,
    CheckEmbeddings,
    Collection,
    DryRun,
    Exclude,
    Expand,
    Filters,
    Followed,
    Fusion,
    Include,
    Kind,
    Neighbours,
    OneOrAll,
    Paths,
    Phrases,
    ReadOnly,
    Reranker,
    Searched,
    Several,
    Toolsets,
    Yes,
    YesToAll,
    with_common_options,
)
from pinakes.cli.secrets import secrets_app
from pinakes.cli.session import Session
from pinakes.cli.sources import sources_app
from pinakes.cli.staging import outline, summarize
from pinakes.cli.tuning import tune
from pinakes.core.errors import InvalidInput

_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="pinakes",
    help="Pinakes: search documents, code and git repositories by words and by meaning.",
    context_settings=_HELP,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
model_app = typer.Typer(help="See or install the local models.", context_settings=_HELP)
collections_app = typer.Typer(help="List, make, change and delete collections.", context_settings=_HELP)

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


def command(
    name: str, *, panel: str | None = None, hidden: bool = False, of: typer.Typer = app
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make ``function(session, …)`` the command ``name``."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        of.command(name, rich_help_panel=panel, hidden=hidden)(with_common_options(function))
        return function

    return declare


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


@command("add", panel=_FIND)
def add(
    session: Session,
    locations: Annotated[
        list[str], typer.Argument(metavar="PATH|URL", help="Folders, files, repositories, pages; one or several.")
    ],
    collection: Collection = None,
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="NAME", help="Branch, tag or commit of a git repository.")
    ] = None,
    kind: Kind = None,
    include: Include = None,
    exclude: Exclude = None,
    as_source: AsSource = False,
    yes: YesToAll = False,
    dry_run: DryRun = False,
) -> None:
    """Read folders, files, git repositories, web pages or exports; what is unchanged is skipped."""
    from pinakes.cli import adding, forecasting

    wanted = adding.AddOptions(locations, collection, ref, include or (), exclude or (), kind, yes, as_source)
    (forecasting.add if dry_run else adding.add)(session.for_collection(collection), wanted)


@command("search", panel=_FIND)
def search(
    session: Session,
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help='In plain words; "a phrase", -word and field:value have a meaning.'),
    ],
    collection: Several = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", metavar="N", help="So many; else search.shown.")] = None,
    mode: Annotated[
        Literal["hybrid", "vector", "keyword", "auto"] | None,
        typer.Option("--mode", help="By words and meaning (hybrid), meaning (vector), words (keyword), or auto."),
    ] = None,
    filters: Filters = None,
    paths: Paths = None,
    fusion: Fusion = None,
    min_score: Annotated[
        float,
        typer.Option("--min-score", metavar="X", show_default=False, help="Only chunks with at least this score."),
    ] = 0.0,
    neighbours: Neighbours = 0,
    as_of: AsOf = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="First read files of hits again that changed, if that is soon done.")
    ] = False,
    blame: Blame = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why each hit is here, with its scores, and what each step did.")
    ] = False,
    summaries: Annotated[
        bool, typer.Option("--summaries", help="Show documents with a summary each, instead of chunks.")
    ] = False,
    phrases: Phrases = None,
    expand: Expand = None,
    relations: Followed = None,
) -> None:
    """Find chunks that answer a question or contain words."""
    from pinakes.cli import searching, staging

    question = searching.SearchOptions(
        query,
        collection,
        top_k,
        mode,
        fusion,
        filters or (),
        paths or (),
        min_score,
        neighbours,
        as_of,
        refresh,
        blame,
        phrases or "auto",
        expand=expand,
        relations=relations or (),
    )
    if summaries:
        staging.summaries(session, question)
    else:
        searching.search(session, question, explain=explain)


@command("read", panel=_FIND)
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


@command("sync", panel=_FIND)
def sync(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Sources, as `pinakes sources` has them; none = all.")
    ] = None,
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
        forecasting.sync(session, collection, names or ())
        return
    adding.sync(session, collection, yes, names=names or (), retry=retry)


@command("watch", panel=_FIND)
def watch(
    session: Session,
    locations: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Folders or files; none = those of the settings.")
    ] = None,
    collection: Collection = None,
    include: Include = None,
    exclude: Exclude = None,
    as_source: AsSource = False,
    yes: YesToAll = False,
) -> None:
    """Read folders, then follow them as they change, until stopped. A server does so by itself."""
    from pinakes.cli import adding, watching

    wanted = adding.AddOptions(locations or [], collection, None, include or (), exclude or (), None, yes, as_source)
    watching.watch(session, wanted)


@command("init", panel=_KEEP)
def init(
    session: Session,
    no_model: Annotated[bool, typer.Option("--no-model", help="Do not fetch the embedding model now.")] = False,
) -> None:
    """Make a home: settings file, catalogue and model. Safe to repeat; nothing is overwritten."""
    from pinakes.cli import managing

    managing.init(session, model=not no_model)


@command("status", panel=_KEEP)
def status(
    session: Session,
    collection: OneOrAll = None,
    problems: Annotated[bool, typer.Option("--problems", help="Name every file that was left out, and why.")] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Look through the sources and name what is not as it was indexed.")
    ] = False,
    check_model: Annotated[bool, typer.Option("--check-model", help="Read the model's files and check them.")] = False,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Show the servers and workers that share the catalogue, and their lag.")
    ] = False,
    form: Annotated[
        Literal["text", "json"], typer.Option("--format", hidden=True, help="json is the same as --json.")
    ] = "text",
) -> None:
    """Show collections, sources, what waits or was left out, and the model."""
    from pinakes.cli import managing

    session.screen.as_json |= form == "json"
    if cluster:
        from pinakes.cli import working

        working.show_cluster(session)
        return
    managing.status(session, collection, problems=problems, check_model=check_model, stale=stale)


@command("plugins", panel=_KEEP)
def plugins(session: Session) -> None:
    """List embedders, rerankers, readers and engines of search, ours and those of other packages; each is loaded."""
    from pinakes.cli import managing

    managing.list_plugins(session)


@command("serve", panel=_SERVE)
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


@command("worker", panel=_SERVE)
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
    from pinakes.cli import working

    working.work(session, queues, batch, folders=folders, yes=yes)


@command("mcp", panel=_SERVE)
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


@command("reindex", panel=_KEEP)
def reindex(
    session: Session,
    collection: OneOrAll = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Also embed what has no vector by the model of the collection.")
    ] = False,
    beside: Annotated[
        bool, typer.Option("--beside", help="Build vectors and index of another model beside those that answer.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME|FOLDER", help="With --beside: which model; else that of the settings."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --beside: also where chunks are longer than the model reads.")
    ] = False,
    switch: Annotated[bool, typer.Option("--switch", help="Let what was built beside answer from now on.")] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="Let what answered before the switch answer.")] = False,
    drop_beside: Annotated[
        bool, typer.Option("--drop-beside", help="Drop what does not answer, built or kept beside what does.")
    ] = False,
    graph: Annotated[bool, typer.Option("--graph", help="Build the knowledge graph anew, and nothing else.")] = False,
    yes: Yes = False,
) -> None:
    """Build the indexes anew from the catalogue, or change the model; nothing is embedded twice."""
    from pinakes.cli import adding, changing

    if graph:
        graphing.rebuild(session, collection)
        return

    change = changing.ModelChangeOptions(beside, switch, rollback, drop_beside, model, anyway, yes)
    if change.check(embed):
        changing.change(session, collection, change)
    else:
        adding.reindex(session, collection, embed, yes)


@command("verify", panel=_KEEP)
def verify(
    session: Session,
    collection: OneOrAll = None,
    check_content: CheckContent = False,
    check_embeddings: CheckEmbeddings = False,
) -> None:
    """Read the catalogue and all files of the indexes; tell damage, and where the two differ."""
    from pinakes.cli import managing

    managing.verify(session, collection, content=check_content, embeddings=check_embeddings)


@command("config", panel=_KEEP)
def config(
    session: Session,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One setting, or a group of them.")] = None,
) -> None:
    """Show the settings: value, where it comes from, default and meaning."""
    from pinakes.cli import managing

    managing.config(session, name)


@command("status", of=model_app)
def model_status(session: Session, rerank: Reranker = False) -> None:
    """Show what there is of the models that the settings need, and check their files."""
    from pinakes.cli import models

    models.status(session, rerank=rerank)


@command("install", of=model_app)
def model_install(session: Session, rerank: Reranker = False) -> None:
    """Fetch and convert the models that the settings need; damaged files are fetched again."""
    from pinakes.cli import models

    models.install(session, rerank=rerank)


@collections_app.callback(invoke_without_command=True)
@with_common_options
def every_collection(session: Session, context: typer.Context) -> None:
    """List, make, change and delete collections."""
    if context.invoked_subcommand is None:
        collections.list_all(session)


for _name, _function in collections.COMMANDS.items():
    command(_name, of=collections_app)(_function)
command("ask", panel=_FIND)(ask)
command("outline", panel=_FIND)(outline)
command("explain", panel=_FIND)(explain)
command("summarize", panel=_KEEP)(summarize)
command("export", panel=_KEEP)(export)
command("import", panel=_KEEP)(import_)
command("backup", panel=_KEEP)(backup)
command("restore", panel=_KEEP)(restore)
command("migrate", panel=_KEEP)(migrate)
command("metadata", panel=_KEEP)(metadata)
command("events", panel=_KEEP)(events)
command("tools", panel=_SERVE)(tools)
command("call", panel=_SERVE)(call)
command("evaluate", panel=_MEASURE)(evaluate)
command("tune", panel=_MEASURE)(tune)
command("compare", panel=_MEASURE)(compare)
