"""``ask``: a question answered in words by a chat model, with the chunks that the answer cites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.hit_lines import one_line, show_caveats
from pinakes.cli.options import AsOf, Paths, Several
from pinakes.cli.screen import printable
from pinakes.cli.session import Session

if TYPE_CHECKING:
    from pinakes.answering import ChatAnswer


def ask(
    session: Session,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In plain words.")],
    collection: Several = None,
    passages: Annotated[
        int | None, typer.Option("--passages", metavar="N", min=1, help="Most chunks to answer from.")
    ] = None,
    filters: Annotated[
        Sequence[str],
        typer.Option("--filter", "-f", metavar="NAME=VALUE", help="Only where the metadata fits, as for search."),
    ] = (),
    paths: Paths = (),
    as_of: AsOf = None,
) -> None:
    """Have a chat model answer a question from the documents, with the chunks it rests on."""
    from pinakes.cli.searching import filter_of
    from pinakes.tools.ask import reply_of

    with session.library() as library:
        library.answer_writer.chat.check()
        session.screen.say(f"asking {library.settings.chat.model or library.settings.chat.provider} …")
        answered = library.ask(question, collection, passages=passages, filters=filter_of(filters, paths), as_of=as_of)
        session.found([one.document_id for one in answered.citations])
    session.screen.document(reply_of(answered).as_data())
    if not session.screen.as_json:
        _show(session, answered)


def _show(session: Session, answered: ChatAnswer) -> None:
    from rich.text import Text

    screen = session.screen
    if answered.refused:
        screen.say(answered.answer)
    else:
        screen.show(Text(printable(answered.answer)))
    if answered.citations:
        screen.show()
    for one in answered.citations:
        of = f"{one.collection} › " if "," in answered.collection else ""
        screen.show(Text.assemble((f"[{one.number}] ", "bold"), (one_line(f"{of}{one.place}"), "cyan")))
        names = " › ".join(filter(None, [one.title, one.section]))
        screen.show(Text(f"    {one_line(names)}"))
        show_caveats(screen, one.changed, one.suspicious)
    if answered.degraded:
        screen.warn(answered.degraded)
    screen.note(*answered.notes)
    if words := answered.usage.words:
        screen.say(words)
