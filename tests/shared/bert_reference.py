"""A BERT encoder in plain numpy, written from the paper's equations, and a tiny random model to try it on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]
WORDS += ["while", "search", "engines", "index", "every", "word", "of", "it"]


def reference_embedding(folder: Path, text: str) -> np.ndarray:
    """float32 (hidden,), unit length."""
    weights = {name.removeprefix("bert."): array for name, array in load_file(folder / "model.safetensors").items()}
    config = json.loads((folder / "config.json").read_text())
    pooling = json.loads((folder / "1_Pooling/config.json").read_text())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    hidden = encode(weights, config, tokenizer.encode(text).ids)
    pooled = hidden[0] if pooling["pooling_mode_cls_token"] else hidden.mean(0)
    return pooled / np.linalg.norm(pooled)


def encode(w: dict[str, np.ndarray], config: dict, ids: list[int], segments: list[int] | None = None) -> np.ndarray:
    """(tokens, hidden), in the precision of ``w``: its names without a prefix."""

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + config["layer_norm_eps"])
        return centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    def heads(x: np.ndarray) -> np.ndarray:
        return x.reshape(len(ids), config["num_attention_heads"], -1).transpose(1, 0, 2)

    table = "embeddings.{}_embeddings.weight".format
    x = w[table("word")][ids] + w[table("position")][: len(ids)] + w[table("token_type")][segments or 0]
    x = norm(x, "embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (heads(dense(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        share = np.exp(scores - scores.max(-1, keepdims=True))
        context = (share / share.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + dense(context, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(x + dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x


def make_tiny_bert(folder: Path, *, pooling: str = "mean", prefix: str = "", seed: int = 7) -> Path:
    """Write a model of 2 layers, hidden 32, 4 heads, 32 tokens at most, with a WordPiece tokenizer."""
    (folder / "1_Pooling").mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,!?"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = list(dict.fromkeys(vocabulary))
    config = {
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "layer_norm_eps": 1e-12, "max_position_embeddings": 64, "intermediate_size": 64,
        "vocab_size": len(vocabulary),
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32}))
    modes = {"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"}
    (folder / "1_Pooling/config.json").write_text(json.dumps(modes))
    _tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    save_file(_random_weights(len(vocabulary), prefix, seed), folder / "model.safetensors")
    return folder


def _tokenizer(vocabulary: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(8)  # as published models do; must not cut what we count
    tokenizer.enable_padding(length=16)
    return tokenizer


def _random_weights(words: int, prefix: str, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, 32),
        "embeddings.position_embeddings.weight": (64, 32),
        "embeddings.token_type_embeddings.weight": (2, 32),
        "embeddings.LayerNorm.weight": (32,),
        "embeddings.LayerNorm.bias": (32,),
    }
    sizes = {"attention.self.query": (32, 32), "attention.self.key": (32, 32), "attention.self.value": (32, 32)}
    sizes |= {"attention.output.dense": (32, 32), "intermediate.dense": (64, 32), "output.dense": (32, 64)}
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for name, shape in sizes.items():
            shapes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{name}.weight": (32,), f"{layer}.{name}.bias": (32,)}
    return {
        prefix + name: (random.normal(1.0 if name.endswith("Norm.weight") else 0.0, 0.3, shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
