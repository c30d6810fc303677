"""Options that several commands share, and the decorators that make functions commands.

A command is a function ``(session, …)`` whose parameters are declared for typer. A parameter that is a dataclass stands
for its fields; a default of ``()`` means an option that may be repeated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_type_hints

import typer

from pinakes.cli.screen import set_up_logging
from pinakes.cli.session import Common, Session
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidInput
from pinakes.core.records import SearchMode

_Group = TypeVar("_Group")


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
        "--as-of",
        metavar="TIME",
        help="As things were on this day (2026-01-31), at a time, tag or commit, or 2d ago.",
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
    Sequence[str], typer.Option("--include", metavar="GLOB", help="Read only such paths. May be repeated.")
]
Exclude: TypeAlias = Annotated[
    Sequence[str], typer.Option("--exclude", metavar="GLOB", help="Leave such paths out. May be repeated.")
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
Paths: TypeAlias = Annotated[
    Sequence[str], typer.Option("--path", metavar="GLOB", help="Only such paths. May be repeated.")
]
Reranker: TypeAlias = Annotated[bool, typer.Option("--rerank", help="Only the reranker, even if it is not in use.")]


Golden: TypeAlias = Annotated[
    Path | None,
    typer.Argument(metavar="GOLDEN", help="Questions with known answers: a file of JSON lines, or a BEIR folder."),
]
QuestionsBy: TypeAlias = Annotated[
    str | None, typer.Option("--by", metavar="FIELD", help="Questions name documents by this metadata field.")
]
Queries: TypeAlias = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="TREC: questions as id, tab, text, or JSON lines.")
]
Qrels: TypeAlias = Annotated[
    Path | None, typer.Option("--qrels", metavar="FILE", help="TREC or BEIR: the judgements of the questions.")
]
HtmlReport: TypeAlias = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the report as one HTML page with plots.")
]


@dataclass(frozen=True, slots=True)
class AddOptions:
    """What to add: locations with the rules they share."""

    locations: Annotated[
        list[str], typer.Argument(metavar="PATH|URL", help="Folders, files, repositories, pages; one or several.")
    ]
    collection: Collection = None
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="NAME", help="Branch, tag or commit of a git repository.")
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="What it is where that cannot be told: folder, git, http, slack, confluence, notion. "
            "A URL is git, unless it ends like a page (.html, .xml, .pdf), has a query or is a host alone.",
        ),
    ] = None
    include: Include = ()
    exclude: Exclude = ()
    as_source: AsSource = False
    yes: YesToAll = False


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What is searched for."""

    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help='In plain words; "a phrase", -word and field:value have a meaning.'),
    ]
    collection: Several = None
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", metavar="N", help="So many; else search.shown.")] = None
    mode: Annotated[
        SearchMode | None,
        typer.Option("--mode", help="By words and meaning (hybrid), meaning (vector), words (keyword), or auto."),
    ] = None
    filters: Annotated[
        Sequence[str],
        typer.Option(
            "--filter", "-f", metavar="NAME=VALUE", help="Only where the metadata fits: name=a,b, name!=a or name>=1."
        ),
    ] = ()
    paths: Paths = ()
    fusion: Annotated[
        Literal["weighted", "rrf"] | None, typer.Option("--fusion", help="How words and meaning become one ranking.")
    ] = None
    min_score: Annotated[
        float,
        typer.Option("--min-score", metavar="X", show_default=False, help="Only chunks with at least this score."),
    ] = 0.0
    neighbours: Annotated[
        int,
        typer.Option("--neighbours", metavar="N", show_default=False, help="Also N chunks before and after (≤ 3)."),
    ] = 0
    as_of: AsOf = None
    refresh: Annotated[
        bool, typer.Option("--refresh", help="First read files of hits again that changed, if that is soon done.")
    ] = False
    blame: Blame = False
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why each hit is here, with its scores, and what each step did.")
    ] = False
    summaries: Annotated[
        bool, typer.Option("--summaries", help="Show documents with a summary each, instead of chunks.")
    ] = False
    phrases: Annotated[
        Literal["auto", "required", "preferred"] | None,
        typer.Option("--phrases", help='Chunks must have a "phrase", or come first with it.'),
    ] = None
    expand: Annotated[
        int | None,
        typer.Option("--expand", metavar="N", min=0, max=2, help="Also hits that are up to N relations away (graph)."),
    ] = None
    relations: Annotated[
        Sequence[str],
        typer.Option(
            "--relation-type",
            "--relation",
            metavar="TYPE",
            help="--expand: only by relations of this type. May be repeated.",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class ModelChangeOptions:
    """Which change of the model is asked for: at most one of the four; how ``beside`` is to be done."""

    beside: Annotated[
        bool, typer.Option("--beside", help="Build vectors and index of another model beside those that answer.")
    ] = False
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME|FOLDER", help="With --beside: which model; else that of the settings."),
    ] = None
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --beside: also where chunks are longer than the model reads.")
    ] = False
    switch: Annotated[bool, typer.Option("--switch", help="Let what was built beside answer from now on.")] = False
    rollback: Annotated[bool, typer.Option("--rollback", help="Let what answered before the switch answer.")] = False
    drop_beside: Annotated[
        bool, typer.Option("--drop-beside", help="Drop what does not answer, built or kept beside what does.")
    ] = False

    def check(self, embed: bool) -> bool:
        """Say whether anything is asked for.

        Raises:
            InvalidInput: options that do not go together.
        """
        named = {
            "--embed": embed,
            "--beside": self.beside,
            "--switch": self.switch,
            "--rollback": self.rollback,
            "--drop-beside": self.drop_beside,
        }
        given = [name for name, value in named.items() if value]
        if len(given) > 1:
            raise InvalidInput(f"{' and '.join(given)} do not go together.", hint="Give one of them at a time.")
        for name, there in (("--model", self.model is not None), ("--anyway", self.anyway)):
            if there and not self.beside:
                raise InvalidInput(
                    f"{name} says how another index is built; it needs --beside.",
                    hint="As in pinakes reindex --beside --model MODEL",
                )
        return bool(given) and not embed


