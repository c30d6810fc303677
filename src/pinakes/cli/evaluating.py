"""``evaluate``: how good the answers to questions with known answers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.options import Golden, HtmlReport, One, Qrels, Queries, QuestionsBy
from pinakes.cli.progress import Show, following, progress
from pinakes.cli.screen import unique_warnings
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import BelowBaseline, InvalidInput, PinakesError
from pinakes.core.records import JSON, SearchMode

if TYPE_CHECKING:
    from pinakes.evaluation.baseline import Verdict
    from pinakes.evaluation.figures import ModeFigures
    from pinakes.evaluation.questions import GoldenSet
    from pinakes.evaluation.run_comparison import Comparison
    from pinakes.evaluation.runs import Run
    from pinakes.library import Generation, Library


class Mode(StrEnum):
    """A way to search; typer knows lists of enumerations only."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    KEYWORD = "keyword"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """What is to be measured, and how."""

    golden: Golden = None
    collection: One = None
    modes: Annotated[
        Sequence[Mode],
        typer.Option("--mode", help="How to search; as the collection does when not given. May be repeated."),
    ] = ()
    metrics: Annotated[
        Sequence[str],
        typer.Option(
            "--metric", metavar="NAME@K", help="What to measure, as ndcg@10, instead of the usual. Repeatable."
        ),
    ] = ()
    depth: Annotated[int, typer.Option("--depth", metavar="N", min=1, help="Chunks ranked per question.")] = 300
    by: QuestionsBy = None
    queries: Queries = None
    qrels: Qrels = None
    run: Annotated[
        Path | None, typer.Option("--run", metavar="FILE", help="Measure this TREC run instead of searching.")
    ] = None
    write_run: Annotated[
        Path | None, typer.Option("--write-run", metavar="FILE", help="Write the rankings as a TREC run.")
    ] = None
    ingest: Annotated[
        bool, typer.Option("--ingest", help="First read the corpus of the BEIR folder into the collection.")
    ] = False
    beside: Annotated[
        bool, typer.Option("--beside", help="Ask the generation of another model, built by `pinakes reindex --beside`.")
    ] = False

    @property
    def named_modes(self) -> tuple[SearchMode, ...]:
        """The modes that were named, each once."""
        return tuple(dict.fromkeys(mode.value for mode in self.modes))


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What is done with the figures."""

    against: Annotated[
        str | None,
        typer.Option("--against", metavar="RUN", help="Compare with a stored run: its name, its path, or last."),
    ] = None
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare also where corpus, questions or configuration differ.")
    ] = False
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="FILE", help="Fail (exit code 1) when figures fall below those of this file."
        ),
    ] = None
    save_baseline: Annotated[
        Path | None, typer.Option("--save-baseline", metavar="FILE", help="Write the figures for later --baseline.")
    ] = None
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="SHARE", help="By how much a metric may fall below the baseline.")
    ] = 0.05
    html: HtmlReport = None


def evaluate(
    session: Session,
    wanted: EvaluateOptions,
    uses: ReportOptions,
    list_runs: Annotated[bool, typer.Option("--list", help="List the stored runs, and do nothing else.")] = False,
    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph", metavar="FILE", help="Compare the knowledge graph with entities and relations as read."
        ),
    ] = None,
) -> None:
    """Measure the answers to questions with known answers, say why each miss is one, and keep the figures."""
    if list_runs:
        _list(session)
    elif graph:
        from pinakes.cli import graph_evaluation

        graph_evaluation.evaluate(session, graph, wanted.collection)
    else:
        _evaluate(session, wanted, uses)


def _evaluate(session: Session, wanted: EvaluateOptions, uses: ReportOptions) -> None:
    """Measure, keep the run, compare it, let the gate speak, and show all that."""
    from pinakes.evaluation import baseline, golden, html_report, metrics, run_comparison, runs

    _check(wanted, uses)
    names = tuple(metrics.metric(name).name for name in wanted.metrics) or metrics.DEFAULT
    questions = golden.read(wanted.golden, queries=wanted.queries, qrels=wanted.qrels, texts=wanted.run is None)
    if uses.baseline:
        baseline.of_questions(uses.baseline, questions)
    session.screen.warn(*questions.notes)
    run, before = _measured(session, wanted, questions, names, uses.against)
    if session.has_home():
        run = runs.save(run, session.settings.home)
    errors: list[PinakesError] = []
    compared: Comparison | None = None
    verdict: Verdict | None = None
    with _collecting(errors):
        compared = run_comparison.compare(before, run, anyway=uses.anyway) if before else None
    with _collecting(errors):
        verdict = baseline.check(uses.baseline, run, uses.tolerance) if uses.baseline else None
    if verdict and not verdict.passed:
        errors.insert(0, _below_baseline(verdict))
    with _collecting(errors):
        if uses.save_baseline and uses.baseline and not (verdict and verdict.passed):
            session.screen.warn(f"baseline not written: {uses.save_baseline}: the gate has to pass first")
        elif uses.save_baseline:
            baseline.save(uses.save_baseline, run)
            session.screen.say(f"baseline written: {uses.save_baseline}")
    with _collecting(errors):
        if uses.html:
            html_report.write(uses.html, html_report.evaluation_page(run, compared, verdict))
            session.screen.say(f"page written: {uses.html}")
    _show_run(session, run, compared, verdict, errors)


