"""The form of a hit says what every interface of our own tells of one."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from pinakes.core.records import Blame, Hit, Scores
from pinakes.library import Library
from pinakes.schemas.hits import Chunk, HitData, Why, hit_data

BARE = Hit("c", "d", "notes", "u", "a.md", "A", "text", 0, 1, 2, (), (), 0.0, Scores(bm25=0.0), ("keyword",), {})


@pytest.fixture
def found(tmp_path: Path) -> Hit:
    (tmp_path / "a.md").write_text("# Keys\n\nKeys are rotated daily.\n\n# Leave\n\nDays of leave are kept.\n", "utf-8")
    (tmp_path / "b.md").write_text("# Keys\n\nKeys are rotated daily.\n", "utf-8")
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as library:
        library.add(str(tmp_path), "notes", include=("*.md",))
        return library.search("keys rotated", top_k=1, neighbours=2).hits[0]


def test_what_is_told_is_what_the_schema_has_and_json(found: Hit) -> None:
    for whole in (False, True):
        told = hit_data(found, whole=whole)
        assert json.loads(json.dumps(told)) == told
        HitData.model_validate(told, extra="forbid")
    assert hit_data(found, whole=True).keys() == HitData.model_fields.keys()


def test_the_schema_has_every_field_of_a_hit_but_what_only_merging_uses() -> None:
    assert {one.name for one in fields(Hit)} - HitData.model_fields.keys() == {"words", "named"}


def test_what_a_hit_does_not_have_is_left_out_but_not_what_every_hit_has() -> None:
    told = hit_data(BARE)
    assert not {"page", "link", "approximate", "blame", "duplicates", "neighbours", "symbols"} & told.keys()
    assert (told["score"], told["chunk_index"], told["heading_path"], told["relevant_lines"]) == (0.0, 0, [], [])
    assert told["scores"] == {"bm25": 0.0}


def test_nobody_known_is_told_apart_from_nobody_asked() -> None:
    asked = Hit(**{one.name: getattr(BARE, one.name) for one in fields(Hit)} | {"blame": ()})
    assert hit_data(asked)["blame"] == []
    one = Blame(1, 2, "c0ffee", "Ada", "2026-01-31", "Write it")
    known = Hit(**{one.name: getattr(BARE, one.name) for one in fields(Hit)} | {"blame": (one,)})
    assert hit_data(known)["blame"][0]["author"] == "Ada"


def test_a_form_takes_its_own_fields_by_the_same_names(found: Hit) -> None:
    whole = hit_data(found)
    for form in (Chunk, Why):
        told = hit_data(found, form)
        assert told == {name: whole[name] for name in form.model_fields if name in whole}
        form.model_validate(told, extra="forbid")
    assert "collection" not in hit_data(found, several=False)
