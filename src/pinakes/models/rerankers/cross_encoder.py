"""A BERT cross-encoder on ONNX Runtime: the default reranker.

Each pair runs alone, on one thread, and as many run at once as there are threads; so a score does not depend on the
pairs beside it, as activations are scaled per run (measured against batches: see the embedder, which does the same).
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
"""Files that cannot be used are not looked at again for so long, in seconds: finding that out means reading them."""

_PAIRS_PER_THREAD = 2
_SPECIAL_TOKENS = 3
_CHARS_PER_TOKEN = 64
"""Text beyond so many characters a token is not even tokenized."""


@dataclass(frozen=True, slots=True)
class _Model:
    session: Any
    tokenizer: Tokenizer
    max_tokens: int
    begin: int
    part: int

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, special ones left out."""
        most = self.max_tokens * _CHARS_PER_TOKEN
        encodings = self.tokenizer.encode_batch_fast([clean(text[:most]) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def run(self, query: list[int], chunk: list[int]) -> float:
        """Score ``[CLS] query [SEP] chunk [SEP]``; the chunk is cut to what the model reads."""
        chunk = chunk[: self.max_tokens - _SPECIAL_TOKENS - len(query)]
        ids = [self.begin, *query, self.part, *chunk, self.part]
        segments = [0] * (len(query) + 2) + [1] * (len(chunk) + 1)
        given = {"input_ids": np.array([ids], np.int32), "token_type_ids": np.array([segments], np.int32)}
        return float(self.session.run(None, given)[0][0, 0])


class CrossEncoder:
    """Scores with the model of ``settings``; it is found, converted and loaded when first needed, never fetched.

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
        """Return a reranker; costs nothing yet."""
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Name provider, model, weights (SHA-256, shortened) and precision.

        Raises:
            ModelUnavailable: the model is not a pinned one, and its files are not there.
        """
        if not self._digest:
            self.load()
        return f"onnx/{self._settings.model}@{self._digest[:12]}/{self._settings.precision}"

    @property
    def at_once(self) -> int:
        """How many chunks a call should have: enough to keep all threads at work."""
        return self._threads * _PAIRS_PER_THREAD

    def load(self) -> None:
        """Convert and load the model where that is still to do.

        Raises:
            ModelUnavailable: its files are not there, or are damaged.
        """
        self._loaded()

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:  # noqa: ARG002
        """Return float32 (n,): the model's logit of each pair, in the order given.

        A pair that is longer than the model reads is cut at the end of its chunk; a query of more than half of
        that is cut itself, so that chunks are read.

        Raises:
            ModelUnavailable: the model's files are not there, or are damaged.
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
        """Let the model and the threads go."""
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
    """Return the tokens that stand before a text and after it: [CLS] and [SEP]."""
    ids = tokenizer.encode("").ids
    if len(ids) != 2:
        raise ModelCorrupt(
            f"{folder / 'tokenizer.json'} does not put [CLS] and [SEP] around a text.",
            hint="Get the model's files again: `pinakes model install --rerank`.",
        )
    return ids[0], ids[1]
