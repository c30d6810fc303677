"""How long it takes to rerank the head of an answer: 20 chunks of 200 tokens, as ``search.ranking.rerank`` does it.

The model has the size of the default reranker and random weights, which takes exactly as long; its tokenizer is that of
the default embedder, which has the same vocabulary. So nothing is fetched but that. By itself:
``python -m benchmarks.speed.reranking [--precision fp32] [--passages 20]``, JSON on stdout.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.speed.embedding import random_texts
from benchmarks.speed.machine import Spread, memory_mb, spread
from pinakes.core.records import Float32
from pinakes.models import weights
from pinakes.models.rerankers import open_reranker
from pinakes.search.ranking.rerank import Candidate, rerank
from pinakes.settings import EmbeddingSettings, RerankSettings, load

CHUNKS, CHUNK_TOKENS, QUERY_TOKENS = 20, 200, 10
_NO_BUDGET_MS = 60_000
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


@dataclass(frozen=True, slots=True)
class Reranking:
    """``times``: a whole rerank of ``chunks``. ``load_s``: conversion and loading, once. Memory in MB."""

    chunks: int
    times: Spread
    load_s: float
    memory_mb: float


def reranking(cache: Path, rounds: int = 20, chunks: int = CHUNKS, precision: str = "int8") -> Reranking:
    """Measure ``rounds`` questions with chunks of their own."""
    with TemporaryDirectory() as work:
        folder = make_model(Path(work) / "model", weights.install(EmbeddingSettings(), cache).folder)
        settings = RerankSettings.model_validate(
            {"model": "random", "path": folder, "precision": precision, "adaptive": False}
            | {"pool": chunks, "budget_ms": _NO_BUDGET_MS}
        )
        reranker = open_reranker(settings, Path(work) / "cache")
        before_mb, began = memory_mb()["now"], time.perf_counter()
        reranker.load()
        load_s, seconds = time.perf_counter() - began, []
        texts = random_texts(folder, (rounds + 1) * chunks, CHUNK_TOKENS)
        for number, query in enumerate(random_texts(folder, rounds + 1, QUERY_TOKENS)):
            head = [Candidate(text, text) for text in texts[number * chunks : (number + 1) * chunks]]
            began = time.perf_counter()
            done = rerank(query, head, reranker, settings)
            seconds.append(time.perf_counter() - began)
            assert done.report.scored == chunks, done.report.note
        reranker.close()
        return Reranking(chunks, spread(seconds[1:]), load_s, memory_mb()["now"] - before_mb)


def make_model(folder: Path, tokenizer: Path) -> Path:
    """Write a cross-encoder of the default one's size with random weights, and the tokenizer of another folder."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    shutil.copy(tokenizer / "tokenizer.json", folder)
    save_file(_random_weights(), folder / "model.safetensors")
    return folder


def _random_weights() -> dict[str, Float32]:
    random = np.random.default_rng(0)
    hidden, wide = 384, 1536
    shapes: dict[str, tuple[int, ...]] = {
        "bert.embeddings.word_embeddings.weight": (30522, hidden),
        "bert.embeddings.position_embeddings.weight": (512, hidden),
        "bert.embeddings.token_type_embeddings.weight": (2, hidden),
    }
    dense = {"bert.pooler.dense": (hidden, hidden), "classifier": (1, hidden)}
    norms = ["bert.embeddings.LayerNorm"]
    for layer in (f"bert.encoder.layer.{number}" for number in range(6)):
        dense |= {f"{layer}.attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
        dense |= {f"{layer}.attention.output.dense": (hidden, hidden)}
        dense |= {f"{layer}.intermediate.dense": (wide, hidden), f"{layer}.output.dense": (hidden, wide)}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    shapes |= {f"{name}.weight": shape for name, shape in dense.items()}
    found = {name: random.normal(0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}
    found |= {f"{name}.bias": np.zeros(shape[0], np.float32) for name, shape in dense.items()}
    found |= {f"{name}.weight": np.ones(hidden, np.float32) for name in norms}
    return found | {f"{name}.bias": np.zeros(hidden, np.float32) for name in norms}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=["int8", "fp32"], default="int8")
    parser.add_argument("--passages", type=int, default=CHUNKS)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cache", type=Path, default=load().cache)
    given = parser.parse_args()
    found = reranking(given.cache, given.rounds, given.passages, given.precision)
    print(json.dumps(dataclasses.asdict(found), indent=2))


if __name__ == "__main__":
    main()
