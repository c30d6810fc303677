"""The default embedder: a BERT encoder on ONNX Runtime.

Each text runs alone, on one thread; as many run concurrently as there are threads. Measured on 2 cores with 232-token
chunks, this is faster than batches (no padding, a smaller working set), a query needs no thread pool, and an 8-bit
vector does not depend on the other texts of the call (activations are scaled per run).
"""

from __future__ import annotations

import threading
import time
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinakes.core.errors import InvalidInput, ModelUnavailable
from pinakes.core.records import Float32, Int32, Int64
from pinakes.models import convert, folders, weights
from pinakes.models.runtime import clean, cores, open_session
from pinakes.models.token_memo import TokenMemo, memo_of
from pinakes.settings import EmbeddingSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

RETRY_S = 60.0
"""Seconds before a model that could not be fetched is looked for on the network again."""

_SPECIAL_TOKENS = 2
_GROUP = 1024
_TOKENS_PER_RUN = 256
_PRIOR = "prior.npz"
_PRIOR_FORMAT = 2
_QUERY_CHARS_PER_TOKEN = 64


@dataclass(frozen=True, slots=True)
class _Model:
    session: Any
    tokenizer: Tokenizer
    max_tokens: int

    def run(self, ids: Sequence[int]) -> Float32:
        row: Float32 = self.session.run(None, {"input_ids": np.array([ids], np.int32)})[0][0]
        return row


