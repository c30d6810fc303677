"""``tune``: settings that answer questions with known answers better, if there are any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.evaluating import collection_of_folder
from pinakes.cli.options import Golden, One, Qrels, Queries, QuestionsBy
from pinakes.cli.progress import following, progress
from pinakes.cli.screen import unique_warnings
from pinakes.cli.session import INTERRUPTED, Session
from pinakes.core.errors import InvalidInput, storing
from pinakes.core.records import JSON, SearchMode
from pinakes.core.wording import split_list

if TYPE_CHECKING:
    from pinakes.cli.rechunking import Recut
    from pinakes.evaluation.questions import GoldenSet, Question
    from pinakes.evaluation.tuning.approximate import Sweep
    from pinakes.evaluation.tuning.findings import TuningResult
    from pinakes.evaluation.tuning.trials import Trials, TuningSubject
    from pinakes.library import Library

_MINUTES = 10.0
_IDLE = {"keyword": ("fusion", "boosts"), "vector": ("fusion", "fields", "boosts")}
"""Mode → what is not part of its score."""


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """What is to be tuned on which questions, how long, and what is to be done with it."""

    golden: Golden = None
    collection: One = None
    what: Annotated[
        Sequence[str],
        typer.Option(
            "--what",
            metavar="NAME",
            help="fusion, fields, boosts (these three when not given), pool, ann or chunking. May be repeated.",
        ),
    ] = ()
    metric: Annotated[str, typer.Option("--metric", metavar="NAME@K", help="What is to become better.")] = "ndcg@10"
    mode: Annotated[
        SearchMode | None, typer.Option("--mode", help="How to search; as the collection does when not given.")
    ] = None
    by: QuestionsBy = None
    queries: Queries = None
    qrels: Qrels = None
    folds: Annotated[
        int, typer.Option("--folds", metavar="N", help="Parts of the questions; each judges what the others chose.")
    ] = 3
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Decides how the parts are drawn.")] = 0
    budget: Annotated[int, typer.Option("--budget", metavar="N", min=1, help="Most settings to try.")] = 200
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes", metavar="N", help="Longest time to try settings; 10, for chunking as long as it takes."
        ),
    ] = None
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write what was found as a settings file (TOML).")
    ] = None
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write it also when it may be chance, or is more than 10 % slower.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", help="Chunking: go on, however long it takes.")] = False
    show_all: Annotated[bool, typer.Option("--all", help="Show everything that was tried, not the best only.")] = False


def tune(session: Session, wanted: TuneOptions) -> None:
    """Try settings on questions with known answers, and claim only what is better than chance."""
    from pinakes.evaluation import golden, metrics
    from pinakes.evaluation.tuning import knobs
    from pinakes.evaluation.tuning import tune as run

    families = tuple(split_list(",".join(wanted.what)))
    wanted = replace(wanted, what=knobs.check(families), metric=metrics.metric(wanted.metric).name)
    _check(session, wanted)
    questions = golden.read(wanted.golden, queries=wanted.queries, qrels=wanted.qrels)
    session.screen.warn(*questions.notes)
    asked = run.judged(questions.questions, wanted.folds)
    with session.library() as library:
        name = wanted.collection or collection_of_folder(library, questions) or library.chosen()
        if wanted.what == ("ann",):
            found: TuningResult | Sweep = _swept(session, library, wanted, asked, name)
        elif wanted.what == ("chunking",):
            found = _recut(session, library, wanted, asked, name)
        else:
            found = _tuned(session, library, wanted, asked, name)
    _show_result(session, wanted, questions, name, found)


def _check(session: Session, wanted: TuneOptions) -> None:
    """Refuse what cannot be done before anything is."""
    if wanted.minutes is not None and wanted.minutes <= 0:
        raise InvalidInput(f"--minutes cannot be {wanted.minutes:g}.", hint="Use more than 0.")
    if wanted.write is None:
        return
    place = wanted.write.expanduser().resolve()
    if place == (session.settings.home / "config.toml").resolve():
        raise InvalidInput(
            "--write does not write the settings of a home.", hint="Write another file, and copy from it what you want."
        )
    if not place.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(place.parent)!r} to write to.", hint="Make it, or check --write.")


def _subject(
    session: Session, library: Library, wanted: TuneOptions, asked: Sequence[Question], name: str
) -> TuningSubject:
    """Return what is to be tuned, and say what stands in the way of good figures."""
    from pinakes.evaluation.tuning.trials import TuningSubject

    parts = library.parts(name)
    mode = wanted.mode or session.settings.of_collection(name, parts.collection.kept).retrieval
    if mode != "keyword":
        parts.vectors.vector_of("warm up")
    relevant = [document for question in asked for document in question.relevant]
    called = library.measuring.resolve(parts.collection.id, relevant, wanted.by)
    screen = session.screen
    if called.unknown:
        screen.warn(f"{len(called.unknown)} documents of the questions are not in the collection")
    pending = library.status(name)[0].pending if mode != "keyword" else 0
    if pending:
        screen.warn(f"{pending:,} chunks have no exact vector yet; tune again when they have: pinakes reindex --embed")
    if idle := [family for family in wanted.what if family in _IDLE.get(mode, ())]:
        screen.warn(f"the settings of {', '.join(idle)} change nothing in the mode {mode}: it is one half as it is")
    if parts.reranking is not None:
        screen.warn("settings are tried without the reranker")
    return TuningSubject.from_context(parts, called, mode)


def _trials(session: Session, library: Library, wanted: TuneOptions, asked: Sequence[Question], name: str) -> Trials:
    from pinakes.evaluation.metrics import metric
    from pinakes.evaluation.tuning.trials import Trials

    return Trials(_subject(session, library, wanted, asked, name), asked, metric(wanted.metric))


def _budget(wanted: TuneOptions, minutes: float = _MINUTES) -> JSON:
    from pinakes.evaluation.tuning.ascent import Budget

    return Budget(wanted.budget, 60 * (minutes if wanted.minutes is None else wanted.minutes))


def _tuned(
    session: Session, library: Library, wanted: TuneOptions, asked: Sequence[Question], name: str
) -> TuningResult:
    from pinakes.evaluation.tuning import knobs
    from pinakes.evaluation.tuning import tune as run

    settings = session.settings
    every = knobs.knobs(wanted.what, settings)
    current = knobs.current_values(settings, every)
    trials = _trials(session, library, wanted, asked, name)
    plan = run.TuningPlan(every, current, wanted.metric, wanted.folds, wanted.seed, _budget(wanted))
    with unique_warnings(), progress(session.screen) as show:

        def on_try(done: int) -> None:
            if not done:
                session.screen.say("Trying settings; Ctrl+C shows what was found until then.")
            show(f"{done} settings tried", done, wanted.budget)

        return run.tune(trials, asked, plan, on_try)


def _swept(session: Session, library: Library, wanted: TuneOptions, asked: Sequence[Question], name: str) -> Sweep:
    from pinakes.evaluation.tuning import approximate

    if wanted.mode == "keyword":
        raise InvalidInput("A search by words has no vectors to tune.", hint="Use another --mode, or none.")
    trials = _trials(session, library, wanted, asked, name)
    total = len(approximate.SHARES) + 1
    with unique_warnings(), progress(session.screen) as show:
        show("building an approximate index", 0, total)
        return approximate.sweep(
            trials, wanted.metric, _budget(wanted), lambda done: show(f"{done} ways tried", done, total)
        )


def _recut(
    session: Session, library: Library, wanted: TuneOptions, asked: Sequence[Question], name: str
) -> TuningResult:
    from pinakes.cli import rechunking
    from pinakes.evaluation.tuning import chunk_sizes, knobs
    from pinakes.evaluation.tuning import tune as run

    settings, record = session.settings, library.collection(name)
    subject = _subject(session, library, wanted, asked, name)
    embedder = library.measuring.embedder_of(record)
    every = [chunk_sizes.knob(settings.chunking_of(name, record.kept), embedder.max_tokens)]
    _agree(session, wanted, rechunking.seconds(library, name, every[0]), len(every[0].choices) - 1)
    current = knobs.current_values(settings, every, name, record.kept)
    plan = run.TuningPlan(every, current, wanted.metric, wanted.folds, wanted.seed, _budget(wanted, float("inf")))
    with _copied(session, library, wanted, subject, asked) as recut:
        return run.tune(recut, asked, plan)


@contextmanager
def _copied(
    session: Session, library: Library, wanted: TuneOptions, subject: TuningSubject, asked: Sequence[Question]
) -> Iterator[Recut]:
    from pinakes.cli import rechunking
    from pinakes.evaluation.metrics import metric

    name = subject.parts.collection.name
    with following(session.screen) as on_event, rechunking.copied(library) as home:
        yield rechunking.Recut(
            home, session.settings, name, wanted.by, subject.mode, asked, metric(wanted.metric), on_event
        )


def _agree(session: Session, wanted: TuneOptions, seconds: float, count: int) -> None:
    from pinakes.services.run_progress import duration

    words = f"Cutting and embedding the collection in {count} other ways takes about {duration(seconds)}"
    if not wanted.yes:
        raise InvalidInput(f"{words}.", hint="Say --yes to do it; --minutes N ends it after so long.")
    session.screen.say(f"{words}. What was found until then is shown on Ctrl+C.")


def _show_result(
    session: Session, wanted: TuneOptions, golden: GoldenSet, name: str, found: TuningResult | Sweep
) -> None:
    from pinakes.cli import tuning_text

    screen = session.screen
    if not screen.as_json:
        screen.show(f"{golden.name} on {name}: {found.questions} questions with an answer; {', '.join(wanted.what)}")
        tuning_text.show(screen, found, show_all=wanted.show_all)
    written = _write(session, wanted, golden, name, found)
    document = {"golden": golden.name, "collection": name, "what": wanted.what, "written": written}
    screen.document({**document, **asdict(found)})
    if found.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _given(session: Session) -> dict[str, JSON]:
    """Return what ``--set`` says of how answers are found: what was found is better together with that."""
    from pinakes.settings import table

    lines = [line for line in table(session.settings) if line.name in session.given]
    return {line.name: line.value for line in lines if line.name.startswith(("search.", "boosts.", "index."))}


def _write(
    session: Session, wanted: TuneOptions, golden: GoldenSet, name: str, found: TuningResult | Sweep
) -> str | None:
    """Write the settings that were found, where that is wanted and may be; return where to."""
    from pinakes.cli import tuning_text
    from pinakes.evaluation.tuning import findings, knobs

    screen = session.screen
    if not found.best or not (found.better or wanted.anyway):
        if wanted.write is not None:
            screen.say(f"nothing was written: {found.why}")
        return None
    settings = {
        knobs.settings_section(one, session.settings, name): value
        for one, value in {**_given(session), **found.best}.items()
    }
    heading = tuning_text.heading(found, golden.name, name)
    text = findings.fragment(settings, heading)
    if wanted.write is None:
        if found.better:
            screen.say("Keep it with --write FILE, or copy this into the settings file of the home:")
            screen.say(text)
        return None
    with storing(str(wanted.write)):
        wanted.write.expanduser().write_text(text, "utf-8")
    screen.say(f"settings written: {wanted.write}; copy them to {session.settings.home / 'config.toml'} to keep them")
    return str(wanted.write)
