"""A BERT cross-encoder in plain numpy, in float64, and a tiny random model to try it on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from bert_reference import encode, make_tiny_bert
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

MAX_TOKENS = 64


def reference_score(folder: Path, query: str, chunk: str) -> float:
    """The logit of ``[CLS] query [SEP] chunk [SEP]``, the chunk cut to what the model reads."""
    weights = {name.removeprefix("bert."): array for name, array in load_file(folder / "model.safetensors").items()}
    weights = {name: array.astype(np.float64) for name, array in weights.items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    asked, read = (tokenizer.encode(text, add_special_tokens=False).ids for text in (query, chunk))
    read = read[: MAX_TOKENS - 3 - len(asked)]
    begin, part = (tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    ids = [begin, *asked, part, *read, part]
    segments = [0] * (len(asked) + 2) + [1] * (len(read) + 1)
    first = encode(weights, json.loads((folder / "config.json").read_text()), ids, segments)[0]
    pooled = np.tanh(weights["pooler.dense.weight"] @ first + weights["pooler.dense.bias"])
    return float((weights["classifier.weight"] @ pooled + weights["classifier.bias"])[0])


def make_tiny_cross_encoder(folder: Path, *, labels: int = 1, seed: int = 7) -> Path:
    """Write a cross-encoder of 2 layers, hidden 32, 4 heads, 64 tokens at most, with a WordPiece tokenizer."""
    make_tiny_bert(folder, prefix="bert.", seed=seed)
    (folder / "sentence_bert_config.json").unlink()
    (folder / "1_Pooling/config.json").unlink()
    random = np.random.default_rng(seed + 1)
    shapes = {"bert.pooler.dense": (32, 32), "classifier": (labels, 32)}
    head = {f"{name}.weight": random.normal(0, 0.5, shape) for name, shape in shapes.items()}
    head |= {f"{name}.bias": random.normal(0, 0.5, shape[0]) for name, shape in shapes.items()}
    encoder = load_file(folder / "model.safetensors")
    save_file(
        {**encoder, **{name: array.astype(np.float32) for name, array in head.items()}}, folder / "model.safetensors"
    )
    return folder
