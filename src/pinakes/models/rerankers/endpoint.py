"""Reranking by an HTTP endpoint: Jina, Cohere and compatible ones, or text-embeddings-inference (TEI).

jina: ``POST {model, query, documents, top_n}`` → ``{results: [{index, relevance_score}]}``;
tei: ``POST {query, texts}`` → ``[{index, score}]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import JSON, Float32
from pinakes.models.endpoint import Connections, Endpoint, is_address
from pinakes.models.runtime import clean
from pinakes.settings import RerankSettings


class EndpointReranker:
    """Requests scores from the endpoint of ``settings``, and returns them unchanged. Thread-safe.

    The key itself is never stored, only the name of the environment variable that holds it. Redirects are not followed,
    so that the key is sent nowhere else.
    """

    at_once = 0

    def __init__(self, settings: RerankSettings) -> None:
        self._settings = settings
        advice = "Check the model's name, rerank.url and rerank.protocol."
        self._endpoint = Endpoint("rerank endpoint", "rerank", settings.url, settings.key_variable, advice)
        self._connections = Connections()
        self._beyond = False

    @classmethod
    def open(cls, settings: RerankSettings, cache: Path) -> Self:  # noqa: ARG003
        """Return a reranker without connecting.

        Raises:
            InvalidSetting: ``rerank.url`` is not the address of an endpoint.
        """
        if not settings.url:
            raise InvalidSetting("rerank.url is not set.", hint="Give the endpoint's address, or set rerank.provider.")
        if not is_address(settings.url):
            raise InvalidSetting(
                "rerank.url is not the address of an endpoint.",
                hint="It begins with https:// or http:// and names a host.",
            )
        return cls(settings)

    @property
    def fingerprint(self) -> str:
        """Provider, model and address."""
        return f"http/{self._settings.model}@{self._endpoint.shown}"

    @property
    def logits(self) -> bool:
        """Whether any score so far was outside of 0 to 1; most endpoints give none."""
        return self._beyond

    def load(self) -> None:
        """Create the HTTP client, and check that the key is set, if required. Does not connect.

        Raises:
            ModelUnavailable: the environment variable does not hold a key.
        """
        self._endpoint.headers()
        self._connections.client()

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        """Return float32 (n,): the endpoint's scores, higher is better, in the order of ``chunks``.

        Raises:
            TimeoutError: there is no answer within ``within_s`` (for connecting and for answering, each).
            ModelUnavailable: the endpoint cannot be reached, refuses, or gives a malformed answer; or ``timeout_s`` is
                over.
        """
        if not chunks:
            return np.empty(0, np.float32)
        limit_s = self._settings.timeout_s
        hurried = within_s is not None and within_s < limit_s
        try:
            within = max(within_s or 0.0, 0.001) if hurried else limit_s
            answer = self._endpoint.ask(self._request(query, chunks), within, self._connections.client())
        except TimeoutError as error:
            if hurried:
                raise
            raise self._endpoint.late(limit_s) from error
        return self._scores(answer, len(chunks))

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _request(self, query: str, chunks: Sequence[str]) -> JSON:
        texts = [clean(chunk) for chunk in chunks]
        if self._settings.protocol == "tei":
            return {"query": clean(query), "texts": texts, "truncate": True}
        return {"model": self._settings.model, "query": clean(query), "documents": texts, "top_n": len(texts)}

    def _scores(self, answer: JSON, count: int) -> Float32:
        """Return the scores in ``answer``, in the order of the chunks."""
        scores = np.full(count, np.nan, np.float32)
        try:
            tei = self._settings.protocol == "tei"
            rows, name = (answer, "score") if tei else (answer["results"], "relevance_score")
            for row in rows:
                scores[_position(row["index"], count)] = float(row[name])
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise self._endpoint.failure(f"answers in another form ({type(error).__name__}: {error})", _FORM) from error
        if missing := int(np.count_nonzero(~np.isfinite(scores))):
            raise self._endpoint.failure(f"gives no score for {missing} of {count} chunks", _FORM)
        self._beyond = self._beyond or bool((scores < 0).any() or (scores > 1).any())
        return scores


_FORM = "Check rerank.protocol: jina or tei."


def _position(index: JSON, count: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
        raise ValueError(f"there is no chunk {index!r}")
    return index
