"""``--dry-run``: what a run would do, told without doing it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.md").write_text(
            f"# Field {number}\n\nThe yield of field {number} was {number * 7} tons.\n"
        )
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "nothing.md").touch()
    return folder


def everything(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of the catalogue but those of the audit log, and the counters of ids."""
    with sqlite3.connect(f"file:{home}/catalog.db?mode=ro", uri=True) as catalogue:
        names = [name for (name,) in catalogue.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: list(catalogue.execute(f"SELECT * FROM {name}"))
            for name in names
            if not name.startswith(("audit", "sqlite_"))
        }


def test_a_home_is_not_made_by_asking(pinakes, docs, home):
    done = pinakes("add", docs, "--dry-run")
    assert done.code == 0
    assert "6 new, 0 changed, 0 unchanged, 0 removed" in done.out
    assert "The file is a picture, which is not read." in done.out
    assert "1 × Empty file" in done.out
    assert "all of them were read" in done.out
    assert "costs    nothing" in done.out
    assert "nothing was written" in done.err
    assert not home.exists()


def test_what_it_says_is_what_then_happens(pinakes, docs):
    [said] = pinakes("add", docs, "--dry-run", "--json").document["forecasts"]
    [report] = pinakes("add", docs, "--json").document["reports"]
    assert (said["new"], said["chunks"]) == (report["added"], report["chunks"])
    assert sum(said["skipped"].values()) == len(report["skipped"])
    assert said["sampled"] == 6
    assert said["new_tokens"] == said["tokens"] > 0
    assert said["seconds"] == pytest.approx(said["read_s"] + said["embed_s"])
    assert said["dollars"] == 0


def test_new_changed_touched_and_removed_files_are_told_apart_and_nothing_changes(pinakes, docs, home):
    pinakes("add", docs)
    before = everything(home)
    (docs / "0.md").write_text("# Field 0\n\nSomething else.\n")
    (docs / "1.md").touch()
    (docs / "2.md").unlink()
    (docs / "6.md").write_text("# Field 6\n\nThe yield of field 6 was 42 tons.\n")
    [said] = pinakes("sync", "--dry-run", "--json").document["forecasts"]
    assert {name: said[name] for name in ("new", "changed", "unchanged", "removed")} == {
        "new": 1,
        "changed": 1,
        "unchanged": 4,
        "removed": 1,
    }
    assert everything(home) == before
    [report] = pinakes("sync", "--json").document["reports"]
    assert (report["added"], report["changed"], report["removed"]) == (1, 1, 1)


def test_a_location_that_cannot_be_used_is_told_and_the_others_are_forecast(pinakes, docs, tmp_path):
    locations = docs / "0.md", tmp_path / "missing", docs / "1.md"
    done = pinakes("add", *locations, "--dry-run", "--json")
    assert done.code == pinakes("add", *locations).code == 3
    assert "missing' does not exist" in done.err
    told = {Path(one["source"]).name: one["new"] for one in done.document["forecasts"]}
    assert told == {"missing": 0, "0.md": 1, "1.md": 1}


def test_a_collection_is_not_made_by_asking(pinakes, docs):
    pinakes("add", docs)
    assert pinakes("add", docs, "-c", "other", "--dry-run").code == 0
    assert [one["name"] for one in pinakes("collections", "--json").document["collections"]] == ["default"]


def test_what_is_embedded_already_costs_nothing_again(pinakes, docs):
    pinakes("add", docs)
    [said] = pinakes("add", docs, "-c", "other", "--dry-run", "--json").document["forecasts"]
    assert said["tokens"] > 0
    assert (said["new_tokens"], said["embed_s"]) == (0, 0)


def test_other_rules_of_reading_make_all_of_it_change(pinakes, docs):
    pinakes("add", docs)
    [said] = pinakes("sync", "--dry-run", "--json", "--set", "chunking.size=20").document["forecasts"]
    assert (said["changed"], said["unchanged"]) == (6, 0)


