"""``pinakes sources`` and ``pinakes sync NAME``: what is said of each source, taking one out, taking documents in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinakes.parsing import READERS
from pinakes.testing import write_files

DOCUMENT = """\
apiVersion: dot-ai.devopstoolkit.live/v1alpha1
kind: GitKnowledgeSource
metadata: {{name: {name}, namespace: team}}
spec:
  repository: {{url: {url}, secretRef: {{name: forge, key: token}}}}
  paths: ["*.md"]
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_files(tmp_path / "notes", {"tea.md": "# Tea\n\ngreen tea\n", "empty.md": ""})


@pytest.fixture
def configured(home: Path, notes: Path) -> Path:
    """A home whose settings name a folder and a place into which documents are pushed."""
    home.mkdir()
    lines = ["[[sources]]", f'location = "{notes}"', 'schedule = "@every 1h"', 'collection = "drinks"']
    (home / "config.toml").write_text("\n".join([*lines, "[[sources]]", 'kind = "push"', 'name = "crm"']), "utf-8")
    return home


def test_where_there_is_no_home_looking_for_sources_makes_none(pinakes: Any, home: Path) -> None:
    assert [pinakes(*words).code for words in (("sources",), ("sources", "remove", "x", "--yes"))] == [3, 3]
    assert not home.exists()


def test_without_sources_it_says_how_to_add_one(pinakes: Any) -> None:
    pinakes("init", "--no-model")
    done = pinakes("sources")
    assert (done.code, done.out) == (0, "")
    assert "pinakes add PATH" in done.err
    assert pinakes("sources", "--json").document == {"sources": [], "refused": []}


def test_the_list_tells_how_each_stands(pinakes: Any, configured: Path) -> None:
    before = pinakes("sources").out.splitlines()
    assert before[0].split() == ["source", "collection", "kind", "documents", "last", "sync", "next", "run", "state"]
    assert [line.split()[0] for line in before[1:]] == ["crm", "notes"]
    assert before[2].split()[-3:] == ["never", "due", "unread"]
    assert pinakes("sync").code == 0
    after = {line.split()[0]: line for line in pinakes("sources").out.splitlines()[1:]}
    assert after["notes"].split()[-4:] == ["in", "60", "min", "read"]
    assert after["crm"].split()[-3:] == ["never", "–", "pushed"]
    assert pinakes("sources", "-c", "drinks").out.count("\n") == 2


def test_a_source_that_is_gone_is_said_to_have_been_tried(pinakes: Any, configured: Path, notes: Path) -> None:
    pinakes("sync")
    assert "; read 2" in pinakes("status").out
    notes.rename(notes.with_name("elsewhere"))
    done = pinakes("sync")
    assert f"'{notes}' does not exist." in done.err
    assert "pinakes sources remove" in done.err
    assert "; tried 2" in pinakes("status").out
    last = pinakes("events").out.splitlines()[-1]
    assert last.endswith(f"unreachable drinks {notes}: '{notes}' does not exist.")


def test_files_that_failed_are_counted_once(pinakes: Any, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, ".oops", "there_is_none:Reader")
    (notes / "broken.oops").write_text("words and more words")
    assert pinakes("add", notes, "--set", "ingest.processes=0").code == 6
    done = pinakes("sources")
    assert done.out.count("failed") == 1
    assert "  1 file failed; tried again" in done.out
    assert "; read 2" in pinakes("status").out


def test_one_source_is_shown_in_full(pinakes: Any, configured: Path) -> None:
    pinakes("sync")
    shown = pinakes("sources", "show", "notes").out
    assert "schedule    @every 1h" in shown
    assert "last run    1 added, 1 skipped" in shown
    assert "skipped     1 × Empty file" in shown
    document = pinakes("sources", "show", "notes", "--json").document
    assert (document["documents"], document["skipped"], document["by"]) == (1, {"Empty file": 1}, "settings")


def test_a_source_that_there_is_not_is_named_with_those_there_are(pinakes: Any, configured: Path) -> None:
    for words in (["sync", "tee"], ["sources", "show", "tee"]):
        done = pinakes(*words)
        assert done.code == 3
        assert "There is no source 'tee'." in done.err
        assert "There is crm, notes." in done.err


def test_only_what_is_named_is_read(pinakes: Any, configured: Path, notes: Path) -> None:
    done = pinakes("sync", "notes", "--json").document
    assert [report["source"] for report in done["reports"]] == [str(notes)]
    done_pushed = pinakes("sync", "crm")
    assert done_pushed.code == 2
    assert "documents are put there by calls" in done_pushed.err
    assert pinakes("sync", "notes", "-c", "drinks").code == 2


def test_a_source_that_is_configured_no_more_is_left_alone_until_it_is_removed(
    pinakes: Any, configured: Path, notes: Path
) -> None:
    pinakes("sync")
    (configured / "config.toml").write_text("", "utf-8")
    done = pinakes("sync")
    assert "not read, being no longer configured: notes" in done.err
    listed = pinakes("sources").out
    assert "no longer configured" in listed
    assert "pinakes sources remove notes" in listed
    assert pinakes("search", "green tea", "-c", "drinks").out
    done = pinakes("sources", "remove", "notes")
    assert done.code == 2, "nobody is there to be asked"
    assert pinakes("sources", "remove", "notes", "--yes").out == "drinks: 1 document removed\n"
    assert pinakes("sources").out == ""