@contextmanager
def _collecting(errors: list[PinakesError]) -> Iterator[None]:
    """Keep an error for the end: what was measured is shown all the same."""
    try:
        yield
    except PinakesError as error:
        errors.append(error)


def _show_run(
    session: Session,
    run: Run,
    compared: Comparison | None,
    verdict: Verdict | None,
    errors: Sequence[PinakesError],
) -> None:
    from pinakes.cli import evaluation_text

    document: dict[str, JSON] = {
        "run": asdict(run),
        "comparison": asdict(compared) if compared else None,
        "verdict": asdict(verdict) if verdict else None,
    }
    screen = session.screen
    if not screen.as_json:
        evaluation_text.show(screen, run, compared, verdict)
    if session.has_home():
        screen.say(f"kept as {run.name}; to compare another run with it: --against {run.name}")
    for error in errors:
        screen.fail(error.message, error.hint)
    if errors:
        raise IncompleteError(errors[0], document)
    screen.document(document)


def _measured(
    session: Session, wanted: EvaluateOptions, golden: GoldenSet, metrics: Sequence[str], against: str | None
) -> tuple[Run, Run | None]:
    """Return the run, not kept yet, and the one it is to be compared with, which was looked for first."""
    from pinakes.evaluation import run, runs, trec

    if wanted.run is not None:
        rankings, corpus = trec.read_run(wanted.run), runs.corpus_of_file(wanted.run)
        before = _earlier(session, against, golden, corpus.collection, [wanted.run.stem])
        measured = run.measure_run(rankings, golden.questions, wanted.run.stem, metrics)
        return runs.new_run(golden, None, corpus, {}, metrics, {measured.mode: measured}), before
    with session.library(create=wanted.ingest) as library:
        name = wanted.collection or collection_of_folder(library, golden, wanted.ingest) or library.chosen()
        if wanted.ingest:
            _ingest(session, library, golden, name)
        usual = library.settings.of_collection(name, library.collection(name).kept).retrieval
        modes = wanted.named_modes or (usual,)
        before = _earlier(session, against, golden, name, modes)
        return _run_questions(session, library, wanted, golden, name, modes, metrics), before


def _earlier(
    session: Session, against: str | None, golden: GoldenSet, collection: str, modes: Sequence[str]
) -> Run | None:
    """Return the run to compare with; None where none is wanted, or there is no last one yet, which is told."""
    from pinakes.evaluation import runs

    home = session.settings.home
    if against != runs.LAST:
        return runs.find(against, home) if against else None
    found = runs.last(home, golden.name, collection, modes)
    if found is None:
        words = f"no run of {golden.name!r} on {collection!r} by {' or '.join(modes)} was stored yet"
        session.screen.warn(f"{words}: there is nothing to compare with")
    return found


def _run_questions(
    session: Session,
    library: Library,
    wanted: EvaluateOptions,
    golden: GoldenSet,
    name: str,
    modes: Sequence[SearchMode],
    metrics: Sequence[str],
) -> Run:
    from pinakes.evaluation import run, runs, trec

    settings = session.settings
    record = library.measuring.beside(name) if wanted.beside else library.collection(name)
    generation: Generation = "beside" if wanted.beside else "serving"
    search, rank = partial(library.search, generation=generation), partial(library.rank, generation=generation)
    relevant = (document for question in golden.questions for document in question.relevant)
    called = library.measuring.resolve(record.id, relevant, wanted.by)
    top_k = min(settings.search.top_k, settings.search.max_top_k)
    subject = library.measuring.subject(search, rank, record, called, top_k, wanted.depth)
    measured: dict[str, ModeFigures] = {}
    total = len(golden.questions)
    with unique_warnings(), progress(session.screen) as show:
        for mode in modes:
            show(f"{mode}: getting ready", 0, total)
            measured[mode], answers = run.measure(
                subject,
                golden.questions,
                mode,
                metrics,
                partial(_show_question, show, mode, total),
            )
            if wanted.write_run:
                ranked = zip(golden.questions, answers, strict=True)
                trec.write_run(
                    wanted.write_run, ((one.id, got.ranking, got.scores) for one, got in ranked), f"pinakes-{mode}"
                )
    others = {"evaluation.depth": wanted.depth, "evaluation.by": wanted.by}
    configuration = runs.configuration_of(settings, record, **others)
    corpus = library.measuring.corpus_of(record)
    return runs.new_run(golden, called, corpus, configuration, metrics, measured)


