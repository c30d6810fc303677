"""YAML, JSON and TOML become readable lines and metadata."""

from __future__ import annotations

import json
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes import parsing
from pinakes.core.records import Document


def read(text: str, path: str = "kep.yaml") -> Document:
    return parsing.read(text.encode(), path, max_chars=1_000_000)


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


def test_yaml_is_read_as_it_stands_with_its_comments() -> None:
    document = read(KEP)
    assert (document.text, document.lines) == (KEP, ())


@pytest.mark.parametrize(
    ("source", "path", "text"),
    [
        ('name: "caf\\u00e9\\nbar" # "\\n"\n', "a.yaml", 'name: "café bar" # "\\n"\n'),
        ("name: 'a\\nb'\nother: c\\nd\n", "a.yaml", "name: 'a\\nb'\nother: c\\nd\n"),
        ('k: "one\\\n  two"\nlast: 1\n', "a.yml", 'k: "one\n  two"\nlast: 1\n'),
        ('# why\na = "\\u017eluť" # "\\n"\nb = \'\\n\'\n', "a.toml", '# why\na = "žluť" # "\\n"\nb = \'\\n\'\n'),
        ('a = """x\\ty\n"z" """\nb = 1\n', "a.toml", 'a = """x y\n"z" """\nb = 1\n'),
        ("; note\n[mail]\nhost = x\n", "a.ini", "; note\n[mail]\nhost = x\n"),
        ("# note\ngreeting=\\u017elu\\u0165\n", "a.properties", "# note\ngreeting=žluť\n"),
    ],
)
def test_escapes_are_read_as_what_they_mean_and_no_line_moves(source: str, path: str, text: str) -> None:
    assert read(source, path).text == text


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (r'{"msg": "\u001b[31mred\u001b[0m alert"}', "a.json"),
        (r'{"msg": "\u001B[1;31mred\u001B[m alert"}', "a.jsonl"),
        (r'msg: "\e[31mred\x1b[0m alert"', "a.yaml"),
        (r'msg = "\u001b[38;5;9mred\u001b[0m alert"', "a.toml"),
    ],
)
def test_colours_of_a_terminal_in_strings_are_left_out(source: str, path: str) -> None:
    assert "red alert" in read(source, path).text


