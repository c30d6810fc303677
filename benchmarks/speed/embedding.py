"""How fast the default embedder is, beside the bare ONNX Runtime session it stands on.

Run ``python -m benchmarks.speed.embedding [--precision fp32] [--texts 200]``: JSON on stdout. Texts are random words
of the model's vocabulary, so no data is needed and every run has the same work: 230 tokens and two special ones. With
``--torch FOLDER`` it measures sentence-transformers with the model in that folder, on a GPU where there is one.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.speed.bare import session
from benchmarks.speed.machine import memory_mb, timed
from pinakes.core.ports import Embedder
from pinakes.models import weights
from pinakes.models.embedders import open_embedder
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.models.runtime import cores, open_tokenizer
from pinakes.settings import EmbeddingSettings, load

CHUNK_TOKENS = 230
QUERY_TOKENS = 10
_BATCH = 8


def measure(settings: EmbeddingSettings, cache: Path, texts: int = 200) -> dict[str, float | str]:
    """Return ``rates`` of the default embedder, and those of the bare session."""
    model = weights.install(settings, cache)
    found: dict[str, float | str] = dict(rates(BertEmbedder(settings, cache), model.folder, texts))
    return found | dict(bare_session_rates(model, settings, random_texts(model.folder, texts, CHUNK_TOKENS)))


def rates(embedder: Embedder, folder: Path, texts: int) -> dict[str, float | str]:
    """Return rates (chunks and tokens per second), milliseconds per query, queries per second, and memory in MB.

    ``folder`` has the tokenizer of its model.
    """
    before_mb = memory_mb()["now"]
    _, load_s = timed(lambda: embedder.embed_query("load"))
    chunks = random_texts(folder, texts, CHUNK_TOKENS)
    queries = random_texts(folder, 300, QUERY_TOKENS)
    embedder.embed(chunks[:16])
    chunk_rate = texts / _best(lambda: embedder.embed(chunks))
    each_ms = [timed(partial(embedder.embed_query, query))[1] * 1000 for query in queries]
    long_text = "\n".join(chunks * (2_000_000 // sum(map(len, chunks)) + 1))
    return {
        "fingerprint": embedder.fingerprint,
        "chunks_per_s": chunk_rate,
        "tokens_per_s": chunk_rate * (CHUNK_TOKENS + 2),
        "query_median_ms": statistics.median(each_ms),
        "query_p95_ms": statistics.quantiles(each_ms, n=20)[-1],
        "queries_per_s_8_threads": _concurrent_rate(embedder.embed_query, queries * 4),
        "token_starts_chars_per_s": len(long_text) / timed(lambda: embedder.token_starts(long_text))[1],
        "load_s": load_s,
        "memory_mb": memory_mb()["now"] - before_mb,
    }


def bare_session_rates(model: weights.Installed, settings: EmbeddingSettings, texts: list[str]) -> dict[str, float]:
    """Return chunks per second of sessions given ready token ids: the ceiling of any embedder on this graph.

    ``bare_batched``: batches of 8 in one session with ONNX Runtime's own threads. ``bare_single``: one text a run,
    one run a core, as the embedder does.
    """
    tokenizer = open_tokenizer(model.folder)
    ids = np.array([encoding.ids for encoding in tokenizer.encode_batch_fast(texts)], np.int32)
    threads = settings.threads or cores()
    batched, single = session(model, settings, threads), session(model, settings, 1)

    def all_batched() -> None:
        for first in range(0, len(ids), _BATCH):
            batched.run(None, {"input_ids": ids[first : first + _BATCH]})

    def all_single() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda row: single.run(None, {"input_ids": row[None]}), ids))

    batched.run(None, {"input_ids": ids[:_BATCH]})
    single.run(None, {"input_ids": ids[:1]})
    return {
        "bare_batched_chunks_per_s": len(ids) / _best(all_batched),
        "bare_single_chunks_per_s": len(ids) / _best(all_single),
    }


def random_texts(folder: Path, count: int, tokens: int) -> list[str]:
    """Return ``count`` texts of exactly ``tokens`` tokens, the same every time."""
    from tokenizers import Tokenizer

    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab(with_added_tokens=False)
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2)
    random = np.random.RandomState(0)
    return [" ".join(random.choice(words, tokens)) for _ in range(count)]


def _concurrent_rate(call: Callable[[str], object], queries: list[str]) -> float:
    with ThreadPoolExecutor(8) as pool:
        return len(queries) / _best(lambda: list(pool.map(call, queries)))


def _best(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the shortest time in seconds: the one least disturbed by other work on the machine."""
    return min(timed(work)[1] for _ in range(rounds))


def _device() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", choices=["int8", "fp32"], default="int8")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=load().cache)
    parser.add_argument("--torch", type=Path, help="measure the provider torch with the model in this folder instead")
    given = parser.parse_args()
    if given.torch:
        by_torch = open_embedder(EmbeddingSettings(provider="torch", path=given.torch), given.cache)
        print(json.dumps({"device": _device()} | rates(by_torch, given.torch, given.texts), indent=2))
        return
    settings = EmbeddingSettings(precision=given.precision, threads=given.threads)
    print(json.dumps(measure(settings, given.cache, given.texts), indent=2))


if __name__ == "__main__":
    main()
