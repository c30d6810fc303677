from __future__ import annotations

import pytest


def test_a_folder_is_added_and_reported(pinakes, corpus):
    done = pinakes("add", corpus)
    assert done.code == 0
    assert f"default: {corpus}\n  files    4 added, 0 changed, 0 moved, 0 removed, 0 unchanged\n" in done.out
    assert "embedded, 0 reused, 0 pending" in done.out
    assert "2 × Empty file (also-empty.md, empty.md)" in done.out
    assert "noise.bin" in done.out
    assert "next: pinakes search 'your question'" in done.err


def test_the_report_as_json_has_everything(pinakes, corpus):
    document = pinakes("add", corpus, "--json").document
    assert document["errors"] == []
    assert "error" not in document
    (report,) = document["reports"]
    assert report["added"] == 4
    assert report["embedded"] == report["chunks"] > 0
    assert {entry["path"] for entry in report["skipped"]} == {"empty.md", "also-empty.md", "noise.bin"}
    assert report["reasons"]["Empty file"] == 2
    assert {"scan", "read", "chunk", "embed", "catalog", "index"} <= set(report["seconds"])


def test_adding_again_reads_only_what_changed(pinakes, corpus):
    pinakes("add", corpus)
    (corpus / "notes.txt").write_text("The cider press is mended.\n")
    (corpus / "bees.md").unlink()
    (report,) = pinakes("add", corpus, "--json").document["reports"]
    assert [report[name] for name in ("added", "changed", "removed", "unchanged")] == [0, 1, 1, 2]


def test_include_and_exclude_choose_paths(pinakes, corpus):
    pinakes("add", corpus, "--include", "*.md", "--include", "*.py", "--exclude", "bees*")
    found = pinakes("search", "tree", "-k", "50", "--json").document["hits"]
    assert {hit["path"] for hit in found} == {"guide.md", "code/press.py"}


def test_one_bad_location_does_not_keep_the_others_out(pinakes, corpus, tmp_path):
    done = pinakes("add", tmp_path / "missing", corpus / "bees.md", corpus / "code")
    assert done.code == 3
    assert done.out.count("1 added") == 2
    assert f"'{tmp_path / 'missing'}' does not exist." in done.err


def test_a_location_that_could_not_be_read_is_said_to_stay(pinakes, tmp_path):
    (tmp_path / "empty.md").touch()
    done = pinakes("add", tmp_path / "empty.md")
    assert done.code == 5
    assert f"{tmp_path / 'empty.md'} stays a source: `pinakes sync` tries it again." in done.err
    [source] = pinakes("sources", "--json").document["sources"]
    assert done.err.splitlines()[0].count(f"pinakes sources remove {source['name']} ") == 1
    assert pinakes("sources", "remove", source["name"], "--yes").code == 0
    assert pinakes("sources", "--json").document["sources"] == []


def test_one_bad_location_is_named_in_the_json(pinakes, corpus, tmp_path):
    done = pinakes("add", tmp_path / "missing", corpus, "--json")
    assert done.code == 3
    assert [report["added"] for report in done.document["reports"]] == [4]
    assert [entry["location"] for entry in done.document["errors"]] == [str(tmp_path / "missing")]
    assert done.document["error"]["code"] == "NOT_FOUND"


def test_an_empty_folder_is_said_to_be_one(pinakes, tmp_path):
    (tmp_path / "nothing").mkdir()
    done = pinakes("add", tmp_path / "nothing")
    assert done.code == 0
    assert "warning: there is no file to read in it" in done.err
    assert "next:" not in done.err


