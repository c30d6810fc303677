"""``search``, ``query`` and ``read``: questions, and the text of documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinakes.cli.hit_lines import blame_of_text, line_of, show_hit
from pinakes.cli.options import SearchOptions
from pinakes.cli.screen import Screen
from pinakes.cli.session import Session
from pinakes.core.errors import InvalidInput
from pinakes.core.graph_paths import Expansion

if TYPE_CHECKING:
    from pinakes.core.records import JSON, Filter, Results

_LINES = re.compile(r"(\d+)(?:-(\d+))?")


def search(session: Session, question: SearchOptions) -> None:
    """Answer a question with chunks, as people read them."""
    results = ask(session, question)
    screen = session.screen
    if screen.as_json:
        screen.document(_as_data(results))
        return
    shown = question.top_k or session.settings.search.shown
    added = [hit for hit in results.hits if hit.match == "graph"]
    found = results.hits[: len(results.hits) - len(added)]
    for rank, hit in enumerate([*found[:shown], *added], start=1):
        show_hit(screen, rank, hit, results, explain=question.explain)
    if len(found) > shown:
        more, least = len(found) - shown, found[-1].score
        screen.say(f"{more} more with scores down to {least:.3f}; --top-k {len(found)} shows them")
    if question.explain:
        _show_trace(screen, results)
    _say_about(screen, results)


def query(session: Session, question: SearchOptions, min_similarity: float) -> None:
    """Answer a question with one line per chunk: ``1. kmalloc.c:142 - title (0.89 confidence)``."""
    results = ask(session, question, min_similarity)
    if session.screen.as_json:
        session.screen.document(_as_data(results))
    session.screen.lines(line_of(rank, hit, results) for rank, hit in enumerate(results.hits, start=1))
    _say_about(session.screen, results)


def _as_data(results: Results) -> dict[str, JSON]:
    from pinakes.schemas.hits import hit_data

    return {**asdict(replace(results, hits=())), "hits": [hit_data(hit, whole=True) for hit in results.hits]}


def ask(session: Session, question: SearchOptions, min_similarity: float = 0.0) -> Results:
    """Ask the server of this home that runs, else search the library of this call."""
    from pinakes.cli.relaying import answer_of_server

    arguments: dict[str, Any] = {
        "query": question.query,
        "collection": question.collection,
        "mode": question.mode,
        "top_k": question.top_k,
        "filters": filter_of(question.filters, question.paths),
        "fusion": question.fusion,
        "min_score": question.min_score,
        "min_similarity": min_similarity,
        "neighbours": question.neighbours,
        "as_of": question.as_of,
        "refresh": "auto" if question.refresh else "never",
        "blame": question.blame,
        "phrases": question.phrases or "auto",
        "expand": Expansion(question.expand, tuple(question.relations)),
    }
    plain = {"filters": [asdict(one) for one in arguments["filters"]], "expand": asdict(arguments["expand"])}
    answer = answer_of_server(session, {**arguments, **plain})
    if answer is not None:
        return answer
    with session.library(embeds=question.mode != "keyword") as library:
        results = library.search(**arguments)
        session.found([hit.document_id for hit in results.hits])
        return results


def read(
    session: Session,
    reference: str,
    lines: str | None,
    collection: str | None,
    *,
    version: int | None = None,
    as_of: str | None = None,
    blame: bool = False,
) -> None:
    """Print a document, or some lines of it; with ``blame`` who wrote each line, however long that takes."""
    from pinakes.tools.place import read_place

    chosen = parse_lines(lines) if lines else None
    with session.library() as library:
        text = read_place(library, _absolute(reference), collection, chosen, version=version, as_of=as_of)
        session.found([text.document.uid])
        wait_s = session.settings.ingest.git_timeout_s
        blamed, reason = library.blames.of_text(text, wait_s) if blame else ((), "")
        link = library.link(text)
    who = {"blame": [asdict(one) for one in blamed]} if blame else {}
    data = asdict(text)
    del data["numbers"]
    session.screen.document({**data, "link": link, **who})
    if reason:
        session.screen.warn(f"it is not known who wrote these lines: {reason}")
    if blamed:
        session.screen.lines(blame_of_text(text, blamed))
    else:
        session.screen.text(text.text)


def _absolute(reference: str) -> str:
    """Return the absolute path of a file that is named from the current folder by ``./`` or ``../``."""
    there = Path(reference)
    return str(there.absolute()) if reference.startswith(("./", "../")) and there.is_file() else reference


def parse_lines(words: str) -> tuple[int, int]:
    """Return (first, last) of ``12`` or ``12-30``.

    Raises:
        InvalidInput: of another form.
    """
    found = _LINES.fullmatch(words.strip())
    if found is None:
        raise InvalidInput(f"Lines {words!r} are not of the form 12 or 12-30.", hint="Lines count from 1.")
    return int(found[1]), int(found[2] or found[1])


def filter_of(words: Sequence[str], paths: Sequence[str]) -> Filter:
    """Return the filter that the options ``--filter`` and ``--path`` state."""
    if not (words or paths):
        return ()
    from pinakes.core.filters import parse, parse_words

    by_path = parse({"path": {"glob": list(paths)}}) if paths else ()
    return parse_words(words) + by_path


def _show_trace(screen: Screen, results: Results) -> None:
    for stage in results.trace.stages:
        detail = _details(stage.detail)
        if stage.name == "refine":
            of = f"collection {stage.detail['collection']}, " if results.several else ""
            detail = of + "{refined} candidates made exact, {approximate} still approximate".format_map(stage.detail)
        screen.show(f"{stage.name:<10} {stage.milliseconds:>8.2f} ms  {detail}".rstrip())
    screen.show(
        f"{'all':<10} {results.trace.milliseconds:>8.2f} ms  {results.total_candidates:,} chunks passed the filters"
    )


def _details(detail: Mapping[str, JSON]) -> str:
    return ", ".join(f"{name} {_figure(value)}" for name, value in detail.items() if value not in (None, ""))


def _figure(value: JSON) -> str:
    if isinstance(value, Mapping):
        return f"({_details(value)})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _say_about(screen: Screen, results: Results) -> None:
    if results.degraded:
        screen.warn(results.degraded)
    screen.note(*results.notes)
    if any(hit.approximate for hit in results.hits):
        screen.say("~ approximate: this chunk is not embedded yet, its score may change when it is")
    if results.hits and results.doubtful:
        screen.say(f"perhaps nothing here answers this (answerable {results.answerable:.2f})")
    if not results.hits:
        among = f"among {results.total_candidates:,} chunks of {results.collection!r}"
        screen.say(f"nothing found {among}")
