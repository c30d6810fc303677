"""What every embedder, reranker, extractor and index engine must do, as tests that anyone can run, and a tiny corpus.

::

    @pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
    def test_my_engine(check, tmp_path):
        check(make_my_engine, tmp_path)

    @pytest.mark.parametrize("check", testing.EMBEDDER_CHECKS, ids=testing.name_of)
    def test_my_embedder(check):
        check(MyEmbedder())

Rerankers have ``RERANKER_CHECKS``,
extractors ``EXTRACTOR_CHECKS``. Outside pytest, ``check_index`` and its like run them all; the first broken promise
raises ``AssertionError``. ``ReferenceIndex`` is the plain truth to compare with: everything in memory, nothing clever.
"""

from __future__ import annotations

from collections.abc import Callable

from pinakes.testing.corpus import FILES, FILTERS, ODD_QUERIES, Corpus, ReferenceIndex, write_files
from pinakes.testing.embedder_contract import EMBEDDER_CHECKS, check_embedder
from pinakes.testing.extractor_contract import EXTRACTOR_CHECKS, check_extractor
from pinakes.testing.index_contract import INDEX_CHECKS, VECTOR_TOLERANCE, MakeIndex, check_index
from pinakes.testing.reranker_contract import RERANKER_CHECKS, check_reranker

__all__ = [
    "EMBEDDER_CHECKS",
    "EXTRACTOR_CHECKS",
    "FILES",
    "FILTERS",
    "INDEX_CHECKS",
    "ODD_QUERIES",
    "RERANKER_CHECKS",
    "VECTOR_TOLERANCE",
    "Corpus",
    "MakeIndex",
    "ReferenceIndex",
    "check_embedder",
    "check_extractor",
    "check_index",
    "check_reranker",
    "name_of",
    "write_files",
]


def name_of(check: Callable[..., None]) -> str:
    """Return what a check is called, for ``ids=`` of pytest."""
    return check.__name__