def test_ten_thousand_empty_files_are_one_reason(pinakes, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(10_000):
        (folder / f"{number}.txt").touch()
    done = pinakes("add", folder)
    assert done.code == 0
    assert "10,000 × Empty file (" in done.out
    assert "and 9,990 more)" in done.out
    assert len(done.out.splitlines()) == 6
    assert "all that was skipped: pinakes status --problems" in done.err


def test_a_broken_link_and_a_pipe_are_skipped_with_the_reason(pinakes, corpus):
    import os

    (corpus / "link.md").symlink_to(corpus / "nowhere")
    os.mkfifo(corpus / "pipe.md")
    (report,) = pinakes("add", corpus, "--json").document["reports"]
    assert {"link.md", "pipe.md"} <= {entry["path"] for entry in report["skipped"]}


def test_an_unreadable_file_fails_the_run_but_not_the_rest(pinakes, corpus):
    import os

    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (corpus / "guide.md").chmod(0)
    done = pinakes("add", corpus, "--json")
    assert done.code == 6
    assert done.document["reports"][0]["added"] == 3
    assert done.document["error"]["code"] == "SOURCE_ERROR"


@pytest.mark.parametrize("words", [["add", "CORPUS"], ["sync"], ["reindex"]], ids=" ".join)
def test_quiet_says_nothing_when_all_went_well(pinakes, corpus, words):
    pinakes("add", corpus)
    done = pinakes(*[word.replace("CORPUS", str(corpus)) for word in words], "-q")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_quiet_still_tells_errors_and_results(pinakes, corpus):
    pinakes("add", corpus)
    assert "Bees carry pollen" in pinakes("search", "pollen", "-q").out
    corpus.rename(corpus.parent / "away")
    done = pinakes("sync", "-q")
    assert (done.code, done.out) == (6, "")
    assert done.err.startswith(f"error: {corpus}: ")


REFUSED = {
    "empty.md": (b"", "Empty file"),
    "white.md": (b" \n\t\n", "white space"),
    "noise.txt": (b"\x00\x9f\x92\x96" * 300, "binary"),
    "large.txt": (b"apple " * 500, "File too large (3000 bytes, max 2000)"),
    "torn.pdf": (b"%PDF-1.7\nnothing follows", "damaged"),
    "torn.docx": (b"PK\x03\x04 and no more", "damaged"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_was_named_and_is_refused_is_an_error_each_time(pinakes, tmp_path, name):
    content, reason = REFUSED[name]
    file = tmp_path / name
    file.write_bytes(content)
    for _ in range(2):
        done = pinakes("add", file, "--set", "ingest.max_file_bytes=2000")
        assert done.code == 5
        assert f"error: '{file}' was not read: " in done.err
        assert reason in done.err
    document = pinakes("add", file, "--set", "ingest.max_file_bytes=2000", "--json").document
    assert document["error"]["code"] == "UNREADABLE"
    assert [entry["location"] for entry in document["errors"]] == [str(file)]
    assert [entry["path"] for entry in document["reports"][0]["skipped"]] == [name]


def test_a_refused_file_does_not_keep_the_others_out(pinakes, corpus):
    done = pinakes("add", corpus / "empty.md", corpus / "bees.md")
    assert done.code == 5
    assert "1 added" in done.out
    assert pinakes("add", corpus).code == 0


def test_all_reports_count_the_same_files(pinakes, corpus):
    (corpus / ".venv").mkdir()
    (corpus / ".gitignore").write_text("*.log\n")
    (corpus / "one.log").write_text("left out by a rule\n")
    first = pinakes("add", corpus)
    assert "  skipped  3\n" in first.out
    assert "  rules    left out by default: 1 entry (.venv)\n" in first.out
    assert "  rules    left out by ignore files: 1 entry (one.log)\n" in first.out
    names = {"empty.md", "also-empty.md", "noise.bin"}
    (state,) = pinakes("status", "--json").document["collections"]
    reports = [pinakes(*words, "--json").document["reports"][0] for words in (["sync"], ["add", str(corpus)])]
    for entries in (state["problems"], *(report["skipped"] for report in reports)):
        assert {entry["path"] for entry in entries} == names
        assert len(entries) == 3
    assert all(len(report["excluded"]) == 2 for report in reports)
    assert pinakes("status", "--problems").out.count("\n  skipped ") == 3


def test_file_names_cannot_steer_the_terminal(pinakes, corpus):
    (corpus / "evil\x1b[31m.md").touch()
    done = pinakes("add", corpus)
    assert "\x1b" not in done.out + done.err


def test_sync_reads_known_sources_again(pinakes, corpus):
    pinakes("add", corpus, "-c", "orchard")
    (corpus / "new.md").write_text("# New\n\nA plum tree came.\n")
    done = pinakes("sync")
    assert done.code == 0
    assert "1 added, 0 changed, 0 moved, 0 removed, 4 unchanged" in done.out
    assert pinakes("search", "plum", "-c", "orchard", "-k", "1", "--json").document["hits"][0]["path"] == "new.md"


def test_sync_without_sources_says_what_to_do(pinakes):
    done = pinakes("sync")
    assert (done.code, done.out) == (0, "")
    assert "pinakes add PATH" in done.err


def test_reindex_builds_what_was_lost(pinakes, corpus, home):
    import shutil

    pinakes("add", corpus)
    shutil.rmtree(home / "index")
    done = pinakes("reindex", "--embed")
    assert done.code == 0
    assert done.out.startswith("default: index built of")
    assert pinakes("verify").code == 0


def test_the_old_spellings_add_too(pinakes, corpus):
    assert pinakes("index", "--type", "documentation", "--path", corpus / "bees.md").code == 0
    done = pinakes("index-directory", "--path", corpus, "--type", "source_file", "--recursive", "-c", "all", "--json")
    assert done.document["reports"][0]["added"] == 4
    done = pinakes("index-directory", "--path", corpus, "--no-recursive", "-c", "flat", "--json")
    assert done.document["reports"][0]["added"] == 3
