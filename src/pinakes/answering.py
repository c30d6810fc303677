"""Answers to questions from the chunks of a search: number them, ask a chat model, and check its citations.

Chunks are untrusted data: they are fenced with marks that they cannot know, and chunks that look like instructions are
labelled. The model is not trusted either: each cited number must be that of a chunk in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from pinakes.core.errors import InvalidInput
from pinakes.core.records import Hit, Results
from pinakes.models.chat import Chat, Usage, template
from pinakes.settings import ChatSettings
from pinakes.text.analysis import estimated_token_starts
from pinakes.text.injection import WARNING
from pinakes.text.page_numbers import page_words
from pinakes.text.quoting import Quoting, one_line

Refusal: TypeAlias = Literal["", "nothing relevant", "not in the passages"]
"""The reason if there is no answer: nothing relevant was found, so that no model was asked; or the model found no
answer in the chunks. "" = there is an answer."""

NOTHING_FOUND = "Nothing was found that has to do with this question."
NOT_IN_CHUNKS = "The chunks that were found do not hold an answer to this question."

_NO_ANSWER = "NO_ANSWER"
_TASK = (
    "You answer questions from a knowledge base. Use only the chunks below the question, nothing else that you know. "
    "Put the number of its chunk behind each statement, like this: [2]. {refusal} Be brief, and write in the "
    "language of the question. {notice}"
)
_REFUSE = f"Where the chunks do not hold the answer, answer with the one word {_NO_ANSWER}."
_CUT_OFF = (
    "the answer is cut off: the model came to its limit of tokens, which is set where it runs; with a lower "
    "chat.context_tokens it has more of them left"
)
_SUSPICIOUS = f"suspicious: {WARNING}"
_WIDEST_RANGE = 50

_WORD = re.compile(r"\w+")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_CITED = re.compile(
    r"[ \t]?[\[【]\^?\s*(?P<numbers>\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\s*(?:†[^\]】]*)?[\]】]"
    r"(?:\((?:https?:|/|#)[^)\s]*\))?"
)


@dataclass(frozen=True, slots=True)
class NumberedChunk:
    """A chunk in the prompt: its number, place and text."""

    number: int
    place: str
    text: str
    suspicious: bool = False
    section: str = ""


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """The answer of a chat model: ``cited`` are the distinct numbers of cited chunks, ascending.

    ``text`` is "" if ``refused``: the chunks contain no answer.
    """

    text: str
    cited: tuple[int, ...]
    refused: bool
    notes: tuple[str, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Cited:
    """A chunk with the number by which an answer cites it. ``page`` and ``page_end``: see ``Hit``."""

    number: int
    chunk_id: str
    document_id: str
    collection: str
    uri: str
    path: str
    title: str
    start_line: int
    end_line: int
    score: float
    text: str
    page: int | None = None
    page_end: int | None = None
    changed: bool | None = None
    suspicious: bool = False
    section: str = ""

    @property
    def place(self) -> str:
        """The place as text for users: ``guide.pdf:3-7, p. 2``."""
        page = f", {page_words(self.page, self.page_end)}" if self.page else ""
        return f"{self.path}:{self.start_line}-{self.end_line}{page}"


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer. If there is none, ``answer`` says so, and ``refused`` gives the reason.

    ``citations``: the cited chunks; ``passages``: all chunks in the prompt. ``notes``: warnings about the answer;
    ``degraded``: the reason if a retriever did not contribute to the search.
    """

    question: str
    answer: str
    refused: Refusal
    citations: tuple[Cited, ...]
    passages: tuple[Cited, ...]
    notes: tuple[str, ...]
    collection: str
    model: str
    usage: Usage
    answerable: float | None = None
    degraded: str | None = None


_OF_HIT = [one.name for one in fields(Cited) if one.name not in ("number", "text")]


