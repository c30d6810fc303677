"""What the history of a repository adds to its documents: dates and authors, blame, links, tags."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pinakes.core.errors import InvalidInput
from pinakes.core.records import Blame
from pinakes.library import Library
from pinakes.settings import SourceSettings
from pinakes.sources.git import GitSource

OpenLibrary = Callable[..., Library]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

BADGER = "# Badger\n\nBadgers dig for earthworms.\n"


class Repository:
    """A real repository whose commits have authors and dates of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    @property
    def uri(self) -> str:
        return self.path.as_uri()

    def git(self, *arguments: str, author: str = "Ann", day: str = "2020-01-02") -> str:
        who = {f"GIT_{role}_NAME": author for role in ("AUTHOR", "COMMITTER")}
        who |= {f"GIT_{role}_EMAIL": "who@example.org" for role in ("AUTHOR", "COMMITTER")}
        who |= {f"GIT_{role}_DATE": f"{day}T10:00:00+02:00" for role in ("AUTHOR", "COMMITTER")}
        who |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, check=True, capture_output=True, text=True, env={**os.environ, **who}
        )
        return done.stdout.strip()

    def commit(self, files: dict[str, str | bytes | None], author: str, day: str, subject: str = "change") -> str:
        for name, text in files.items():
            place = self.path / name
            if text is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode() if isinstance(text, str) else text)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", subject, author=author, day=day)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.commit(
        {"badger.md": BADGER, "otter.py": "def juggle(stones):\n    return stones\n"}, "Ann", "2020-01-02", "Begin"
    )
    made.git("tag", "v1")
    made.commit({"badger.md": BADGER + "\nThey sleep in winter.\n"}, "Bo", "2021-03-04", "Say how they sleep")
    return made


def configured(open_library: OpenLibrary, repository: Repository, **source: object) -> Library:
    given = {"kind": "git", "location": repository.uri, **source}
    return open_library(collections={"animals": {"sources": [given]}}, collection="animals")


def described(library: Library, path: str) -> dict[str, object]:
    metadata = library.read(path).document.metadata
    return {name: metadata.get(name) for name in ("author", "authors", "commit_date", "first_date", "commit_subject")}


def who(blame: Sequence[Blame] | None) -> list[tuple[int, int, str, str]]:
    return [(one.start_line, one.end_line, one.author, one.date[:10]) for one in blame or ()]


def test_files_are_described_by_their_whole_history(open_library: OpenLibrary, repository: Repository) -> None:
    library = configured(open_library, repository, depth=0)
    library.sync()
    assert described(library, "badger.md") == {
        "author": "Bo",
        "authors": ["Bo", "Ann"],
        "commit_date": "2021-03-04T08:00:00Z",
        "first_date": "2020-01-02T08:00:00Z",
        "commit_subject": "Say how they sleep",
    }
    found = library.search("stones badgers", filters={"commit_date": {"lt": "2021"}}).hits
    assert {hit.path for hit in found} == {"otter.py"}


def test_a_later_sync_looks_at_new_commits_and_follows_renames(
    open_library: OpenLibrary, repository: Repository
) -> None:
    library = configured(open_library, repository, depth=0)
    library.sync()
    repository.git("mv", "badger.md", "brock.md")
    repository.commit({"otter.py": "def juggle(stones):\n    return stones * 2\n"}, "Cy", "2022-05-06")
    library.sync()
    assert described(library, "brock.md")["authors"] == ["Cy", "Bo", "Ann"]
    assert described(library, "otter.py")["authors"] == ["Cy", "Ann"]
    repository.commit({"otter.py": None, "new.md": "# New\n\nNewts swim.\n"}, "Dee", "2022-06-07")
    library.sync()
    assert described(library, "new.md")["authors"] == ["Dee"]


def test_both_sides_of_a_merge_are_history(open_library: OpenLibrary, repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "side", "v1")
    repository.commit({"side.md": "# Side\n\nWritten aside.\n"}, "Eve", "2021-01-01")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side", author="Mo", day="2023-01-01")
    library = configured(open_library, repository, depth=0)
    library.sync()
    assert described(library, "side.md")["author"] == "Eve"
    assert described(library, "badger.md")["author"] == "Bo"


def test_rewritten_history_is_walked_anew(open_library: OpenLibrary, repository: Repository) -> None:
    library = configured(open_library, repository, depth=0)
    library.sync()
    repository.git("reset", "-q", "--hard", "v1")
    repository.commit({"badger.md": BADGER + "\nAnother end.\n"}, "Zoe", "2024-01-01")
    library.sync()
    assert described(library, "badger.md")["authors"] == ["Zoe", "Ann"]


