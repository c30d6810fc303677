"""A question answered in words by a chat model, from chunks, with the places that it rests on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.answering import ChatAnswer, Cited
from pinakes.core.wording import rounded_score
from pinakes.library import Library
from pinakes.schemas.hit_text import caveats
from pinakes.text.page_numbers import page_words
from pinakes.text.quoting import Quoting, one_line
from pinakes.tools.declare import Reply, object_from, tool
from pinakes.tools.parameters import Searched, collection_from


class Citation(Reply):
    """A chunk that the answer cites by its number. ``changed``: its file is not as it was indexed."""

    number: int
    chunk_id: str
    document_id: str
    collection: str
    uri: str
    path: str
    title: str
    section: str
    start_line: int
    end_line: int
    page: int | SkipJsonSchema[None] = None
    page_end: int | SkipJsonSchema[None] = None
    score: float
    text: str
    changed: bool | SkipJsonSchema[None] = None
    suspicious: bool | SkipJsonSchema[None] = None


class Tokens(Reply):
    """What the answer took; ``cost`` is in the currency of the setting ``chat.price_in``."""

    tokens_in: int | SkipJsonSchema[None] = None
    tokens_out: int | SkipJsonSchema[None] = None
    cost: float | SkipJsonSchema[None] = None


class AskReply(Reply):
    """An answer, and the chunks that it cites. ``refused`` says why there is none; ``answer`` says so in words.

    ``passages``: how many the model was shown. ``answerable``: how probable it was, 0 to 1, that they hold an answer.
    """

    question: str
    answer: str
    answered: bool
    refused: Literal["nothing relevant", "not in the passages"] | SkipJsonSchema[None] = None
    citations: list[Citation]
    passages: int
    collection: str
    model: str
    usage: Tokens
    answerable: float | SkipJsonSchema[None] = None
    degraded: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None

    def as_text(self) -> str:
        """Return the answer, fenced, since a model wrote it from documents; below it the places that it cites."""
        fence = Quoting()
        notes = [f"Note: {note}." for note in (*filter(None, [self.degraded]), *(self.notes or ()))]
        head = " ".join(["Written by a model from documents.", fence.notice(), *notes])
        places = [_line(one) for one in self.citations]
        return "\n\n".join(filter(None, [head, fence.around(self.answer), "\n".join(places)]))

    def found(self) -> list[str]:
        """Return the ids of the documents that are cited."""
        return list(dict.fromkeys(one.document_id for one in self.citations))


@tool(toolset="ask", idempotent=False, asks_elsewhere=True, tags=("answer", "question", "citations"))
def ask(
    library: Library,
    question: Annotated[str, Field(description="A question in plain words.", min_length=1)],
    collection: Searched = "",
    passages: Annotated[int, Field(description="Most chunks to answer from; 0 = as the settings say.", ge=0)] = 0,
    filters: Annotated[
        dict[str, Any],
        BeforeValidator(object_from),
        Field(description='Metadata that must match: {"status": "beta"}, {"year": {"gte": 2020}}.'),
    ] = {},  # noqa: B006 - pydantic copies it
) -> AskReply:
    """Have a question answered in words from the documents, with citations like [2] and the chunks they stand for.

    A language model of the server writes the answer, which takes seconds. It is told when nothing answers the question;
    `search` finds the chunks alone."""
    answered = library.ask(question, collection_from(library, collection), passages=passages or None, filters=filters)
    return reply_of(answered)


def reply_of(answered: ChatAnswer) -> AskReply:
    """Return an answer as it is told to programs."""
    usage = answered.usage
    return AskReply(
        question=answered.question,
        answer=answered.answer,
        answered=not answered.refused,
        refused=answered.refused or None,
        citations=list(map(_citation, answered.citations)),
        passages=len(answered.passages),
        collection=answered.collection,
        model=answered.model,
        usage=Tokens(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, cost=usage.cost),
        answerable=rounded_score(answered.answerable),
        degraded=answered.degraded,
        notes=list(answered.notes) or None,
    )


def _citation(one: Cited) -> Citation:
    odd = {"changed": one.changed or None, "suspicious": one.suspicious or None}
    return Citation(**(asdict(one) | odd | {"score": round(one.score, 4)}))


def _line(one: Citation) -> str:
    pages = f", {page_words(one.page, one.page_end)}" if one.page else ""
    place = f"{one_line(one.path, 500)}:{one.start_line}-{one.end_line}{pages}"
    return f"[{one.number}] {place} · {one_line(one.title)}{caveats(one.changed, one.suspicious)}"