def _show_question(show: Show, mode: str, total: int, done: int) -> None:
    show(f"{mode}: {done} of {total} questions", done, total)


def _ingest(session: Session, library: Library, golden: GoldenSet, name: str) -> None:
    """Read the corpus of a BEIR folder into a collection."""
    from pinakes.cli.adding import prepare_or_warn, show_report
    from pinakes.evaluation import beir, runs

    place = session.settings.home / runs.FOLDER / "corpora" / golden.name
    beir.write_corpus(golden.place, place)
    prepare_or_warn(session)
    with following(session.screen, lazy=session.settings.embedding.mode == "lazy") as on_event:
        report = library.add(str(place), name, on_event=on_event)
    if not session.screen.as_json:
        show_report(session.screen, report)


def collection_of_folder(library: Library, golden: GoldenSet, ingest: bool = False) -> str | None:
    """Return the collection named as a BEIR folder, into which its corpus went before, or is to go (``ingest``)."""
    known = {record.name for record in library.collections()}
    return golden.name if ingest or (golden.place.is_dir() and golden.name in known) else None


def _check(wanted: EvaluateOptions, uses: ReportOptions) -> None:
    """Refuse options that do not go together."""
    if wanted.ingest and (wanted.golden is None or not wanted.golden.is_dir() or wanted.run):
        raise InvalidInput("--ingest needs a BEIR folder.", hint="Add other documents first: pinakes add PATH")
    if wanted.write_run and (wanted.run or len(wanted.named_modes) > 1):
        raise InvalidInput("--write-run writes the rankings of one mode.", hint="Give one --mode, and no --run.")
    if not 0 <= uses.tolerance < 1:
        raise InvalidInput(f"--tolerance cannot be {uses.tolerance:g}.", hint="Give a share from 0 to 1: 0.05 is 5 %.")


def _below_baseline(verdict: Verdict) -> BelowBaseline:
    count = len(verdict.fallen)
    return BelowBaseline(
        f"{count} of {verdict.checked} metrics fell by more than {verdict.tolerance:.1%}: {'; '.join(verdict.fallen)}.",
        hint="Find out why, or accept the new figures: --save-baseline FILE without --baseline",
    )


def _list(session: Session) -> None:
    from pinakes.evaluation import runs

    home = session.settings.home
    kept: list[Run] = []
    for name in runs.names_of_runs(home):
        try:
            kept.append(runs.load(home / runs.FOLDER / f"{name}.json"))
        except InvalidInput as error:
            session.screen.warn(error.message)
    changed = [_changes(kept[:number], run) for number, run in enumerate(kept)]
    session.screen.document(
        {"runs": [{**_summary(run), "changes": changes} for run, changes in zip(kept, changed, strict=True)]}
    )
    for run, changes in zip(kept, changed, strict=True):
        headline = run.metrics[0]
        figures = ", ".join(f"{mode} {one.overall.metrics[headline]:.3f}" for mode, one in run.modes.items())
        counted = f"{run.golden.answerable} questions with an answer"
        session.screen.show(f"{run.name}  {run.corpus.collection}, {counted}")
        session.screen.show(f"    {headline}: {figures}")
        session.screen.lines(f"    {change}" for change in changes)
    if not kept:
        session.screen.say(f"No run was stored yet. Make one: {session.command('evaluate', 'GOLDEN')}")


def _changes(earlier: Sequence[Run], run: Run) -> list[str]:
    """Return what the newest of the ``earlier`` runs of the same questions and collection measured otherwise."""
    from pinakes.evaluation.run_comparison import differences

    of_same = (one for one in reversed(earlier) if one.golden.name == run.golden.name)
    before = next((one for one in of_same if one.corpus.collection == run.corpus.collection), None)
    return differences(before, run) if before else []


def _summary(run: Run) -> Mapping[str, JSON]:
    figures = {mode: one.overall.metrics for mode, one in run.modes.items()}
    return {
        "name": run.name,
        "created_at": run.created_at,
        "golden": run.golden.name,
        "collection": run.corpus.collection,
        "questions": run.golden.answerable,
        "model": run.corpus.model,
        "figures": figures,
    }
