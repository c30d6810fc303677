"""Chat models: ``POST {url}/chat/completions`` in OpenAI's protocol, which most model servers implement.

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
"""Providers that serve a single model, so that its name may be omitted."""

_OTHER_WORDS = "Ask in other words, or another chat.model."
_MOST_TEMPLATE_CHARS = 50_000
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
"""The reasoning that some models write before their answer."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one or more answers: ``calls`` answered, tokens read and written, and their ``cost``.

    Tokens are counted by the server, None if it does not report them. ``cost`` is in the currency of ``chat.price_in``,
    None without prices or token counts.
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
        """The usage in words: "1,200 tokens read, 80 written, costs 0.0012"; "" if nothing is known."""
        if self.tokens_in is None and self.tokens_out is None:
            return ""
        cost = "" if self.cost is None else f", costs {self.cost:.4g}"
        return f"{self.tokens_in or 0:,} tokens read, {self.tokens_out or 0:,} written{cost}"


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's answer and its usage. ``cut_off``: the answer is incomplete, because a token limit was reached."""

    text: str
    usage: Usage
    cut_off: bool = False


class Chat:
    """Asks the model of ``settings``. Thread-safe; connects on each call, and keeps no connection open.

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
        """Whether a chat model is configured."""
        return self._settings.configured

    @property
    def model(self) -> str:
        """The name of the model in the settings."""
        return self._settings.model

    @property
    def spent(self) -> Usage:
        """The total usage so far."""
        with self._lock:
            return self._spent

    def check(self) -> None:
        """Check that a chat model is configured; sends nothing.

        Raises:
            NotConfigured: no model is configured, it has no name, or its key is missing.
        """
        if not self.configured:
            raise NotConfigured("No chat model is configured.", hint="Set chat.url and chat.model, or chat.provider.")
        if not self.model and self._settings.provider not in _MODEL_NOT_NEEDED:
            raise NotConfigured(f"No model of {self._settings.provider} is configured.", hint="Name one in chat.model.")
        self._endpoint.headers()

    def ask(self, system: str, user: str) -> ChatReply:
        """Return the model's answer to the ``user`` message under the ``system`` prompt, stripped of white space.

        If the server is busy or unreachable, retries up to ``chat.retries`` times within ``chat.timeout_s``.

        Raises:
            NotConfigured: no model is configured.
            ModelUnavailable: the server cannot be reached, refuses, or times out; or the answer is empty, malformed or
                withheld by a content filter.
        """
        self.check()
        messages = [{"role": role, "content": _text(text)} for role, text in (("system", system), ("user", user))]
        request: JSON = {"messages": messages, **({"model": self.model} if self.model else {})}
        answer = self._ask(request)
        usage = self._usage(answer)
        with self._lock:
            self._spent += usage
        choice = _choice(answer)
        message, finish_reason = choice.get("message"), choice.get("finish_reason")
        text, refusal = (_answer_text(message), _refusal(message)) if isinstance(message, dict) else (None, "")
        if finish_reason == "content_filter":
            raise self._endpoint.failure("keeps its answer back by a filter of contents", _OTHER_WORDS)
        if refusal and not text:
            raise self._endpoint.failure(f"refuses to answer: {refusal}", _OTHER_WORDS)
        if finish_reason == "length" and not text:
            raise self.cut_off()
        if text is None:
            raise self._endpoint.failure(
                "answers in another form", "It has to speak the protocol of OpenAI: check chat.url."
            )
        if not text:
            raise self._endpoint.failure("answers nothing", "Try again, or another chat.model.")
        return ChatReply(text, usage, finish_reason == "length")

    def cut_off(self) -> ModelUnavailable:
        """Return the error for an incomplete answer."""
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
        """Return the usage of an answer, as far as the server reports it."""
        usage = answer.get("usage") if isinstance(answer, dict) else None
        usage = usage if isinstance(usage, dict) else {}
        read, written = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
        price_in, price_out = self._settings.price_in, self._settings.price_out
        cost = None
        if (price_in or price_out) and not (read is None and written is None):
            cost = ((read or 0) * price_in + (written or 0) * price_out) / 1_000_000
        return Usage(1, read, written, cost)


def template(setting: str, value: str, usual: str, variables: Collection[str], *, needed: Collection[str] = ()) -> str:
    """Return the template of a setting: its text, the text of the file it names, or ``usual`` if it is empty.

    A value with a space or a brace is a template; otherwise it is the path of a file. ``{name}`` is a variable, ``{{``
    a brace. Missing ``needed`` variables are appended.

    Raises:
        InvalidSetting: the file cannot be read, or the template has unknown variables.
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
    """Return the first choice of an answer; empty if there is none."""
    try:
        choice = answer["choices"][0]
    except (TypeError, KeyError, IndexError):
        return {}
    return choice if isinstance(choice, dict) else {}


def _refusal(message: Mapping[str, JSON]) -> str:
    """Return the words in which a model refuses to answer; "" if it does not refuse."""
    refusal = message.get("refusal")
    return " ".join(_text(refusal).split()) if isinstance(refusal, str) else ""


def _answer_text(message: Mapping[str, JSON]) -> str | None:
    """Return the text of an answer without the reasoning before it; None if it has no text."""
    content = message.get("content")
    if isinstance(content, list):  # some servers answer in parts
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(text for text in texts if isinstance(text, str))
    return _text(_THOUGHTS.sub("", content, count=1)).strip() if isinstance(content, str) else None


def _sum(one: float | None, other: float | None) -> Any:
    return other if one is None else one if other is None else one + other


def _text(text: str) -> str:
    """Return ``text`` without lone surrogates, which JSON cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