def test_of_a_shallow_clone_only_what_is_known_is_said(open_library: OpenLibrary, repository: Repository) -> None:
    repository.commit({"new.md": "# New\n\nNewts swim.\n"}, "Cy", "2022-05-06")
    library = configured(open_library, repository, depth=2)
    library.sync()
    assert described(library, "new.md")["author"] == "Cy"
    assert described(library, "otter.py")["author"] is None, "the oldest commit that is kept seems to add everything"
    library = configured(open_library, repository, depth=0)
    library.sync()
    assert described(library, "otter.py")["author"] == "Ann", "another depth reads the source again"


def test_metadata_of_the_document_counts_for_more_than_its_history(
    open_library: OpenLibrary, repository: Repository
) -> None:
    repository.commit({"signed.md": "---\nauthor: Somebody Else\n---\n# Signed\n\nText.\n"}, "Cy", "2022-05-06")
    library = configured(open_library, repository, depth=0)
    library.sync()
    assert described(library, "signed.md")["author"] == "Somebody Else"


def test_hits_tell_who_wrote_their_lines_and_fetch_the_history_for_that(
    library: Library, repository: Repository
) -> None:
    library.add(repository.uri)
    assert library.search("earthworms").hits[0].blame is None
    [hit] = [one for one in library.search("earthworms", blame=True).hits if one.path == "badger.md"]
    assert who(hit.blame) == [(1, 3, "Ann", "2020-01-02"), (4, 5, "Bo", "2021-03-04")]
    assert hit.blame is not None
    assert hit.blame[1].subject == "Say how they sleep"
    assert hit.blame[1].commit == repository.git("rev-parse", "HEAD")
    repository.commit({"new.md": "# New\n\nNewts swim.\n"}, "Cy", "2022-05-06")
    library.sync()
    [again] = [one for one in library.search("earthworms", blame=True).hits if one.path == "badger.md"]
    assert again.blame == hit.blame, "the history that was fetched is kept"


def test_blame_is_remembered_for_a_file_that_stays_the_same(library: Library, repository: Repository) -> None:
    library.add(repository.uri)
    first = library.search("earthworms", blame=True).hits[0]
    shutil.rmtree(library.app.home.path / "sources")
    assert library.search("earthworms", blame=True).hits[0].blame == first.blame


def test_a_fixed_depth_is_kept_and_older_lines_are_told_as_such(
    open_library: OpenLibrary, repository: Repository
) -> None:
    library = configured(open_library, repository, depth=1)
    library.sync()
    [hit] = [one for one in library.search("earthworms", blame=True).hits if one.path == "badger.md"]
    assert [(one.commit, one.subject) for one in hit.blame or ()] == [("", "older than the history that is kept")]


def test_a_source_with_less_history_takes_none_from_another_of_the_same_repository(
    open_library: OpenLibrary, repository: Repository
) -> None:
    given = {"kind": "git", "location": repository.uri, "ref": "main"}
    depths = {"newest": 1, "whole": 0, "some": 2}
    library = open_library(
        collections={name: {"sources": [{**given, "depth": depth}]} for name, depth in depths.items()},
        collection="whole",
    )
    for day in ("2022-05-06", "2022-05-07"):
        for name in ("newest", "whole", "some", "newest"):
            library.sync(name)
        told, reason = library.blames.of_text(library.read("badger.md", "whole"), 60)
        assert (who(told), reason) == ([(1, 3, "Ann", "2020-01-02"), (4, 5, "Bo", "2021-03-04")], "")
        assert described(library, "otter.py")["authors"] == ["Ann"]
        repository.commit({"badger.md": BADGER + "\nThey sleep in winter.\n", "new.md": f"# {day}\n"}, "Cy", day)


def test_an_answer_does_not_wait_longer_for_blame_than_it_may(
    open_library: OpenLibrary, repository: Repository
) -> None:
    library = open_library(search__blame_ms=0)
    library.add(repository.uri)
    answer = library.search("earthworms", blame=True)
    assert answer.hits
    assert any("takes longer than 0 s" in note for note in answer.notes)
    told, reason = library.blames.of_text(library.read("badger.md"), 60)
    assert (who(told)[0][2], reason) == ("Ann", "")


def test_a_checkout_is_blamed_where_it_lies_with_lines_that_are_not_committed(
    library: Library, repository: Repository
) -> None:
    (repository.path / "badger.md").write_text("# Badger\n\nA new line.\nBadgers dig for earthworms.\n")
    (repository.path / "draft.md").write_text("# Draft\n\nUnicorns.\n")
    library.add(str(repository.path))
    [hit] = [one for one in library.search("earthworms", blame=True).hits if one.path == "badger.md"]
    assert [(one.start_line, one.end_line, one.author or one.subject) for one in hit.blame or ()] == [
        (1, 2, "Ann"),
        (3, 3, "not committed"),
        (4, 4, "Ann"),
    ]
    draft = library.search("unicorns", blame=True)
    assert draft.hits[0].blame is None
    assert any("is not committed" in note for note in draft.notes)


