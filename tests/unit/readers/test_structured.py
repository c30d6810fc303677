"""YAML, JSON and TOML become readable lines and metadata."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from pinakes import readers
from pinakes.types import Document


def read(text: str, path: str = "kep.yaml") -> Document:
    return readers.read(text.encode(), path, max_chars=1_000_000)


KEP = """\
# a comment
title: Support paged LIST queries
kep-number: 365
authors:
  - "@smarterclayton"
owning-sig: sig-api-machinery
participating-sigs: [sig-scalability, sig-cli]
status: implemented
creation-date: 2017-08-30
latest-milestone: "v1.29"
minor: 1.10
milestone:
  alpha: v1.8
feature-gates:
  - name: APIListChunking
    components:
      - kube-apiserver
disable-supported: true
empty:
"""


def test_keys_become_readable_and_nesting_is_indented() -> None:
    assert read(KEP).text == (
        "Title: Support paged LIST queries\n"
        "Kep number: 365\n"
        "Authors: @smarterclayton\n"
        "Owning sig: sig-api-machinery\n"
        "Participating sigs: sig-scalability, sig-cli\n"
        "Status: implemented\n"
        "Creation date: 2017-08-30\n"
        "Latest milestone: v1.29\n"
        "Minor: 1.10\n"
        "Milestone:\n"
        "  Alpha: v1.8\n"
        "Feature gates:\n"
        "- Name: APIListChunking\n"
        "  Components: kube-apiserver\n"
        "Disable supported: true\n"
        "Empty:\n"
    )


def test_top_level_values_become_metadata_under_their_own_names() -> None:
    document = read(KEP)
    assert document.title == "Support paged LIST queries"
    assert (document.kind, document.language) == ("text", "yaml")
    assert document.metadata == {
        "title": "Support paged LIST queries",
        "kep-number": 365,
        "milestone": {"alpha": "v1.8"},
        "feature-gates": [{"name": "APIListChunking", "components": ["kube-apiserver"]}],
        "authors": ["@smarterclayton"],
        "owning-sig": "sig-api-machinery",
        "participating-sigs": ["sig-scalability", "sig-cli"],
        "status": "implemented",
        "creation-date": "2017-08-30",
        "latest-milestone": "v1.29",
        "minor": "1.10",
        "disable-supported": True,
    }


def test_identifiers_are_not_rewritten() -> None:
    assert read("apiVersion: v1\nMAX_SIZE: 3\n").text == "apiVersion: v1\nMAX_SIZE: 3\n"


def test_several_documents_in_one_file_are_all_read() -> None:
    document = read("title: One\n---\nname: two\n")
    assert document.text == "Title: One\n\nName: two\n"
    assert document.title == "One"


def test_text_blocks_keep_their_lines() -> None:
    assert read("script: |\n  echo one\n  echo two\nnext: x\n").text == "Script:\n  echo one\n  echo two\nNext: x\n"


def test_unknown_tags_are_read_as_what_they_tag() -> None:
    assert read("bucket: !Ref Name\nrun: !!python/object/apply:os.system [ls]\n").text == "Bucket: Name\nRun: ls\n"


def test_merge_keys_show_what_they_merge() -> None:
    assert (
        read("base: &b {p: one}\nuse:\n  <<: *b\n  z: 2\n").text == "Base:\n  P: one\nUse:\n  <<:\n    P: one\n  Z: 2\n"
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("key: [unclosed", "a.yaml"),
        ("{{- if .Values.x }}\nkey: {{ .Values.y }}\n{{- end }}", "chart.yaml"),
        ('{"a": }', "a.json"),
        ("a = = b", "a.toml"),
        ('{"a": 1}\nnot json\n', "a.jsonl"),
    ],
)
def test_what_cannot_be_parsed_is_read_as_plain_text_with_the_reason(text: str, path: str) -> None:
    document = read(text, path)
    assert document.text == text
    assert document.metadata["parse_error"]


def _bomb(template: str) -> str:
    lines = ["a: &a {k: [x, x, x, x, x, x]}"]
    lines += [
        f"{b}: &{b} {template % ', '.join([f'*{a}'] * 9)}" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("text", [_bomb("[%s]"), _bomb("{<<: [%s]}")], ids=["aliases", "merge keys"])
def test_a_yaml_bomb_is_read_as_the_few_lines_it_is(text: str) -> None:
    document = read(text)
    assert document.text == text
    assert "longer" in document.metadata["parse_error"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[" * 50_000 + "]" * 50_000, "a.yaml"),
        ("- " * 50_000, "a.yaml"),
        ("[" * 50_000 + "]" * 50_000, "a.json"),
        ("a = " + "[" * 50_000, "a.toml"),
        ("a: &a [*a]", "a.yaml"),
    ],
    ids=["yaml", "yaml dashes", "json", "toml", "a part that contains itself"],
)
def test_endless_nesting_is_not_followed(text: str, path: str) -> None:
    assert read(text, path).metadata["parse_error"]


@pytest.mark.parametrize("part", ["a", '"a\\""', "'a'", " a "], ids=["bare", "escaped", "literal", "spaced"])
@pytest.mark.parametrize("path", ["a.toml", "a.md"])
def test_a_key_of_many_parts_costs_no_more_than_its_length(path: str, part: str) -> None:
    key = ".".join([part] * 5000)
    tracemalloc.start()
    document = read(f"+++\ntitle = 1\n{key} = 1\n+++\ntext" if path == "a.md" else f"{key} = 1", path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "too deeply" in str(document.metadata.get("parse_error") or document.metadata["front_matter_error"])
    assert peak < 5_000_000


def test_prose_that_happens_to_be_yaml_stays_prose() -> None:
    assert read("just words\nand more\n").text == "just words\nand more\n"
    assert read("# only\n# comments\n").text == "# only\n# comments\n"


def test_json_and_toml_read_like_yaml() -> None:
    value = {"title": "T", "build-system": {"requires": ["a", "b"]}, "version": "1.0", "on": False}
    expected = "Title: T\nBuild system:\n  Requires: a, b\nVersion: 1.0\nOn: false\n"
    assert read(json.dumps(value), "a.json").text == expected
    toml = read('title = "T"\non = 2024-01-02\n[build-system]\nrequires = ["a", "b"]\n', "a.toml")
    assert toml.text == "Title: T\nOn: 2024-01-02\nBuild system:\n  Requires: a, b\n"
    assert (toml.metadata, toml.language) == (
        {"title": "T", "on": "2024-01-02", "build-system": {"requires": ["a", "b"]}},
        "toml",
    )


def test_json_lines_are_read_line_by_line() -> None:
    assert read('{"a": 1}\n{"a": 2}\n', "log.jsonl").text == "A: 1\n\nA: 2\n"


def test_an_escaped_lone_surrogate_never_reaches_text_or_metadata() -> None:
    document = read('{"title": "x\\ud800y", "s": "\\u0000z"}', "a.json")
    document.text.encode("utf-8")
    assert (document.title, document.metadata["s"]) == ("x?y", "z")


def test_metadata_is_bounded() -> None:
    document = read(json.dumps({"long": "x" * 2000, "ok": "y", "many": ["word"] * 5000}), "a.json")
    assert document.metadata == {"ok": "y", "many": ["word"] * 100}


def test_nested_values_are_metadata_too() -> None:
    source = "title: T\nmilestone:\n  stable: v1.23\nfeature-gates:\n  - name: Bar\n    components: [a, b]\nempty: {}\n"
    document = readers.read(source.encode(), "kep.yaml", max_chars=1000)
    assert document.metadata == {
        "title": "T",
        "milestone": {"stable": "v1.23"},
        "feature-gates": [{"name": "Bar", "components": ["a", "b"]}],
    }


def test_metadata_that_nests_too_deeply_is_left_out() -> None:
    source = "a: " + '{"b": ' * 8 + "1" + "}" * 8 + "\nc: d\n"
    assert readers.read(source.encode(), "x.yaml", max_chars=1000).metadata == {"c": "d"}


def test_repeated_aliases_do_not_multiply_the_metadata() -> None:
    lines = ["a: &a [" + ", ".join("x" * 100) + "]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 100)}]" for a, b in zip("abc", "bcd", strict=True)]
    metadata = readers.read("\n".join(lines).encode(), "x.yaml", max_chars=100_000).metadata
    assert len(str(metadata)) < 10_000
