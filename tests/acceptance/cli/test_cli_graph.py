"""The commands of the graph, as a new user types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROFILE = """
collection = "notes"

[collections.notes.graph]
owner = "TEAM:Us"
candidates = false

[collections.notes.graph.types.VENDOR]
names = { Acme = [], Globex = [], Initech = [] }

[collections.notes.graph.types.TEAM]
names = { Sales = [] }

[[collections.notes.graph.relations]]
type = "USES"
inverse = "USED_BY"
patterns = ["{source} uses {targets}", "{owner} use {targets}"]
"""
Call = Callable[..., Any]


@pytest.fixture
def notes(tmp_path: Path, pinakes: Call) -> tuple[str, ...]:
    """Make a home with a collection that has a graph, and one that has none; return the options that name it."""
    home, docs = ("--home", str(tmp_path / "home")), tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nSales uses Acme. Sales uses Globex.\n\nWe use Acme. We use Initech.\n")
    (tmp_path / "notes.toml").write_text(PROFILE)
    assert pinakes("add", docs, *home, "--profile", tmp_path / "notes.toml").code == 0
    assert pinakes("collections", "create", "plain", *home).code == 0
    return home


def test_a_path_shows_the_direction_of_each_step_and_avoids_the_owner(pinakes: Call, notes: tuple[str, ...]) -> None:
    found = pinakes("graph", "path", "acme", "vendor:globex", *notes)
    lines = [line.strip() for line in found.out.splitlines()]
    assert lines[0] == "path 1: 2 hops"
    assert lines[1].startswith("Acme <-USES- Sales  (USED_BY)")
    assert lines[2].startswith("a.md: ")
    assert lines[3].startswith("Sales -USES-> Globex")
    found = pinakes("graph", "path", "Acme", "Initech", *notes)
    assert "Us -USES-> Initech" in found.out
    assert "goes through Us" in found.err
    held = json.loads(pinakes("graph", "path", "Acme", "Initech", "--json", *notes).out)
    assert [one["direction"] for one in held["paths"][0]] == ["in", "out"]
    found = pinakes("graph", "path", "Acme", "Initech", "--not-through-owner", *notes)
    assert (found.out, "no path of at most 4 relations" in found.err) == ("", True)


def test_unknown_types_and_cut_lists_are_told(pinakes: Call, notes: tuple[str, ...]) -> None:
    assert "There are TEAM, VENDOR." in pinakes("graph", "top", "--type", "planet", *notes).err
    assert "There are USED_BY, USES." in pinakes("graph", "neighbours", "Acme", "--relation", "eats", *notes).err
    found = pinakes("graph", "neighbours", "sales", "--relation", "uses", "--limit", "1", *notes)
    assert "1 of 2 relations are shown; all by --limit 2" in found.err
    assert "collection 'plain' has no graph" in pinakes("graph", "top", "-c", "plain", *notes).err


def test_an_export_needs_no_name_where_one_collection_has_a_graph(
    pinakes: Call, notes: tuple[str, ...], tmp_path: Path
) -> None:
    assert pinakes("graph", "export", tmp_path / "notes.graphml", *notes).code == 0
    assert "Sales uses Acme." in (tmp_path / "notes.graphml").read_text()
    refused = pinakes("graph", "export", "-", "-c", "plain", *notes)
    assert (refused.code, "has no graph" in refused.err) == (2, True)


def test_a_graph_that_is_forgotten_goes_and_the_command_says_so(
    pinakes: Call, notes: tuple[str, ...], tmp_path: Path
) -> None:
    done = pinakes("collections", "configure", "notes", "--forget", "graph", *notes)
    assert "its graph was removed" in done.err
    assert "has no graph" in pinakes("graph", "show", "Acme", *notes).err
    still = pinakes(
        "collections", "configure", "notes", "--forget", "graph", "--profile", tmp_path / "notes.toml", *notes
    )
    assert "it has a graph still" in still.err
    assert pinakes("graph", "show", "Acme", "--profile", tmp_path / "notes.toml", *notes).code == 0


def test_a_profile_gives_its_rules_to_another_collection_that_is_added_with_it(tmp_path: Path, pinakes: Call) -> None:
    home, docs = ("--home", str(tmp_path / "home")), tmp_path / "linux"
    docs.mkdir()
    (docs / "a.c").write_text("int vfs_read(int a) { return vfs_open(a); }\n")
    (docs / "a.xyz").write_text("Not a file of a kernel.\n")
    added = pinakes("add", docs, *home, "--profile", "kernel", "--collection", "old")
    assert "old gets the rules that the profile kernel has for kernel" in added.err
    assert "1 added" in added.out, "the patterns of the profile's source are used, too"
    assert "vfs_read CALLS vfs_open" in pinakes("graph", "show", "vfs_read", *home).out
    assert "1 unchanged" in pinakes("sync", *home).out
    (tmp_path / "mine.toml").write_text("[collections.mine.graph.types.VENDOR]\n")
    added = pinakes("add", docs, *home, "--profile", tmp_path / "mine.toml", "--collection", "other")
    assert "has rules of mine, and says of none that it is its own collection" in added.err
    assert (
        "added with --profile handbook, kep or kernel (and --collection other)"
        in pinakes("graph", "top", *home, "-c", "other").err
    )


def test_the_filter_of_relations_has_one_name_and_a_quiet_rebuild_prints_nothing(
    pinakes: Call, notes: tuple[str, ...]
) -> None:
    found = {pinakes("graph", "neighbours", "sales", way, "uses", *notes).out for way in ("--relation-type", "-r")}
    assert len(found) == 1
    assert "Sales USES Acme" in found.pop()
    assert "--relation-type" in pinakes("search", "--help").out
    assert "VENDOR" in pinakes("reindex", "--graph", *notes).out
    assert pinakes("reindex", "--graph", "-q", *notes).out == ""


def test_a_name_given_twice_is_said_to_be_there_already(pinakes: Call, notes: tuple[str, ...]) -> None:
    for command, other, shown in (("alias", "BC", "BC"), ("merge", "Globex", "Globex, bc")):
        first = pinakes("graph", command, "Acme", other, *notes)
        assert first.out == f"Acme: other names: {shown}\n"
        assert "already" not in first.err
        second = pinakes("graph", command, "Acme", other.lower(), *notes)
        assert f"{other.lower()!r} is another name of Acme already" in second.err
        assert "nothing changes" not in second.err
    unknown = pinakes("graph", "split", "Acme", "Initech", *notes)
    assert "nothing changes by now" in unknown.err
