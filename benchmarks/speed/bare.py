"""The bare model: the installed graph in an ONNX Runtime session of our own, fed with ready token ids.

No embedder on this graph can be faster, so it is what the embedder inside an ingest is compared with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinakes.core.ports import Embedder
from pinakes.core.records import Float32
from pinakes.models import convert, weights
from pinakes.models.runtime import cores, open_tokenizer
from pinakes.settings import EmbeddingSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BareModel:
    """One text a run on one thread, as many runs at once as ``settings`` and the machine allow."""

    def __init__(self, settings: EmbeddingSettings, cache: Path) -> None:
        model = weights.install(settings, cache)
        self.tokenizer = open_tokenizer(model.folder)
        self.session = session(model, settings, threads=1)
        self.pool = ThreadPoolExecutor(settings.threads or cores())

    def rows(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return token ids, int32 (1, n) for each text, the longest first."""
        rows = [np.array([encoding.ids], np.int32) for encoding in self.tokenizer.encode_batch_fast(list(texts))]
        return sorted(rows, key=lambda row: -row.shape[1])

    def seconds(self, rows: Sequence[NDArray[np.int32]]) -> float:
        """Return how long the model takes for ``rows``."""
        began = time.perf_counter()
        list(self.pool.map(lambda row: self.session.run(None, {"input_ids": row}), rows))
        return time.perf_counter() - began


def session(model: weights.Installed, settings: EmbeddingSettings, threads: int) -> Any:
    """Return a session on the installed graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    graph = model.graph_folder(settings.precision) / convert.GRAPH
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


class ComparedEmbedder:
    """An embedder whose every ``every``-th batch is run by the bare model too, right after it.

    The two see the same texts on the machine in the same state. ``seconds`` counts all batches, ``compared_s`` and
    ``bare_s`` those done by both; ``paused_s`` is what comparing took and what the ingest has to be spared.
    """

    def __init__(self, embedder: Embedder, bare: BareModel, every: int) -> None:
        self.fingerprint = embedder.fingerprint
        self.dimension, self.max_tokens = embedder.dimension, embedder.max_tokens
        self.embed_query, self.token_starts = embedder.embed_query, embedder.token_starts
        self._embedder = embedder
        self._bare = bare
        self._every = every
        self._batches = 0
        self.seconds = self.compared_s = self.bare_s = self.paused_s = 0.0
        self.compared = 0

    def embed(self, texts: Sequence[str]) -> Float32:
        """Embed, and compare the first batch and every ``every``-th after it; a query has loaded the model before."""
        began = time.perf_counter()
        vectors = self._embedder.embed(texts)
        done = time.perf_counter()
        self.seconds += done - began
        if self._batches % self._every == 0:
            self.bare_s += self._bare.seconds(self._bare.rows(texts))
            self.compared_s += done - began
            self.compared += len(texts)
            self.paused_s += time.perf_counter() - done
        self._batches += 1
        return vectors
