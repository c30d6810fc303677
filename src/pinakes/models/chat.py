"""Asking a language model: ``POST {url}/chat/completions`` as OpenAI has it, which most servers of models speak.

``{model, messages: [{role, content}, …]}`` →
``{choices: [{message: {content, refusal}, finish_reason}], usage: {prompt_tokens, …}}``.
"""

from __future__ import annotations

import re
import string
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.core.errors import InvalidSetting, ModelUnavailable, NotConfigured
from pinakes.core.records import JSON
from pinakes.models.endpoint import token_count
from pinakes.models.providers import endpoint_of
from pinakes.models.retrying import retried
from pinakes.settings import ChatSettings

_PATH = "/chat/completions"
_MODEL_NOT_NEEDED = ("endpoint", "lmstudio")
"""Who answers by the one model they have."""

_OTHER_WORDS = "Ask in other words, or another chat.model."
_MOST_TEMPLATE_CHARS = 50_000
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
"""What some models think aloud before they answer."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What answers took: ``calls`` that were answered, tokens read and written, and their ``cost``.

    Tokens are as the model's server counts them, None where it does not say. ``cost`` is in the currency of
    ``chat.price_in``, None where there are no prices or no tokens.
    """

    calls: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            _sum(self.cost, other.cost),
        )

    @property
    def words(self) -> str:
        """What people are told: "1,200 tokens read, 80 written, costs 0.0012"; "" where nothing is known."""
        if self.tokens_in is None and self.tokens_out is None:
            return ""
        cost = "" if self.cost is None else f", costs {self.cost:.4g}"
        return f"{self.tokens_in or 0:,} tokens read, {self.tokens_out or 0:,} written{cost}"


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model said, and what that took. ``cut_off``: it was to say no more tokens, and the rest is missing."""

    text: str
    usage: Usage
    cut_off: bool = False


class Chat:
    """Asks the model of ``settings``. Thread-safe; connects when it is asked, and keeps nothing open.

    Raises:
        InvalidSetting: ``chat.url`` is not the address of an API.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self._spent = Usage()
        self._lock = threading.Lock()
        self._endpoint = endpoint_of(
            settings.provider,
            _PATH,
            name="chat model",
            section="chat",
            url=settings.url,
            model=settings.model,
            key_variable=settings.key_variable,
            advice="Check chat.model and chat.url.",
            keyless=NotConfigured,
        )

    @property
    def configured(self) -> bool:
        """Whether there is a model to ask."""
        return self._settings.configured

    @property
    def model(self) -> str:
        """The name of the model, as the settings have it."""
        return self._settings.model

    @property
    def spent(self) -> Usage:
        """What all answers so far took."""
        with self._lock:
            return self._spent

    def check(self) -> None:
        """Make sure that there is a model to ask; nothing is sent.

        Raises:
            NotConfigured: there is none, it has no name, or its key is not there.
        """
        if not self.configured:
            raise NotConfigured("No chat model is configured.", hint="Set chat.url and chat.model, or chat.provider.")
        if not self.model and self._settings.provider not in _MODEL_NOT_NEEDED:
            raise NotConfigured(f"No model of {self._settings.provider} is configured.", hint="Name one in chat.model.")
        self._endpoint.headers()

    def ask(self, system: str, user: str) -> ChatReply:
        """Return what the model says to ``user``, told by ``system`` what it is to do; white space around it cut.

        While it is busy or away it is asked again, ``chat.retries`` times within ``chat.timeout_s``.

        Raises:
            NotConfigured: there is no model to ask.
            ModelUnavailable: it cannot be reached, refuses, takes too long, or answers nothing or in another form, or
                its answer is kept back.
        """
        self.check()
        messages = [{"role": role, "content": _text(text)} for role, text in (("system", system), ("user", user))]
        request: JSON = {"messages": messages, **({"model": self.model} if self.model else {})}
        answer = self._ask(request)
        usage = self._usage(answer)
        with self._lock:
            self._spent += usage
        choice = _choice(answer)
        said, why, refusal = _said(choice), choice.get("finish_reason"), _refusal(choice)
        if why == "content_filter":
            raise self._endpoint.failure("keeps its answer back by a filter of contents", _OTHER_WORDS)
        if refusal and not said:
            raise self._endpoint.failure(f"refuses to answer: {refusal}", _OTHER_WORDS)
        if why == "length" and not said:
            raise self.cut_off()
        if said is None:
            raise self._endpoint.failure(
                "answers in another form", "It has to speak the protocol of OpenAI: check chat.url."
            )
        if not said:
            raise self._endpoint.failure("answers nothing", "Try again, or another chat.model.")
        return ChatReply(said, usage, why == "length")

    def cut_off(self) -> ModelUnavailable:
        """Return the error that tells of an answer of which the rest, or all, is missing."""
        return self._endpoint.failure(
            "stops before its answer is whole, at its limit of tokens",
            "No setting of Pinakes sets that: raise it where the model runs, or try another chat.model.",
        )

    def _ask(self, request: JSON) -> JSON:
        limit_s = self._settings.timeout_s
        until = time.monotonic() + limit_s
        try:
            return retried(
                lambda: self._endpoint.ask(request, max(until - time.monotonic(), 0.001)),
                self._settings.retries,
                until,
            )
        except TimeoutError as error:
            raise self._endpoint.late(limit_s) from error

    def _usage(self, answer: JSON) -> Usage:
        """Return what an answer took, as far as it says so."""
        told = answer.get("usage") if isinstance(answer, dict) else None
        told = told if isinstance(told, dict) else {}
        read, written = token_count(told.get("prompt_tokens")), token_count(told.get("completion_tokens"))
        price_in, price_out = self._settings.price_in, self._settings.price_out
        cost = None
        if (price_in or price_out) and not (read is None and written is None):
            cost = ((read or 0) * price_in + (written or 0) * price_out) / 1_000_000
        return Usage(1, read, written, cost)