def test_a_text_about_colours_keeps_them() -> None:
    assert r"\u001b[31m" in read(r'{"doc": "write \\u001b[31m for red"}', "a.json").text


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ('run: |\n  echo -e "\\e[31mfailed\\e[0m"\n', "ci.yaml"),
        (r"run: 'echo \e[31mfailed'", "ci.yml"),
        (r"run = 'echo \e[31mfailed'", "ci.toml"),
    ],
)
def test_colours_that_a_script_in_a_file_writes_are_its_text(source: str, path: str) -> None:
    assert r"\e[31mfailed" in read(source, path).text


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
    assert len(str(document.metadata)) < 5000


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
    read("+++\na = 1\n+++\ntext" if path == "a.md" else "a = 1", path)  # loads modules
    tracemalloc.start()
    document = read(f"+++\ntitle = 1\n{key} = 1\n+++\ntext" if path == "a.md" else f"{key} = 1", path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "too deeply" in str(document.metadata.get("parse_error") or document.metadata["front_matter_error"])
    assert peak < 5_000_000


def test_prose_that_happens_to_be_yaml_stays_prose() -> None:
    assert read("just words\nand more\n").text == "just words\nand more\n"
    assert read("# only\n# comments\n").text == "# only\n# comments\n"


def test_json_loses_its_signs_and_keeps_its_lines() -> None:
    source = """{
  "hosts": [
    {
      "name": "box11",
      "note": "caf\\u00e9\\nbar, \\"x\\","
    },
    {"name": "box12", "ports": [1, 2], "net": {"a": null}}
  ],
  "tags": ["a", "b"]
}
"""
    document = read(source, "a.json")
    assert document.text.split("\n") == [
        "",
        "hosts:",
        "  -",
        "    name: box11",
        '    note: café bar, "x",',
        "",
        "  - name: box12, ports: [1, 2], net: {a: null}",
        "",
        "tags: [a, b]",
        "",
        "",
    ]
    assert (document.lines, document.language) == ((), "json")


def test_a_long_line_of_json_becomes_lines_that_know_where_they_stand() -> None:
    value = {"hosts": [{"name": f"box{n}", "note": "long words " * 12 + "\n\nend"} for n in range(9)]}
    document = read("\n" + json.dumps(value), "a.json")
    lines = document.text.split("\n")
    assert "  - name: box3" in lines
    assert set(document.lines[1:]) == {2}
    assert len(document.lines) == len(lines)


def test_each_record_of_json_lines_is_an_element_on_its_line() -> None:
    assert read('{"a": 1, "b": "x"}\n\n{"a": 2}\n', "log.jsonl").text == "- a: 1, b: x\n\n- a: 2\n"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('abcé"\\,:{}[] \n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("kéy", min_size=1, max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(_VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_no_word_of_json_is_lost_and_no_line_moves(value: object, indent: int | None, escaped: bool) -> None:
    source = json.dumps({"root": value}, indent=indent, ensure_ascii=escaped)
    document = read(source, "a.json")
    assert document.text.rstrip("\n").count("\n") <= source.count("\n")
    words = re.findall(r"[a-zé0-9]+", " ".join(_texts(value)))
    assert [word for word in words if word not in document.text] == []


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [json.dumps(value) if not isinstance(value, str) else value]


@pytest.mark.parametrize("source", ["[" * 150 + "]" * 150, "[" + '{"a":' * 9000 + "1" + "}" * 9000 + "]"])
def test_json_that_nests_too_deeply_is_read_as_it_stands(source: str) -> None:
    document = read(source, "a.json")
    assert (document.text, bool(document.metadata["parse_error"])) == (source, True)


def test_an_escaped_lone_surrogate_never_reaches_text_or_metadata() -> None:
    document = read('{"title": "x\\ud800y", "s": "\\u0000z"}', "a.json")
    document.text.encode("utf-8")
    assert (document.title, document.metadata["s"]) == ("x?y", "z")


def test_metadata_is_bounded() -> None:
    document = read(json.dumps({"long": "x" * 2000, "ok": "y", "many": ["word"] * 5000}), "a.json")
    assert document.metadata == {"ok": "y", "many": ["word"] * 100}


def test_nested_values_are_metadata_too() -> None:
    source = "title: T\nmilestone:\n  stable: v1.23\nfeature-gates:\n  - name: Bar\n    components: [a, b]\nempty: {}\n"
    document = parsing.read(source.encode(), "kep.yaml", max_chars=1000)
    assert document.metadata == {
        "title": "T",
        "milestone": {"stable": "v1.23"},
        "feature-gates": [{"name": "Bar", "components": ["a", "b"]}],
    }


def test_metadata_that_nests_too_deeply_is_left_out() -> None:
    source = "a: " + '{"b": ' * 8 + "1" + "}" * 8 + "\nc: d\n"
    assert parsing.read(source.encode(), "x.yaml", max_chars=1000).metadata == {"c": "d"}


def test_repeated_aliases_do_not_multiply_the_metadata() -> None:
    lines = ["a: &a [" + ", ".join("x" * 100) + "]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 100)}]" for a, b in zip("abc", "bcd", strict=True)]
    metadata = parsing.read("\n".join(lines).encode(), "x.yaml", max_chars=100_000).metadata
    assert len(str(metadata)) < 10_000


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ('tags: ["", null]\nauthor: {name: ""}\nmark: "\\x07"', None),
        ("\n".join(f"n{number}: {number}" for number in range(202)), "n200, n201"),
        ("deep: {a: {b: {c: {d: {e: word}}}}}", "deep"),
        ("long: " + "w" * 1001, "long"),
    ],
    ids=["nothing in it", "many fields", "many levels", "a long value"],
)
def test_only_values_that_say_something_are_told_as_too_long(lines: str, named: str | None) -> None:
    document = parsing.read(f"---\n{lines}\n---\n\nBody.\n".encode(), "a.md", max_chars=10_000)
    assert [str(note).partition("levels): ")[2].partition(".")[0] for note in document.notes] == (
        [named] if named else []
    )