@dataclass(slots=True)
class Invocation:
    """What is known of the call so far: the common options, gathered from left to right."""

    common: Common


def _declared(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    """Return a parameter as typer takes it: lists may be repeated, and have no default."""
    if default == ():
        sequence, *about = get_args(annotation)
        default, annotation = None, Annotated[(list[get_args(sequence)[0]] | None, *about)]  # type: ignore[misc]
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _of_group(group: type[Any]) -> list[inspect.Parameter]:
    """Return the parameters that the fields of a dataclass declare."""
    hints = get_type_hints(group, include_extras=True)
    return [
        _declared(one.name, inspect.Parameter.empty if one.default is MISSING else one.default, hints[one.name])
        for one in fields(group)
    ]


def _group_of(group: type[_Group], values: dict[str, Any]) -> _Group:
    """Return a dataclass made of ``values``, which no longer has them; those that were not given are the defaults."""
    given = {one.name: values.pop(one.name) for one in fields(group)}  # type: ignore[arg-type]
    return group(**{name: value for name, value in given.items() if value is not None})


class Command:
    """A function ``(session, …)`` as typer takes it: without session, with the common options.

    Its signature is made when typer asks for it, since one call needs that of one command only. A parameter ``context``
    gets the ``typer.Context``. ``alone``: the function is called only where no command of its group is named.
    """

    def __init__(self, function: Callable[..., None], *, alone: bool = False) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._function = function
        self._alone = alone

    def __call__(self, context: typer.Context, **values: Any) -> None:
        invocation: Invocation = context.find_root().obj
        invocation.common = _group_of(Common, values).over(invocation.common)
        set_up_logging(invocation.common.verbose, invocation.common.quiet)
        if self._alone and context.invoked_subcommand is not None:
            return
        session = Session(invocation.common)
        session.called = context.command_path.partition(" ")[2]
        session.arguments = {name: value for name, value in values.items() if value}
        for name, one in self._parameters.items():
            group = one.annotation
            if name == "context":
                values[name] = context
            elif isinstance(group, type) and is_dataclass(group):
                values[name] = _group_of(group, values)
            elif one.default == () and values[name] is None:
                values[name] = ()
        with calling(Caller(interface="cli")):
            self._function(session, **values)

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        _, *others = inspect.signature(self._function, eval_str=True).parameters.values()
        return {one.name: one for one in others}

    @cached_property
    def __signature__(self) -> inspect.Signature:
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        declared = [context]
        for name, one in self._parameters.items():
            group = one.annotation
            if isinstance(group, type) and is_dataclass(group):
                declared += _of_group(group)
            elif name != "context":
                declared.append(_declared(name, one.default, one.annotation))
        return inspect.Signature(sorted([*declared, *_of_group(Common)], key=lambda p: p.default is not p.empty))

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: one.annotation for name, one in self.__signature__.parameters.items()}


def command(
    of: typer.Typer, name: str, *, panel: str | None = None, hidden: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make ``function(session, …)`` the command ``name``."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        of.command(name, rich_help_panel=panel, hidden=hidden)(Command(function))
        return function

    return declare


def usual_command(of: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make ``function(session, …)`` what a group of commands does where none of them is named."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        of.callback(invoke_without_command=True)(Command(function, alone=True))
        return function

    return declare