def template(setting: str, value: str, usual: str, variables: Collection[str], *, needed: Collection[str] = ()) -> str:
    """Return what a setting has a model told: its text, that of the file it names, or ``usual`` where it is empty.

    A text is a template when it has a blank or a brace; else it is the path of a file. ``{name}`` stands for a
    variable, ``{{`` for a brace. Of the ``needed`` variables those that it lacks are put behind it.

    Raises:
        InvalidSetting: the file cannot be read, or the text has variables that there are not.
    """
    text = value
    if not value.strip():
        text = usual
    elif not any(sign in value for sign in " \n{"):
        text = _file(setting, value)
    try:
        parsed = [(name, how, sign) for _, name, how, sign in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise InvalidSetting(f"Setting {setting!r} cannot be used: {error}.", hint="Write {{ for a brace.") from error
    found = {name for name, _, _ in parsed}
    if wrong := sorted(found - set(variables)):
        known = ", ".join(f"{{{name}}}" for name in variables)
        raise InvalidSetting(
            f"Setting {setting!r} names {wrong[0]!r}, which there is not.", hint=f"There are {known}; {{{{ is a brace."
        )
    if any(how or sign for _, how, sign in parsed):
        raise InvalidSetting(
            f"Setting {setting!r} has more than a name between braces.", hint="Leave out what follows ':' and '!'."
        )
    return " ".join([text.strip(), *(f"{{{name}}}" for name in needed if name not in found)])


def _file(setting: str, path: str) -> str:
    try:
        with Path(path).expanduser().open(encoding="utf-8-sig") as file:
            text = file.read(_MOST_TEMPLATE_CHARS)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(
            f"Setting {setting!r} names a file that cannot be read: {error}.",
            hint="Give the path of a text file, or the text itself.",
        ) from error
    if not text.strip():
        raise InvalidSetting(f"Setting {setting!r} names {path!r}, which is empty.", hint="Write the template there.")
    return text


def _choice(answer: JSON) -> Mapping[str, JSON]:
    """Return the first of the answers that there are to choose from, which is empty where there is none."""
    try:
        choice = answer["choices"][0]
    except (TypeError, KeyError, IndexError):
        return {}
    return choice if isinstance(choice, dict) else {}


def _refusal(choice: Mapping[str, JSON]) -> str:
    """Return in which words a model refuses to answer, "" where it does not."""
    message = choice.get("message")
    refusal = message.get("refusal") if isinstance(message, dict) else None
    return " ".join(_text(refusal).split()) if isinstance(refusal, str) else ""


def _said(choice: Mapping[str, JSON]) -> str | None:
    """Return the text of an answer without the thoughts before it, None where it has none of its kind."""
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):  # some servers answer in parts
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(text for text in texts if isinstance(text, str))
    return _text(_THOUGHTS.sub("", content, count=1)).strip() if isinstance(content, str) else None


def _sum(one: float | None, other: float | None) -> Any:
    return other if one is None else one if other is None else one + other


def _text(text: str) -> str:
    """Return ``text`` without halves of characters, which are no text in JSON."""
    return text.encode("utf-8", "replace").decode("utf-8")
