"""A collection that is searchable before all of it is embedded, as HTTP and MCP show it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from bert_reference import make_tiny_bert
from progressive_support import small_steps, stopped_at_searchable, write_folder
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import NamedSearch, load
from pinakes.tools import TOOLS
from pinakes.tools.profile_tools import named_tool

TOOL = {tool.name: tool for tool in TOOLS}
QUESTION = {"query": "quick brown fox", "top_k": 50}


@pytest.fixture(scope="module")
def searchable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library whose first run was stopped once it was searchable; it embeds nothing while it is asked."""
    model = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    folder = write_folder(tmp_path_factory.mktemp("files"), [f"file{number}" for number in range(20)])
    settings = small_steps(model) | {"search__refine_ms": 0, "server__port": 0}
    home = tmp_path_factory.mktemp("home")
    with Library(load(home=home, environment={}, cache=home / "cache", **settings)) as library:
        stopped_at_searchable(library, folder)
        yield library


@pytest.fixture(scope="module")
def server(searchable: Library) -> Iterator[Running]:
    running = Running(create_app(searchable), searchable.settings)
    yield running
    running.stop()


def test_a_result_says_that_it_is_approximate_and_else_nothing(server: Running) -> None:
    results = server.client.post("/search", json=QUESTION).json()["results"]
    marks = [result.get("approximate") for result in results]
    assert set(marks) == {True, None}
    exact = next(result for result in results if "approximate" not in result)
    assert exact.keys() == {"chunk_id", "kep_id", "text", "score", "metadata", "chunk_index", "source_state"}
    only_words = server.client.post("/search", json=QUESTION | {"search_type": "keyword"}).json()["results"]
    assert not any("approximate" in result for result in only_words)


def test_health_says_how_much_is_exact(server: Running, searchable: Library) -> None:
    [status] = searchable.status()
    health = server.client.get("/health").json()
    assert health["status"] == "healthy"
    embedding = health["components"]["embedding"]
    assert embedding == {
        "exact": status.chunks - status.pending,
        "approximate": status.pending,
        "waiting": 0,
        "exact_share": status.exact_share,
    }
    assert 0 < embedding["exact_share"] < 1


def test_stats_count_approximate_vectors_too_and_name_the_exact_ones(server: Running) -> None:
    stats = server.client.get("/stats").json()
    assert stats["total_vectors"] == stats["total_chunks"]
    assert 0 < stats["exact_vectors"] < stats["total_vectors"]
    assert stats["exact_share"] == pytest.approx(stats["exact_vectors"] / stats["total_chunks"], abs=1e-4)


def test_metrics_have_a_gauge_for_each_kind_of_vector(server: Running, searchable: Library) -> None:
    [status] = searchable.status()
    found = re.findall(
        r'^pinakes_collection\{name="default",of="(\w+)"\} (\S+)$', server.client.get("/metrics").text, re.M
    )
    sizes = {name: float(value) for name, value in found}
    assert sizes["exact"] == status.exact > 0
    assert sizes["approximate"] == sizes["pending"] == status.pending > 0
    assert sizes["waiting"] == 0


def test_a_tool_marks_scores_that_are_approximate(searchable: Library) -> None:
    answer = TOOL["search"].call(searchable, QUESTION)
    marks = re.findall(r"^\[\d+\] .* · score (~?)\d\.\d\d", answer.as_text(), re.M)
    assert set(marks) == {"", "~"}
    assert "Scores with ~ are approximate" in answer.as_text()
    chunks = answer.as_data()["passages"]
    assert ["~" if chunk.get("approximate") else "" for chunk in chunks] == marks
    assert not any(chunk.get("approximate") is False for chunk in chunks)
    by_words = TOOL["search"].call(searchable, QUESTION | {"mode": "keyword"}).as_text()
    assert "approximate" not in by_words


def test_the_status_tool_says_how_much_is_exact(searchable: Library) -> None:
    [status] = searchable.status()
    answer = TOOL["status"].call(searchable, {})
    assert f"vectors {status.exact} of {status.chunks} exact (" in answer.as_text()
    [told] = answer.as_data()["collections"]
    assert (told["approximate"], told["exact_share"]) == (status.approximate, status.exact_share)


def test_a_template_can_mark_what_is_approximate(searchable: Library) -> None:
    named = NamedSearch(name="ask", description="d", collection="default", hit="{approximate}{score:.2f}\n", top_k=50)
    lines = named_tool(named).call(searchable, {"query": "quick brown fox"}).as_text().split()
    assert {line.startswith("~") for line in lines} == {True, False}


def test_the_library_counts_what_an_index_that_is_built_anew_holds(searchable: Library) -> None:
    before = searchable.status()[0]
    searchable.reindex()
    after = searchable.status()[0]
    assert (after.exact, after.approximate, after.waiting) == (before.exact, before.approximate, 0)
    assert before.approximate > 0