class BertEmbedder:
    """Embeds with the model of ``settings``, which is found, fetched, converted and loaded on first use.

    Thread-safe. While one thread loads, the others wait for it.
    """

    def __init__(self, settings: EmbeddingSettings, cache: Path) -> None:
        self._settings = settings
        self._cache = cache
        self._pin = weights.PINS.get(settings.model)
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._memo: TokenMemo | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._details: tuple[str, int, int] | None = None
        self._failure: tuple[float, ModelUnavailable] | None = None

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return an embedder without loading its model."""
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Name provider, model, weights (SHA-256, shortened), precision and dimension.

        Raises:
            ModelUnavailable: the model is not pinned, and its files cannot be found or fetched.
        """
        digest, dimension, _ = self._known()
        settings = self._settings
        return f"onnx/{settings.model}@{digest[:12]}/{settings.precision}/{dimension}"

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. Raises the same errors as ``fingerprint``."""
        return self._known()[1]

    @property
    def max_tokens(self) -> int:
        """The maximum tokens of one text, without special tokens. Raises the same errors as ``fingerprint``."""
        return self._known()[2] - _SPECIAL_TOKENS

    def load(self) -> None:
        """Load the model if its files are installed. Raises the same errors as ``embed``."""
        if weights.present(self._settings, self._cache):
            self._load()

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given.

        Raises:
            InvalidInput: a text has more than ``max_tokens`` tokens; texts are never truncated.
            ModelUnavailable: the model cannot be found, fetched or loaded.
        """
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if not texts:
            return vectors
        model = self._load()
        for first in range(0, len(texts), _GROUP):
            group = [clean(text) for text in texts[first : first + _GROUP]]
            rows = [encoding.ids for encoding in model.tokenizer.encode_batch_fast(group)]
            self._check(rows, first, model.max_tokens)
            self._run(model, rows, vectors[first : first + _GROUP])
        return vectors

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length. A query longer than ``max_tokens`` is truncated.

        Raises:
            ModelUnavailable: the model cannot be found, fetched or loaded.
        """
        model = self._load()
        ids = model.tokenizer.encode(clean(text[: model.max_tokens * _QUERY_CHARS_PER_TOKEN])).ids
        if len(ids) > model.max_tokens:
            ids = ids[: model.max_tokens - 1] + ids[-1:]
        return model.run(ids)

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: the character offset of each token, without special tokens.

        Linear in the length of ``text``. Characters that the model drops (controls) start no token; the offset of a
        character that becomes several tokens is repeated.

        Raises:
            ModelUnavailable: the model cannot be found, fetched or loaded.
        """
        return self._tokens().starts(clean(text))

    def vocabulary_size(self) -> int:
        """Return the number of tokens in the vocabulary. Raises the same errors as ``token_ids``."""
        return int(self._tokens().tokenizer.get_vocab_size())

    def token_ids(self, texts: Sequence[str]) -> tuple[Int32, Int64]:
        """Return the tokens of all texts without special tokens: ids int32 (m,) and offsets int64 (n + 1,).

        Text i has ``ids[offsets[i]:offsets[i + 1]]``; their order is undefined.

        Raises:
            ModelUnavailable: the model cannot be found, fetched or loaded.
        """
        return self._tokens().ids([clean(text) for text in texts])

    def prior(self) -> Float32:
        """Return float32 (vocabulary, dim): the model's vector of each single token, cached beside its graph.

        Computing it takes some seconds, once for each model and precision.

        Raises:
            ModelUnavailable: the model cannot be found, fetched or loaded, or the cache cannot be written.
        """
        model = self._load()
        installed = self._install()
        graph = installed.graph_folder(self._settings.precision)
        folder = graph.with_name(f"prior-{_PRIOR_FORMAT}-{graph.name}")
        table = _loaded_prior(folder)
        if table is None:
            with folders.exclusive(folder.parent, weights.LOCK_TIMEOUT_S):
                table = _loaded_prior(folder)  # another process may have computed it meanwhile
                if table is None:
                    with folders.filled(folder, {"weights_sha256": installed.weights_sha256}) as unfinished:
                        _save_prior(unfinished / _PRIOR, self._token_vectors(model))
                    table = _read_prior(folder / _PRIOR)
        return table

    def _token_vectors(self, model: _Model) -> Float32:
        """Return float32 (vocabulary, dim): the vector of each token between [CLS] and [SEP]."""
        first, last = model.tokenizer.encode("").ids
        size = model.tokenizer.get_vocab_size()
        rows = np.stack([np.full(size, first), np.arange(size), np.full(size, last)], axis=1).astype(np.int32)
        starts = range(0, size, _TOKENS_PER_RUN)
        parts = self._workers(self._settings.threads or cores()).map(
            lambda start: model.session.run(None, {"input_ids": rows[start : start + _TOKENS_PER_RUN]})[0], starts
        )
        return np.concatenate(list(parts))

    def _known(self) -> tuple[str, int, int]:
        """Return SHA-256 of the weights, dimension, and maximum tokens including special ones."""
        if self._pin is not None:
            return self._pin.weights_sha256, self._pin.dimension, self._pin.max_tokens
        with self._lock:
            if self._details is None:
                model = weights.locate(self._settings, self._cache) or self._install()
                config = convert.read_config(model.folder)
                self._details = (model.weights_sha256, config.hidden, config.max_tokens)
            return self._details

    def _load(self) -> _Model:
        if self._model is not None:
            return self._model
        with self._lock:
            if self._model is None:
                installed = self._install()
                self._memo = self._memo or memo_of(installed.folder)
                session = open_session(installed.graph_folder(self._settings.precision) / convert.GRAPH)
                self._model = _Model(session, self._memo.tokenizer, convert.read_config(installed.folder).max_tokens)
            return self._model

    def _tokens(self) -> TokenMemo:
        """Return the tokenizer; this does not load the model itself."""
        if self._memo is not None:
            return self._memo
        with self._lock:
            if self._memo is None:
                self._memo = memo_of(self._install().folder)
            return self._memo

    def _install(self) -> weights.Installed:
        """Install the model; after a failure, do not try the network again for a while."""
        if self._failure is not None and time.monotonic() < self._failure[0]:
            if weights.locate(self._settings, self._cache) is None:
                error = self._failure[1]
                raise type(error)(error.message, hint=error.hint) from error
            self._failure = None
        try:
            return weights.install(self._settings, self._cache)
        except ModelUnavailable as error:
            self._failure = (time.monotonic() + RETRY_S, error)
            raise

    def _check(self, rows: Sequence[Sequence[int]], first: int, most: int) -> None:
        for number, ids in enumerate(rows, first):
            if len(ids) > most:
                raise InvalidInput(
                    f"Text {number} has {len(ids) - _SPECIAL_TOKENS} tokens; {self._settings.model} reads at most "
                    f"{most - _SPECIAL_TOKENS}.",
                    hint="Cut it into smaller chunks first.",
                )

    def _run(self, model: _Model, rows: Sequence[Sequence[int]], out: Float32) -> None:
        """Fill ``out`` float32 (n, dim), longest text first, so that it is not the last one to finish."""
        order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))
        longest_first = (rows[number] for number in order)
        threads = self._settings.threads or cores()
        run = map if threads == 1 or len(rows) == 1 else self._workers(threads).map
        for number, vector in zip(order, run(model.run, longest_first), strict=True):
            out[number] = vector

    def _workers(self, threads: int) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(threads, thread_name_prefix="pinakes-embed")
            return self._pool


def _loaded_prior(folder: Path) -> Float32 | None:
    """Return the table that ``_save_prior`` wrote into ``folder``; None if it is missing or damaged."""
    if not folders.intact(folder):
        return None
    try:
        return _read_prior(folder / _PRIOR)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # whatever NumPy says of what is no archive
        return None


def _read_prior(path: Path) -> Float32:
    with np.load(path, allow_pickle=False) as parts:
        table: Float32 = parts["codes"] * parts["scale"].astype(np.float32)
    return table


def _save_prior(path: Path, vectors: Float32) -> None:
    """Write ``vectors`` quantised to 8 bits: the cosine of maps fitted to them is the same to three digits."""
    scale = (np.abs(vectors).max(axis=1, keepdims=True) / 127).astype(np.float16)
    codes = np.clip(np.rint(vectors / scale), -127, 127).astype(np.int8)
    np.savez(path, codes=codes, scale=scale, allow_pickle=False)