def test_much_is_estimated_from_a_sample(pinakes, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(400):
        lines = (f"Line {line} of file {number} tells of herons.\n" for line in range(5 + number % 40))
        (folder / f"{number}.txt").write_text("".join(lines))
    [said] = pinakes("add", folder, "--dry-run", "--json").document["forecasts"]
    [report] = pinakes("add", folder, "--json").document["reports"]
    assert 0 < said["sampled"] < 300
    assert said["chunks"] == pytest.approx(report["chunks"], rel=0.1)


def test_a_file_that_cannot_be_read_is_named_by_its_reason(pinakes, docs):
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    [said] = pinakes("add", docs, "--dry-run", "--json").document["forecasts"]
    assert said["new"] == 7
    assert sum(said["unreadable"].values()) == 1


def test_a_place_that_cannot_be_reached_is_an_error(pinakes, docs, tmp_path):
    assert pinakes("add", tmp_path / "nowhere", "--dry-run").code == 3
    pinakes("add", docs)
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n\nwords\n")
    pinakes("add", other)
    docs.rename(tmp_path / "moved")
    done = pinakes("sync", "--dry-run", "--json")
    assert done.code == 6
    assert [("error" in one) for one in done.document["forecasts"]] == [True, False]


def test_a_provider_is_not_asked_and_its_price_is_told(pinakes, docs, home):
    paid = ["--set", "embedding.provider=endpoint", "--set", "embedding.url=http://127.0.0.1:9/v1"]
    paid += [
        "--set",
        "embedding.model=words",
        "--set",
        "embedding.dimension=8",
        "--set",
        "embedding.price_per_million=2",
    ]
    done = pinakes("add", docs, "--dry-run", "--json", *paid)
    [said] = done.document["forecasts"]
    assert said["dollars"] == pytest.approx(said["new_tokens"] * 2 / 1_000_000)
    assert (said["embed_s"], said["seconds"]) == (None, None)
    assert not home.exists()


def test_what_waits_from_an_earlier_run_is_counted_once(pinakes, docs, tmp_path):
    paid = ["--set", "embedding.provider=endpoint", "--set", "embedding.url=http://127.0.0.1:9/v1"]
    paid += ["--set", "embedding.model=words", "--set", "embedding.dimension=8", "--set", "embedding.retries=0"]
    paid += ["--set", "embedding.price_per_million=1000000", "--set", "embedding.ask_above=0"]
    assert pinakes("add", docs, *paid).code == 7
    done = pinakes("sync", "--dry-run", *paid)
    assert "to read  nothing" in done.out
    assert "waiting  6 chunks of earlier runs" in done.out
    other = tmp_path / "other"
    other.mkdir()
    (other / "same.md").write_text((docs / "0.md").read_text())
    assert pinakes("add", other, *paid).code == 7
    before, after = pinakes("sync", "--dry-run", "--json", *paid).document["forecasts"]
    assert (before["waiting"], after["waiting"]) == (6, 0)
    assert before["dollars"] == pytest.approx(before["waiting_tokens"]) != 0
    (other / "same.md").write_text((docs / "1.md").read_text())
    [said] = pinakes("add", other, "--dry-run", "--json", *paid).document["forecasts"]
    assert (said["changed"], said["new_tokens"], said["waiting"]) == (1, 0, 6)
    assert said["dollars"] == pytest.approx(said["waiting_tokens"])


def test_how_long_embedding_takes_what_waits_is_told_where_nothing_is_read(pinakes, docs, home):
    pinakes("add", docs)
    with sqlite3.connect(home / "catalog.db") as catalogue:
        catalogue.execute("DELETE FROM embeddings")
    [said] = pinakes("add", docs, "--dry-run", "--json").document["forecasts"]
    assert (said["new"], said["changed"], said["waiting"]) == (0, 0, 6)
    assert said["embed_s"] > 0
