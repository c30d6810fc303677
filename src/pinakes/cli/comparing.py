"""``compare``: how far two collections, models, settings or servers give the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pinakes.cli.compared_systems import SystemOptions, is_server, open_side
from pinakes.cli.golden_options import HtmlReport
from pinakes.cli.options import One
from pinakes.cli.screen import warnings_told_once
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import BelowBaseline, InvalidInput, PinakesError
from pinakes.core.records import JSON, SearchMode

if TYPE_CHECKING:
    from pinakes.evaluation.pairs import ComparisonReport
    from pinakes.evaluation.querying import SystemQuerier
    from pinakes.evaluation.questions import GoldenSet
    from pinakes.evaluation.replies import Replies

_A: TypeAlias = Annotated[
    str, typer.Argument(metavar="A", help="A collection, NAME@beside, settings file, home, URL or TREC run.")
]
_B: TypeAlias = Annotated[str, typer.Argument(metavar="B", help="The same: what A is compared with.")]
_Questions: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="QUESTIONS", help="A golden file, a BEIR folder, or plain text with a question a line."),
]
_Mode: TypeAlias = Annotated[
    SearchMode | None,
    typer.Option("--mode", help="How both search; as each does by itself when not given."),
]
_Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Ask only the first N questions.")
]
_Depth: TypeAlias = Annotated[
    int | None,
    typer.Option("--depth", metavar="N", min=1, help="Chunks ranked per question: 300, or 50 where a server is asked."),
]
_By: TypeAlias = Annotated[
    str | None, typer.Option("--by", metavar="FIELD", help="Documents with the same value of this field are the same.")
]
_Metrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME@K", help="What to measure where there are judgements. Repeatable."),
]
_Cache: TypeAlias = Annotated[
    Path | None,
    typer.Option("--cache", metavar="FILE", help="Keep the answers of B here, and use them when it does not answer."),
]
_Map: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="NAME=THEIRS", help="What the server calls a field, as results=hits. Repeatable."),
]
_Header: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME: VALUE", help="HTTP header for the server, as its key. Repeatable."),
]
_Timeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.001, help="How long to wait for an answer of a server.")
]
_FailUnder: TypeAlias = Annotated[
    float | None,
    typer.Option("--fail-under", metavar="SHARE", help="Exit code 1 when the mean overlap@5 is lower, as 0.8."),
]
_Anyway: TypeAlias = Annotated[bool, typer.Option("--anyway", help="Compare also what holds different documents.")]


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is compared, and what is done with the report."""

    a: str
    b: str
    questions: Path
    limit: int | None
    metrics: Sequence[str]
    cache: Path | None
    fail_under: float | None
    anyway: bool
    html: Path | None


def compare(
    session: Session,
    a: _A,
    b: _B,
    questions: _Questions,
    collection: One = None,
    mode: _Mode = None,
    limit: _Limit = None,
    depth: _Depth = None,
    by: _By = None,
    metrics: _Metrics = None,
    cache: _Cache = None,
    mapping: _Map = None,
    headers: _Header = None,
    timeout: _Timeout = 30.0,
    fail_under: _FailUnder = None,
    anyway: _Anyway = False,
    html: HtmlReport = None,
) -> None:
    """Ask two sides the same questions, and say how far they agree, which is faster, and which is better."""
    for option, given in (("--map", mapping), ("--header", headers)):
        if given and not (is_server(a) or is_server(b)):
            raise InvalidInput(
                f"{option} is for servers, and neither side is one.", hint="A server is given by its URL."
            )
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise InvalidInput(f"--fail-under cannot be {fail_under:g}.", hint="Give a share from 0 to 1: 0.8")
    shallow = is_server(a) or is_server(b)
    wanted = SystemOptions(collection, mode, depth, by, mapping or (), headers or (), timeout, shallow)
    uses = CompareOptions(a, b, questions, limit, metrics or (), cache, fail_under, anyway, html)
    _judge(session, wanted, uses)


