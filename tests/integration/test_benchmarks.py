"""The speed benchmark runs from end to end on the project's own documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinakes.core.errors import ModelUnavailable
from pinakes.library import Library
from pinakes.models import weights
from pinakes.settings import EmbeddingSettings

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("models")
    try:
        weights.install(EmbeddingSettings(), folder)
    except ModelUnavailable as error:
        pytest.skip(str(error))
    return folder


@pytest.mark.long
def test_the_quick_benchmark_measures_everything_but_what_is_asked_for_by_name(cache: Path, tmp_path: Path) -> None:
    report = tmp_path / "speed.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.speed"),
            *("--quick", "--work", str(tmp_path / "work"), "--json", str(report)),
        ],
        cwd=ROOT,
        env={**os.environ, "PINAKES_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
    )
    assert done.returncode == 0, done.stderr
    header, _, *rows = done.stdout.partition("\n\n")[0].splitlines()
    assert [cell.strip() for cell in header.strip("|").split("|")] == ["what", "reach", "measured", "verdict"]
    assert len(rows) == 16
    assert [row for row in rows if "not measured" in row] == [rows[4], *rows[14:]]
    found = json.loads(report.read_text("utf-8"))
    assert found["corpus"] == "own"
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["libraries"]["tantivy"]
    figures = found["figures"]
    assert figures["first"]["embedded"] > 0
    assert figures["first"]["ratio"] > 0
    assert set(figures["served"]["http"]) == {"hybrid", "keyword", "vector"}
    assert set(figures["queries"]) == {*figures["served"]["http"], "filtered hybrid"}
    reached = figures["reached"]["own"]
    assert reached["keyword_s"] > 0  # in a run of its own: no time to be compared with the others
    assert min(reached["hybrid_s"], reached["exact_s"]) > 0
    assert 0 < reached["sampled"] < reached["chunks"]
    assert figures["served"]["load"]["answers_per_s"] > 0
    assert figures["served"]["level_1"]["p50_ms"] > 0
    assert figures["served"]["memory_mb"] > 0
    assert figures["reranking"]["chunks"] == 20
    assert figures["reranking"]["times"]["p50_ms"] > 0
    assert figures["installed"] is None


@pytest.mark.long
def test_the_benchmark_of_followed_folders_measures_what_it_says(tmp_path: Path) -> None:
    sizes = ("--files", "30", "--idle-s", "1", "--changes", "1", "--burst", "10")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.watching", "--work", str(tmp_path), *sizes],
        cwd=ROOT,
        env={**os.environ, "PINAKES_EMBEDDING__PROVIDER": "deterministic"},
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    assert (figures["files"], figures["burst"]) == (30, 10)
    assert all(figures[name]["max_ms"] > 0 for name in ("added", "changed", "removed"))
    assert figures["idle_share"] >= 0


@pytest.mark.long
def test_ten_agents_that_search_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.agents", "--seconds", "5"],
        cwd=ROOT,
        env={**os.environ, "PINAKES_EMBEDDING__PROVIDER": "deterministic", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
    )
    figures = json.loads(done.stdout or done.stderr)["figures"]
    assert (figures["errors"], figures["lost"]) == ([], [])
    assert done.returncode == 0, done.stderr
    assert (figures["agents"], figures["seconds"] >= 5) == (10, True)
    assert figures["documents"] > 10
    assert figures["tools"].keys() >= {"search_summaries", "ingest_document", "update_document"}
    assert sum(one["count"] for one in figures["tools"].values()) == figures["calls"]


@pytest.mark.long
def test_the_benchmark_of_commands_has_a_server_answer(tmp_path: Path) -> None:
    home, options = tmp_path / "home", ("--set", "embedding.provider=deterministic")
    with Library.open(home, embedding__provider="deterministic") as library:
        library.documents.put("Keys are rotated daily.", title="Keys")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.command", "--home", str(home), "--times", "1", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    assert {name: len(runs) for name, runs in figures["runs_s"].items()} == {
        "help": 1,
        "search": 1,
        "search with server": 1,
    }
    assert all(seconds > 0 for runs in figures["processor_s"].values() for seconds in runs)
    assert min(figures["search_with_server_s"], figures["search_s"]) > 0
