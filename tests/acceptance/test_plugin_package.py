"""Packages with plug-ins as their users meet them: installed beside Pinakes, used by the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plugin_packages
import pytest
from forking import run_pinakes

DETERMINISTIC = ("--set", "embedding.provider=deterministic")
EXAMPLE = (
    *("--set", "embedding.provider=hashed-words", "--set", "index.engine=sqlite+faiss"),
    *("--set", "rerank.provider=word-overlap", "--set", "rerank.enabled=true"),
)
GPX = """<gpx xmlns="http://www.topografix.com/GPX/1/1"><metadata><name>{title}</name></metadata>
<wpt lat="47.4" lon="11.4"><name>Falkenhut</name><desc>A hut with a view of the {title}.</desc></wpt></gpx>"""
READER = """
import os
from pinakes import Document
class Reader:
    def __init__(self, limits): pass
    def read(self, data, path):
        if path.endswith("killing.note"):
            os.abort()
        if path.endswith("failing.note"):
            raise ValueError("what is this?")
        return Document(f"Read by {os.getpid()}: {data.decode()}")
"""

Program = Callable[..., tuple[int, Any]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "walks"
    folder.mkdir()
    (folder / "bees.md").write_text("# Bees\n\nBees carry pollen between the trees.\n")
    for title in ("Karwendel", "Rofan"):
        (folder / f"{title.lower()}.gpx").write_text(GPX.format(title=title))
    return folder


@pytest.fixture
def pinakes(site: Path, tmp_path: Path) -> Program:
    """Call the program in a process of its own; return its exit code, and what it says as JSON."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    environment |= {"PYTHONPATH": str(site), "PINAKES_HOME": str(tmp_path / "home")}

    def call(*words: str | Path) -> tuple[int, Any]:
        done = run_pinakes([*map(str, words), "--json"], environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)

    return call


def problems(pinakes: Program) -> dict[str, str]:
    _, document = pinakes("status")
    return {problem["path"]: problem["reason"] for one in document["collections"] for problem in one["problems"]}


def test_the_example_keeps_the_contracts(site: Path) -> None:
    plugin_packages.install_example(site)
    tests = plugin_packages.EXAMPLE / "tests"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", tests.with_name("pyproject.toml")]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([*command, tests], env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout
    assert "35 passed" in done.stdout


@pytest.mark.long
def test_all_parts_of_the_example_are_used(site: Path, docs: Path, pinakes: Program) -> None:
    plugin_packages.install_example(site)
    code, listed = pinakes("plugins")
    own = [one for one in listed["plugins"] if one["distribution"] == "pinakes-example"]
    names = [(one["group"], one["name"]) for one in own]
    assert code == 0
    assert names == [
        ("embedders", "hashed-words"),
        ("engines", "sqlite"),
        ("readers", ".gpx"),
        ("readers", "application/gpx+xml"),
        ("rerankers", "word-overlap"),
    ]
    assert all(one["loads"] for one in listed["plugins"]), listed
    assert pinakes(*EXAMPLE, "add", docs)[0] == 0
    code, answer = pinakes(*EXAMPLE, "search", "a view of the Rofan", "--explain")
    first = answer["hits"][0]
    assert (code, first["path"], first["title"]) == (0, "rofan.gpx", "Rofan")
    assert first["scores"]["rerank"] == 1.0
    code, status = pinakes(*EXAMPLE, "status")
    (collection,) = status["collections"]
    assert collection["index"]["engine"] == "sqlite+faiss"
    assert collection["model"] == "pinakes-example/hashed-words/1/1024"
    assert status["model"]["model"] == "hashed-words"
    assert pinakes(*EXAMPLE, "verify")[0] == 0


@pytest.mark.long
def test_the_engine_may_change_both_ways(site: Path, docs: Path, pinakes: Program) -> None:
    plugin_packages.install_example(site)
    assert pinakes(*DETERMINISTIC, "add", docs)[0] == 0
    for engine in ("sqlite+faiss", "local"):
        (docs / f"{engine}.md").write_text(f"# New\n\nWritten before the engine {engine} was asked.\n")
        chosen = (*DETERMINISTIC, "--set", f"index.engine={engine}")
        assert pinakes(*chosen, "sync")[0] == 0
        _, answer = pinakes(*chosen, "search", "pollen engine", "--mode", "keyword")
        assert {"bees.md", f"{engine}.md"} <= {hit["path"] for hit in answer["hits"]}
        assert pinakes(*chosen, "verify")[0] == 0


def test_a_damaged_index_of_another_engine_is_built_again(
    site: Path, docs: Path, tmp_path: Path, pinakes: Program
) -> None:
    plugin_packages.install_example(site)
    chosen = (*DETERMINISTIC, "--set", "index.engine=sqlite+faiss")
    assert pinakes(*chosen, "add", docs)[0] == 0
    (index,) = (tmp_path / "home").glob("index/*/engine-sqlite/index.db")
    index.write_bytes(b"no database" * 1000)
    code, answer = pinakes(*chosen, "search", "pollen", "--mode", "keyword")
    assert (code, [hit["path"] for hit in answer["hits"]]) == (0, ["bees.md"])
    assert pinakes(*chosen, "verify")[0] == 0


