"""The rules of a graph come with a profile once, and stay with the collection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes.catalog import collections
from pinakes.core.errors import InvalidSetting, NotFound
from pinakes.library import Library

PROFILE = """
collection = "notes"

[collections.notes.graph.types.VENDOR]
names = { Acme = ["Acme Corporation"], Globex = [] }

[[collections.notes.graph.relations]]
type = "WORKS_WITH"
patterns = ["{source} works with {targets}"]
"""


@pytest.fixture
def profile(tmp_path: Path, docs: Path) -> str:
    (docs / "acme.md").write_text("# Acme\n\nAcme works with Globex. Initech is another.\n")
    path = tmp_path / "notes.toml"
    path.write_text(PROFILE)
    return str(path)


def test_a_graph_is_there_without_the_profile_that_its_collection_was_added_with(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    open_library(profile=profile).add(str(docs))
    library = open_library()
    assert not library.graph.update("notes") or not library.graph.is_behind("notes")
    assert [one.target.name for one in library.graph.relations(library.graph.one("acme corporation")).relations] == [
        "Globex"
    ]
    (docs / "more.md").write_text("Globex works with Acme.\n")
    library.sync()
    assert {one.source.name for one in library.graph.relations(library.graph.one("Acme")).relations} == {
        "Acme",
        "Globex",
    }
    assert not open_library(profile=profile).graph.update("notes"), "the rules are the same with the profile"


def test_what_a_profile_makes_of_files_stays_when_they_are_read_again_without_it(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    with Path(profile).open("a") as file:
        file.write(
            "\n[collections.notes]\npath_templates = ['{topic}/{file*}']\n[collections.notes.fields]\nrank = 'number'\n"
        )
    (docs / "tea").mkdir()
    (docs / "tea" / "green.md").write_text("---\nrank: 7\n---\nGreen tea.\n")
    open_library(profile=profile).add(str(docs))
    library = open_library()
    assert [one.changed for one in library.sync()] == [0]
    assert library.search("tea", filters={"topic": "tea", "rank": 7}).hits[0].path == "tea/green.md"
    kept = library.collecting.configure("notes", path_templates=None).kept
    assert kept is not None
    assert "path_templates" not in kept
    assert [one.changed for one in library.sync()] == [2]


def test_a_question_with_the_profile_has_an_older_collection_keep_its_rules(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    open_library().add(str(docs), "notes")
    with pytest.raises(NotFound):
        open_library().graph.one("Acme")
    assert open_library(profile=profile).graph.one("Acme").name == "Acme"
    assert open_library().graph.one("Acme").name == "Acme"


def test_settings_of_the_home_add_to_the_rules_of_the_profile(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    open_library(profile=profile).add(str(docs))
    library = open_library(collections={"notes": {"graph": {"types": {"VENDOR": {"names": {"Initech": []}}}}}})
    assert {one.name for one in library.graph.top()} == {"Acme", "Globex", "Initech"}


def test_a_changed_profile_replaces_the_rules_and_a_collection_may_give_them_up(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    open_library(profile=profile).add(str(docs))
    Path(profile).write_text(PROFILE.replace("Globex", "Initech"))
    assert {one.name for one in open_library(profile=profile).graph.top()} == {"Acme", "Initech"}
    library = open_library()
    assert {one.name for one in library.graph.top()} == {"Acme", "Initech"}
    library.collecting.configure("notes", graph=None)
    assert not library.graph.types("notes")


def test_an_exported_collection_takes_its_rules_and_the_names_of_its_lists_along(
    docs: Path, profile: str, tmp_path: Path, open_library: Callable[..., Library]
) -> None:
    listed = tmp_path / "more.csv"
    listed.write_text("name,type,aliases\nInitech,VENDOR,\n")
    Path(profile).write_text(f"{PROFILE}\n[collections.notes.graph]\nlists = ['{listed}']\n")
    library = open_library(profile=profile)
    library.add(str(docs))
    library.exchange.export("notes", tmp_path / "notes.zip")
    names = {one.name for one in library.graph.top()}
    assert "Initech" in names
    listed.unlink()
    with Library.open(tmp_path / "other", embedding__provider="deterministic") as other:
        other.exchange.take_in(tmp_path / "notes.zip", "taken")
        assert {one.name for one in other.graph.top("taken")} == names
        assert [one.target.name for one in other.graph.relations(other.graph.one("Acme")).relations] == ["Globex"]


def test_what_a_profile_says_of_short_files_and_chunks_stays_with_its_collection(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    with Path(profile).open("a") as file:
        file.write("\n[ingest]\nmin_text_chars = 20\n[collections.notes.chunking]\nunit = 'chars'\nsize = 700\n")
    (docs / "short.md").write_text("Tea.\n")
    added = open_library(profile=profile).add(str(docs))
    assert [one.path for one in added.skipped] == ["short.md"]
    library = open_library()
    [again] = library.sync()
    assert (again.added, again.changed, again.unchanged) == (0, 0, added.added)
    assert library.settings.chunking_of("notes", library.collection("notes").kept).size == 700
    [all_of_them] = open_library(ingest__min_text_chars=1).sync()
    assert all_of_them.added == 1, "a setting of the home counts more than what was kept"


def test_a_collection_that_names_a_profile_has_the_rules_of_its_own_collection(
    docs: Path, profile: str, open_library: Callable[..., Library]
) -> None:
    label = "[collections.notes]\nlabel = 'pages'\n[[collections.notes.sources]]\nname = 'n'\nlocation = 'x'\n"
    Path(profile).write_text(PROFILE.replace("\n[coll", f"\n{label}\n[coll", 1))
    rules = {"others": {"profile": profile, "description": "Of others."}}
    open_library(profile=profile, collections=rules).add(str(docs), "others")
    library = open_library()
    assert library.graph.one("acme corporation", "others").name == "Acme"
    assert library.settings.of_collection("others", library.collection("others").kept).label == "pages"
    assert [one.changed for one in library.sync("others")] == [0]
    with pytest.raises(InvalidSetting, match=r"collections.others.profile.*no collection of its own"):
        open_library(collections={"others": {"profile": "staged"}})


def test_a_collection_says_that_its_rules_are_of_another_version_of_a_shipped_profile(
    docs: Path, open_library: Callable[..., Library]
) -> None:
    (docs / "a.c").write_text("int vfs_read(int a) { return vfs_open(a); }\n")
    rules = {"linux": {"profile": "kernel"}}
    open_library(collections=rules).add(str(docs), "linux")
    library = open_library()
    assert library.status("linux")[0].outdated_profile == ""
    older = dict(library.collection("linux").kept or {})
    older["graph"] = {"code": True, "types": {"FUNCTION": {}}}
    with library.app.catalog.write() as connection:
        collections.change(connection, library.collection("linux"), description="", kept=older)
    assert library.status("linux")[0].outdated_profile == "kernel"
    [problem] = library.graph.report("linux").problems
    assert "pinakes sync -c linux --profile kernel" in problem
    renewed = open_library(profile="kernel")
    renewed.sync("linux")
    library = open_library()
    assert library.status("linux")[0].outdated_profile == ""
    assert "STRUCT" in library.graph.types("linux")
    library.collecting.configure("linux", graph=None)
    assert library.status("linux")[0].outdated_profile == "", "what it gave up is not asked for again"


def test_a_list_of_metadata_that_is_too_long_for_relations_is_told(
    docs: Path, open_library: Callable[..., Library]
) -> None:
    rules = {
        "types": {"PAGE": {}},
        "documents": [{"type": "PAGE", "name": "{title}"}],
        "metadata": [{"field": "see", "type": "PAGE", "relation": "SEE"}],
        "candidates": False,
    }
    for name, number in (("long", 201), ("cut", 150), ("whole", 90)):
        listed = ", ".join(f"X{one}" for one in range(number))
        (docs / f"{name}.md").write_text(f"---\ntitle: {name}\nsee: [{listed}]\n---\n\nText.\n")
    library = open_library(collections={"default": {"graph": rules}})
    noted = {path: str(note) for path, note in library.add(str(docs)).notes}
    assert set(noted) == {"long.md", "cut.md"}
    limits = "at most 200 fields, 1,000 characters, 100 entries, 4 levels"
    assert all(f"Too long for metadata ({limits}): see." in one for one in noted.values())
    assert library.graph.relations(library.graph.one("whole")).total == 90
    assert "X149" in library.read("cut.md").text, "nothing is lost"
