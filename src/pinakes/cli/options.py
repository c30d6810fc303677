"""The options that every command takes, before or after its name, and the decorator that adds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any, Literal, TypeAlias

import typer

from pinakes.cli.screen import set_up_logging
from pinakes.cli.session import Common, Session
from pinakes.core.caller import Caller, calling

PANEL = "Options of every command"

Home: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--home",
        metavar="FOLDER",
        help="Folder of the catalogue and the indexes (PINAKES_HOME; else ~/.pinakes).",
        rich_help_panel=PANEL,
    ),
]
Profile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Settings for a job: a shipped profile, or a path to a TOML or YAML file.",
        rich_help_panel=PANEL,
    ),
]
Assignments: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change one setting, as `search.top_k=5`; see `pinakes config`. May be repeated.",
        rich_help_panel=PANEL,
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, errors too.", rich_help_panel=PANEL)
]
Verbose: TypeAlias = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        metavar="",
        show_default=False,
        help="Say more: -v what is done, -vv everything, with the traceback of unexpected errors.",
        rich_help_panel=PANEL,
    ),
]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Nothing but results and errors; no reports.", rich_help_panel=PANEL),
]

Collection: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--collection", "-c", metavar="NAME", help="The collection; when not given, the setting `collection`."
    ),
]
Searched: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="The collection; when not given, the setting `collection` if set, else all.",
    ),
]
One: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="The collection; when not given, the setting `collection` if set, else the only one.",
    ),
]
AsOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="TIME", help="As things were on this day (2026-01-31), or at this time, tag or commit."
    ),
]
Blame: TypeAlias = Annotated[
    bool, typer.Option("--blame", help="Say who wrote the lines, when and in which commit, where that is known.")
]
Several: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="The collection; '*' for all, may be repeated. When not given, the setting `collection` if set, else all.",
    ),
]
OneOrAll: TypeAlias = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Only this collection; all when not given.")
]
CheckContent: TypeAlias = Annotated[
    bool,
    typer.Option("--check-content", help="Also analyse every chunk again and look for it by its words in the index."),
]
CheckEmbeddings: TypeAlias = Annotated[
    bool, typer.Option("--check-embeddings", help="Also embed a sample of chunks again and compare the vectors.")
]
Include: TypeAlias = Annotated[
    list[str] | None, typer.Option("--include", metavar="GLOB", help="Read only such paths. May be repeated.")
]
Kind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="What it is where that cannot be told: folder, git, http, slack, confluence, notion. "
        "A URL is git, unless it ends like a page (.html, .xml, .pdf), has a query or is a host alone.",
    ),
]
Exclude: TypeAlias = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Leave such paths out. May be repeated.")
]
Toolsets: TypeAlias = Annotated[
    str | None,
    typer.Option("--toolsets", metavar="NAME,…", help="Groups of tools that agents see, as `retrieve,manage`."),
]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Agree to what embedding by a provider costs, without being asked.")
]
YesToAll: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        help="Do not ask: agree to what embedding by a provider costs, and to what other patterns remove.",
    ),
]
AsSource: TypeAlias = Annotated[
    bool,
    typer.Option("--as-source", help="Make it a source of its own, also where another source has its files."),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be read, and about how long it takes and costs.")
]
ReadOnly: TypeAlias = Annotated[bool, typer.Option("--read-only", help="Offer only what changes nothing.")]
Phrases: TypeAlias = Annotated[
    Literal["auto", "required", "preferred"] | None,
    typer.Option("--phrases", help='Chunks must have a "phrase", or come first with it.'),
]
Paths: TypeAlias = Annotated[
    list[str] | None, typer.Option("--path", metavar="GLOB", help="Only such paths. May be repeated.")
]
Filters: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", "-f", metavar="NAME=VALUE", help="Only where the metadata fits: name=a,b, name!=a or name>=1."
    ),
]
Fusion: TypeAlias = Annotated[
    Literal["weighted", "rrf"] | None, typer.Option("--fusion", help="How words and meaning become one ranking.")
]
Neighbours: TypeAlias = Annotated[
    int, typer.Option("--neighbours", metavar="N", show_default=False, help="Also N chunks before and after (≤ 3).")
]
Expand: TypeAlias = Annotated[
    int | None,
    typer.Option("--expand", metavar="N", min=0, max=2, help="Also hits that are up to N relations away (graph)."),
]
Followed: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--relation-type",
        "--relation",
        metavar="TYPE",
        help="--expand: only by relations of this type. May be repeated.",
    ),
]
Reranker: TypeAlias = Annotated[bool, typer.Option("--rerank", help="Only the reranker, even if it is not in use.")]


@dataclass(slots=True)
class Invocation:
    """What is known of the call so far: the common options, gathered from left to right."""

    common: Common


def _everywhere(
    home: Home = None,
    profile: Profile = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Carry the signature of the common options."""


_COMMON = list(inspect.signature(_everywhere, eval_str=True).parameters.values())


def with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return ``function(session, …)`` as a function typer can read: without session, with the common options.

    A function that has a parameter ``context`` gets the ``typer.Context``.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    own = [p for name, p in parameters.items() if name not in ("session", "context")]

    @wraps(function)
    def called(context: typer.Context, **values: Any) -> None:
        invocation: Invocation = context.find_root().obj
        given = {field.name: values.pop(field.name) for field in fields(Common)}
        given["assignments"] = tuple(given["assignments"] or ())
        invocation.common = Common(**given).over(invocation.common)
        if "context" in parameters:
            values["context"] = context
        set_up_logging(invocation.common.verbose, invocation.common.quiet)
        session = Session(invocation.common)
        session.called = context.command_path.partition(" ")[2]
        session.arguments = {name: value for name, value in values.items() if value and name != "context"}
        with calling(Caller(interface="cli")):
            function(session, **values)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    ordered = sorted([context, *own, *_COMMON], key=lambda p: p.default is not p.empty)
    called.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    del called.__dict__["__wrapped__"]
    return called
