"""Vectors from a model that runs elsewhere: ``POST {url}/embeddings`` as OpenAI has it, which all presets speak.

``{model, input: [text, …]}`` → ``{data: [{index, embedding}], usage: {total_tokens}}``. The public service of Hugging
Face alone has another form: ``{inputs: [text, …]}`` → ``[embedding, …]``.
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
from pinakes.models.embedders.pacing import Pace
from pinakes.models.embedders.presets import PRESETS, model_of
from pinakes.models.embedders.responses import vectors_of
from pinakes.models.endpoint import Connections, Endpoint
from pinakes.models.providers import PROVIDERS, endpoint_of
from pinakes.models.retrying import retried
from pinakes.models.runtime import clean
from pinakes.settings import DEFAULT_MODEL, EmbeddingSettings, ProviderName
from pinakes.text.analysis import estimated_token_starts

Refusal: TypeAlias = InvalidInput
Pause: TypeAlias = Callable[[threading.Event, float], bool]
"""Waits so many seconds, or until the event is set; says whether it is."""

REST_S = 15.0
"""After a question got no vector, others are not asked for so long, so that searches do not wait each, in seconds."""

_CHARS_PER_TOKEN = 4
_CHARS_READ_PER_TOKEN = 64
_SHORTEST_CUT = 200
_MOST_BYTES = 200_000_000
_ABOUT_THE_TEXTS = frozenset((400, 413, 422))
"""A provider that answers by one of these may do so because of one text alone."""

_PROBE = "text"
_BLANK = "?"
_PIPELINE = "/pipeline/feature-extraction"
_PUBLIC_SERVICE = "https://router.huggingface.co/hf-inference/models/"


class EndpointEmbedder:
    """Asks the provider of ``settings``. Thread-safe; connects when it is first needed.

    Tokens are estimated: the tokenizers of providers are not at hand. Nothing is kept of the key but the name of the
    environment variable that holds it.
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
        self._mine = threading.local()

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return an embedder; connects to nothing yet.

        Raises:
            InvalidSetting: ``embedding.url`` is not the address of an API, or has a login in it.
        """
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Name provider, model and dimension. Raises as ``dimension`` does."""
        return f"{self._settings.provider}/{self._model}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """Length of a vector: that of the settings, else as is known of the model, else as the provider once gave.

        Raises:
            ModelUnavailable: it is not known, and the provider does not answer.
        """
        if not self._expected():
            self._question(_PROBE)
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Most tokens of one text, by estimate."""
        return self._settings.max_tokens or self._known.max_tokens

    @property
    def hosted(self) -> bool:
        """Whether the provider wants a key."""
        return bool(self._endpoint.key_variable)

    @property
    def price_per_million(self) -> float | None:
        """US dollars for a million tokens; 0 = nothing, None = not known."""
        given = (self._settings.price_per_million, self._known.price, self._preset.price)
        return next((price for price in given if price is not None), None)

    def check(self) -> None:
        """Make sure that an address and a key are there, as far as they are wanted. Connects to nothing.

        Raises:
            NotConfigured: they are not.
        """
        if not self._endpoint.url:
            raise NotConfigured("The embedding provider has no address.", hint="Set embedding.url.")
        self._endpoint.headers()

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given.

        Raises:
            InvalidInput: the provider refuses a text.
            ModelUnavailable: it does not answer, or not as it should.
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
        """Return float32 (dim,), unit length. A question longer than the model reads is cut.

        Raises:
            ModelUnavailable: the provider does not answer within ``question_timeout_s``, or did not a moment ago.
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
        """Return int64 (n,), ascending: where tokens start, estimated; rather too many than too few."""
        return estimated_token_starts(text)

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | Refusal], None, None]:
        """Yield answers as they come: positions of ``texts``, their vectors float32 (n, dim) or why they have none.

        Several requests are under way at once. A batch that is refused is halved until the text is found.

        Raises:
            ModelUnavailable: the provider does not answer, after all that it did answer was yielded.
        """
        todo = deque(self._planned(texts))
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
                        yield from self._settled(part, *future.result())
                    except ModelUnavailable as error:
                        if failure is None and self._concerns_a_text(error, stop):
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
        """Return what the calls of this thread took so far."""
        spent: Spent = getattr(self._mine, "spent", Spent())
        return spent

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _settled(self, part: list[int], rows: Float32, tokens: int) -> Iterator[tuple[list[int], Float32 | Refusal]]:
        """Yield what an answer gives: vectors, and an error for each text that has none though others have."""
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
        said = error.message if error else f"The {self._endpoint.name} gives zeros or no numbers for it."
        return InvalidInput(said, hint="If it is too long: set embedding.max_tokens lower, then pinakes sync.")

    def _concerns_a_text(self, error: ModelUnavailable, stop: threading.Event) -> bool:
        """Say whether a provider refuses a text, and not everything: it gives a vector for another."""
        if error.status not in _ABOUT_THE_TEXTS:
            return False
        if not self._answered:
            with suppress(ModelUnavailable):
                rows, tokens = self._chunks([_PROBE], stop)
                self._count(tokens)
                self._answered = bool(np.isfinite(rows).all())
        return self._answered

    def _planned(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the positions of each batch: within so many texts and estimated tokens, but at least one text."""
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
        return self._asked(wanted, pause, self._settings.retries, None)

    def _question(self, text: str) -> Float32:
        """Return the vector of one text, soon or not at all."""
        now = self._clock()
        if self._failure is not None and now < self._failure[0]:
            error = self._failure[1]
            raise type(error)(error.message, hint=error.hint) from error
        pause = partial(self._paused, threading.Event())
        try:
            retries = min(1, self._settings.retries)
            rows, tokens = self._asked([text], pause, retries, now + self._settings.question_timeout_s)
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

    def _asked(
        self, texts: Sequence[str], pause: Callable[[float], None], retries: int, until: float | None
    ) -> tuple[Float32, int]:
        """Return the vectors of one request, NaN where there are none, and its tokens. ``until``: it is a question."""
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
        """Return the length of a vector as far as it is known without asking, 0 where it is not."""
        if not self._dimension:
            with suppress(OSError, ValueError, KeyError, TypeError):
                self._dimension = int(json.loads(self._noted.read_text("utf-8"))["dimension"])
        return self._dimension

    def _check(self, dimension: int) -> None:
        """Compare the length of vectors with what it should be; the first time that is what it will be."""
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
        self._mine.spent = Spent(before.requests + 1, before.tokens + tokens)


def _endpoint(settings: EmbeddingSettings, url: str, model: str) -> Endpoint:
    """Return where embeddings are asked for; its address is "" where none is known."""
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
    """Return address and deployment, from the environment where the settings name none."""
    named = {name: os.environ.get(f"EMBEDDING_AZURE_{name}", "") for name in ("ENDPOINT", "DEPLOYMENT", "API_VERSION")}
    url = settings.url
    if not url and (url := named["ENDPOINT"]) and named["API_VERSION"] and "?" not in url:
        url += "?" + urlencode({"api-version": named["API_VERSION"]})
    return url, named["DEPLOYMENT"] or model if settings.model == DEFAULT_MODEL else model


def _note_of(cache: Path, identity: str) -> Path:
    """Return the file that keeps what the provider once told of a model."""
    return cache.expanduser() / "endpoints" / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"