class AnswerWriter:
    """Answers questions from chunks with the chat model of ``settings``. Thread-safe.

    Raises:
        InvalidSetting: ``chat.url`` or ``chat.answer_template`` cannot be used.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self.chat = Chat(settings)
        variables = ("notice", "refusal")
        self._system_prompt = template(
            "chat.answer_template", settings.answer_template, _TASK, variables, needed=variables
        )

    def write(self, question: str, passages: Sequence[NumberedChunk]) -> CitedAnswer:
        """Return the model's answer with checked citations. Chunks may share a number.

        Raises:
            NotConfigured, ModelUnavailable: see ``Chat.ask``.
        """
        reply = self.chat.ask(*self.prompt(question, passages))
        text, cited, unknown = checked(reply.text, {one.number for one in passages})
        words = _WORD.findall(reply.text)
        if words[:1] == [_NO_ANSWER] or (words[-1:] == [_NO_ANSWER] and not cited):
            return CitedAnswer("", (), True, (), reply.usage)
        cut = (_CUT_OFF,) if reply.cut_off else ()
        return CitedAnswer(text, cited, False, (*cut, *_oddities(cited, unknown, passages)), reply.usage)

    def check(self, question: str) -> None:
        """Check that ``question`` can be asked, before anything is searched for.

        Raises:
            NotConfigured: the settings name no chat model, or its key is missing.
            InvalidInput: the question is empty.
        """
        if not question.strip():
            raise InvalidInput("There is no question.", hint="Ask in plain words.")
        self.chat.check()

    def answer(self, question: str, results: Results) -> ChatAnswer:
        """Answer ``question`` from the chunks that a search for it found.

        Raises:
            NotConfigured, ModelUnavailable: see ``Chat.ask``.
        """
        shown = tuple(numbered(results.hits, self._settings.context_tokens))
        if not shown or (results.answerable is not None and results.answerable < self._settings.min_answerable):
            nothing = CitedAnswer("", (), True, (), Usage())
            return self._answered(results, NOTHING_FOUND, "nothing relevant", (), nothing)
        chunks = [NumberedChunk(one.number, one.place, one.text, one.suspicious, one.section) for one in shown]
        written = self.write(question, chunks)
        if written.refused:
            return self._answered(results, NOT_IN_CHUNKS, "not in the passages", shown, written)
        return self._answered(results, written.text, "", shown, written)

    def prompt(self, question: str, passages: Sequence[NumberedChunk]) -> tuple[str, str]:
        """Return the system prompt, and the user prompt: the question with the numbered and fenced chunks."""
        fence = Quoting()
        shown = (f"{_heading(one)}\n{fence.around(_headed(one))}" for one in passages)
        system = self._system_prompt.format(notice=fence.notice(), refusal=_REFUSE)
        return system, "\n\n".join([f"Question: {question}", *shown])

    def _answered(
        self, results: Results, answer: str, refused: Refusal, shown: tuple[Cited, ...], written: CitedAnswer
    ) -> ChatAnswer:
        return ChatAnswer(
            question=results.query,
            answer=answer,
            refused=refused,
            citations=tuple(one for one in shown if one.number in written.cited),
            passages=shown,
            notes=(*results.notes, *written.notes),
            collection=results.collection,
            model=self.chat.model,
            usage=written.usage,
            answerable=results.answerable,
            degraded=results.degraded,
        )


def numbered(hits: Sequence[Hit], most_tokens: int) -> Iterator[Cited]:
    """Yield chunks with their numbers, from 1, up to ``most_tokens`` in total.

    If the first chunk alone is longer, only its beginning is used. Token counts are estimated, rather too high than too
    low.
    """
    left = most_tokens
    for number, hit in enumerate(hits, start=1):
        starts = estimated_token_starts(hit.text)
        if len(starts) > left and number > 1:
            return
        text = hit.text if len(starts) <= left else hit.text[: int(starts[left])]
        left -= len(starts)
        yield Cited(number=number, text=text, **{name: getattr(hit, name) for name in _OF_HIT})
        if left <= 0:
            return


def checked(text: str, known: Collection[int]) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Return ``text`` with citations of ``known`` chunks only, as ``[1, 2]``; the known and the unknown cited numbers.

    Code is not changed, since numbers in brackets are no citations there.
    """
    cited: set[int] = set()
    unknown: set[int] = set()

    def keep(found: re.Match[str]) -> str:
        numbers = list(dict.fromkeys(_numbers(found["numbers"])))
        kept = [number for number in numbers if number in known]
        cited.update(kept)
        unknown.update(set(numbers) - set(kept))
        before = found[0][0] if found[0][0] in " \t" else ""
        return f"{before}[{', '.join(map(str, kept))}]" if kept else ""

    parts = _CODE.split(text)
    parts[::2] = [_CITED.sub(keep, part) for part in parts[::2]]
    return "".join(parts).strip(), tuple(sorted(cited)), tuple(sorted(unknown))


def _numbers(words: str) -> Iterator[int]:
    """Yield the numbers in text such as ``1, 3-5``."""
    for part in re.split(r"[,;]", words):
        first, *more = (int(number) for number in re.split(r"[–-]", part))
        last = more[-1] if more else first
        if first <= last <= first + _WIDEST_RANGE:
            yield from range(first, last + 1)
        else:
            yield from (first, last)


def _oddities(cited: Sequence[int], unknown: Sequence[int], passages: Sequence[NumberedChunk]) -> Iterator[str]:
    if unknown:
        names = ", ".join(f"[{number}]" for number in unknown)
        yield f"the model cited {names}, which it was not shown: taken out"
    if not cited:
        yield "the answer names no chunk, so it may not come from the documents"
    if odd := sorted({one.number for one in passages if one.suspicious and one.number in cited}):
        names = ", ".join(f"[{number}]" for number in odd)
        yield f"{names} is suspicious: {WARNING}" if len(odd) == 1 else f"{names} are suspicious: {WARNING}"


def _headed(one: NumberedChunk) -> str:
    """Return the text with the headings, column names or keys above it that give its context."""
    return f"{one.section}\n{one.text}" if one.section else one.text


def _heading(one: NumberedChunk) -> str:
    odd = f" · {_SUSPICIOUS}" if one.suspicious else ""
    return f"[{one.number}] {one_line(one.place)}{odd}"
