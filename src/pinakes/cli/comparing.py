"""``compare``: how far two collections, models, settings or servers give the same answers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pinakes.cli.compared_systems import CompareOptions, is_server, open_side
from pinakes.cli.progress import progress
from pinakes.cli.screen import unique_warnings
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import BelowBaseline, InvalidInput, PinakesError
from pinakes.core.records import JSON

if TYPE_CHECKING:
    from pinakes.evaluation.pairs import ComparisonReport
    from pinakes.evaluation.querying import Replies, SystemQuerier
    from pinakes.evaluation.questions import GoldenSet


def compare(session: Session, wanted: CompareOptions) -> None:
    """Ask two sides the same questions, and say how far they agree, which is faster, and which is better."""
    from pinakes.cli import comparing_text
    from pinakes.evaluation import html_report

    _check(wanted)
    report, errors = _compared(session, wanted)
    if wanted.fail_under is not None and report.agreement["overlap_5"].mean < wanted.fail_under:
        errors.append(_below_baseline(report, wanted.fail_under))
    if wanted.html:
        try:
            html_report.write(wanted.html, html_report.comparison_page(report))
            session.screen.say(f"page written: {wanted.html}")
        except PinakesError as error:
            errors.append(error)
    screen = session.screen
    if not screen.as_json:
        comparing_text.show(screen, report)
    for failure in errors:
        screen.fail(failure.message, failure.hint)
    document: dict[str, JSON] = {"comparison": asdict(report)}
    if errors:
        raise IncompleteError(errors[0], document)
    screen.document(document)


def _check(wanted: CompareOptions) -> None:
    """Refuse options that do not go together, or have values that cannot be."""
    for option, given in (("--map", wanted.mapping), ("--header", wanted.headers)):
        if given and not wanted.shallow:
            raise InvalidInput(
                f"{option} is for servers, and neither side is one.", hint="A server is given by its URL."
            )
    if wanted.fail_under is not None and not 0 <= wanted.fail_under <= 1:
        raise InvalidInput(f"--fail-under cannot be {wanted.fail_under:g}.", hint="Give a share from 0 to 1: 0.8")


def _compared(session: Session, wanted: CompareOptions) -> tuple[ComparisonReport, list[PinakesError]]:
    from pinakes.evaluation import metrics, system_comparison
    from pinakes.evaluation.querying import Replies

    names = tuple(metrics.metric(name).name for name in wanted.metrics) or system_comparison.METRICS
    golden = _read(wanted)
    with ExitStack() as stack:
        stack.enter_context(unique_warnings())
        replies = stack.enter_context(Replies(wanted.cache)) if wanted.cache else None
        show = stack.enter_context(progress(session.screen))
        show("getting ready", 0, len(golden.questions))
        a = _querier(
            session,
            wanted.a,
            wanted,
            replies if is_server(wanted.a) else None,
            stack,
            of_server=not is_server(wanted.b),
        )
        b = _querier(session, wanted.b, wanted, replies, stack, of_server=is_server(wanted.b))
        system_comparison.check_corpora(a.about, b.about, anyway=wanted.anyway)
        total = len(golden.questions)
        report = system_comparison.compare(
            a,
            b,
            golden,
            metrics=names,
            by_field=wanted.by is not None,
            anyway=wanted.anyway,
            on_question=lambda done: show(f"{done} of {total} questions", done, total),
        )
    found = (system_comparison.unanswered(a, report.a), system_comparison.unanswered(b, report.b))
    return report, [error for error in found if error is not None]


def _querier(
    session: Session, label: str, wanted: CompareOptions, replies: Replies | None, stack: ExitStack, *, of_server: bool
) -> SystemQuerier:
    """Open a side; one that cannot be opened, and of which answers are kept, answers with those.

    ``of_server``: the map of fields is about this one, and headers, which may hold a key, go to no other.
    """
    from pinakes.evaluation.querying import SystemQuerier
    from pinakes.evaluation.systems import UnreachableSystem

    wanted = wanted if of_server else replace(wanted, mapping=(), headers=())
    asked = {"mode": wanted.mode or "", "passages": wanted.passages, "by": wanted.by or "", "map": list(wanted.mapping)}
    try:
        return SystemQuerier(open_side(session, label, wanted, stack), asked, replies)
    except InvalidInput:
        raise
    except PinakesError as error:
        if replies is None or not replies.knows(label):
            raise
        return SystemQuerier(UnreachableSystem(label, "away", error), asked, replies)


def _read(wanted: CompareOptions) -> GoldenSet:
    from pinakes.evaluation.golden import read_any

    golden = read_any(wanted.questions)
    return replace(golden, questions=golden.questions[: wanted.limit])


def _below_baseline(report: ComparisonReport, least: float) -> BelowBaseline:
    mean = report.agreement["overlap_5"].mean
    return BelowBaseline(
        f"The mean overlap@5 is {mean:.1%}, below {least:.1%}; {report.flagged} questions are below 80 %.",
        hint="The report lists them with what only one side found.",
    )
