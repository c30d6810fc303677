"""Embeddings from a provider: ``POST {url}/embeddings`` in OpenAI's protocol, which all presets implement.

``{model, input: [text, …]}`` → ``{data: [{index, embedding}], usage: {total_tokens}}``. Only the public service of
Hugging Face has another form: ``{inputs: [text, …]}`` → ``[embedding, …]``.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self, TypeAlias, cast
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from pinakes.core.errors import InvalidInput, InvalidSetting, ModelUnavailable, NotConfigured
from pinakes.core.records import JSON, Float32, Int64, Spent
from pinakes.models.embedders.presets import PRESETS, model_of
from pinakes.models.endpoint import Connections, Endpoint, token_count
from pinakes.models.providers import PROVIDERS, endpoint_of
from pinakes.models.retrying import Pace, retried
from pinakes.models.runtime import clean
from pinakes.settings import DEFAULT_MODEL, EmbeddingSettings, ProviderName
from pinakes.text.analysis import estimated_token_starts

Refusal: TypeAlias = InvalidInput
Pause: TypeAlias = Callable[[threading.Event, float], bool]
"""Waits this many seconds, or until the event is set; returns whether it is set."""

REST_S = 15.0
"""Seconds for which queries are not sent after one failed, so that searches do not wait for each."""

_CHARS_PER_TOKEN = 4
_CHARS_READ_PER_TOKEN = 64
_SHORTEST_CUT = 200
_MOST_BYTES = 200_000_000
_ABOUT_THE_TEXTS = frozenset((400, 413, 422))
"""Status codes that may concern a single text of the request."""

_PROBE = "text"
_BLANK = "?"
_PIPELINE = "/pipeline/feature-extraction"
_PUBLIC_SERVICE = "https://router.huggingface.co/hf-inference/models/"


class EndpointEmbedder:
    """Embeds with the provider of ``settings``. Thread-safe; connects on first use.

    Tokens are estimated, since providers' tokenizers are not available. The key itself is never stored, only the name
    of the environment variable that holds it.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        cache: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Pause = threading.Event.wait,
    ) -> None:
        provider = cast("ProviderName", settings.provider)
        self._settings = settings
        self._preset = PRESETS[provider]
        self._model = model_of(settings)
        url = settings.url
        if provider == "azure_openai":
            url, self._model = _from_azure(settings, self._model)
        self._known = self._preset.model_named(self._model)
        self._endpoint = _endpoint(settings, url, self._model)
        self._clock = clock
        self._pause = pause
        per_minute = settings.requests_per_minute
        requests = self._preset.requests_per_minute if per_minute is None else per_minute
        self._pace = Pace(requests, settings.tokens_per_minute, clock)
        self._dimension = settings.dimension or self._known.dimension
        self._noted = _note_of(cache, f"{provider} {self._endpoint.url} {self._model}")
        self._answered = False
        self._failure: tuple[float, ModelUnavailable] | None = None
        self._connections = Connections()
        self._local = threading.local()

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return an embedder without connecting.

        Raises:
            InvalidSetting: ``embedding.url`` is not the address of an API, or contains a login.
        """
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Provider, model and dimension. Raises the same errors as ``dimension``."""
        return f"{self._settings.provider}/{self._model}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """The dimension of the vectors: from the settings, the known models, or an earlier answer of the provider.

        Raises:
            ModelUnavailable: the dimension is unknown, and the provider does not answer.
        """
        if not self._expected():
            self._question(_PROBE)
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """The estimated maximum tokens of one text."""
        return self._settings.max_tokens or self._known.max_tokens

    @property
    def hosted(self) -> bool:
        """Whether the provider requires a key."""
        return bool(self._endpoint.key_variable)

    @property
    def price_per_million(self) -> float | None:
        """US dollars for a million tokens; 0: free, None: unknown."""
        given = (self._settings.price_per_million, self._known.price, self._preset.price)
        return next((price for price in given if price is not None), None)

    def check(self) -> None:
        """Check that an address and a key are configured, if required. Does not connect.

        Raises:
            NotConfigured: the address or the key is missing.
        """
        if not self._endpoint.url:
            raise NotConfigured("The embedding provider has no address.", hint="Set embedding.url.")
        self._endpoint.headers()

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given.

        Raises:
            InvalidInput: the provider refuses a text.
            ModelUnavailable: the provider does not answer, or answers incorrectly.
        """
        rows: list[Float32] = [np.empty(0, np.float32)] * len(texts)
        with closing(self.batches(texts)) as answers:
            for positions, found in answers:
                if isinstance(found, InvalidInput):
                    raise found
                for at, vector in zip(positions, found, strict=True):
                    rows[at] = vector
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length. A query longer than the model reads is truncated.

        Raises:
            ModelUnavailable: the provider does not answer within ``question_timeout_s``, or failed a moment ago.
        """
        most = self.max_tokens
        text = clean(text[: most * _CHARS_READ_PER_TOKEN]).strip() or _BLANK
        starts = estimated_token_starts(text)
        text = text[: starts[most]] if len(starts) > most else text
        while True:
            try:
                return self._question(self._known.question + text)
            except ModelUnavailable as error:
                if error.status not in _ABOUT_THE_TEXTS or len(text) < _SHORTEST_CUT:
                    raise
                text = text[: len(text) // 2]

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: estimated start offsets of tokens; an estimate that is rather too many."""
        return estimated_token_starts(text)

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | Refusal], None, None]:
        """Yield answers as they arrive: indices of ``texts``, and their vectors float32 (n, dim) or why they have none.

        Several requests run concurrently. A refused batch is halved until the refused text is found.

        Raises:
            ModelUnavailable: the provider does not answer; raised after all other answers were yielded.
        """
        todo = deque(self._batches_of(texts))
        running: dict[Future[tuple[Float32, int]], list[int]] = {}
        failure: ModelUnavailable | None = None
        stop = threading.Event()
        at_once = min(self._settings.connections or self._preset.connections, max(1, len(todo)))
        pool = ThreadPoolExecutor(at_once, thread_name_prefix="pinakes-embed")
        try:
            while running or (todo and failure is None):
                while todo and failure is None and len(running) < at_once:
                    part = todo.popleft()
                    running[pool.submit(self._chunks, [texts[at] for at in part], stop)] = part
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    part = running.pop(future)
                    try:
                        yield from self._results_of(part, *future.result())
                    except ModelUnavailable as error:
                        if failure is None and self._refuses_single_text(error, stop):
                            if len(part) == 1:
                                yield part, self._refusal(error)
                            else:
                                todo.extendleft((part[len(part) // 2 :], part[: len(part) // 2]))
                        else:
                            failure = failure or error
        finally:
            stop.set()
            pool.shutdown(wait=not running, cancel_futures=True)
        if failure is not None:
            raise failure

    def spent(self) -> Spent:
        """Return the usage of this thread so far."""
        spent: Spent = getattr(self._local, "spent", Spent())
        return spent

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _results_of(self, part: list[int], rows: Float32, tokens: int) -> Iterator[tuple[list[int], Float32 | Refusal]]:
        """Yield the vectors of an answer, and an error for each text that has none."""
        self._count(tokens)
        good = np.isfinite(rows[:, 0])
        if good.any():
            self._worked()
            yield [at for at, is_good in zip(part, good, strict=True) if is_good], rows[good]
        elif not self._answered:
            raise self._endpoint.failure("gives no vectors, but zeros or no numbers", "Try another embedding.model.")
        for at in (at for at, is_good in zip(part, good, strict=True) if not is_good):
            yield [at], self._refusal(None)

    def _refusal(self, error: ModelUnavailable | None) -> Refusal:
        message = error.message if error else f"The {self._endpoint.name} gives zeros or no numbers for it."
        return InvalidInput(message, hint="If it is too long: set embedding.max_tokens lower, then pinakes sync.")

    def _refuses_single_text(self, error: ModelUnavailable, stop: threading.Event) -> bool:
        """Return whether a provider refuses a text rather than everything: it embeds another text."""
        if error.status not in _ABOUT_THE_TEXTS:
            return False
        if not self._answered:
            with suppress(ModelUnavailable):
                rows, tokens = self._chunks([_PROBE], stop)
                self._count(tokens)
                self._answered = bool(np.isfinite(rows).all())
        return self._answered

    def _batches_of(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the indices of each batch: limited by texts and estimated tokens, but at least one text."""
        most, most_tokens = self._settings.batch or self._preset.batch, self._preset.batch_tokens
        part: list[int] = []
        tokens = 0
        for at, text in enumerate(texts):
            length = len(estimated_token_starts(text))
            if part and (len(part) >= most or tokens + length > most_tokens):
                yield part
                part, tokens = [], 0
            part.append(at)
            tokens += length
        if part:
            yield part

    def _chunks(self, texts: Sequence[str], stop: threading.Event) -> tuple[Float32, int]:
        before = self._known.chunk
        pause = partial(self._paused, stop)
        wanted = [before + (clean(text) if text.strip() else _BLANK) for text in texts]
        return self._request_vectors(wanted, pause, self._settings.retries, None)

    def _question(self, text: str) -> Float32:
        """Return the vector of a query, within a short time limit."""
        now = self._clock()
        if self._failure is not None and now < self._failure[0]:
            error = self._failure[1]
            raise type(error)(error.message, hint=error.hint) from error
        pause = partial(self._paused, threading.Event())
        try:
            retries = min(1, self._settings.retries)
            rows, tokens = self._request_vectors([text], pause, retries, now + self._settings.question_timeout_s)
            if not np.isfinite(rows).all():
                raise self._endpoint.failure("gives zeros or no numbers for a question", "Try another embedding.model.")
        except ModelUnavailable as error:
            if error.status not in _ABOUT_THE_TEXTS:
                self._failure = self._clock() + REST_S, error
            raise
        self._count(tokens)
        self._worked()
        vector: Float32 = rows[0]
        return vector

    def _request_vectors(
        self, texts: Sequence[str], pause: Callable[[float], None], retries: int, until: float | None
    ) -> tuple[Float32, int]:
        """Return the vectors of one request, NaN where missing, and its tokens. ``until``: deadline of a query."""
        self.check()
        estimate = sum(map(len, texts)) // _CHARS_PER_TOKEN + 1
        request = self._request(texts)

        def once() -> JSON:
            self._take_turn(estimate, pause, until)
            left_s = self._settings.timeout_s if until is None else max(0.001, until - self._clock())
            limit_s = min(left_s, self._settings.timeout_s)
            try:
                return self._endpoint.ask(request, limit_s, self._connections.client())
            except TimeoutError as error:
                hint = "Check it, or raise embedding.timeout_s or embedding.question_timeout_s."
                raise self._endpoint.failure(f"does not answer within {limit_s:.3g} s", hint, status=0) from error

        answer = retried(once, retries, until, sleep=pause, clock=self._clock)
        rows, tokens = vectors_of(answer, len(texts), self._endpoint)
        self._check(rows.shape[1])
        return rows, tokens or estimate

    def _take_turn(self, tokens: int, pause: Callable[[float], None], until: float | None) -> None:
        while wait_s := self._pace.take(tokens, question=until is not None):
            if until is not None and self._clock() + wait_s > until:
                raise self._endpoint.failure(
                    f"may be asked again in {wait_s:.0f} s: so many requests a minute are set",
                    "See embedding.requests_per_minute and embedding.tokens_per_minute.",
                )
            pause(wait_s)

    def _paused(self, stop: threading.Event, seconds: float) -> None:
        if self._pause(stop, seconds):
            raise CancelledError

    def _request(self, texts: Sequence[str]) -> JSON:
        if self._endpoint.url.partition("?")[0].endswith(_PIPELINE):
            return {"inputs": list(texts)}
        request = {"model": self._model, "input": list(texts)}
        wanted = self._settings.dimension
        shortened = self._known.shortens and wanted not in (0, self._known.dimension)
        return {**request, "dimensions": wanted} if shortened else request

    def _expected(self) -> int:
        """Return the known dimension without asking the provider, 0 if unknown."""
        if not self._dimension:
            with suppress(OSError, ValueError, KeyError, TypeError):
                self._dimension = int(json.loads(self._noted.read_text("utf-8"))["dimension"])
        return self._dimension

    def _check(self, dimension: int) -> None:
        """Check the dimension against the expected one; the first answer determines it."""
        if self._expected() == dimension:
            return
        if self._dimension:
            raise self._endpoint.failure(
                f"gives vectors of {dimension:,} numbers, not {self._dimension:,}",
                f"Another model answers there: check embedding.model and embedding.url. If it is the one that is "
                f"meant: set embedding.dimension to {dimension}, then pinakes reindex --embed.",
            )
        self._dimension = dimension
        with suppress(OSError):
            self._noted.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._noted.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps({"model": self._model, "dimension": dimension}), "utf-8")
            unfinished.replace(self._noted)

    def _worked(self) -> None:
        self._answered, self._failure = True, None

    def _count(self, tokens: int) -> None:
        before = self.spent()
        self._local.spent = Spent(before.requests + 1, before.tokens + tokens)


def _endpoint(settings: EmbeddingSettings, url: str, model: str) -> Endpoint:
    """Return the endpoint for embeddings; its address is "" if none is known."""
    provider = cast("ProviderName", settings.provider)
    path = "/embeddings"
    if provider == "huggingface" and (not url or url.partition("?")[0].endswith(_PIPELINE)):
        path, url = _PIPELINE, url or _PUBLIC_SERVICE + quote(model)
    others = PRESETS[provider].other_keys
    usual = PROVIDERS[provider].key_variable
    spare = "" if os.environ.get(usual) else next((name for name in others if os.environ.get(name)), "")
    found = endpoint_of(
        provider,
        path,
        name="embedding provider",
        section="embedding",
        url=url,
        model=model,
        key_variable=settings.key_variable or spare,
        advice="Check embedding.model and embedding.url.",
        keyless=NotConfigured,
    )
    if "@" in urlsplit(found.url).netloc:
        hint = "Leave it out; name the environment variable that holds the key in embedding.key_variable."
        raise InvalidSetting("embedding.url has a login in it, which would be kept in the catalogue.", hint=hint)
    return replace(found, url=found.url if url or PROVIDERS[provider].url else "", most_bytes=_MOST_BYTES)


def _from_azure(settings: EmbeddingSettings, model: str) -> tuple[str, str]:
    """Return address and deployment, from the environment if the settings name none."""
    named = {name: os.environ.get(f"EMBEDDING_AZURE_{name}", "") for name in ("ENDPOINT", "DEPLOYMENT", "API_VERSION")}
    url = settings.url
    if not url and (url := named["ENDPOINT"]) and named["API_VERSION"] and "?" not in url:
        url += "?" + urlencode({"api-version": named["API_VERSION"]})
    return url, named["DEPLOYMENT"] or model if settings.model == DEFAULT_MODEL else model


def _note_of(cache: Path, identity: str) -> Path:
    """Return the file that caches the dimension of a provider's model."""
    return cache.expanduser() / "endpoints" / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


_LEAST_LENGTH = 1e-12
_FORM = "It has to speak the protocol of OpenAI: check embedding.url."


def vectors_of(answer: JSON, count: int, endpoint: Endpoint) -> tuple[Float32, int]:
    """Return float32 (count, dim), unit length, NaN for invalid vectors; and the tokens, 0 if not reported.

    Raises:
        ModelUnavailable: ``answer`` is not a valid answer for ``count`` texts.
    """
    try:
        data = answer if isinstance(answer, list) else answer["data"]
        if len(data) != count:
            raise endpoint.failure(f"gives {len(data):,} vectors for {count:,} texts", _FORM)
        rows = np.stack(_in_order(data))
        tokens = _tokens(answer)
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as error:
        raise endpoint.failure(f"answers in another form ({type(error).__name__}: {error})", _FORM) from error
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        usable = np.isfinite(lengths) & (lengths > _LEAST_LENGTH)
        return np.where(usable, rows / lengths, np.nan).astype(np.float32), tokens


def _in_order(data: Sequence[JSON]) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the vectors sorted by their index, or in their order if they have no index."""
    rows = {}
    for at, row in enumerate(data):
        place, numbers = (row.get("index", at), row["embedding"]) if isinstance(row, dict) else (at, row)
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(data) or place in rows:
            raise ValueError(f"there is no text {place!r}, or it has a vector already")
        vector = np.array(numbers, np.float64)
        if vector.ndim != 1 or not len(vector):
            raise ValueError(f"a vector has the shape {vector.shape}")
        rows[place] = vector
    return [rows[place] for place in sorted(rows)]


def _tokens(answer: JSON) -> int:
    """Return the number of tokens; 0 if it is missing or not a number."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    return token_count(usage.get("total_tokens", usage.get("prompt_tokens"))) or 0 if isinstance(usage, dict) else 0
