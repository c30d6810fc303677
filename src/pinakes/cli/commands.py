"""The commands as they are typed. Each declares its words and options and hands over to the module that does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pinakes.cli import graphing, managing, models, serving
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
from pinakes.cli.secrets import secrets_app
from pinakes.cli.session import Session
from pinakes.cli.sources import sources_app
from pinakes.cli.staging import outline, summarize
from pinakes.cli.tuning import tune
from pinakes.core.errors import InvalidInput

_Path = Annotated[str, typer.Option("--path", metavar="PATH|URL", help="What to read.")]
_Type = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Accepted; the type is found from the file itself.")
]

app = typer.Typer(
    name="pinakes",
    help="Pinakes: search documents, code and git repositories by words and by meaning.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
@Command
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
    from pinakes.cli import searching, staging

    (staging.summaries if question.summaries else searching.search)(session, question)


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
    from pinakes.cli import adding, changing

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

for _panel, _name, _function in (
    (_FIND, "add", add),
    (_FIND, "search", search),
    (_FIND, "read", read),
    (_FIND, "sync", sync),
    (_FIND, "watch", watch),
    (_FIND, "ask", ask),
    (_FIND, "outline", outline),
    (_FIND, "explain", explain),
    (_KEEP, "init", managing.init),
    (_KEEP, "status", managing.status),
    (_KEEP, "plugins", managing.list_plugins),
    (_KEEP, "reindex", reindex),
    (_KEEP, "verify", managing.verify),
    (_KEEP, "config", managing.config),
    (_KEEP, "summarize", summarize),
    (_KEEP, "export", export),
    (_KEEP, "import", import_),
    (_KEEP, "backup", backup),
    (_KEEP, "restore", restore),
    (_KEEP, "migrate", migrate),
    (_KEEP, "metadata", metadata),
    (_KEEP, "events", events),
    (_SERVE, "serve", serving.serve),
    (_SERVE, "worker", serving.worker),
    (_SERVE, "mcp", serving.mcp),
    (_SERVE, "tools", tools),
    (_SERVE, "call", call),
    (_MEASURE, "evaluate", evaluate),
    (_MEASURE, "tune", tune),
    (_MEASURE, "compare", compare),
):
    command(app, _name, panel=_panel)(_function)

for _panel, _name, _group in (
    (_FIND, "document", document_app),
    (_KEEP, "collections", collections_app),
    (_FIND, "sources", sources_app),
    (_FIND, "graph", graphing.graph_app),
    (_KEEP, "model", models.model_app),
    (_KEEP, "audit", audit_app),
    (_KEEP, "keys", keys_app),
    (_KEEP, "secrets", secrets_app),
    (_KEEP, "webhooks", webhooks_app),
):
    app.add_typer(_group, name=_name, rich_help_panel=_panel)

for _name, _alias in (
    ("query", query),
    ("index", index),
    ("index-directory", index_directory),
    ("verify-index", managing.verify),
):
    command(app, _name, hidden=True)(_alias)  # spellings of other systems: they work, but are not listed
