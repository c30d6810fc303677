"""``search --summaries``, ``read --section``, ``outline`` and ``summarize``: documents before their chunks."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.hit_lines import one_line, show_caveats
from pinakes.cli.options import OneOrAll, Searched, SearchOptions
from pinakes.cli.progress import progress
from pinakes.cli.session import IncompleteError, Session
from pinakes.core.errors import InvalidInput, ModelUnavailable, NotConfigured, NotFound
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.core.records import JSON
    from pinakes.library import Library
    from pinakes.services.document_search.found_documents import DocumentHit

_INDENT = "    "


def summaries(session: Session, question: SearchOptions) -> None:
    """Answer a question with documents, a summary each."""
    from pinakes.cli.searching import filter_of

    if question.fusion or question.neighbours:
        raise InvalidInput("--fusion and --neighbours are about chunks.", hint="Leave them out, or --summaries.")
    names = question.collection if isinstance(question.collection, str | None) else ",".join(question.collection)
    with session.library() as library:
        most = question.top_k or library.settings.search.top_k
        if most > library.settings.search.max_top_k:
            raise InvalidInput(f"top_k cannot be {most}.", hint=f"At most {library.settings.search.max_top_k}.")
        found = library.staged.summaries(
            question.query,
            names or None,
            top_k=most,
            mode=question.mode,
            filters=filter_of(question.filters, question.paths),
            min_score=question.min_score,
            phrases=question.phrases or "auto",
        )
        session.found([one.document.uid for one in found.documents])
    screen = session.screen
    screen.document({**asdict(found), "documents": [_as_data(one) for one in found.documents]})
    if screen.as_json:
        return
    for rank, one in enumerate(found.documents, start=1):
        _show(session, rank, one)
    screen.note(*filter(None, (found.degraded, *found.notes)))
    if not found.documents:
        screen.say("Nothing was found.")


def section(session: Session, reference: str, name: str, collection: str | None) -> None:
    """Print the part of a document under the heading ``name``, or the function or class of that name."""
    from pinakes.services.document_search.expanding import ExpandRequest

    with session.library() as library:
        document = library.read(reference, collection).document
        there = library.collection_of(document)
        [opened] = library.staged.expand([document.uid], there, wanted=ExpandRequest(section=name)).documents
        session.found([document.uid])
    if opened.note:
        what, _, there = opened.note.partition(": ")
        raise NotFound(f"{document.path} has {what}.", hint=f"{there[0].upper()}{there[1:]}.")
    session.screen.document(
        {
            "document": asdict(document),
            "text": opened.text,
            "start_line": opened.start_line,
            "end_line": opened.end_line,
            "total_lines": opened.total_lines,
        }
    )
    session.screen.text(opened.text)


def outline(
    session: Session,
    reference: Annotated[str, typer.Argument(metavar="REFERENCE", help="Id, uri, path or end of a path.")],
    collection: Searched = None,
) -> None:
    """Print the headings of a document, or what its code defines, with their lines."""
    with session.library() as library:
        document = library.read(reference, collection).document
        found = library.staged.outline(document.uid, library.collection_of(document))
        session.found([document.uid])
    session.screen.document({"document": asdict(document), "headings": [asdict(one) for one in found]})
    if session.screen.as_json:
        return
    digits = max((len(f"{one.start_line}-{one.end_line}") for one in found), default=0)
    for one in found:
        place = f"{one.start_line}-{one.end_line}"
        session.screen.show(f"{place:>{digits}}  {'  ' * (one.level - 1)}{one_line(one.title)}")
    if not found:
        session.screen.say(f"{document.path} has no headings.")


def summarize(
    session: Session,
    collection: OneOrAll = None,
    again: Annotated[bool, typer.Option("--again", help="Also those that the model wrote before.")] = False,
) -> None:
    """Have the chat model write the summaries that documents lack."""
    from pinakes.models.summarizers import writer_of

    settings = session.settings
    if writer_of(settings.summary, settings.chat) != "chat":
        raise NotConfigured(
            "No chat model is to write summaries.",
            hint="Set chat.model with chat.url or chat.provider; see also summary.writer.",
        )
    done: dict[str, tuple[int, list[tuple[str, str]]]] = {}
    with session.library() as library:
        for record in library.collections(collection):
            done[record.name] = _summarized(session, library, record.name, again)
        session.found((), sum(written for written, _ in done.values()))
        spent = library.staged.texts.spent
    for name, (written, left) in done.items():
        session.screen.report(f"{name}: {written:,} summaries written" + (f", {len(left):,} failed" if left else ""))
        session.screen.warn(*(f"no summary was written for {one_line(path)}: {why}" for path, why in left))
    if spent.words:
        session.screen.say(spent.words)
    document: dict[str, JSON] = {
        "collections": [
            {
                "name": name,
                "written": written,
                "failed": len(left),
                **({"failures": [path for path, _ in left]} if left else {}),
            }
            for name, (written, left) in done.items()
        ],
        **({"usage": asdict(spent)} if spent.calls else {}),
    }
    failed = sum(len(left) for _, left in done.values())
    if failed:
        error = ModelUnavailable(
            f"{failed:,} summaries could not be written.",
            hint="See the warnings, run it again. Until then older ones are shown, or sentences of the texts.",
        )
        raise IncompleteError(error, document)
    session.screen.document(document)


def _summarized(session: Session, library: Library, name: str, again: bool) -> tuple[int, list[tuple[str, str]]]:
    """Have the summaries of one collection written; return how many were, and paths and reasons of the others."""
    written, left = 0, list[tuple[str, str]]()
    with progress(session.screen) as show:
        for event in library.staged.texts.write(name, again=again):
            written += event.written
            left += [(event.path, event.why)] if event.failed else []
            show(f"{event.done:,} of {event.total:,} documents, {one_line(event.detail)}", event.done, event.total)
    return written, left


def _as_data(one: DocumentHit) -> dict[str, JSON]:
    document = one.document
    return {
        "document_id": document.uid,
        "collection": one.collection,
        "path": document.path,
        "uri": document.uri,
        "title": document.title,
        "summary": one.summary.text,
        "summary_by": one.summary.by,
        "score": one.score,
        "cosine": one.semantic,
        "bm25": one.keyword,
        "tokens": document.token_count,
        "tags": list(document.tags),
        "changed": one.changed,
        "suspicious": one.suspicious,
        "best_chunk": None if one.chunk is None else one.chunk.ordinal,
        "heading_path": [] if one.chunk is None else list(one.chunk.heading_path),
    }


def _show(session: Session, rank: int, one: DocumentHit) -> None:
    from rich.text import Text

    document, mark = one.document, "~" if one.approximate else ""
    size = f"  [{counted(document.token_count, 'token')}]"
    session.screen.show(
        Text.assemble((f"{rank:>2}  {mark}{one.score:.3f}  ", "bold"), (one_line(document.path), "cyan"), (size, "dim"))
    )
    session.screen.show(Text(f"{_INDENT}{one_line(document.title)}", "bold"))
    show_caveats(session.screen, one.changed, one.suspicious)
    width = max(40, min(session.screen.out.width, 100) - len(_INDENT))
    session.screen.lines(
        Text(_INDENT) + line for line in Text(one_line(one.summary.text)).wrap(session.screen.out, width)
    )
    session.screen.show()
