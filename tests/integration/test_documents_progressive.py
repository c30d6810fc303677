"""A document so long that it is searchable by approximate vectors before the model has made all of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert
from progressive_support import small_steps, waiting

from pinakes.library import Library


@pytest.fixture
def library(open_library: Any, tmp_path: Path) -> Library:
    opened: Library = open_library(**small_steps(make_tiny_bert(tmp_path / "model" / "tiny")))
    return opened


def long_text(seed: int, lines: int = 120) -> str:
    random = np.random.default_rng(seed)
    return "\n".join(" ".join(random.choice(list(WORDS), 12)) for _ in range(lines))


def test_it_is_embedded_when_the_call_returns_where_nothing_else_does_that(library: Library) -> None:
    short = library.documents.put(long_text(1, 5), title="Short")
    written = library.documents.put(long_text(2), title="Long")
    assert short.document.chunk_count < 20 < written.document.chunk_count
    assert written.degraded is None
    assert waiting(library) == 0
    assert library.verify() == {"default": []}


def test_a_server_embeds_it_later_and_it_is_found_by_meaning_meanwhile(library: Library) -> None:
    library.shelves.embeds_later = True
    written = library.documents.put(long_text(2), title="Long")
    [about] = library.status()
    assert 0 < about.pending < written.document.chunk_count
    assert about.approximate == about.pending, "the rest has approximate vectors"
    assert library.search(long_text(2, 1), mode="vector", top_k=1).hits
    library.embed_pending()
    assert library.status()[0].pending == 0
    assert library.verify() == {"default": []}
