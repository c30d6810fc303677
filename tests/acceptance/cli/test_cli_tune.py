from __future__ import annotations

import json
import shutil
import signal
import tomllib
from pathlib import Path

import pytest
from forking import PINAKES, Forked

from pinakes.library import Library

PLACES = [f"town{letter}{other}" for letter in "abcdef" for other in "wxyz"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of railways: for each place a document that only its path names, and two that tell more of it."""
    root = tmp_path_factory.mktemp("tune")
    folder = root / "railways"
    (folder / "diary").mkdir(parents=True)
    for number, place in enumerate(PLACES):
        (folder / f"{place}.md").write_text(f"# Timetable\n\nThe railway opens at {number} and closes late.\n")
        for other in (1, 2):
            words = f"We saw {place}, then {place} again, and left {place} by railway number {other}."
            (folder / "diary" / f"{place[-2:]}-{other}.md").write_text(f"# Diary\n\n{words}\n")
    with Library.open(root / "home", embedding__provider="deterministic") as library:
        library.add(str(folder))
    return root / "home"


def written(path: Path, relevant: dict[str, str]) -> Path:
    rows = [
        {"id": place, "query": f"{place} railway", "kind": "place", "relevant": {document: 1}}
        for place, document in relevant.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return written(tmp_path / "places.jsonl", {place: f"{place}.md" for place in PLACES})


@pytest.fixture
def filled(pinakes, made, home):
    shutil.copytree(made, home)
    return pinakes


def test_what_is_better_is_shown_within_80_columns_and_written(filled, questions, home, tmp_path):
    file = tmp_path / "tuned.toml"
    done = filled("tune", questions, "--what", "fields", "--mode", "keyword", "--write", file)
    assert done.code == 0, done.err
    assert done.out.startswith("places on default: 24 questions with an answer; fields\n")
    assert [line for line in done.out.splitlines() if len(line) > 80] == []
    for words in ("as it is set now", "search.path_boost=", "on questions that had no part", "median answer"):
        assert words in done.out
    assert done.out.endswith("verdict: better\n")
    assert f"settings written: {file}" in done.err
    settings = tomllib.loads(file.read_text("utf-8"))
    assert settings["search"]["path_boost"] > 0.1
    assert "# Found by `pinakes tune places` on collection default" in file.read_text("utf-8")
    assert not (home / "config.toml").exists()
    after = filled("search", "townaw railway", "--mode", "keyword", "--profile", file, "--json")
    assert after.document["hits"][0]["path"] == "townaw.md"


def test_what_was_set_for_this_call_is_in_the_file_too(filled, questions, tmp_path):
    file = tmp_path / "tuned.toml"
    words = ("--set", "search.phrase_boost=0.3", "--set", "search.title_boost=0")
    done = filled("tune", questions, "--what", "fields", "--mode", "keyword", "--write", file, *words)
    assert done.code == 0, done.err
    search = tomllib.loads(file.read_text("utf-8"))["search"]
    assert (search["phrase_boost"], search["title_boost"]) == (0.3, 0.0)
    assert search["path_boost"] > 0.1


def test_json_is_one_document_with_every_try(filled, questions):
    done = filled("tune", questions, "--what", "fields", "--mode", "keyword", "--json")
    found = done.document
    assert found["better"] is True
    assert found["written"] is None
    assert found["tries"][0]["settings"] == {}
    assert len(found["tries"]) >= 20
    for one in found["tries"]:
        assert one["score"]["low"] <= one["score"]["mean"] <= one["score"]["high"]
    assert found["held_out"]["p"] < 0.05
    assert len(found["held_out"]["chosen"]) == found["folds"] == 3


def test_what_may_be_chance_is_not_written_unless_asked_for(filled, tmp_path):
    mixed = {place: f"diary/{place[-2:]}-{1 + number % 2}.md" for number, place in enumerate(PLACES)}
    golden, file = written(tmp_path / "mixed.jsonl", mixed), tmp_path / "tuned.toml"
    words = ("tune", golden, "--what", "fusion", "--mode", "hybrid", "--write", file)
    done = filled(*words)
    assert done.code == 0, done.err
    assert "verdict: nothing found that is better than" in done.out
    assert "nothing was written: nothing found" in done.err
    assert not file.exists()
    best = filled(*words, "--json").document["best"]
    assert filled(*words, "--anyway").code == 0
    assert file.exists() == bool(best)
    if best:
        assert "# Not to be relied on: nothing found that is better than chance." in file.read_text("utf-8")


def test_the_mode_that_lets_each_question_decide_is_tuned_as_any_other(filled, questions):
    found = filled("tune", questions, "--what", "fields", "--mode", "auto", "--budget", "3", "--json")
    assert found.code == 0, found.err
    assert found.document["questions"] == 24


def test_settings_that_have_no_part_in_a_mode_are_named(filled, questions):
    words = ("tune", questions, "--what", "fusion,fields", "--budget", "3", "--mode")
    assert "the settings of fusion change nothing in the mode keyword" in filled(*words, "keyword").err
    assert "change nothing" not in filled(*words, "hybrid").err


def test_the_budget_is_kept_and_the_rest_is_shown_when_asked_for(filled, questions):
    few = filled("tune", questions, "--what", "boosts", "--budget", "5", "--json")
    assert (len(few.document["tries"]), few.document["stopped"]) == (6, "tries")
    short = filled("tune", questions, "--what", "boosts")
    assert "more (--all and --json name them all)" in short.out
    assert len(filled("tune", questions, "--what", "boosts", "--all").out.splitlines()) > len(short.out.splitlines())
    timed = filled("tune", questions, "--what", "boosts", "--minutes", "0.0001")
    assert "stopped: the time was used up (--minutes)" in timed.err


def test_pools_from_10_to_300_are_tried(filled, questions):
    tried = filled("tune", questions, "--what", "pool", "--json").document["tries"]
    assert {one["settings"].get("search.candidates") for one in tried} == {None, 10, 20, 30, 50, 150, 200, 300}
    assert all(one["milliseconds"] > 0 for one in tried)


def test_other_cuts_are_tried_after_saying_how_long_that_takes(filled, questions):
    asked = filled("tune", questions, "--what", "chunking")
    assert asked.code == 2
    assert "Cutting and embedding the collection in 7 other ways takes about" in asked.err
    assert "--yes" in asked.err
    done = filled("tune", questions, "--what", "chunking", "--mode", "keyword", "--yes", "--json", "--minutes", "2")
    assert done.code == 0, done.err
    sizes = {
        (one["settings"].get("chunking.size"), one["settings"].get("chunking.overlap"))
        for one in done.document["tries"]
    }
    assert (None, None) in sizes
    assert (128, 0.3) in sizes


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--what", "weights"], "no 'weights' to tune"),
        (["--what", "ann,fusion"], "'ann' cannot be tuned together with others"),
        (["--what", "ann"], "too few for an approximate index"),
        (["--what", "ann", "--mode", "keyword"], "no vectors to tune"),
        (["--metric", "quality"], "no metric 'quality'"),
        (["--folds", "10"], "10 folds"),
        (["--minutes", "0"], "--minutes cannot be 0"),
        (["--write", "nowhere/tuned.toml"], "no folder"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(filled, questions, words, says):
    done = filled("tune", questions, *words)
    assert done.code == 2
    assert says in done.err


def test_the_settings_of_a_home_are_never_written(filled, questions, home):
    done = filled("tune", questions, "--write", home / "config.toml", "--anyway")
    assert done.code == 2
    assert "does not write the settings of a home" in done.err
    assert not (home / "config.toml").exists()


def test_bad_questions_and_collections_are_refused(filled, questions, tmp_path):
    few = written(tmp_path / "few.jsonl", {place: f"{place}.md" for place in PLACES[:5]})
    assert "5 questions with an answer are too few" in filled("tune", few).err
    assert filled("tune", tmp_path / "absent.jsonl").code == 3
    assert filled("tune", questions, "-c", "absent").code == 3
    strange = written(tmp_path / "strange.jsonl", {place: f"{place}.unknown" for place in PLACES})
    assert "none of the 24 documents" in filled("tune", strange).err


def test_ctrl_c_gives_what_was_found_until_then(filled, questions, home):
    words = ["--home", str(home), "--set", "embedding.provider=deterministic", "--json", "--budget", "100000"]
    program = Forked(PINAKES, "tune", str(questions), "--folds", "5", "--what", "fields", *words, text=True)
    try:
        assert program.stderr is not None
        assert any("Ctrl+C shows what was found" in line for line in program.stderr)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    finally:
        program.kill()
    assert program.returncode == 130, err
    found = json.loads(out)
    assert found["stopped"] == "interrupted"
    assert 1 <= len(found["tries"]) < 60
    assert found["tries"][0]["settings"] == {}
