"""Questions in letters that the default model does not know: their words decide, since all vectors are alike."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pinakes import Library
from pinakes.core.errors import ModelUnavailable
from pinakes.models import weights
from pinakes.search import QueryVectors
from pinakes.settings import EmbeddingSettings

FILES = {
    "driver.md": "# 如何安装数据库驱动程序\n\n如何安装数据库驱动程序。\n",
    "remove.md": "# 如何卸载软件\n\n如何卸载软件。\n",
    "network.md": "# 网络连接超时的处理方法\n\n网络连接超时的处理方法。\n",
    "password.md": "# 密码重置的方法\n\n密码重置的方法。\n",
    "room.md": "# 회의실 예약\n\n회의실 예약.\n",
    "invoice.md": "# ใบแจ้งหนี้\n\nการออกใบแจ้งหนี้\n",
    "expense.md": "# 経費精算書の記入\n\n経費精算書の記入。\n",
    "english.md": "# Error of the fox\n\nERR_1234 means that the brown fox is gone.\n",
}
NOTE = "the model does not know the letters of this query: its words count, not its meaning"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Library]:
    assert request.config.cache is not None
    cache, home = request.config.cache.mkdir("models"), tmp_path_factory.mktemp("home")
    try:
        weights.install(EmbeddingSettings(), cache / "models")
    except ModelUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    for name, text in FILES.items():
        (home / name).write_text(text)
    with Library.open(home / "library", cache=str(cache), embedding__mode="full") as opened:
        opened.add(str(home), include=["*.md"])
        yield opened


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("数据库驱动", "driver.md"),
        ("卸载", "remove.md"),
        ("连接超时", "network.md"),
        ("密码", "password.md"),
        ("예약", "room.md"),
        ("ใบแจ้งหนี้", "invoice.md"),
        ("経費", "expense.md"),
    ],
)
def test_the_words_of_such_a_question_decide_in_the_default_mode(library: Library, query: str, path: str) -> None:
    assert library.search(query).hits[0].path == path


def test_a_note_says_so_and_only_where_it_is_so(library: Library) -> None:
    assert NOTE in library.search("数据库驱动").notes
    assert all(NOTE not in library.search(query).notes for query in ("brown fox", "café", "Größe", "брат", "🚀 fox"))
    assert NOTE not in library.search("数据库驱动", mode="keyword").notes


@pytest.mark.parametrize("query", ["ＥＲＲ＿１２３４", "ｂｒｏｗｎ　ｆｏｘ", "\x1b[31mbrown\x1b[0m fox"])
def test_wide_letters_and_colours_are_those_that_are_meant(library: Library, query: str) -> None:
    found = library.search(query)
    assert found.hits[0].path == "english.md"
    assert not any("no chunk has" in note for note in found.notes)


@pytest.mark.parametrize(
    ("query", "share"), [("brown fox", 1), ("naïve café", 1), ("数据库驱动", 0.2), ("卸载 fox", 0.4)]
)
def test_the_share_of_known_tokens_is_that_of_the_model(library: Library, query: str, share: float) -> None:
    assert abs(QueryVectors(library.app.embedder, 0).known_share(query) - share) < 0.25
