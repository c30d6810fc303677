"""Any model of sentence-transformers, on a GPU if there is one. Requires the extra ``torch``."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinakes.core.errors import InvalidInput, MissingExtra, ModelUnavailable
from pinakes.core.records import Float32, Int64
from pinakes.models.runtime import clean
from pinakes.settings import EmbeddingSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_USUAL_MAX_TOKENS = 512
_CHARS_READ_PER_TOKEN = 64
_TEXTS_AT_ONCE = 32
_TEXTS_AT_ONCE_ON_GPU = 512
_BEGINNING_BYTES = 1_000_000


class TorchEmbedder:
    """Embeds with the model of ``settings``, fetched and loaded on first use. Thread-safe."""

    def __init__(self, settings: EmbeddingSettings, cache: Path) -> None:
        self._settings = settings
        self._cache = cache.expanduser() / "torch"
        self._lock = threading.RLock()
        self._model: SentenceTransformer | None = None

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return an embedder without loading its model."""
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Model, revision (for a folder, a hash of its weights) and dimension. Raises the same errors as ``embed``."""
        config = getattr(getattr(self._loaded()[0], "auto_model", None), "config", None)
        name, revision = self._settings.model, getattr(config, "_commit_hash", None)
        if self._settings.path is not None:
            folder = self._settings.path.expanduser().resolve()
            name, revision = folder.name, _hash_of(folder)
        return f"torch/{name}{f'@{revision[:12]}' if revision else ''}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. Raises the same errors as ``embed``."""
        model = self._loaded()
        dimension_of = (
            getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        )  # before 6
        return int(dimension_of() or 0)

    @property
    def max_tokens(self) -> int:
        """The maximum tokens of one text, without special tokens. Raises the same errors as ``embed``."""
        model = self._loaded()
        return int(model.max_seq_length or _USUAL_MAX_TOKENS) - int(model.tokenizer.num_special_tokens_to_add())

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given.

        Raises:
            MissingExtra: sentence-transformers is not installed.
            ModelUnavailable: the model cannot be found, fetched or loaded.
            InvalidInput: a text has more than ``max_tokens`` tokens.
        """
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        cleaned = [clean(text) for text in texts]
        self._check_lengths(cleaned)
        return self._encoded(self._loaded().encode_document, cleaned)

    def _check_lengths(self, texts: list[str]) -> None:
        most = self.max_tokens
        longest = [text for text in texts if len(text) > most]
        if not longest:
            return
        # All at once, which runs in parallel: one after the other took as long as the model does on a GPU.
        with self._lock:
            rows = self._loaded().tokenizer(
                longest, add_special_tokens=False, truncation=False, return_attention_mask=False, verbose=False
            )["input_ids"]
        for text, row in zip(longest, rows, strict=True):
            if len(row) > most and (count := len(self.token_starts(text))) > most:
                raise InvalidInput(f"A text has {count} tokens; {self.fingerprint} reads {most}.", hint="Cut it first.")

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length. Longer queries are truncated. Raises the same errors as ``embed``."""
        model, most = self._loaded(), self.max_tokens
        text = clean(text[: most * _CHARS_READ_PER_TOKEN])
        starts = self.token_starts(text)
        vector: Float32 = self._encoded(model.encode_query, [text[: starts[most]] if len(starts) > most else text])[0]
        return vector

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,), ascending: the character offset of each token, without special tokens."""
        tokens = self._loaded().tokenizer(
            clean(text), add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        return np.array([start for start, end in tokens["offset_mapping"] if end > start], np.int64)

    def _encoded(self, encode: Any, texts: list[str]) -> Float32:
        from torch.cuda import OutOfMemoryError

        with self._lock:
            at_once = _TEXTS_AT_ONCE if self._loaded().device.type == "cpu" else _TEXTS_AT_ONCE_ON_GPU
            while True:
                try:
                    rows = encode(
                        texts,
                        batch_size=at_once,
                        normalize_embeddings=True,
                        convert_to_numpy=True,
                        show_progress_bar=False,
                    )
                    return np.asarray(rows, np.float32)
                except OutOfMemoryError:
                    if at_once == 1:
                        raise
                    at_once //= 2

    def _loaded(self) -> SentenceTransformer:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> SentenceTransformer:
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging

            logging.disable_progress_bar()
        except ImportError as error:
            raise MissingExtra("The embedding provider 'torch'", "torch") from error
        settings = self._settings
        name = str(settings.path.expanduser()) if settings.path else settings.model
        try:
            return SentenceTransformer(name, cache_folder=str(self._cache))
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelUnavailable(
                f"The model {name!r} cannot be loaded: {error}".rstrip(".") + ".",
                hint="Check embedding.model, or give a folder with its files in embedding.path.",
            ) from error


def _hash_of(folder: Path) -> str:
    """Return a hash of the names, sizes and first bytes of the weights in a folder: a fast way to tell models apart."""
    digest = hashlib.sha256()
    for path in sorted([*folder.rglob("*.safetensors"), *folder.rglob("*.bin")]):
        with path.open("rb") as file:
            digest.update(f"{path.name} {path.stat().st_size} ".encode() + file.read(_BEGINNING_BYTES))
    return digest.hexdigest()
