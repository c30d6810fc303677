"""The tools for code: searching it, and seeing how far it is indexed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pinakes.library import Library
from pinakes.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
FILES = {
    "mm/slab.c": (
        "#include <linux/slab.h>\n\n/* Allocate a zeroed object from a cache. */\n"
        "void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t flags)\n{\n"
        "\treturn kmem_cache_alloc(cache, flags | __GFP_ZERO);\n}\n"
    ),
    "mm/page_alloc.c": "/* Hand out pages of memory. */\nstruct page *alloc_pages(gfp_t gfp, int order)\n{\n}\n",
    "drivers/net/veth.c": "/* A pair of virtual devices. */\nstatic int veth_open(struct net_device *dev)\n{\n}\n",
    "Documentation/mm/allocation.rst": "Memory allocation\n=================\n\nMemory allocation for drivers.\n",
    "Documentation/process.md": "# Process\n\nHow patches travel.\n",
    "mm/Kconfig": 'config MEMORY_HOTPLUG\n\tbool "Memory hotplug"\n\thelp\n\t  Memory allocation at run time.\n',
    "mm/Makefile": "obj-y += slab.o page_alloc.o\n",
    "tools/allocation.yaml": "memory:\n  allocation: slab\n",
}
RESULT = {
    *("content_id", "title", "source_path", "content_type", "similarity_score", "bm25_score", "combined_score"),
    *("query_id", "score_parts"),
    *("confidence", "context_lines", "explanation", "start_line", "end_line", "uri", "metadata", "heading_path"),
}
STATS = {"total_results", "processing_time", "query_embedding_time", "search_time", "ranking_time"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linux")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, tree: Path) -> Iterator[Library]:
    with Library.open(tmp_path_factory.mktemp("home"), embedding__provider="deterministic") as opened:
        opened.add(str(tree), "kernel")
        yield opened


def answer(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    outcome = BY_NAME[name].answer(library, arguments)
    assert outcome.data is not None
    assert outcome.failed == (outcome.error is not None)
    return outcome.data


def found(library: Library, **arguments: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = answer(library, "semantic_search", **arguments)["results"]
    return results


def refusal(library: Library, name: str, **arguments: Any) -> tuple[str, str, bool]:
    error = answer(library, name, **arguments)["error"]
    return error["code"], error["message"], error["retryable"]


class TestSearch:
    def test_a_result_has_all_that_is_promised(self, library: Library) -> None:
        data = answer(library, "semantic_search", query="kmem_cache_zalloc", max_results=1)
        assert set(data["query_stats"]) == STATS
        [result] = data["results"]
        assert set(result) == RESULT
        assert (result["source_path"], result["content_type"]) == ("mm/slab.c", "source_file")
        assert result["content_id"] == library.read("mm/slab.c", "kernel").document.uid
        assert result["explanation"].split()[0] in ("Excellent", "Good", "Moderate", "Weak")

    def test_scores_are_those_of_the_search_from_0_to_1_in_order(self, library: Library) -> None:
        results = found(library, query="memory allocation of pages")
        hits = library.search("memory allocation of pages", "kernel", top_k=20).hits
        assert [one["source_path"] for one in results] == [hit.path for hit in hits]
        for one, hit in zip(results, hits, strict=True):
            assert one["bm25_score"] == math.tanh((hit.scores.bm25 or 0) / 10)
            assert one["similarity_score"] == max(hit.scores.cosine or 0, 0)
            assert one["confidence"] == hit.confidence
            names = ("similarity_score", "bm25_score", "combined_score", "confidence")
            assert all(0 <= one[name] <= 1 for name in names)
        combined = [one["combined_score"] for one in results]
        assert combined == sorted(combined, reverse=True)

    def test_context_lines_are_a_few_lines_of_the_file_in_their_order(self, library: Library) -> None:
        [result] = found(library, query="allocate a zeroed object from a cache", max_results=1)
        lines = FILES["mm/slab.c"].splitlines()
        numbers = [lines.index(line) for line in result["context_lines"]]
        assert 1 <= len(numbers) <= 5
        assert numbers == sorted(numbers)

    @pytest.mark.parametrize(
        ("types", "paths"),
        [
            (["source_file"], {"mm/slab.c", "mm/page_alloc.c", "drivers/net/veth.c"}),
            (["documentation"], {"Documentation/mm/allocation.rst", "Documentation/process.md"}),
            ("config", {"mm/Kconfig", "mm/Makefile", "tools/allocation.yaml"}),
            (["source_file", "config"], set(FILES) - {"Documentation/mm/allocation.rst", "Documentation/process.md"}),
            ([], set(FILES)),
        ],
    )
    def test_types_are_filtered_before_anything_is_ranked(
        self, library: Library, types: list[str], paths: set[str]
    ) -> None:
        results = found(library, query="memory allocation", content_types=types)
        assert {one["source_path"] for one in results} == paths
        [first] = found(library, query="memory allocation", content_types=types, max_results=1)
        assert first["source_path"] in paths

    @pytest.mark.parametrize(
        ("globs", "paths"),
        [
            (["mm/*.c"], {"mm/slab.c", "mm/page_alloc.c"}),
            (["drivers/**", "*.rst"], {"drivers/net/veth.c", "Documentation/mm/allocation.rst"}),
            (["mm/slab.c"], {"mm/slab.c"}),
            (["nowhere/*"], set()),
            (["'; DROP TABLE documents; --"], set()),
        ],
    )
    def test_paths_are_filtered_before_anything_is_ranked(
        self, library: Library, globs: list[str], paths: set[str]
    ) -> None:
        assert {one["source_path"] for one in found(library, query="memory", file_paths=globs)} == paths

    def test_a_threshold_leaves_out_what_is_less_similar(self, library: Library) -> None:
        every = found(library, query="memory allocation for drivers")
        threshold = sorted(one["similarity_score"] for one in every)[-3]
        most_alike = found(library, query="memory allocation for drivers", similarity_threshold=threshold)
        assert {one["content_id"] for one in most_alike} == {
            one["content_id"] for one in every if one["similarity_score"] >= threshold
        }
        assert found(library, query="memory allocation for drivers", similarity_threshold=threshold, max_results=1)

    def test_a_threshold_nothing_reaches_says_how_near_the_nearest_is(self, library: Library) -> None:
        data = answer(library, "semantic_search", query="memory allocation for drivers", similarity_threshold=0.99)
        assert (data["results"], data["query_stats"]["total_results"]) == ([], 0)
        nearest = max(one["similarity_score"] for one in found(library, query="memory allocation for drivers"))
        shown = f"{math.floor(nearest * 1000) / 1000:.3f}"
        assert any(f"similarity of {shown}, less than the least asked for (0.99)" in note for note in data["notes"])

    def test_all_that_was_found_is_counted_whatever_is_returned(self, library: Library) -> None:
        query = "memory allocation"
        counts = {
            most: answer(library, "semantic_search", query=query, max_results=most)["query_stats"]["total_results"]
            for most in (1, 3, 50)
        }
        every = found(library, query=query, max_results=50)
        assert set(counts.values()) == {len(every)}
        threshold = sorted(one["similarity_score"] for one in every)[-2]
        data = answer(library, "semantic_search", query=query, max_results=1, similarity_threshold=threshold)
        assert (len(data["results"]), data["query_stats"]["total_results"]) == (1, 2)

    def test_the_log_has_the_query_by_its_id(self, library: Library) -> None:
        first, second = (answer(library, "semantic_search", query=query) for query in ("memory", "packets"))
        assert first["query_id"] != second["query_id"]
        for data, query in ((first, "memory"), (second, "packets")):
            assert {one["query_id"] for one in data["results"]} == {data["query_id"]}
            [entry] = answer(library, "retrieval_log", text=data["query_id"])["entries"]
            assert (entry["query_id"], entry["tool"]) == (data["query_id"], "semantic_search")
            assert entry["params"]["query"] == query

    def test_a_query_that_is_not_recorded_has_no_id(self, tree: Path, tmp_path: Path) -> None:
        with Library.open(tmp_path, embedding__provider="deterministic", audit__enabled=False) as library:
            library.add(str(tree), "kernel")
            data = answer(library, "semantic_search", query="memory")
        assert data["results"]
        assert "query_id" not in data
        assert not any("query_id" in one for one in data["results"])

    def test_times_are_in_seconds_and_add_up(self, library: Library) -> None:
        stats = answer(library, "semantic_search", query="how do patches travel", max_results=3)["query_stats"]
        parts = stats["query_embedding_time"] + stats["search_time"] + stats["ranking_time"]
        assert 0 < stats["query_embedding_time"] < parts <= stats["processing_time"] < 60

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            ({}, "VALIDATION_ERROR", "query is missing"),
            ({"query": ""}, "VALIDATION_ERROR", "query cannot be ''"),
            ({"query": 7}, "VALIDATION_ERROR", "query cannot be 7: it has to be text"),
            ({"query": "x", "content_types": ["binary"]}, "VALIDATION_ERROR", "content_types.0 cannot be 'binary'"),
            ({"query": "x", "similarity_threshold": 1.5}, "VALIDATION_ERROR", "similarity_threshold cannot be 1.5"),
            ({"query": "x", "max_results": 0}, "VALIDATION_ERROR", "max_results cannot be 0"),
            ({"query": "x", "other": 1}, "VALIDATION_ERROR", "there is no parameter 'other'"),
            ({"query": "  "}, "INVALID_INPUT", "The query is empty"),
            ({"query": "x", "max_results": 51}, "INVALID_INPUT", "max_results cannot be 51. At most 50."),
            ({"query": "x", "collection": "nope"}, "INVALID_INPUT", "no collection 'nope'"),
            ({"query": "x" * 2001}, "QUERY_TOO_LONG", "The query has 2001 characters. At most 2000"),
        ],
    )
    def test_what_cannot_be_asked_is_told_by_code(
        self, library: Library, arguments: dict[str, Any], code: str, words: str
    ) -> None:
        told, message, retryable = refusal(library, "semantic_search", **arguments)
        assert (told, retryable) == (code, False)
        assert words in message


class TestStatus:
    def test_all_contents_are_counted_by_type_and_status(self, library: Library) -> None:
        stats = answer(library, "get_index_status")["system_stats"]
        assert stats["content_by_type"] == {"source_file": 3, "documentation": 2, "config": 3}
        assert stats["status_breakdown"] == {"completed": 8, "pending": 0, "failed": 0, "stale": 0}
        assert stats["total_content"] == 8
        [model] = stats["embedding_models"]
        assert model["count"] == stats["total_embeddings"] == library.status("kernel")[0].chunks
        assert model["model"] == library.collection("kernel").fingerprint

    @pytest.mark.parametrize("by_path", [False, True])
    def test_one_content_is_told_by_id_or_path(self, library: Library, by_path: bool) -> None:
        uid = library.read("mm/slab.c", "kernel").document.uid
        asked = "mm/slab.c" if by_path else uid
        data = answer(library, "get_index_status", content_id=asked, include_stats=False)
        assert set(data) == {"content_status"}
        assert {"content_id": uid, "status": "completed"}.items() <= data["content_status"].items()
        indexed_at = datetime.fromisoformat(data["content_status"]["indexed_at"])
        assert indexed_at <= datetime.now(UTC)

    def test_an_unknown_content_is_an_error(self, library: Library) -> None:
        code, message, _ = refusal(library, "get_index_status", content_id="mm/slob.c")
        assert code == "INVALID_INPUT"
        assert "no document 'mm/slob.c'" in message