def test_a_source_of_the_settings_is_not_removed_behind_their_back(pinakes: Any, configured: Path) -> None:
    pinakes("sync")
    done = pinakes("sources", "remove", "notes", "--yes")
    assert done.code == 2
    assert "Take it out of the settings before" in done.err
    assert pinakes("search", "green tea", "-c", "drinks").out


def test_documents_are_taken_in_replaced_and_taken_out(pinakes: Any, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "declared.yaml"
    file.write_text(DOCUMENT.format(name="handbook", url="https://git.example.org/a.git"), "utf-8")
    done = pinakes("sources", "import", file, "-c", "books")
    assert done.code == 0
    assert "team/handbook: https://git.example.org/a.git → " in done.out
    assert "reads its token from the environment variable PINAKES_SECRET_FORGE_TOKEN" in done.err
    [one] = pinakes("sources", "--json").document["sources"]
    assert (one["name"], one["collection"], one["schedule"]) == ("team/handbook", "books", "@every 24h")
    file.write_text(DOCUMENT.format(name="handbook", url="https://git.example.org/b.git"), "utf-8")
    assert pinakes("sources", "import", file).code == 0
    [one] = pinakes("sources", "--json").document["sources"]
    assert (one["location"], one["collection"]) == ("https://git.example.org/b.git", "default")


def test_a_document_whose_file_would_be_that_of_another_is_refused(pinakes: Any, home: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    document = DOCUMENT.format(name="b.c", url="https://x/1.git")
    first.write_text(document, "utf-8")
    assert pinakes("sources", "import", first).code == 0
    second.write_text(document.replace("b.c", "c").replace("team", "team.b").replace("1.git", "2.git"), "utf-8")
    done = pinakes("sources", "import", second)
    assert done.code == 2
    assert "holds team/b.c, which is kept under the same name" in done.err
    assert "1.git" in (home / "sources.d" / "team.b.c.yaml").read_text("utf-8")


def test_of_several_documents_the_good_ones_are_taken_in_and_the_others_named(
    pinakes: Any, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "declared.yaml"
    good, place = DOCUMENT.format(name="one", url="https://x/1.git"), tmp_path / "none.yaml"
    twin = DOCUMENT.format(name="two", url="https://x/1.git").replace("kind: Git", "kind: Svn")
    file.write_text(f"{good}---\nkind: Pod\n---\n{twin}", "utf-8")
    done = pinakes("sources", "import", file, place, "--json")
    assert done.code == 2
    assert [one["name"] for one in done.document["imported"]] == ["team/one"]
    reasons = {one["origin"].removeprefix(str(tmp_path)): one["reason"] for one in done.document["refused"]}
    assert "kind is 'Pod'" in reasons["/declared.yaml, document 2"]
    assert "kind is 'SvnKnowledgeSource'" in reasons["/declared.yaml, document 3"]
    assert reasons["/none.yaml"] == "It cannot be read: No such file or directory"
    assert [one["name"] for one in pinakes("sources", "--json").document["sources"]] == ["team/one"]
    assert [path.name for path in (home / "sources.d").iterdir()] == ["team.one.yaml"]


def test_a_document_is_refused_at_import_where_sync_would_refuse_it(pinakes: Any, home: Path, tmp_path: Path) -> None:
    for url, reason in (
        (str(tmp_path), "is not read for a document"),
        ("file:///etc", "is not read for a document"),
        ("https://127.0.0.1/a.git", "name the host or its network in fetch.allow_private"),
        ("ftp://git.example.org/a.git", "'ftp' is not supported"),
        ("http://git.example.org/a.git", "would be sent unprotected"),
        ("git@git.example.org:a.git", "Take secretRef out, or give the https URL"),
    ):
        file = tmp_path / "declared.yaml"
        file.write_text(DOCUMENT.format(name="one", url=url), "utf-8")
        done = pinakes("sources", "import", file)
        assert (done.code, reason in done.err) == (2, True), (url, done.err)
    assert not (home / "sources.d").exists() or not list((home / "sources.d").iterdir())


def test_a_removed_document_is_forgotten_with_its_documents(pinakes: Any, home: Path, notes: Path) -> None:
    folder = home / "sources.d"
    folder.mkdir(parents=True)
    (folder / "team.gone.yaml").write_text(DOCUMENT.format(name="gone", url=str(notes)), "utf-8")
    pinakes("sync")
    assert pinakes("sources", "--json").document["sources"][0]["state"] == "failed"
    assert "PINAKES_SECRET_FORGE_TOKEN, which is to hold the token" in pinakes("sources").out
    assert pinakes("sources", "remove", "team/gone", "--yes").code == 0
    assert (list(folder.iterdir()), pinakes("sources").out) == ([], "")


def test_a_damaged_document_in_the_folder_is_told_and_the_rest_works(
    pinakes: Any, configured: Path, notes: Path
) -> None:
    (configured / "sources.d").mkdir()
    (configured / "sources.d" / "bad.yaml").write_text("a: [", "utf-8")
    done = pinakes("sources")
    assert done.code == 0
    assert "bad.yaml, document 1 is left out: It is no YAML" in done.err
    assert "notes" in done.out
    [refused] = pinakes("sources", "--json").document["refused"]
    assert refused["origin"].endswith("bad.yaml, document 1")


def test_a_document_that_was_never_read_can_be_taken_out(pinakes: Any, home: Path, notes: Path) -> None:
    folder = home / "sources.d"
    folder.mkdir(parents=True)
    (folder / "team.new.yaml").write_text(DOCUMENT.format(name="new", url=str(notes)), "utf-8")
    done = pinakes("sources", "remove", "team/new", "--yes")
    assert (done.code, list(folder.iterdir())) == (0, [])
