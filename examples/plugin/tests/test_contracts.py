"""The contracts that Pinakes publishes for its parts."""

from pathlib import Path

import pytest
from pinakes_example.embedder import HashedWords
from pinakes_example.reranker import WordOverlap

from pinakes import testing
from pinakes.indexes import open_index
from pinakes.settings import IndexSettings, Settings


@pytest.mark.parametrize("check", testing.EMBEDDER_CHECKS, ids=testing.name_of)
def test_the_embedder(check) -> None:
    check(HashedWords(256))


@pytest.mark.parametrize("check", testing.RERANKER_CHECKS, ids=testing.name_of)
def test_the_reranker(check) -> None:
    check(WordOverlap())


@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_the_engine_with_a_vector_engine(check, tmp_path: Path) -> None:
    settings = Settings(index=IndexSettings(engine="sqlite+faiss"))
    check(lambda folder, dimension, select: open_index(settings, folder, dimension, select), tmp_path)
