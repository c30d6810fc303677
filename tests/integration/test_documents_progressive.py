"""A document so long that it is searchable by approximate vectors before the model has made all of its own."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert
from progressive_support import small_steps, waiting
from working import working

from pinakes.library import Library
from pinakes.services.collections import background
from pinakes.services.documents.editing import Draft, WrittenDocument


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
    library.app.embeds_later = True
    written = library.documents.put(long_text(2), title="Long")
    [about] = library.status()
    assert 0 < about.pending < written.document.chunk_count
    assert about.approximate == about.pending, "the rest has approximate vectors"
    assert library.search(long_text(2, 1), mode="vector", top_k=1).hits
    library.embed_pending()
    assert library.status()[0].pending == 0
    assert library.verify() == {"default": []}


class TestLongOnesInAServer:
    @pytest.fixture
    def library(self, open_library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
        monkeypatch.setattr(background.Background, "look_every_s", 0.01)
        model = make_tiny_bert(tmp_path / "model" / "tiny")
        more = {"embedding__progressive_chunks": 2000, "documents__embed_at_once": 20}
        opened: Library = open_library(**small_steps(model) | more)
        opened.app.embeds_later = True
        return opened

    def test_they_are_kept_and_found_when_the_call_returns_and_embedded_behind_it(self, library: Library) -> None:
        short = library.documents.put(long_text(1, 5), title="Short")
        written = library.documents.put(long_text(2), title="Long", summary="what it says")
        count = written.document.chunk_count
        assert short.document.chunk_count <= 20 < count
        assert count - 20 <= waiting(library) < count, "a sample is embedded"
        assert library.documents.get(written.document.uid).text == long_text(2), "it is in the catalogue"
        words = long_text(2, 1)
        for mode in ("keyword", "vector"):
            assert library.search(words, mode=mode).hits[0].document_id == written.document.uid
        with working(library, library.background()):
            until_nothing_waits(library)
        assert library.search(words, mode="vector").hits[0].document_id == written.document.uid
        assert library.verify() == {"default": []}

    def test_short_ones_of_the_same_call_are_embedded_at_once(self, library: Library) -> None:
        drafts = [Draft(long_text(seed, lines), f"{seed}") for seed, lines in ((1, 5), (2, 120), (3, 5))]
        written = [one for one in library.documents.put_many(drafts) if isinstance(one, WrittenDocument)]
        shorts = sum(one.document.chunk_count for one in (written[0], written[2]))
        [about] = library.status()
        assert about.exact >= shorts
        hits = [library.search(draft.text, mode="vector", top_k=1).hits[0] for draft in (drafts[0], drafts[2])]
        assert [hit.approximate for hit in hits] == [False, False]
        assert 0 < waiting(library) <= written[1].document.chunk_count

    def test_a_small_change_of_a_long_one_is_embedded_at_once(self, library: Library) -> None:
        written = library.documents.put(long_text(2), title="Long")
        library.embed_pending()
        changed = library.documents.update(written.document.uid, text=long_text(2) + "\n" + " ".join(list(WORDS)[:9]))
        assert (changed.outcome, changed.degraded, waiting(library)) == ("updated", None, 0)

    def test_the_mode_full_lets_nothing_wait(self, library: Library) -> None:
        settings = library.settings
        full = settings.embedding.model_copy(update={"mode": "full"})
        library.app.settings = settings.model_copy(update={"embedding": full})
        assert library.documents.put(long_text(2), title="Long").degraded is None
        assert waiting(library) == 0


def until_nothing_waits(library: Library) -> None:
    deadline = time.monotonic() + 30
    while waiting(library):
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
