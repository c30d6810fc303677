"""What the words ``A`` and ``B`` of ``compare`` stand for, opened."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pinakes.cli.options import HtmlReport, One
from pinakes.cli.session import Session
from pinakes.core.errors import InvalidInput, InvalidSetting, NotFound
from pinakes.core.records import SearchMode

if TYPE_CHECKING:
    from pinakes.evaluation.systems import System
    from pinakes.library import Generation

SETTINGS = (".toml", ".yaml", ".yml")
BESIDE = "@beside"
DEPTH, SHALLOW = 300, 50
"""Chunks ranked per question; where a server is asked, which gives no more."""

_FORMS = "A side is a collection, NAME@beside, a settings file, a home or HOME:COLLECTION, a URL, or a TREC run."
_NOT_IN_FILES = ("home", "profile", "cache")


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is compared, how both sides are asked, and what is done with the report.

    For a server: ``mapping``, what it calls things (``servers.Fields``), and ``headers``.
    """

    a: Annotated[
        str, typer.Argument(metavar="A", help="A collection, NAME@beside, settings file, home, URL or TREC run.")
    ]
    b: Annotated[str, typer.Argument(metavar="B", help="The same: what A is compared with.")]
    questions: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS", help="A golden file, a BEIR folder, or plain text with a question a line."),
    ]
    collection: One = None
    mode: Annotated[
        SearchMode | None,
        typer.Option("--mode", help="How both search; as each does by itself when not given."),
    ] = None
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Ask only the first N questions.")
    ] = None
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth", metavar="N", min=1, help="Chunks ranked per question: 300, or 50 where a server is asked."
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FIELD", help="Documents with the same value of this field are the same."),
    ] = None
    metrics: Annotated[
        Sequence[str],
        typer.Option("--metric", metavar="NAME@K", help="What to measure where there are judgements. Repeatable."),
    ] = ()
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="FILE", help="Keep the answers of B here, and use them when it does not answer."
        ),
    ] = None
    mapping: Annotated[
        Sequence[str],
        typer.Option(
            "--map", metavar="NAME=THEIRS", help="What the server calls a field, as results=hits. Repeatable."
        ),
    ] = ()
    headers: Annotated[
        Sequence[str],
        typer.Option("--header", metavar="NAME: VALUE", help="HTTP header for the server, as its key. Repeatable."),
    ] = ()
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", min=0.001, help="How long to wait for an answer of a server."),
    ] = 30.0
    fail_under: Annotated[
        float | None,
        typer.Option("--fail-under", metavar="SHARE", help="Exit code 1 when the mean overlap@5 is lower, as 0.8."),
    ] = None
    anyway: Annotated[bool, typer.Option("--anyway", help="Compare also what holds different documents.")] = False
    html: HtmlReport = None

    @property
    def shallow(self) -> bool:
        """Whether a side is a server, which gives few chunks."""
        return is_server(self.a) or is_server(self.b)

    @property
    def passages(self) -> int:
        """How many are ranked per question."""
        return self.depth or (SHALLOW if self.shallow else DEPTH)


def is_server(label: str) -> bool:
    """Say whether a word is the address of a server."""
    return "://" in label


def open_side(session: Session, label: str, wanted: CompareOptions, stack: ExitStack) -> System:
    """Return what ``label`` stands for; it is closed with ``stack``.

    Raises:
        NotFound: there is nothing of that name.
        PinakesError: it cannot be used.
    """
    from pinakes.evaluation.servers import Fields, ServerSystem, headers_of
    from pinakes.evaluation.systems import RunSystem

    if is_server(label):
        fields = Fields.from_words(wanted.mapping, wanted.by)
        headers = headers_of(wanted.headers)
        server = ServerSystem(
            label, fields, mode=wanted.mode, top_k=wanted.passages, timeout_s=wanted.timeout, headers=headers
        )
        stack.callback(server.close)
        return server
    place, collection = _split(label)
    path = Path(place).expanduser()
    if place.endswith(SETTINGS):
        return _collection(_with_file(session, path), label, collection, wanted, stack)
    names = _collections(session)
    if label.removesuffix(BESIDE) in names:
        return _collection(session, label, label, wanted, stack)
    if path.is_dir():
        there = Session(replace(session.common, home=str(path)))
        return _collection(there, label, collection, wanted, stack)
    if path.is_file():
        return RunSystem(label, path, wanted.by)
    known = f"Collections here: {', '.join(names)}. " if names else ""
    raise NotFound(f"There is no collection, home, settings file or run {label!r}.", hint=f"{known}{_FORMS}")


def _collection(
    session: Session, label: str, collection: str | None, wanted: CompareOptions, stack: ExitStack
) -> System:
    """Open the library of ``session``, which is this side's own, so that neither profits from what the other asked."""
    from pinakes.evaluation import runs
    from pinakes.evaluation.systems import QueryMode

    library = stack.enter_context(session.library())
    settings = session.settings
    name = library.chosen((collection or "").removesuffix(BESIDE) or wanted.collection)
    beside = (collection or "").endswith(BESIDE)
    record = library.measuring.beside(name) if beside else library.collection(name)
    generation: Generation = "beside" if beside else "serving"
    search, rank = partial(library.search, generation=generation), partial(library.rank, generation=generation)
    top_k = wanted.passages if wanted.shallow else min(settings.search.top_k, settings.search.max_top_k)
    if top_k > settings.search.max_top_k:
        raise InvalidInput(
            f"With a server --depth cannot be {top_k}: search.max_top_k is {settings.search.max_top_k}.",
            hint=f"Give less, or --set search.max_top_k={top_k}.",
        )
    mode = wanted.mode or settings.of_collection(name, record.kept).retrieval
    query_mode = QueryMode(mode, top_k, None if wanted.shallow else wanted.passages, wanted.by)
    configuration = runs.configuration_of(settings, record)
    return library.measuring.system(label, search, rank, record, query_mode, configuration)


def _with_file(session: Session, path: Path) -> Session:
    """Return a session of the same home in which the settings of a file win over all others."""
    from pinakes.settings import Section, Settings, read_profile

    if not path.is_file():
        raise NotFound(f"There is no settings file {str(path)!r}.", hint="Check the path.")
    overrides: dict[str, Any] = {}
    for name, value in read_profile(str(path)).items():
        if name in _NOT_IN_FILES:
            raise InvalidSetting(
                f"{path} sets {name!r}, which cannot be another for one side.",
                hint="Another home is a side by itself: give its folder.",
            )
        field = Settings.model_fields.get(name)
        if isinstance(value, dict) and field is not None and isinstance(field.default, Section):
            overrides |= {f"{name}__{inner}": setting for inner, setting in value.items()}
        else:
            overrides[name] = value
    return Session(session.common, **overrides)


def _split(label: str) -> tuple[str, str | None]:
    """Return place and collection of ``place:collection``."""
    if ":" not in label or Path(label).expanduser().exists():
        return label, None
    place, _, collection = label.rpartition(":")
    return place, collection or None


def _collections(session: Session) -> list[str]:
    if not session.has_home():
        return []
    with session.library() as library:
        return [record.name for record in library.collections()]