@pytest.mark.long
def test_files_are_read_again_by_a_new_reader_and_by_its_new_version(site: Path, docs: Path, pinakes: Program) -> None:
    def titles() -> dict[str, str]:
        _, answer = pinakes(*DETERMINISTIC, "search", "Falkenhut", "--mode", "keyword")
        return {hit["path"]: hit["title"] for hit in answer["hits"]}

    def synced() -> int:
        _, document = pinakes(*DETERMINISTIC, "sync")
        return sum(one["changed"] for one in document["reports"])

    assert pinakes(*DETERMINISTIC, "add", docs)[0] == 0
    assert set(titles().values()) != {"Karwendel", "Rofan"}
    plugin_packages.install_example(site)
    assert synced() == 2
    assert titles() == {"karwendel.gpx": "Karwendel", "rofan.gpx": "Rofan"}
    assert synced() == 0
    gpx = site / "pinakes_example" / "gpx.py"
    gpx.write_text(gpx.read_text("utf-8").replace("title=title)", 'title=f"Walk: {title}")'), "utf-8")
    plugin_packages.install_example_metadata(site, "0.2.0")
    assert synced() == 2
    assert titles() == {"karwendel.gpx": "Walk: Karwendel", "rofan.gpx": "Walk: Rofan"}
    assert synced() == 0
    plugin_packages.uninstall(site, "pinakes-example")
    assert synced() == 0, "documents were lost with the package that read them"
    assert titles() == {"karwendel.gpx": "Walk: Karwendel", "rofan.gpx": "Walk: Rofan"}


def test_a_reader_costs_no_more_than_its_file(site: Path, docs: Path, pinakes: Program) -> None:
    plugin_packages.install(site, "notes", "readers", {".note": "notes:Reader"}, READER)
    for name in ("good", "killing", "failing"):
        (docs / f"{name}.note").write_text(f"a {name} note")
    pinakes(*DETERMINISTIC, "add", docs)
    reasons = problems(pinakes)
    assert set(reasons) == {"killing.note", "failing.note"}
    assert "ended the process that read it" in reasons["killing.note"]
    assert "The reader '.note' of notes 1.0 cannot be used: ValueError: what is this?." in reasons["failing.note"]
    _, answer = pinakes(*DETERMINISTIC, "search", "good note", "--mode", "keyword")
    assert answer["hits"][0]["path"] == "good.note"


@pytest.mark.long
def test_files_of_a_broken_reader_wait_until_it_is_mended(site: Path, docs: Path, pinakes: Program) -> None:
    plugin_packages.install(site, "notes", "readers", {".note": "notes:Reader"}, "import missing_library")
    (docs / "good.note").write_text("a good note")
    pinakes(*DETERMINISTIC, "add", docs)
    (reason,) = problems(pinakes).values()
    assert reason.startswith("The reader '.note' of notes 1.0 cannot be used: ModuleNotFoundError: No module named 'm")
    plugin_packages.install(site, "notes", "readers", {".note": "notes:Reader"}, READER)
    pinakes(*DETERMINISTIC, "sync", "--retry")
    assert problems(pinakes) == {}


@pytest.mark.parametrize(
    ("group", "setting"),
    [("embedders", "embedding.provider"), ("engines", "index.engine"), ("rerankers", "rerank.provider")],
)
def test_a_broken_part_that_the_settings_name_is_told_in_one_error(
    site: Path, docs: Path, pinakes: Program, group: str, setting: str
) -> None:
    plugin_packages.install(site, "broken", group, {"mine": "broken:Part"}, "import missing_library", version="2.3")
    assert pinakes(*DETERMINISTIC, "add", docs)[0] == 0
    code, answer = pinakes(
        *DETERMINISTIC, "--set", f"{setting}=mine", "--set", "rerank.enabled=true", "search", "pollen"
    )
    listed = pinakes("plugins")[1]["plugins"]
    (wrong,) = (one for one in listed if not one["loads"])
    assert (wrong["group"], wrong["name"], wrong["distribution"], wrong["version"]) == (group, "mine", "broken", "2.3")
    assert "'mine' of broken 2.3 cannot be used: ModuleNotFoundError" in wrong["error"]
    assert (code, answer["error"]["code"]) == (12, "PLUGIN_BROKEN")
    assert answer["error"]["message"] in wrong["error"]


EXTRACTOR = """
from pinakes.core.graph_records import EntityName, Findings, Mention, StatedRelation
class Mentors:
    fingerprint = "mentors:1"
    @classmethod
    def open(cls, rules): return cls()
    def extract(self, subject):
        if "teaches" not in subject.document.text:
            return Findings()
        ends = EntityName("PERSON", "Ann"), EntityName("PERSON", "Bob")
        stated = StatedRelation(ends[0], "MENTOR_OF", ends[1], 0, 0, 0.9, "mentors")
        return Findings([Mention(one, 0, 0, 0.9, "mentors") for one in ends], [stated])
"""


def test_a_relation_that_only_a_plugin_states_is_known_to_searches_as_to_the_graph(
    site: Path, docs: Path, pinakes: Program, tmp_path: Path
) -> None:
    plugin_packages.install(site, "mentors", "extractors", {"mentors": "mentors:Mentors"}, EXTRACTOR)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(
        '[collections.default.graph]\nextractors = ["mentors"]\n[collections.default.graph.types.PERSON]\nnames = {}\n'
    )
    (docs / "ann.md").write_text("# Ann\n\nAnn teaches.\n")
    assert pinakes(*DETERMINISTIC, "add", docs)[0] == 0
    for words in (("graph", "neighbours", "Ann"), ("search", "Ann", "--expand", "1")):
        code, answer = pinakes(*DETERMINISTIC, *words, "--relation", "mentor_of")
        assert code == 0, answer
        code, answer = pinakes(*DETERMINISTIC, *words, "--relation", "eats")
        assert (code, "MENTOR_OF" in answer["error"]["hint"]) == (2, True), answer
