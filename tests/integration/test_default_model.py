"""The default model itself: fetched as a user would get it, and compared with a reference in numpy."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.chunking import Sizing, chunk
from pinakes.core.errors import InvalidInput, ModelUnavailable
from pinakes.core.records import Document
from pinakes.models import weights
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.settings import EmbeddingSettings

REFERENCE = Path(__file__).parents[1] / "shared/bert_reference.py"
TEXTS = [
    "How do I configure the scheduler?",
    "A pod is the smallest deployable unit of computing that you can create and manage.",
    "static int __init pid_namespaces_init(void) { return register_sysctl_init(\"kernel\", kern_table); }",
    "Employees accrue 1.5 days of leave per month; unused leave is carried over until 31 March.",
    "Crème brûlée, naïve façade, 東京都, Привет мир, \U0001f600",
    "the " * 240,
]  # fmt: skip


@pytest.fixture(scope="module")
def cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("models")
    try:
        weights.install(EmbeddingSettings(), folder)
    except ModelUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return folder


@pytest.fixture(scope="module")
def embedder(cache: Path) -> BertEmbedder:
    return BertEmbedder(EmbeddingSettings(), cache)


@pytest.fixture(scope="module")
def reference(cache: Path) -> list[np.ndarray]:
    embed: Callable[[Path, str], np.ndarray] = runpy.run_path(str(REFERENCE))["reference_embedding"]
    model = weights.locate(EmbeddingSettings(), cache)
    assert model is not None
    return [embed(model.folder, text) for text in TEXTS]


@pytest.mark.parametrize(("precision", "least"), [("fp32", 0.99999), ("int8", 0.99)])
def test_vectors_agree_with_the_reference(
    cache: Path, reference: list[np.ndarray], precision: str, least: float
) -> None:
    vectors = BertEmbedder(EmbeddingSettings(precision=precision), cache).embed(TEXTS)
    cosines = [float(vector @ expected) for vector, expected in zip(vectors, reference, strict=True)]
    assert min(cosines) >= least, cosines


def test_the_empty_text_agrees_least_but_agrees(cache: Path) -> None:
    int8, fp32 = (BertEmbedder(EmbeddingSettings(precision=name), cache).embed_query("") for name in ("int8", "fp32"))
    assert int8 @ fp32 > 0.97


def test_what_is_known_before_loading_is_true_of_the_model(cache: Path) -> None:
    embedder = BertEmbedder(EmbeddingSettings(), cache)
    known = (embedder.dimension, embedder.max_tokens)
    model = weights.locate(EmbeddingSettings(), cache)
    assert model is not None
    unpinned = BertEmbedder(EmbeddingSettings(model="the/same", path=model.folder), cache)
    assert known == (unpinned.dimension, unpinned.max_tokens)
    assert embedder.embed_query("x").shape == (known[0],)
    assert len(embedder.embed([" dog" * known[1]])) == 1
    with pytest.raises(InvalidInput, match="255 tokens"):
        embedder.embed([" dog" * (known[1] + 1)])


def test_meaning_is_found_across_words(cache: Path) -> None:
    embedder = BertEmbedder(EmbeddingSettings(), cache)
    chunks = embedder.embed(["The cat sat on the mat.", "Interest rates rose again.", "def quicksort(items): ..."])
    best = [int((chunks @ embedder.embed_query(query)).argmax()) for query in ("kitten", "central bank", "sorting")]
    assert best == [0, 1, 2]


def test_token_starts_of_many_equal_lines_add_up(cache: Path) -> None:
    embedder = BertEmbedder(EmbeddingSettings(), cache)
    line = "The scheduler binds pods to nodes; see pkg/scheduler/framework.go:42 for details.\n"
    starts = embedder.token_starts(line * 10_000)
    assert len(starts) == 10_000 * len(embedder.token_starts(line))
    assert starts[-1] == len(line) * 10_000 - 2


def test_eight_callers_at_once_agree_with_one(cache: Path) -> None:
    embedder = BertEmbedder(EmbeddingSettings(), cache)
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(embedder.embed_query, TEXTS * 8))
    assert np.array_equal(rows, np.tile(expected, (8, 1)))


MARKUP = ["# Title\n", "- item\n", "```c\nint x;\n```\n", "| 1 | 2 |\n", "<!-- note -->\n", "int f(int a)\n{\n", "}\n"]
PIECES = [*MARKUP, "word ", "Ünïcödé ", "東京都 ", "😀", "\u200b", "a" * 300, "0x1f_ff ", "\n", "\n\n", "e.g. this "]


@given(
    text=st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=60).map("".join),
    size=st.integers(8, 60),
    kind=st.sampled_from(["markdown", "code", "text"]),
)
@settings(max_examples=100)
def test_no_chunk_is_longer_than_its_tokens_allow(embedder: BertEmbedder, text: str, size: int, kind: str) -> None:
    document = Document(text, "Title", kind, "c")  # type: ignore[arg-type]
    for piece in chunk(document, Sizing(size, 0, embedder.token_starts)):
        assert piece.token_count == len(embedder.token_starts(piece.embedded_text)) <= size
