"""What lifts and lowers chunks besides their scores: metadata, paths, crowded documents, diversity."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pinakes import Library
from pinakes.core.records import Hit, Results
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
RULES = (
    {"field": "vendor", "weight": 0.15},
    {"field": "type", "weight": 0.1, "aliases": {"howto": ["guide", "step by step"]}},
    {"field": "published", "weight": 0.05, "when": "recent", "name": "recency"},
    {"field": "people", "weight": 0.1},
    {"field": "topics", "weight": 0.08},
)
OFF = {"boosts__saturation": 0, "boosts__test_penalty": 0, "search__fold_duplicates": False}


def day(ago: int) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()


def note(**metadata: str) -> str:
    """Return a document that says the same as every other, but for its metadata."""
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in metadata.items()) + "---\n" + TEXT


TEXT = "Pumps press the juice of ripe apples.\n"


def opened(open_library: OpenLibrary, docs: Path, files: dict[str, str], **settings: Any) -> Library:
    library = open_library(**{**OFF, **settings})
    library.add(str(write_files(docs, files)))
    return library


def with_rules(open_library: OpenLibrary, docs: Path, files: dict[str, str], **settings: Any) -> Library:
    return opened(open_library, docs, files, collections={"default": {"boosts": RULES}}, **settings)


def paths(results: Results) -> list[str]:
    return [hit.path for hit in results.hits]


def by_path(results: Results) -> dict[str, Hit]:
    return {hit.path: hit for hit in results.hits}


def test_a_value_that_the_query_names_lifts_its_documents(open_library: OpenLibrary, docs: Path) -> None:
    files = {"a.md": note(vendor="Initech"), "b.md": note(vendor="Acme Corp"), "c.md": TEXT}
    before = by_path(opened(open_library, docs, files).search("juice pumps by Acme Corp"))
    library = with_rules(open_library, docs, files)
    hits = by_path(library.search("juice pumps by Acme Corp"))
    assert hits["b.md"].boosts == {"vendor": 0.15}
    assert hits["a.md"].boosts == hits["c.md"].boosts == {}
    for path, share in {"a.md": 1, "b.md": 1.15, "c.md": 1}.items():
        assert hits[path].score == pytest.approx(before[path].score * share, rel=1e-4)
    assert not any(hit.boosts for hit in library.search("juice pumps").hits)
    assert "boosted by vendor +15.0%" in hits["b.md"].explanation
    assert "boosted" not in hits["a.md"].explanation


def test_a_value_is_known_by_its_aliases_too(open_library: OpenLibrary, docs: Path) -> None:
    library = with_rules(open_library, docs, {"a.md": note(type="howto"), "b.md": note(type="report")})
    assert by_path(library.search("apple juice, step by step"))["a.md"].boosts == {"type": 0.1}
    assert by_path(library.search("a guide to apple juice"))["a.md"].boosts == {"type": 0.1}
    assert by_path(library.search("steps to apple juice"))["a.md"].boosts == {}


def test_one_of_several_values_is_enough_and_counts_once(open_library: OpenLibrary, docs: Path) -> None:
    library = with_rules(open_library, docs, {"a.md": note(topics="[pressing, cider]"), "b.md": TEXT})
    assert by_path(library.search("pressing apples for cider"))["a.md"].boosts == {"topics": 0.08}


@pytest.mark.parametrize(("ago", "share"), [(0, 0.05), (6, 0.05), (7, 0.035), (30, 0.035), (31, 0.0), (400, 0.0)])
def test_recent_documents_are_lifted_by_their_age(
    open_library: OpenLibrary, docs: Path, ago: int, share: float
) -> None:
    library = with_rules(open_library, docs, {"a.md": note(published=day(ago))})
    [hit] = library.search("apple juice").hits
    assert hit.boosts == ({"recency": pytest.approx(share)} if share else {})


def test_what_is_no_date_is_not_recent(open_library: OpenLibrary, docs: Path) -> None:
    files = {"a.md": note(published="soon"), "b.md": note(published="12"), "c.md": note(published="2024-13-45")}
    assert not any(hit.boosts for hit in with_rules(open_library, docs, files).search("apple juice").hits)


def test_boosts_together_have_a_limit(open_library: OpenLibrary, docs: Path) -> None:
    everything = note(vendor="Acme", type="howto", published=day(1), people="Ada", topics="cider")
    files = {"a.md": everything, "b.md": TEXT}
    query = "Acme guide by Ada to apple juice and cider"
    hit = by_path(with_rules(open_library, docs, files).search(query))["a.md"]
    assert sum(hit.boosts.values()) == pytest.approx(0.48)
    limited = with_rules(open_library, docs, files, boosts__metadata_most=0.24)
    hit = by_path(limited.search(query))["a.md"]
    assert sum(hit.boosts.values()) == pytest.approx(0.24, abs=0.001)
    assert hit.boosts["vendor"] == pytest.approx(0.075)


def test_no_score_exceeds_one_and_the_order_is_kept(open_library: OpenLibrary, docs: Path) -> None:
    rules = [{"field": "vendor", "weight": 1}, {"field": "people", "weight": 0.5}]
    files = {"a.md": note(vendor="Acme"), "b.md": note(vendor="Acme", people="Ada"), "c.md": TEXT}
    library = opened(open_library, docs, files, collections={"default": {"boosts": rules}}, boosts__metadata_most=5)
    results = library.search("pumps press the juice of ripe apples: Acme, Ada")
    assert paths(results) == ["b.md", "a.md", "c.md"]
    assert all(hit.score <= 1 for hit in results.hits)


def test_metadata_that_changes_is_noticed(open_library: OpenLibrary, docs: Path) -> None:
    library = with_rules(open_library, docs, {"a.md": note(vendor="Initech")})
    assert library.search("Acme juice").hits[0].boosts == {}
    library.add(str(write_files(docs, {"a.md": note(vendor="Acme")})))
    assert library.search("Acme juice").hits[0].boosts == {"vendor": 0.15}


def test_one_arm_alone_is_shown_as_it_is(open_library: OpenLibrary, docs: Path) -> None:
    library = with_rules(open_library, docs, {"a.md": note(vendor="Acme"), "b.md": TEXT}, boosts__saturation=0.5)
    for mode in ("keyword", "vector"):
        assert not any(hit.boosts for hit in library.search("Acme juice", mode=mode).hits)


def test_the_trace_says_how_many_were_lifted(open_library: OpenLibrary, docs: Path) -> None:
    library = with_rules(open_library, docs, {"a.md": note(vendor="Acme"), "b.md": TEXT})
    [stage] = [stage for stage in library.search("Acme juice").trace.stages if stage.name == "boost"]
    assert stage.detail == {"vendor": 1}


def test_nothing_is_looked_up_where_no_signal_is_on(open_library: OpenLibrary, docs: Path) -> None:
    library = opened(open_library, docs, {"a.md": TEXT})
    assert "boost" not in [stage.name for stage in library.search("juice").trace.stages]


CODE = {
    "src/press.py": 'def press(box):\n    """Press apples until the juice runs."""\n    return box.juice\n',
    "tests/press.py": 'def press(box):\n    """Press apples until the juice runs!"""\n    return box.juice\n',
    "docs/tests/press.md": "Press apples until the juice runs.\n",
}


def test_tests_are_lowered_unless_they_are_meant(open_library: OpenLibrary, docs: Path) -> None:
    library = opened(open_library, docs, CODE, boosts__test_penalty=0.15)
    found = by_path(library.search("press apples until the juice runs"))
    assert {path: hit.boosts for path, hit in found.items()} == {
        "src/press.py": {},
        "tests/press.py": {"test": -0.15},
        "docs/tests/press.md": {},
    }
    assert not any(hit.boosts for hit in library.search("tests of pressing apples").hits)


LONG = "# Cider\n\n" + "".join(f"## Part {n}\n\n{'Cider is pressed from apples. ' * 40}\n\n" for n in range(8))
SHORT = "# Perry\n\nPerry is pressed from pears, cider from apples.\n"


def test_a_long_document_leaves_room_for_others(open_library: OpenLibrary, docs: Path) -> None:
    files = {"long.md": LONG, "short.md": SHORT}
    full = opened(open_library, docs, files)
    before = full.search("cider is pressed from apples", top_k=8)
    mild = open_library(**{**OFF, "boosts__saturation": 0.3})
    after = mild.search("cider is pressed from apples", top_k=8)
    assert paths(before)[0] == paths(after)[0] == "long.md"
    assert before.hits[0].score == after.hits[0].score
    assert "short.md" not in paths(before)[:2]
    assert "short.md" in paths(after)[:2]


def test_the_head_has_no_value_of_a_field_too_often(open_library: OpenLibrary, docs: Path) -> None:
    files = {f"{n}.md": note(vendor="Acme") + f"Number {n}.\n" for n in range(6)}
    files |= {f"{name}.md": note(vendor=name) + "And other things.\n" for name in ("Ada", "Ben", "Cleo", "Dora")}
    library = opened(open_library, docs, files, search__diversity_field="Vendor")
    for top_k in (5, 10):
        found = [hit.metadata["vendor"] for hit in library.search("pumps press juice of apples", top_k=top_k).hits]
        assert len(found) == top_k
        assert sorted(found[:5]) == ["Acme", "Ada", "Ben", "Cleo", "Dora"]


def test_the_share_holds_after_duplicates_are_folded(open_library: OpenLibrary, docs: Path) -> None:
    files = {f"copy{n}.md": note(vendor=f"v{n}") for n in range(4)}
    files |= {f"{n}.md": note(vendor="Acme") + f"Number {n}.\n" for n in range(6)}
    files |= {f"{name}.md": note(vendor=name) + "And other things.\n" * n for n, name in enumerate(("Ada", "Ben"), 1)}
    library = opened(
        open_library, docs, files, search__diversity_field="vendor", search__fold_duplicates=True, search__top_k=4
    )
    found = [hit.metadata["vendor"] for hit in library.search("pumps press juice of apples").hits]
    assert len(found) == 4
    assert found.count("Acme") == 1


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"field": "vendor"}, "weight"),
        ({"field": "vendor", "weight": 15}, "at most 1"),
        ({"field": "vendor", "weight": 0.1, "when": "always"}, "named"),
        ({"field": "vendor", "weight": 0.1, "color": "red"}, "color"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(open_library: OpenLibrary, rule: dict[str, object], said: str) -> None:
    from pinakes.core.errors import InvalidSetting

    with pytest.raises(InvalidSetting, match=said):
        open_library(collections={"default": {"boosts": [rule]}})
