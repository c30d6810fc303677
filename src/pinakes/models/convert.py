"""Converts the safetensors of a BERT model to an ONNX graph with ONNX Runtime's fused operators.

There is no padding and no mask; all rows of a batch have the same length. The graph depends on the purpose:

- "embedding": ``input_ids`` int32 (batch, tokens) → ``embedding`` float32 (batch, hidden), pooled, of unit length
- "rerank": ``input_ids`` and ``token_type_ids`` int32 (batch, tokens) → ``score`` float32 (batch, 1): the one logit of
  ``BertForSequenceClassification`` (pooler and classifier on [CLS]), as it is

Operators: com.microsoft MultiHeadAttention, Gelu and DynamicQuantizeMatMul, as documented in ONNX Runtime's
ContribOperators.md. ``int8`` keeps each column of a weight matrix as int8 with its own scale (symmetric, 127 steps);
activations are quantised per text at run time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pinakes.core.errors import ModelCorrupt, ModelUnavailable
from pinakes.core.records import Float32
from pinakes.models import folders
from pinakes.settings import Purpose

if TYPE_CHECKING:
    import onnx

VERSION = 4
"""Version of the graph, raised with every change; graphs of other versions are not used."""

GRAPH = "model.onnx"
WEIGHTS = "model.safetensors"
_FOLDERS: dict[Purpose, str] = {"embedding": "onnx", "rerank": "rerank"}
_CLASSIFIER = "classifier.weight"

Precision = Literal["int8", "fp32"]
Tensors: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class BertConfig:
    """The configuration of a model, from the files in its folder. ``max_tokens`` includes special tokens."""

    hidden: int
    layers: int
    heads: int
    epsilon: float
    pooling: Literal["mean", "cls"]
    max_tokens: int


def read_config(folder: Path) -> BertConfig:
    """Read ``config.json``, ``1_Pooling/config.json`` and ``sentence_bert_config.json`` of a model folder.

    Raises:
        ModelCorrupt: a file is missing or broken.
        ModelUnavailable: the kind of model is not supported.
    """
    config = _json(folder / "config.json")
    pooling = _json(folder / "1_Pooling/config.json", optional=True)
    sentence = _json(folder / "sentence_bert_config.json", optional=True)
    kinds = (config.get("model_type"), config.get("hidden_act"), config.get("position_embedding_type", "absolute"))
    if kinds != ("bert", "gelu", "absolute"):
        raise _unsupported(folder, "/".join(str(kind) for kind in kinds))
    cls = bool(pooling.get("pooling_mode_cls_token"))
    if not cls and not pooling.get("pooling_mode_mean_tokens", True):
        raise _unsupported(folder, "pooling other than mean or CLS")
    try:
        return BertConfig(
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
            pooling="cls" if cls else "mean",
            max_tokens=min(config["max_position_embeddings"], sentence.get("max_seq_length") or 1 << 30),
        )
    except KeyError as error:
        raise _corrupt(folder / "config.json", f"it has no {error}") from error


def graph_folder(parent: Path, purpose: Purpose, precision: Precision, weights_sha256: str) -> Path:
    """Return the folder of the graph made from these weights under ``parent``; it need not exist."""
    return parent / f"{_FOLDERS[purpose]}-{VERSION}-{precision}-{weights_sha256[:12]}"


def convert(source: Path, target: Path, purpose: Purpose, precision: Precision, weights_sha256: str) -> None:
    """Convert the model in ``source`` to a graph; the folder ``target`` is created atomically.

    Call within ``folders.exclusive(target.parent)``. About a second for 22 million parameters.

    Raises:
        ModelCorrupt: the weights do not have this SHA-256, or a file is missing or broken.
        ModelUnavailable: the kind of model is not supported.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    config = read_config(source)
    if (found := folders.sha256(source / WEIGHTS)) != weights_sha256:
        raise _corrupt(source / WEIGHTS, f"its SHA-256 is {found}, not {weights_sha256}")
    try:
        tensors = load((source / WEIGHTS).read_bytes())
        if purpose == "rerank":
            _check_classifier(source, tensors)
        model = build(config, tensors, purpose, precision)
    except (SafetensorError, KeyError, ValueError) as error:
        raise _corrupt(source / WEIGHTS, f"{type(error).__name__}: {error}") from error
    with folders.filled(target, {"weights_sha256": weights_sha256, "precision": precision}) as folder:
        (folder / GRAPH).write_bytes(model.SerializeToString())


