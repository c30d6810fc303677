"""Reranking by an HTTP endpoint: Jina, Cohere and those that speak as they do, or text-embeddings-inference (TEI).

jina: ``POST {model, query, documents, top_n}`` → ``{results: [{index, relevance_score}]}``;
tei: ``POST {query, texts}`` → ``[{index, score}]``.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import numpy as np

from pinakes.errors import InvalidSetting, ModelUnavailable
from pinakes.models.runtime import clean
from pinakes.settings import RerankSettings
from pinakes.types import JSON, Float32

if TYPE_CHECKING:
    import httpx

_MOST_BYTES = 4_000_000
_MOST_SHOWN = 200


class EndpointReranker:
    """Asks the endpoint of ``settings`` for the scores, as it gives them. Thread-safe.

    Nothing is kept of the key but the name of the environment variable that holds it. Redirects are not followed, so
    that the key goes nowhere else.
    """

    at_once = 0

    def __init__(self, settings: RerankSettings) -> None:
        address = urlsplit(settings.url)
        self._settings = settings
        self._shown = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._beyond = False

    @classmethod
    def open(cls, settings: RerankSettings, cache: Path) -> Self:  # noqa: ARG003
        """Return a reranker; connects to nothing yet.

        Raises:
            InvalidSetting: ``rerank.url`` is not the address of an endpoint.
        """
        if not settings.url:
            raise InvalidSetting("rerank.url is not set.", hint="Give the endpoint's address, or set rerank.provider.")
        address = urlsplit(settings.url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidSetting(
                "rerank.url is not the address of an endpoint.",
                hint="It begins with https:// or http:// and names a host.",
            )
        return cls(settings)

    @property
    def fingerprint(self) -> str:
        """Name provider, model and address."""
        return f"http/{self._settings.model}@{self._shown}"

    @property
    def logits(self) -> bool:
        """Whether it ever gave a score outside of 0 to 1; most endpoints do not."""
        return self._beyond

    def load(self) -> None:
        """Make the HTTP client, and check that the key is there, if there is to be one. Connects to nothing.

        Raises:
            ModelUnavailable: the environment variable is not set.
        """
        self._headers()
        self._connected()

    def score(self, query: str, passages: Sequence[str], *, within_s: float | None = None) -> Float32:
        """Return float32 (n,): the endpoint's scores, higher is better, in the order of ``passages``.

        Raises:
            TimeoutError: no answer within ``within_s`` (connecting and answering may take that long each).
            ModelUnavailable: it cannot be reached, refuses, or answers something else; or ``timeout_s`` is over.
        """
        if not passages:
            return np.empty(0, np.float32)
        limit_s = self._settings.timeout_s
        hurried = within_s is not None and within_s < limit_s
        try:
            answer = self._ask(self._request(query, passages), max(within_s or 0.0, 0.001) if hurried else limit_s)
        except TimeoutError as error:
            if hurried:
                raise
            what = f"does not answer within {limit_s:g} s"
            raise self._failure(what, "Check it, or raise rerank.timeout_s.") from error
        return self._scores(answer, len(passages))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _request(self, query: str, passages: Sequence[str]) -> JSON:
        texts = [clean(passage) for passage in passages]
        if self._settings.protocol == "tei":
            return {"query": clean(query), "texts": texts, "truncate": True}
        return {"model": self._settings.model, "query": clean(query), "documents": texts, "top_n": len(texts)}

    def _ask(self, request: JSON, limit_s: float) -> JSON:
        """Send ``request``, return what comes back.

        Raises:
            TimeoutError: it does not within ``limit_s``.
        """
        import httpx

        body, headers = json.dumps(request).encode(), self._headers()
        until = time.monotonic() + limit_s
        try:
            client = self._connected()
            with client.stream("POST", self._settings.url, content=body, headers=headers, timeout=limit_s) as response:
                data = _read(response, until)
        except httpx.TimeoutException as error:
            raise TimeoutError from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failure(f"cannot be reached: {error}", "Check rerank.url and the network.") from error
        if not response.is_success:
            raise self._refusal(response.status_code, data)
        try:
            return json.loads(data)
        except ValueError as error:
            raise self._failure("does not answer in JSON", "Check rerank.url.") from error

    def _connected(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                self._client = httpx.Client()
            return self._client

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if variable := self._settings.key_variable:
            key = os.environ.get(variable, "").strip()
            if not key or not key.isascii() or not key.isprintable():
                raise ModelUnavailable(
                    f"The environment variable {variable} does not hold a key for the rerank endpoint.",
                    hint="Set it, or name another in rerank.key_variable.",
                )
            headers["authorization"] = f"Bearer {key}"
        return headers

    def _scores(self, answer: JSON, count: int) -> Float32:
        """Return the scores, passage by passage, of the endpoint's ``answer``."""
        scores = np.full(count, np.nan, np.float32)
        try:
            tei = self._settings.protocol == "tei"
            rows, name = (answer, "score") if tei else (answer["results"], "relevance_score")
            for row in rows:
                scores[_position(row["index"], count)] = float(row[name])
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise self._failure(f"answers in another form ({type(error).__name__}: {error})", _FORM) from error
        if missing := int(np.count_nonzero(~np.isfinite(scores))):
            raise self._failure(f"gives no score for {missing} of {count} passages", _FORM)
        self._beyond = self._beyond or bool((scores < 0).any() or (scores > 1).any())
        return scores

    def _refusal(self, status: int, data: bytes) -> ModelUnavailable:
        said = " ".join(data[:_MOST_SHOWN].decode("utf-8", "replace").split())
        hint = "Check the model's name, rerank.url and rerank.protocol."
        if status in (401, 403):
            hint = "Check the key in the environment variable that rerank.key_variable names."
        elif status == 429 or status >= 500:
            hint = "Try again later."
        return self._failure(f"answers {status}: {said}" if said else f"answers {status}", hint)

    def _failure(self, what: str, hint: str) -> ModelUnavailable:
        return ModelUnavailable(f"The rerank endpoint {self._shown} {what}.", hint=hint)


_FORM = "Check rerank.protocol: jina or tei."


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


def _position(index: JSON, count: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
        raise ValueError(f"there is no passage {index!r}")
    return index
