"""``search``, ``query`` and ``read``: questions, and the text of documents."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinakes.cli.blaming import of_hit, of_text
from pinakes.cli.passage import blocks, breadcrumb, one_line
from pinakes.cli.screen import Screen, printable
from pinakes.cli.session import Session
from pinakes.errors import InvalidInput
from pinakes.text.pages import page_words
from pinakes.text.suspicion import WARNING
from pinakes.wording import rounded

if TYPE_CHECKING:
    from pinakes.query import PhraseUse
    from pinakes.types import JSON, Filter, Hit, Results, SearchMode

_LINES = re.compile(r"(\d+)(?:-(\d+))?")
_RETRIEVERS = {"vector": "meaning", "keyword": "words"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked on the command line."""

    query: str
    collection: str | Sequence[str] | None = None
    top_k: int | None = None
    mode: SearchMode | None = None
    fusion: str | None = None
    filters: Sequence[str] = ()
    paths: Sequence[str] = ()
    min_score: float = 0.0
    neighbours: int = 0
    as_of: str | None = None
    refresh: bool = False
    blame: bool = False
    phrases: PhraseUse = "auto"
    min_similarity: float = 0.0


def search(session: Session, question: Question, *, explain: bool = False) -> None:
    """Answer a question with passages, as people read them."""
    results = ask(session, question)
    screen = session.screen
    screen.document(asdict(results))
    if screen.as_json:
        return
    shown = question.top_k or session.settings.search.shown
    for rank, hit in enumerate(results.hits[:shown], start=1):
        _show_hit(screen, rank, hit, explain, _of(hit, results))
    if len(results.hits) > shown:
        more, least = len(results.hits) - shown, results.hits[-1].score
        screen.say(f"{more} more with scores down to {least:.3f}; --top-k {len(results.hits)} shows them")
    if explain:
        _show_trace(screen, results)
    _say_about(screen, results)


def query(session: Session, question: Question) -> None:
    """Answer a question with one line per passage: ``1. kmalloc.c:142 - title (0.89 confidence)``."""
    results = ask(session, question)
    session.screen.document(asdict(results))
    for rank, hit in enumerate(results.hits, start=1):
        place, sure = f"{_of(hit, results)}{hit.path}:{hit.start_line}", f"{_mark(hit)}{hit.confidence:.2f}"
        session.screen.show(printable(f"{rank}. {place} - {hit.title} ({sure} confidence)").replace("\n", " "))
    _say_about(session.screen, results)


def ask(session: Session, question: Question) -> Results:
    """Ask the server of this home that runs, else search the library of this call."""
    from pinakes.cli.relaying import answer_of_server

    arguments: dict[str, Any] = {
        "query": question.query,
        "collection": question.collection,
        "mode": question.mode,
        "top_k": question.top_k,
        "filters": where_of(question),
        "fusion": question.fusion,
        "min_score": question.min_score,
        "min_similarity": question.min_similarity,
        "neighbours": question.neighbours,
        "as_of": question.as_of,
        "refresh": "auto" if question.refresh else "never",
        "blame": question.blame,
        "phrases": question.phrases,
    }
    answer = answer_of_server(session, {**arguments, "filters": [asdict(one) for one in arguments["filters"]]})
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
        text = read_place(library, _here(reference), collection, chosen, version=version, as_of=as_of)
        session.found([text.document.uid])
        wait_s = session.settings.ingest.git_timeout_s
        told, reason = library.blames.of_text(text, wait_s) if blame else ((), "")
        link = library.link(text)
    who = {"blame": [asdict(one) for one in told]} if blame else {}
    data = asdict(text)
    del data["numbers"]
    session.screen.document({**data, "link": link, **who})
    if reason:
        session.screen.warn(f"it is not known who wrote these lines: {reason}")
    if session.screen.as_json:
        return
    if told:
        for line in of_text(text, told):
            session.screen.show(line)
        return
    shown = printable(text.text) if sys.stdout.isatty() else text.text
    sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")


def _here(reference: str) -> str:
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


def where_of(question: Question) -> Filter:
    """Return the filter that the options of a question state."""
    if not (question.filters or question.paths):
        return ()
    from pinakes.filters import parse, parse_words

    by_path = parse({"path": {"glob": list(question.paths)}}) if question.paths else ()
    return parse_words(question.filters) + by_path


def _of(hit: Hit, results: Results) -> str:
    """Return the hit's collection, to stand before its place, where several were asked."""
    return f"{hit.collection} › " if results.several else ""


def _show_hit(screen: Screen, rank: int, hit: Hit, explain: bool, collection: str) -> None:
    from rich.text import Text

    page = f"  {page_words(hit.page, hit.page_end)}" if hit.page else ""
    place = one_line(f"{collection}{hit.path}:{hit.start_line}-{hit.end_line}") + page
    headings = [part for part in hit.heading_path if part != hit.title]
    found_by = " + ".join(_RETRIEVERS[name] for name in hit.matched_by)
    screen.show(
        Text.assemble(
            (f"{rank:>2}  {_mark(hit)}{hit.score:.3f}  ", "bold"), (place, "cyan"), (f"  [{found_by}]", "dim")
        )
    )
    screen.show(Text("    " + breadcrumb(hit.title, headings), "bold"))
    if hit.changed:
        gone = hit.source_state == "missing"
        screen.show(Text(f"    file {'is gone' if gone else 'changed'} since it was indexed", "yellow"))
    if hit.suspicious:
        screen.show(Text(f"    suspicious: {WARNING}", "yellow"))
    if hit.link:
        screen.show(Text("    " + one_line(hit.link), "dim"))
    for line in blocks(hit, screen.out):
        screen.show(line)
    for who in of_hit(hit):
        screen.show(Text("    " + who, "dim"))
    if explain:
        raw: dict[str, float] = {name: value for name, value in asdict(hit.scores).items() if value is not None}
        first: dict[str, float] = {name: raw[name] for name in ("cosine", "bm25", "fused", "rerank") if name in raw}
        numbers = {**first, "confidence": hit.confidence, **raw}
        screen.show(Text("    " + printable(hit.explanation), "dim"))
        screen.show(Text("    " + ", ".join(f"{name} {value:.4f}" for name, value in numbers.items()), "dim"))
        parts = ", ".join(f"{name} {value:.4f}" for name, value in rounded(hit.score_parts).items())
        screen.show(Text(f"    score from {parts}", "dim"))
    screen.show()


def _mark(hit: Hit) -> str:
    return "~" if hit.approximate else ""


def _show_trace(screen: Screen, results: Results) -> None:
    for stage in results.trace.stages:
        detail = _details(stage.detail)
        if stage.name == "refine":
            of = f"collection {stage.detail['collection']}, " if results.several else ""
            detail = of + "{refined} candidates made exact, {approximate} still approximate".format_map(stage.detail)
        screen.show(f"{stage.name:<10} {stage.milliseconds:>8.2f} ms  {printable(detail)}".rstrip())
    screen.show(
        f"{'all':<10} {results.trace.milliseconds:>8.2f} ms  {results.total_candidates:,} passages passed the filters"
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
    for note in results.notes:
        screen.note(note)
    if any(hit.approximate for hit in results.hits):
        screen.say("~ approximate: this passage is not embedded yet, its score may change when it is")
    if results.hits and results.doubtful:
        screen.say(f"perhaps nothing here answers this (answerable {results.answerable:.2f})")
    if not results.hits:
        among = f"among {results.total_candidates:,} passages of {results.collection!r}"
        screen.say(f"nothing found {among}")
