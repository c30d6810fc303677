"""What is shown of keys, questions and tables says what the text says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pinakes.search.query.words import places_in
from pinakes.search.results.excerpts import excerpt

FRONT = """title: A thing
owning-sig: sig-node
participating-sigs:
  - sig-apps
  - sig-storage
reviewers:
  - alice
approvers:
  - bob
milestone:
  alpha: v1.21
  beta: v1.23"""
MARKDOWN_TABLE = """Text before.

| Product | Retention |
|---|---|
| Logs | 30 days |
| Metrics | 13 months |
| Traces | 7 days |"""
PLAIN_TABLE = "name | retention | owner\nlogs | 30 days | Ann\nmetrics | 13 months | Bob\ntraces | 7 days | Carl"


def shown(text: str, query: str, most: int = 5, headings: set[str] | None = None) -> list[str]:
    places = places_in(text, query)
    return [line.text.strip() for line in excerpt(text, places, most=most, headings=headings or set()).lines]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        (FRONT, "approvers", ["approvers:", "- bob"]),
        (FRONT, "participating", ["participating-sigs:", "- sig-apps", "- sig-storage"]),
        (FRONT, "title approvers", ["title: A thing", "approvers:", "- bob"]),
        (FRONT, "bob", ["approvers:", "- bob"]),
        (FRONT, "reviewers bob", ["reviewers:", "- alice", "approvers:", "- bob"]),
        (FRONT, "beta", ["milestone:", "alpha: v1.21", "beta: v1.23"]),
        ("Owner:\n\nAnn\n\nDeputy:\n\nBob", "deputy", ["Deputy:", "Bob"]),
        ("**Deputy:**\nBob\n**Owner:**\nAnn", "owner", ["**Owner:**", "Ann"]),
        ("First term\n: its meaning\n\nSecond term\n: another", "second", ["Second term", ": another"]),
        ("**Who pays?**\n\nNobody.\n\n**Who owns it?**\n\nAnn.", "who owns", ["**Who owns it?**", "Ann."]),
        ("### Payment\n\nBy card.\n\n### Delivery\n\nBy post.", "delivery", ["### Delivery", "By post."]),
        ("Payment\n=======\n\nBy card.\n\nDelivery\n========\n\nBy post.", "delivery", ["Delivery", "By post."]),
        ('{\n  "reviewers": [\n    "ann"\n  ],\n  "approvers": [\n    "bob"\n  ]\n}', "approvers", ['"bob"']),
        ("[payment]\nway = card\n[delivery]\nway = post", "delivery", ["[delivery]", "way = post"]),
    ],
)
def test_a_key_is_shown_with_its_value_and_a_value_with_its_key(text: str, query: str, found: list[str]) -> None:
    lines = shown(text, query)
    at = [lines.index(line) for line in found]
    assert at == sorted(at)
    assert [end - start for start, end in pairwise(at)] == [1] * (len(at) - 1)


@pytest.mark.parametrize("text", [MARKDOWN_TABLE, PLAIN_TABLE])
def test_a_row_of_a_table_is_shown_with_the_names_of_its_columns_and_without_other_rows(text: str) -> None:
    lines = shown(text, "traces")
    assert len(lines) == 2 or "Text before." in lines
    assert "etention" in lines[-2]
    assert "7 days" in lines[-1]
    assert not any("30 days" in line or "13 months" in line for line in lines)


def test_names_of_columns_that_match_are_shown_with_the_first_rows() -> None:
    assert len(shown(PLAIN_TABLE, "retention")) == 3


def test_names_of_columns_that_are_said_beside_the_chunk_are_not_looked_for_in_it() -> None:
    rows = PLAIN_TABLE.partition("\n")[2]
    assert shown(rows, "traces", headings={"name | retention | owner"}) == ["traces | 7 days | Carl"]


def test_below_a_heading_that_is_said_beside_the_chunk_its_first_line_is_shown() -> None:
    text = "## Who approves a raise?\n\nThe manager.\n\nMore.\n\nA raise is paid in May.\nOr June.\nOr July."
    assert shown(text, "who approves a raise", headings={"Who approves a raise?"})[0] == "The manager."


def test_a_key_is_rather_left_out_than_shown_without_its_value() -> None:
    assert shown("one alpha\ntwo:\n  - beta", "alpha two", most=2) in (["one alpha"], ["two:", "- beta"])


def test_lines_of_code_and_prose_have_nothing_beside_them() -> None:
    text = "first line\nsecond line\nthird apple\nfourth line\nfifth line\nsixth line"
    assert shown(text, "apple") == ["third apple", "fourth line", "fifth line"]