def _judge(session: Session, wanted: SystemOptions, uses: CompareOptions) -> None:
    """Compare, write the page, and show all that; what is lacking decides the exit code at the end."""
    from pinakes.cli import comparing_text
    from pinakes.evaluation import compare_page

    report, troubles = _compared(session, wanted, uses)
    if uses.fail_under is not None and report.agreement["overlap_5"].mean < uses.fail_under:
        troubles.append(_below(report, uses.fail_under))
    if uses.html:
        try:
            compare_page.write(uses.html, report)
            session.screen.say(f"page written: {uses.html}")
        except PinakesError as error:
            troubles.append(error)
    screen = session.screen
    if not screen.as_json:
        comparing_text.show(screen, report)
    for trouble in troubles:
        screen.fail(trouble.message, trouble.hint)
    document: dict[str, JSON] = {"comparison": asdict(report)}
    if troubles:
        raise IncompleteError(troubles[0], document)
    screen.document(document)


def _compared(
    session: Session, wanted: SystemOptions, uses: CompareOptions
) -> tuple[ComparisonReport, list[PinakesError]]:
    from pinakes.cli.progress import progress
    from pinakes.evaluation import compare as comparing
    from pinakes.evaluation import metrics
    from pinakes.evaluation.replies import Replies

    names = tuple(metrics.metric(name).name for name in uses.metrics) or comparing.METRICS
    golden = _read(uses)
    with ExitStack() as stack:
        stack.enter_context(warnings_told_once())
        replies = stack.enter_context(Replies(uses.cache)) if uses.cache else None
        show = stack.enter_context(progress(session.screen))
        show("getting ready", 0, len(golden.questions))
        a = _querier(
            session, uses.a, wanted, replies if is_server(uses.a) else None, stack, of_server=not is_server(uses.b)
        )
        b = _querier(session, uses.b, wanted, replies, stack, of_server=is_server(uses.b))
        comparing.check_corpora(a.about, b.about, anyway=uses.anyway)
        total = len(golden.questions)
        report = comparing.compare(
            a,
            b,
            golden,
            metrics=names,
            by_field=wanted.by is not None,
            anyway=uses.anyway,
            on_question=lambda done: show(f"{done} of {total} questions", done, total),
        )
    found = (comparing.unanswered(a, report.a), comparing.unanswered(b, report.b))
    return report, [error for error in found if error is not None]


def _querier(
    session: Session, label: str, wanted: SystemOptions, replies: Replies | None, stack: ExitStack, *, of_server: bool
) -> SystemQuerier:
    """Open a side; one that cannot be opened, and of which answers are kept, answers with those.

    ``of_server``: the map of fields is about this one, and headers, which may hold a key, go to no other.
    """
    from pinakes.evaluation.querying import SystemQuerier
    from pinakes.evaluation.systems import UnreachableSystem

    wanted = wanted if of_server else replace(wanted, mapping=(), headers=())
    way = {"mode": wanted.mode or "", "passages": wanted.passages, "by": wanted.by or "", "map": list(wanted.mapping)}
    try:
        return SystemQuerier(open_side(session, label, wanted, stack), way, replies)
    except InvalidInput:
        raise
    except PinakesError as error:
        if replies is None or not replies.knows(label):
            raise
        return SystemQuerier(UnreachableSystem(label, "away", error), way, replies)


def _read(uses: CompareOptions) -> GoldenSet:
    from pinakes.evaluation.query_files import read_any

    golden = read_any(uses.questions)
    return replace(golden, questions=golden.questions[: uses.limit])


def _below(report: ComparisonReport, least: float) -> BelowBaseline:
    mean = report.agreement["overlap_5"].mean
    return BelowBaseline(
        f"The mean overlap@5 is {mean:.1%}, below {least:.1%}; {report.flagged} questions are below 80 %.",
        hint="The report lists them with what only one side found.",
    )
