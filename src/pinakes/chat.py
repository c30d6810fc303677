"""Asking a language model: ``POST {url}/chat/completions`` as OpenAI has it, which most servers of models speak.

``{model, messages: [{role, content}, …]}`` → ``{choices: [{message: {content}}]}``.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinakes.errors import InvalidSetting, ModelUnavailable, NotConfigured
from pinakes.settings import ChatSettings
from pinakes.types import JSON

if TYPE_CHECKING:
    import httpx

_MOST_BYTES = 4_000_000
_MOST_SHOWN = 200
_PATH = "/chat/completions"


class Chat:
    """Asks the model of ``settings``. Thread-safe; connects when it is asked, and keeps nothing open.

    Nothing is kept of the key but the name of the environment variable that holds it. Redirects are not followed, so
    that the key goes nowhere else.

    Raises:
        InvalidSetting: ``chat.url`` is not the address of an API.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        address = urlsplit(settings.url)
        if settings.url and (address.scheme not in ("http", "https") or not address.hostname):
            raise InvalidSetting(
                "chat.url is not the address of an API.", hint="It begins with https:// or http:// and names a host."
            )
        path = address.path.rstrip("/").removesuffix(_PATH) + _PATH
        self._url = address._replace(path=path, fragment="").geturl()
        self._shown = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{path}"

    @property
    def configured(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self._settings.url)

    def ask(self, system: str, user: str) -> str:
        """Return what the model says to ``user``, told by ``system`` what it is to do; white space around it cut.

        Raises:
            NotConfigured: there is no model to ask.
            ModelUnavailable: it cannot be reached, refuses, takes too long, or answers nothing or in another form.
        """
        if not self.configured:
            raise NotConfigured("No chat model is configured.", hint="Set chat.url and chat.model.")
        messages = [{"role": role, "content": _text(text)} for role, text in (("system", system), ("user", user))]
        said = _said(self._ask({"model": self._settings.model, "messages": messages}))
        if said is None:
            raise self._failure("answers in another form", "It has to speak the protocol of OpenAI: check chat.url.")
        if not said:
            raise self._failure("answers nothing", "Try again, or another chat.model.")
        return said

    def _ask(self, request: JSON) -> JSON:
        import httpx

        limit_s = self._settings.timeout_s
        until = time.monotonic() + limit_s
        body, headers = json.dumps(request).encode(), self._headers()
        try:
            with httpx.stream("POST", self._url, content=body, headers=headers, timeout=limit_s) as response:
                data = _read(response, until)
        except (httpx.TimeoutException, TimeoutError) as error:
            what = f"does not answer within {limit_s:g} s"
            raise self._failure(what, "Check it, or raise chat.timeout_s.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failure(f"cannot be reached: {error}", "Check chat.url and the network.") from error
        if not response.is_success:
            raise self._refusal(response.status_code, data)
        try:
            return json.loads(data)
        except ValueError as error:
            raise self._failure("does not answer in JSON", "Check chat.url.") from error

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if variable := self._settings.key_variable:
            key = os.environ.get(variable, "").strip()
            if not key or not key.isascii() or not key.isprintable():
                raise NotConfigured(
                    f"The environment variable {variable} does not hold a key for the chat model.",
                    hint="Set it, or name another in chat.key_variable.",
                )
            headers["authorization"] = f"Bearer {key}"
        return headers

    def _refusal(self, status: int, data: bytes) -> ModelUnavailable:
        said = " ".join(data[:_MOST_SHOWN].decode("utf-8", "replace").split())
        hint = "Check chat.model and chat.url."
        if status in (401, 403):
            hint = "Check the key in the environment variable that chat.key_variable names."
        elif status == 429 or status >= 500:
            hint = "Try again later."
        return self._failure(f"answers {status}: {said}" if said else f"answers {status}", hint)

    def _failure(self, what: str, hint: str) -> ModelUnavailable:
        return ModelUnavailable(f"The chat model at {self._shown} {what}.", hint=hint)


def _said(answer: JSON) -> str | None:
    """Return the text of an answer, None where it has none of its kind."""
    try:
        content = answer["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError):
        return None
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content.strip() if isinstance(content, str) else None


def _read(response: httpx.Response, until: float) -> bytes:
    """Return the whole answer, were it sent a byte at a time.

    Raises:
        TimeoutError: it goes on for longer than ``until``.
    """
    data = bytearray()
    for part in response.iter_bytes():
        data += part
        if time.monotonic() > until:
            raise TimeoutError
        if len(data) > _MOST_BYTES:
            break
    return bytes(data)


def _text(text: str) -> str:
    """Return ``text`` without halves of characters, which are no text in JSON."""
    return text.encode("utf-8", "replace").decode("utf-8")
