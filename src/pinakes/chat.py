"""Asking a language model: ``POST {url}/chat/completions`` as OpenAI has it, which most servers of models speak.

``{model, messages: [{role, content}, …]}`` → ``{choices: [{message: {content}}]}``.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pinakes.errors import InvalidSetting, NotConfigured
from pinakes.models.endpoint import Endpoint, is_address
from pinakes.settings import ChatSettings
from pinakes.types import JSON

_PATH = "/chat/completions"


class Chat:
    """Asks the model of ``settings``. Thread-safe; connects when it is asked, and keeps nothing open.

    Raises:
        InvalidSetting: ``chat.url`` is not the address of an API.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        if settings.url and not is_address(settings.url):
            raise InvalidSetting(
                "chat.url is not the address of an API.", hint="It begins with https:// or http:// and names a host."
            )
        address = urlsplit(settings.url)
        path = address.path.rstrip("/").removesuffix(_PATH) + _PATH
        self._endpoint = Endpoint(
            "chat model",
            "chat",
            address._replace(path=path, fragment="").geturl(),
            settings.key_variable,
            "Check chat.model and chat.url.",
            NotConfigured,
        )

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
            raise self._endpoint.failure(
                "answers in another form", "It has to speak the protocol of OpenAI: check chat.url."
            )
        if not said:
            raise self._endpoint.failure("answers nothing", "Try again, or another chat.model.")
        return said

    def _ask(self, request: JSON) -> JSON:
        limit_s = self._settings.timeout_s
        try:
            return self._endpoint.ask(request, limit_s)
        except TimeoutError as error:
            raise self._endpoint.late(limit_s) from error


def _said(answer: JSON) -> str | None:
    """Return the text of an answer, None where it has none of its kind."""
    try:
        content = answer["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError):
        return None
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content.strip() if isinstance(content, str) else None


def _text(text: str) -> str:
    """Return ``text`` without halves of characters, which are no text in JSON."""
    return text.encode("utf-8", "replace").decode("utf-8")
