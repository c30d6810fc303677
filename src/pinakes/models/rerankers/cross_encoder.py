"""The default reranker: a BERT cross-encoder on ONNX Runtime.

Each pair runs alone, on one thread; as many run concurrently as there are threads. So a score does not depend on the
other pairs, since activations are scaled per run (compared with batches in ``embedders/bert``, which does the same).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinakes.core.errors import ModelCorrupt, ModelUnavailable
from pinakes.core.records import Float32
from pinakes.models import convert, weights
from pinakes.models.runtime import clean, cores, open_session, open_tokenizer
from pinakes.settings import RerankSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

RETRY_S = 60.0
"""Seconds before unusable files are checked again, since checking means reading them."""

_PAIRS_PER_THREAD = 2
_SPECIAL_TOKENS = 3
_CHARS_PER_TOKEN = 64
"""Characters per token beyond which text is not even tokenized."""


@dataclass(frozen=True, slots=True)
class _Model:
    session: Any
    tokenizer: Tokenizer
    max_tokens: int
    begin: int
    part: int

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special tokens."""
        most = self.max_tokens * _CHARS_PER_TOKEN
        encodings = self.tokenizer.encode_batch_fast([clean(text[:most]) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def run(self, query: list[int], chunk: list[int]) -> float:
        """Score ``[CLS] query [SEP] chunk [SEP]``; the chunk is truncated to fit the model."""
        chunk = chunk[: self.max_tokens - _SPECIAL_TOKENS - len(query)]
        ids = [self.begin, *query, self.part, *chunk, self.part]
        segments = [0] * (len(query) + 2) + [1] * (len(chunk) + 1)
        given = {"input_ids": np.array([ids], np.int32), "token_type_ids": np.array([segments], np.int32)}
        return float(self.session.run(None, given)[0][0, 0])


class CrossEncoder:
    """Scores with the model of ``settings``, which is found, converted and loaded on first use, but never fetched.

    Scores are the model's logits, about -10 to +10 for the default one. Thread-safe. While one thread loads, the
    others wait for it.
    """

    logits = True

    def __init__(self, settings: RerankSettings, cache: Path) -> None:
        self._settings = settings
        self._cache = cache
        self._threads = settings.threads or cores()
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._digest = pin.weights_sha256 if (pin := weights.PINS.get(settings.model)) else ""
        self._pool: ThreadPoolExecutor | None = None
        self._refused: tuple[float, ModelUnavailable] | None = None

    @classmethod
    def open(cls, settings: RerankSettings, cache: Path) -> Self:
        """Return a reranker without loading its model."""
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Name provider, model, weights (SHA-256, shortened) and precision.

        Raises:
            ModelUnavailable: the model is not pinned, and its files are missing.
        """
        if not self._digest:
            self.load()
        return f"onnx/{self._settings.model}@{self._digest[:12]}/{self._settings.precision}"

    @property
    def at_once(self) -> int:
        """How many chunks a call should have to keep all threads busy."""
        return self._threads * _PAIRS_PER_THREAD

    def load(self) -> None:
        """Convert and load the model, if not done yet.

        Raises:
            ModelUnavailable: its files are missing or damaged.
        """
        self._loaded()

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:  # noqa: ARG002
        """Return float32 (n,): the model's logit of each pair, in the order given.

        The chunk of a pair that is too long for the model is truncated; a query longer than half of the model's limit
        is truncated, too, to leave room for the chunk.

        Raises:
            ModelUnavailable: the model's files are missing or damaged.
        """
        scores = np.empty(len(chunks), np.float32)
        if not chunks:
            return scores
        model = self._loaded()
        (asked,), rows = model.ids([query]), model.ids(chunks)
        asked = asked[: model.max_tokens // 2 - _SPECIAL_TOKENS]
        order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))
        run = map if self._threads == 1 or len(rows) == 1 else self._workers().map
        found = run(lambda number: model.run(asked, rows[number]), order)
        for number, score in zip(order, found, strict=True):
            scores[number] = score
        return scores

    def close(self) -> None:
        """Release the model and the threads."""
        with self._lock:
            pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            pool.shutdown()

    def _loaded(self) -> _Model:
        if self._model is not None:
            return self._model
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> _Model:
        if self._refused is not None and time.monotonic() < self._refused[0]:
            error = self._refused[1]
            raise type(error)(error.message, hint=error.hint) from error
        try:
            installed = weights.install(self._settings, self._cache, fetch=False)
            session = open_session(installed.graph_folder(self._settings.precision) / convert.GRAPH)
            tokenizer = open_tokenizer(installed.folder)
            begin, part = _frame(tokenizer, installed.folder)
            most = convert.read_config(installed.folder).max_tokens
        except ModelUnavailable as error:
            if weights.present(self._settings, self._cache):
                self._refused = (time.monotonic() + RETRY_S, error)
            raise
        self._digest = installed.weights_sha256
        return _Model(session, tokenizer, most, begin, part)

    def _workers(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="pinakes-rerank")
            return self._pool


def _frame(tokenizer: Tokenizer, folder: Path) -> tuple[int, int]:
    """Return the tokens before and after a text: [CLS] and [SEP]."""
    ids = tokenizer.encode("").ids
    if len(ids) != 2:
        raise ModelCorrupt(
            f"{folder / 'tokenizer.json'} does not put [CLS] and [SEP] around a text.",
            hint="Get the model's files again: `pinakes model install --rerank`.",
        )
    return ids[0], ids[1]