def build(config: BertConfig, tensors: Tensors, purpose: Purpose, precision: Precision) -> onnx.ModelProto:
    """Return the graph: the encoder, then pooling and normalisation, or pooler and classifier.

    Raises:
        KeyError: a required tensor is missing.
        ValueError: the shapes of tensors do not match.
    """
    from onnx import TensorProto, helper

    weights = {name.removeprefix("bert."): tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}
    graph = _Graph(weights, precision)
    hidden = _encoder(graph, config, pairs=purpose == "rerank")
    if purpose == "embedding":
        inputs, output, width = ["input_ids"], "embedding", config.hidden
        graph.node("LpNormalization", [_pooled(graph, config, hidden)], [output], axis=-1, p=2)
    else:
        inputs, output, width = ["input_ids", "token_type_ids"], "score", 1
        _classified(graph, hidden, output)
    body = helper.make_graph(
        graph.nodes,
        "bert",
        [helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", width])],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="pinakes")


class _Graph:
    """Nodes and constants of a graph, in the order they were added."""

    def __init__(self, weights: Mapping[str, Float32], precision: Precision) -> None:
        self.weights = weights
        self.precision = precision
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: NDArray[Any]) -> str:
        """Add ``array``; return its name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def node(self, operator: str, inputs: list[str], outputs: list[str] | int = 1, **attributes: Any) -> list[str]:
        """Add an operator, a standard one without ``domain``; return the names of its outputs."""
        from onnx import helper

        if isinstance(outputs, int):
            outputs = [f"{operator}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs

    def fused(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Add a com.microsoft operator with one output; return the name of that."""
        return self.node(operator, inputs, domain="com.microsoft", **attributes)[0]

    def dense(self, x: str, *layers: str) -> str:
        """Add ``x @ weight + bias`` of each layer, side by side, in the precision of the graph."""
        weight = np.concatenate([self.weights[f"{layer}.weight"] for layer in layers]).T
        bias = self.constant(np.concatenate([self.weights[f"{layer}.bias"] for layer in layers]))
        if self.precision == "fp32":
            return self.node("Add", [*self.node("MatMul", [x, self.constant(weight)]), bias])[0]
        scale = np.abs(weight).max(0) / np.float32(127)
        scale[scale == 0] = 1
        steps = np.rint(weight / scale).astype(np.int8)
        zero = np.zeros(len(scale), np.int8)
        return self.fused("DynamicQuantizeMatMul", [x, *map(self.constant, (steps, scale, zero)), bias])

    def norm(self, x: str, skip: str, name: str, epsilon: float) -> str:
        """Add the layer norm ``name`` of ``x + skip``.

        Two operators: the fused SkipLayerNormalization of ONNX Runtime 1.31 takes seven times as long on a CPU.
        """
        parameters = [self.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        summed = self.node("Add", [x, skip])
        return self.node("LayerNormalization", [*summed, *parameters], axis=-1, epsilon=epsilon)[0]


def _encoder(graph: _Graph, config: BertConfig, *, pairs: bool) -> str:
    """Add embeddings and layers; return the name of float32 (batch, tokens, hidden).

    ``pairs``: the input has two segments, and only [CLS] is needed, so the last layer gives float32 (batch, 1, hidden).
    """
    from onnx import TensorProto

    weights = graph.weights
    positions, segments = (weights[f"embeddings.{part}_embeddings.weight"] for part in ("position", "token_type"))
    if not pairs:
        positions = positions + segments[0]  # every token is of segment 0
    words = weights["embeddings.word_embeddings.weight"]
    if graph.precision == "int8":
        # The table is most of the graph; float16 halves it, with far smaller rounding errors than the layers.
        rows = graph.node("Gather", [graph.constant(words.astype(np.float16)), "input_ids"])
        rows = graph.node("Cast", rows, to=TensorProto.FLOAT)
    else:
        rows = graph.node("Gather", [graph.constant(words), "input_ids"])
    length = graph.node("Shape", ["input_ids"], start=1, end=2)
    places = graph.node("Slice", [graph.constant(positions), graph.constant(np.zeros(1, np.int64)), *length])
    if pairs:
        places = graph.node("Add", [*places, *graph.node("Gather", [graph.constant(segments), "token_type_ids"])])
    hidden = graph.norm(rows[0], places[0], "embeddings.LayerNorm", config.epsilon)
    for number in range(config.layers):
        only_first = pairs and number == config.layers - 1
        hidden = _layer(graph, config, hidden, f"encoder.layer.{number}", only_first=only_first)
    return hidden


def _layer(graph: _Graph, config: BertConfig, hidden: str, name: str, *, only_first: bool) -> str:
    """Add a layer; ``only_first``: compute only the first token of its output, which saves most of the work."""
    attention, output = f"{name}.attention", f"{name}.output"
    # One product for all three, so that the input is quantised only once.
    joined = graph.dense(hidden, *(f"{attention}.self.{part}" for part in ("query", "key", "value")))
    parts = graph.node("Split", [joined], 3, axis=2, num_outputs=3)
    context = graph.fused("MultiHeadAttention", parts, num_heads=config.heads)
    if only_first:
        first, end, axis = (graph.constant(np.array([value])) for value in (0, 1, 1))
        context, hidden = (graph.node("Slice", [x, first, end, axis])[0] for x in (context, hidden))
    mixed = graph.dense(context, f"{attention}.output.dense")
    hidden = graph.norm(mixed, hidden, f"{attention}.output.LayerNorm", config.epsilon)
    active = graph.fused("Gelu", [graph.dense(hidden, f"{name}.intermediate.dense")])
    return graph.norm(graph.dense(active, f"{output}.dense"), hidden, f"{output}.LayerNorm", config.epsilon)


def _pooled(graph: _Graph, config: BertConfig, hidden: str) -> str:
    """Add pooling over the tokens; return the name of float32 (batch, hidden)."""
    if config.pooling == "cls":
        return graph.node("Gather", [hidden, graph.constant(np.array(0))], axis=1)[0]
    return graph.node("ReduceMean", [hidden, graph.constant(np.array([1]))], keepdims=0)[0]


def _classified(graph: _Graph, hidden: str, output: str) -> None:
    """Add pooler and classifier on the first token, in full precision since they are small: float32 (batch, 1)."""

    def parameters(name: str) -> list[str]:
        return [graph.constant(graph.weights[f"{name}.{part}"]) for part in ("weight", "bias")]

    first = graph.node("Gather", [hidden, graph.constant(np.array(0))], axis=1)
    pooled = graph.node("Tanh", graph.node("Gemm", [*first, *parameters("pooler.dense")], transB=1))
    graph.node("Gemm", [*pooled, *parameters("classifier")], [output], transB=1)


def _check_classifier(folder: Path, tensors: Tensors) -> None:
    if _CLASSIFIER not in tensors:
        raise _unsupported(folder, "it has no classifier, so it is no cross-encoder")
    if (labels := len(tensors[_CLASSIFIER])) != 1:
        raise _unsupported(folder, f"it tells {labels} classes apart, a reranker has one score")


def _json(path: Path, *, optional: bool = False) -> dict[str, Any]:
    if optional and not path.exists():
        return {}
    try:
        data = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise _corrupt(path, str(error)) from error
    if not isinstance(data, dict):
        raise _corrupt(path, "it holds no object")
    return data


def _corrupt(path: Path, why: str) -> ModelCorrupt:
    return ModelCorrupt(
        f"{path} is not what it should be: {why}.",
        hint="Get the model's files again: `pinakes model install`, or replace the folder that the settings name.",
    )


def _unsupported(folder: Path, what: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The model in {folder} cannot be converted: {what}.",
        hint="Models of type bert with gelu and absolute positions can: embedders with mean or CLS pooling, and "
        "cross-encoders with one score.",
    )
