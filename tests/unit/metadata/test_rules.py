"""Rules find the values of fields in paths, keys, lines, headings, words and history."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import Document
from pinakes.metadata import RuleSubject, ruled
from pinakes.parsing import read
from pinakes.settings import MetadataRule, load

TEXT = """\
---
owner: {name: Ann, team: sales}
Reviewed-By: Bo
---
# Vendor: ACME

- **Team member:** [Cy Dee](https://example.org/cy)
| Price | $1,234 |
Last updated: 5 March 2024

## Contact

Dora, every day

```
Vendor: wrong
```

A guide to zoom calls.
"""


def rule(take: str, what: Any = (), field: str = "found", **more: Any) -> MetadataRule:
    return MetadataRule.model_validate({"field": field, "take": take, "what": what, **more})


def found(
    *rules: MetadataRule, path: str = "sales/vendors/acme-inc/2024-03-05-howto.md", history: Any = None, **types: Any
) -> Any:
    document = read(TEXT.encode(), path, max_chars=10_000)
    subject = RuleSubject(path, document, document.metadata, history or {})
    return ruled(subject, rules, types).get("found")


@pytest.mark.parametrize(
    ("one", "value"),
    [
        (rule("path", "vendors/{value}/{rest*}"), "acme-inc"),
        (rule("path", ["nowhere/{value}", "{found}/vendors/{rest*}"]), "sales"),
        (rule("path", "other/{value}"), None),
        (rule("name"), "2024-03-05-howto"),
        (rule("name", r"-([a-z]+)$"), "howto"),
        (rule("path_date"), "2024-03-05"),
        (rule("key", ["missing", "reviewed_by"]), "Bo"),
        (rule("key", "owner.name"), "Ann"),
        (rule("key", "owner.nobody"), None),
        (rule("header", ["Team member"]), "Cy Dee"),
        (rule("header", ["price"]), "$1,234"),
        (rule("header", ["last reviewed", "last updated"]), "5 March 2024"),
        (rule("header", ["vendor"]), None),
        (rule("heading", "Vendor: (.*)"), "ACME"),
        (rule("heading", "^Contact"), "Dora, every day"),
        (rule("heading", "^Nothing"), None),
        (rule("words", words={"faq": ["faq"], "guide": ["how to", "howto"]}), "guide"),
        (rule("words", words={"Zoom": "zoom", "Oom": "oom"}, within=["text"], several=True), ["Zoom"]),
        (rule("words", words={"Zoom": "zoom"}), None),
        (rule("git", ["author"]), "Eve"),
        (rule("constant", "fixed"), "fixed"),
        (rule("constant", ["a", "b"]), ["a", "b"]),
        (rule("path", "vendors/{value}/{rest*}", map={"ACME-Inc": "ACME, Inc."}), "ACME, Inc."),
        (rule("constant", "here", paths="sales/**"), "here"),
        (rule("constant", "here", paths="support/**"), None),
    ],
)
def test_each_rule_takes_what_it_names(one: MetadataRule, value: object) -> None:
    assert found(one, history={"author": "Eve"}) == value


def test_the_first_rule_that_finds_a_value_decides_and_a_default_only_fills_gaps() -> None:
    assert found(rule("key", "missing"), rule("constant", "second"), rule("constant", "third")) == "second"
    assert found(rule("key", "missing"), rule("default", "else")) == "else"
    subject = RuleSubject("a.md", read(b"# A", "a.md", max_chars=100), {"found": "own"}, {})
    assert ruled(subject, [rule("default", "else")])["found"] == "own"
    assert ruled(subject, [rule("constant", "else")])["found"] == "else"


def test_a_value_of_the_wrong_type_gives_way_to_a_better_one_but_is_not_lost() -> None:
    assert found(rule("heading", "^Contact"), rule("header", ["last updated"]), found="date") == "5 March 2024"
    assert found(rule("heading", "^Contact"), found="date") == "Dora, every day"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("| Vendor | Price |\n| --- | --- |\n| ACME | 12 |\n", None),
        ("Vendor | Price | Day\n:-- | --: | :-:\nACME | 12 | Monday\n\nVendor: Initech\n", "Initech"),
        ("| Vendor | ACME |\n| --- | --- |\n| Owner | Ada |\n", "ACME"),
        ("| Vendor | ACME | since 2020 |\n", "ACME"),
        ("| Name | Value |\n| --- | --- |\n| **Vendor:** | [ACME](https://acme.example) |\n", "ACME"),
        ("| | |\n| --- | --- |\n| Vendor | | |\n", None),
    ],
    ids=["columns", "columns, then a line", "pairs from the first row on", "a row", "pairs below names", "empty cell"],
)
def test_the_name_of_the_next_column_is_no_value(text: str, value: object) -> None:
    subject = RuleSubject("a.md", Document(text=text), {}, {})
    rules = [rule("header", ["vendor"]), rule("header", ["owner"], field="other")]
    assert ruled(subject, rules).get("found") == value


@pytest.mark.parametrize(
    "prose",
    [
        "The Sales team owns feedback from sales calls.",
        "Ask us for any of these. Please add your number, too",
    ],
)
def test_a_sentence_behind_a_name_is_no_value_unless_the_field_is_text(prose: str) -> None:
    subject = RuleSubject(
        "a.md", Document(text=f"- **Owner:** {prose}\n\nOwner: Dr. Ada Lovelace of ACME Inc.\n"), {}, {}
    )
    assert ruled(subject, [rule("header", ["owner"])])["found"] == "Dr. Ada Lovelace of ACME Inc."
    assert ruled(subject, [rule("header", ["owner"])], {"found": "text"})["found"] == prose
    alone = RuleSubject("a.md", Document(text=f"Owner: {prose}\n"), {}, {})
    assert "found" not in ruled(alone, [rule("header", ["owner"])])


@pytest.mark.parametrize("below", ["- [Ada](https://example.org/ada)", "1. Ada", "* **Ada**", "Ada"])
def test_a_line_below_a_heading_is_taken_without_the_mark_of_its_list(below: str) -> None:
    subject = RuleSubject("a.md", Document(text=f"# Owner\n\n{below}\n"), {}, {})
    assert ruled(subject, [rule("heading", "^Owner$")])["found"] == "Ada"


def test_the_text_of_a_hostile_file_cannot_stall_the_rules() -> None:
    text = ("```\n" * 20_000 + "# " * 20_000 + "Vendor" + " " * 50_000 + "*" * 50_000).encode()
    document = read(text, "x.md", max_chars=1_000_000)
    rules = [
        rule("header", ["vendor"]),
        rule("heading", "^vendor$"),
        rule("words", words={"v": "vendor"}, within=["text"]),
    ]
    ruled(RuleSubject("x.md", document, {}, {}), rules)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"take": "key"}, "is missing"),
        ({"take": "heading", "what": "("}, "no regular expression"),
        ({"take": "git", "what": "email"}, "git tells author, authors"),
        ({"take": "nowhere"}, "'path'"),
        ({"take": "name", "whatever": 1}, "Unknown setting"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(tmp_path: Any, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        load(home=tmp_path, environment={}, collections={"x": {"metadata_rules": [{"field": "f", **wrong}]}})


@pytest.mark.parametrize(
    "text",
    [
        "# " + "#" * 150_000 + "x",
        "# a" + " #" * 75_000 + "x",
        "`" * 150_000,
        "Vendor: a" + "_" * 150_000 + "b",
        "Vendor: a" + " " * 150_000 + "b",
        "Vendor" + " " * 150_000 + "b",
        "Vendor: " + "[" * 150_000,
        "|" * 75_000 + "\n" + "|-" * 37_500 + "x",
        "| a\n|-\n" * 20_000,
    ],
    ids=["hashes", "hashes and blanks", "fence", "emphasis", "blanks", "more blanks", "brackets", "columns", "tables"],
)
def test_text_that_is_made_to_be_slow_is_looked_through_at_once(text: str) -> None:
    subject = RuleSubject("a.md", Document(text=text), {}, {})
    words = rule("words", words={"a": ["zz"]}, within=["headings", "text"])
    start = time.process_time()
    ruled(subject, [rule("header", "Vendor"), rule("heading", "Foo", field="other"), words])
    assert time.process_time() - start < 2