CLEANED = {
    "bom.md": "\ufeff# Mark\n\nA text with a mark.\n".encode(),
    "latin.txt": "Käse\nBrot\nMüsli und Öl\n".encode("latin-1"),
    "feed.txt": b"One\n\x0cTwo\nThree\x0band four\n",
    "front.md": b"---\ntitle: Front\nstatus: beta\n---\n# Front\n\nText.\n",
    "wide.md": "# Wide\n\nTwo bytes a letter.\n".encode("utf-16"),
    "colours.log": b"\x1b[31mred\x1b[0m\nplain\r\nlast\n",
    "returns.txt": b"One\rTwo\nThree\r\nFour\n",
}
"""Files whose text is not as their bytes are."""


@pytest.mark.parametrize("path", CLEANED)
@pytest.mark.parametrize("checked_out", [False, True])
def test_lines_that_reading_cleans_are_blamed_as_well(
    library: Library, repository: Repository, path: str, checked_out: bool
) -> None:
    first = CLEANED[path].replace(b"Text.", b"Old.").replace(b"Four", b"Vier")
    repository.commit({path: first}, "Ann", "2020-03-03")
    repository.commit({path: CLEANED[path]}, "Bo", "2021-03-04")
    library.add(str(repository.path) if checked_out else repository.uri)
    told, reason = library.blames.of_text(library.read(path), 60)
    assert reason == ""
    lines = {
        "front.md": [(1, 6, "Ann", "2020-03-03"), (7, 7, "Bo", "2021-03-04")],
        "returns.txt": [(1, 3, "Ann", "2020-03-03"), (4, 4, "Bo", "2021-03-04")],
    }
    assert who(told) == lines.get(path, [(1, 3, "Ann", "2020-03-03")])


def test_a_chunk_that_is_a_part_of_a_line_is_blamed(library: Library, repository: Repository) -> None:
    words = " ".join(f"word{number}" for number in range(3000))
    repository.commit({"long.txt": f"{words} unicorn\n"}, "Cy", "2022-05-06")
    library.add(repository.uri)
    hits = library.search("unicorn", mode="keyword", blame=True).hits
    assert who(hits[0].blame) == [(1, 1, "Cy", "2022-05-06")]


def test_lines_below_the_end_of_the_committed_file_are_not_asked_for(library: Library, repository: Repository) -> None:
    (repository.path / "otter.py").write_text("def juggle(stones):\n    return stones\n\n# so far\n")
    library.add(str(repository.path))
    told, reason = library.blames.of_text(library.read("otter.py", lines=(3, 4)), 60)
    assert (told, reason) == ((), "Its lines are not those of the committed file")


