"""A question asks each engine of an index at most twice, so that one that is elsewhere is not waited for more often."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pinakes.core import filters
from pinakes.core.ports import Index
from pinakes.core.records import Filter, SearchMode
from pinakes.library import Library
from pinakes.search import Request, search
from pinakes.search.retrieval.tracer import Tracer
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
ENGINE = {"keyword": "keyword", "vector": "vector", "vectors": "vector"}
QUESTIONS = (
    "heron",
    "where is watch_heron defined",
    "what does RFC-0011 say of the heron and the krill",
    "zyzzyva",
    "how do amber birch and cedar differ " * 4,
)


@pytest.fixture
def filled(open_library: OpenLibrary, docs: Path) -> Library:
    files = {f"{name}.md": f"# {name}\n\nThe heron of {name} saw RFC-0011 and krill {name}.\n" for name in "abcdefgh"}
    files["tracer.py"] = "def watch_heron(place):\n    # amber birch, cedar\n    return place\n"
    library = open_library()
    library.add(str(write_files(docs, files)))
    return library


def counting(index: Index) -> tuple[Index, Counter[str]]:
    """Return the same index, and how often each of its engines is asked."""
    asked, other = Counter[str](), copy.copy(index)

    def counted(name: str, *queries: Any) -> Any:
        asked[ENGINE[name]] += 1
        return getattr(index, name)(*queries)

    vars(other).update({name: partial(counted, name) for name in ENGINE})
    return other, asked


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
@pytest.mark.parametrize("where", [(), filters.parse({"path": {"glob": "*.md"}})], ids=["all", "filtered"])
def test_each_engine_is_asked_twice_at_most(filled: Library, mode: SearchMode, fusion: str, where: Filter) -> None:
    record, index = filled.app.index("default")
    for question in QUESTIONS:
        counted, asked = counting(index)
        parts = replace(filled.app.parts(record, index, Tracer()), index=counted)
        found = search(Request(question, mode, where=where, fusion=fusion), parts)
        given = filled.search(question, mode=mode, fusion=fusion, filters=where)
        assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in given.hits]
        assert max(asked.values()) <= 2, (question, asked)