def test_nothing_that_a_checkout_configures_is_run(library: Library, repository: Repository, tmp_path: Path) -> None:
    repository.commit({".gitattributes": "*.md diff=evil filter=evil\n"}, "Ann", "2021-05-05")
    trap, hit = tmp_path / "trap.sh", tmp_path / "was-run"
    trap.write_text(f'#!/bin/sh\ntouch {hit}\ncat "$@"\n')
    trap.chmod(0o755)
    for name in ("diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "gpg.program"):
        repository.git("config", name, str(trap))
    repository.git("config", "log.showSignature", "true")
    repository.git("config", "core.hooksPath", str(tmp_path))
    hit.unlink(missing_ok=True)
    library.add(str(repository.path))
    found = [one for one in library.search("earthworms", blame=True).hits if one.path == "badger.md"]
    assert who(found[0].blame)[0][2] == "Ann"
    assert not hit.exists()


def test_lines_of_a_converted_format_are_not_blamed(library: Library, repository: Repository) -> None:
    repository.commit({"data.xml": "<animal><name>unicorn</name><horns>1</horns></animal>\n"}, "Cy", "2022-05-06")
    library.add(repository.uri)
    answer = library.search("unicorn", mode="keyword", blame=True)
    assert answer.hits[0].blame is None
    assert any("format has no lines of its own" in note for note in answer.notes)


def test_a_document_that_is_from_no_repository_has_no_blame(library: Library, docs: Path) -> None:
    (docs / "a.md").write_text("# Alone\n\nNo git here.\n")
    library.add(str(docs))
    answer = library.search("alone", blame=True)
    assert answer.hits[0].blame is None
    assert any("no git checkout" in note for note in answer.notes)


def test_hostile_names_and_subjects_stay_words(library: Library, repository: Repository) -> None:
    strange = "-x\x01 \x1f odd\nname.md"
    repository.commit(
        {strange: "# Odd\n\nOdd words here.\n"}, "Mallory\x1b[31m\x1f", "2022-05-06", "--evil\x01 \x1f subject"
    )
    with_history = SourceSettings(kind="git", location=repository.uri, depth=0)
    source = GitSource(with_history, work=library.settings.home / "odd", max_file_bytes=1000, git_timeout_s=30)
    items = {item.path: item.metadata for item in source.scan(None).items}
    source.close()
    assert items[strange]["commit_date"] == "2022-05-06T08:00:00Z"
    assert str(items[strange]["author"]).startswith("Mallory")
    assert items["badger.md"]["author"] == "Bo"


def test_a_link_leads_to_the_lines_at_the_commit(open_library: OpenLibrary, repository: Repository) -> None:
    template = "https://git.example.org/animals/{path}?id={commit}#n{first}"
    library = configured(open_library, repository, link_template=template)
    library.sync()
    commit = repository.git("rev-parse", "HEAD")
    [hit] = [one for one in library.search("earthworms").hits if one.path == "badger.md"]
    assert hit.link == f"https://git.example.org/animals/badger.md?id={commit}#n1"
    assert library.link(library.read("badger.md", lines=(3, 5))).endswith("#n3")
    assert library.search("earthworms", as_of="2999-01-01").hits[0].link == hit.link


def test_as_of_a_tag_asks_the_collection_that_holds_it(library: Library, repository: Repository) -> None:
    library.add(repository.uri, "animals")
    with pytest.raises(InvalidInput, match="no collection holds") as told:
        library.search("winter", "animals", as_of="v1")
    assert f"pinakes add {repository.uri} --ref v1 -c animals-v1" in told.value.hint
    report = library.add(repository.uri, "animals-v1", ref="v1")
    assert report.reused, "what is the same is not embedded again"
    then = library.search("badgers winter", "animals", as_of="v1")
    assert {hit.collection for hit in then.hits} == {"animals-v1"}
    assert not any("winter" in hit.text for hit in then.hits)
    assert "as of v1, from collection 'animals-v1'" in then.notes
    assert library.read("badger.md", "animals", as_of="v1").text == BADGER
    tagged = repository.git("rev-parse", "v1")
    assert library.read("badger.md", "animals", as_of=tagged[:10]).text == BADGER
    library.documents.put("A note on badgers in winter.", title="Note", collection="notes")
    unnamed = library.search("badgers winter", as_of="v1")
    assert [hit.chunk_id for hit in unnamed.hits] == [hit.chunk_id for hit in then.hits]
    assert "2 other collections were not asked: animals, notes; name them, or *" in unnamed.notes
    assert library.read("badger.md", as_of="v1").text == BADGER
    now = repository.git("rev-parse", "HEAD")
    assert "winter" in library.read("badger.md", "animals", as_of=now).text


def test_a_path_and_its_url_are_the_same_repository_as_of_a_tag(library: Library, repository: Repository) -> None:
    library.add(repository.uri, "animals")
    library.add(str(repository.path), "animals-v1", ref="v1")
    assert library.read("badger.md", "animals", as_of="v1").text == BADGER


def test_as_of_something_else_says_what_it_has_to_be(library: Library, docs: Path) -> None:
    (docs / "a.md").write_text("# Alone\n\nNo git here.\n")
    library.add(str(docs))
    with pytest.raises(InvalidInput, match="'v1' is no day or time"):
        library.search("alone", as_of="v1")


def test_a_history_that_was_remembered_badly_is_walked_anew(open_library: OpenLibrary, repository: Repository) -> None:
    library = configured(open_library, repository, depth=0)
    library.sync()
    [remembered] = (library.settings.home / "sources").glob("*/history.json")
    remembered.write_text('{"version": 1, "files": {"otter.py": {"commit": 3}}}')
    repository.commit({"otter.py": "def juggle():\n    return 0\n"}, "Cy", "2022-05-06")
    library.sync()
    assert described(library, "otter.py")["authors"] == ["Cy", "Ann"]


def test_a_history_that_takes_too_long_is_told_and_the_files_are_read(
    open_library: OpenLibrary, repository: Repository, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = configured(open_library, repository, depth=0)
    slow = repository.path.parent / "bin"
    slow.mkdir()
    (slow / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" log "*) exec sleep 60;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}{os.pathsep}{os.environ['PATH']}")
    library = open_library(
        collections={"animals": {"sources": [{"kind": "git", "location": repository.uri, "depth": 0}]}},
        collection="animals",
        ingest__git_timeout_s=2,
    )
    [report] = library.sync()
    assert (report.added, report.error) == (2, None)
    assert "Files are read without dates and authors" in caplog.text
    assert described(library, "otter.py")["author"] is None
