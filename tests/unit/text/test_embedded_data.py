"""Embedded data is left out of texts and named; what people read and search stays."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear import assert_linear

from pinakes import parsing
from pinakes.core.records import Document
from pinakes.text.embedded_data import without_embedded_data

_RANDOM = random.Random(7)


def base64_of(size: int) -> str:
    return base64.b64encode(_RANDOM.randbytes(size)).decode()


def hex_of(size: int) -> str:
    return _RANDOM.randbytes(size).hex()


LINES = "\n".join(base64_of(48) for _ in range(12)) + "\nQUJDRA=="
URI = f"data:image/png;base64,{base64_of(3000)}"
DUMP = "\n".join(f"{at * 16:08x}: {' '.join(hex_of(2) for _ in range(8))}  ..a..b.." for at in range(40))
SCRIPT = "".join(f"function a{n}(e,t){{var n=e.x;return n?t(n):e[{n}]||null}}" for n in range(200))


def read(text: str, path: str) -> Document:
    return parsing.read(text.encode(), path, max_chars=10_000_000)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"kept before ![x]({URI}) kept after", "a.md"),
        (f"kept before ![x][i] kept after\n\n[i]: <{URI}>\n", "a.md"),
        (f"kept before\n\n{LINES}\n\nkept after", "a.txt"),
        (f"kept before\n-----BEGIN CERTIFICATE-----\n{LINES}\n-----END CERTIFICATE-----\nkept after", "a.crt.txt"),
        (f"kept before\n{DUMP}\nkept after", "a.rst"),
        (f"// kept before\n{SCRIPT}\n// kept after\n", "a.js"),
        (f"x = '{hex_of(400)}'  # kept before and kept after\n", "a.py"),
        (json.dumps({"one": "kept before", "data": base64_of(900), "two": "kept after"}), "a.json"),
        (json.dumps({"one": "kept before", "data": LINES, "two": "kept after"}), "a.jsonl"),
        (f"one: kept before\ndata: {base64_of(600)}\ntwo: kept after\n", "a.yaml"),
        (f"kept before,{base64_of(600)},kept after\n", "a.csv"),
        (
            f'<p style="background:url({URI})">kept before</p><img src="{URI}"><a href="{URI}">kept after</a>',
            "a.html",
        ),
        (f"From: a@example.org\nSubject: x\n\nkept before\n{LINES}\nkept after\n", "a.eml"),
        (
            json.dumps({"cells": [{"cell_type": "markdown", "source": f"kept before ![x]({URI}) kept after"}]}),
            "a.ipynb",
        ),
    ],
)
def test_data_in_any_format_is_left_out_and_named(text: str, path: str) -> None:
    document = read(text, path)
    assert "kept before" in document.text
    assert "kept after" in document.text
    assert len(document.text) < 500
    assert "embedded-data" in {note.code for note in document.notes}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{hex_of(32)}  dir/file{n}.txt\n" for n in range(300)),
        "".join(f"example.org/mod{n} v1.2.{n} h1:{base64_of(32)}\n" for n in range(300)),
        "".join(f'"node_modules/p{n}": "sha512-{base64_of(64)}"\n' for n in range(300)),
        "".join(f"{hex_of(16)} *file{n}.txt\n" for n in range(300)),
    ],
    ids=["sha256", "go.sum", "integrity", "md5"],
)
def test_lists_of_hashes_keep_the_names_and_the_lines(text: str) -> None:
    cleaned = without_embedded_data(text)
    assert len(cleaned.text) < 0.6 * len(text)
    assert cleaned.text.count("\n") == 300
    assert len(cleaned.findings) == 300


@pytest.mark.parametrize("line", ["{}\n", "  - {}\n", '"{}",\n'])
def test_a_list_of_hashes_alone_leaves_one_mark_and_its_lines(line: str) -> None:
    cleaned = without_embedded_data("".join(line.format(hex_of(32)) for _ in range(300)) + "the end\n")
    assert len("".join(cleaned.text.split())) < 30
    assert cleaned.text.count("\n") == 301


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"/*! wombat.js v3.6 | Licence: MIT */{SCRIPT}", "/*! wombat.js v3.6 | Licence: MIT */"),
        (f"/*!\n * The wombat society\n * all rights reserved */{SCRIPT}", " * all rights reserved */"),
        (f"{SCRIPT}/* of the wombat\nand the end */\n", "/* of the wombat\nand the end */"),
        (f"{SCRIPT}/*#__PURE__*/{SCRIPT}/* why wombats dig */{SCRIPT}", "/* why wombats dig */"),
        (f"{SCRIPT}// Copyright 2020 by wombats", "// Copyright 2020 by wombats"),
        (f"{SCRIPT};//{' why' * 250}\n", f"//{' why' * 250}\n"),
        (f"<!-- Do not edit by hand --><script>{SCRIPT}</script>", "<!-- Do not edit by hand -->"),
        (f'{SCRIPT}a={{accept:"image/*"}};{SCRIPT}/* after a string */{SCRIPT}', "/* after a string */"),
    ],
)
def test_comments_beside_minified_code_stay(text: str, kept: str) -> None:
    cleaned = without_embedded_data(text)
    assert kept in cleaned.text
    assert len(cleaned.text) < len(kept) + 80
    assert cleaned.text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ('h={accept:"application/json, text/plain, */*"};', 'h={accept:"application/json, text/plain, */*"};'),
        ("t=e.split('<!--');", "r=e.split('-->');"),
        ("t=e.split('/*');", "r=e.split('*/');"),
    ],
)
def test_marks_of_comments_in_strings_keep_no_minified_code(begin: str, end: str) -> None:
    code = (SCRIPT + 's="press any key to go on";' + SCRIPT)[:12_000]
    cleaned = without_embedded_data(f"// kept before\n{SCRIPT}{begin}{code}{end}{SCRIPT}\n// kept after\n")
    assert cleaned.text == "// kept before\n[minified code]\n// kept after\n"


@pytest.mark.parametrize(
    "text",
    [
        f"The commit {hex_of(20)} and the digest sha256:{hex_of(32)} are named here.",
        "ACGT" * 300 + " " + "acgtta" * 100,
        "MKVLAAGIVGLLLAQWERTYIPASDFGHKLCVNM" * 20,
        "Get" + "UserNameFactoryBeanProxyAsync" * 12,
        f"see https://example.org/a?token={base64_of(150)}&x=1",
        "/usr/lib/python3/" + "some_module/sub-module/" * 30,
        "本合同自签字之日起生效，有效期至双方全部履行义务为止。" * 200,
        "This is prose (with signs); it goes on, and on: see {x}. " * 100,
        ",".join(map(str, range(2000))),
        "=" * 500 + "\n" + "-" * 500 + "\n" + "A" * 500,
        "3." + "1415926535" * 60,
        f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\n-----END RSA PRIVATE KEY-----",
        "data:text/plain,hello%20world and data: the plural of datum, see data:1",
    ],
)
def test_what_only_looks_like_data_stays(text: str) -> None:
    assert without_embedded_data(text).text == text


@given(
    st.lists(
        st.sampled_from(["words here", URI, LINES, DUMP, SCRIPT, hex_of(200), "é\n\n", "data:", "ende"]), max_size=8
    )
)
def test_lines_and_offsets_stay_true(parts: list[str]) -> None:
    text = "\n".join(parts)
    cleaned = without_embedded_data(text)
    assert cleaned.text.count("\n") == text.count("\n")
    start = text.find("ende")
    if start >= 0:
        [moved] = cleaned.moved([start])
        assert cleaned.text[moved : moved + 4] == "ende"


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "data:" * (200 * n),
        lambda n: "data:image/svg+xml,<svg " * (40 * n),
        lambda n: "data:a/b" + ";a=b" * (200 * n),
        lambda n: "A" * (1_000 * n),
        lambda n: "-----BEGIN PRIVATE KEY-----" * (40 * n),
        lambda n: "begin 644 x\n" * (80 * n),
        lambda n: 'd="1 2' * (200 * n),
        lambda n: "a," * (500 * n),
        lambda n: ("00000000: " + "ff " * 7 + "\n") * (20 * n),
        lambda n: SCRIPT + "/*" * (500 * n),
        lambda n: SCRIPT + "<!--" * (300 * n) + "-->",
        lambda n: SCRIPT + "\n" + " //" * (300 * n),
        lambda n: (SCRIPT[:1500] + ")//" * 300 + ";\n") * n,
        lambda n: SCRIPT + f"/*{'a' * 19_000}*/" * (n // 4),
    ],
)
def test_hostile_text_takes_linear_time(text: Callable[[int], str]) -> None:
    assert_linear(without_embedded_data, text, 400)


VECTOR = [round(_RANDOM.gauss(0, 1), 6) + 0.0000001 for _ in range(200)]
POINTS = [[10 + one / 7.001 + 0.00001, 59.00001 + one / 9.001] for one in range(100)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.jsonl", json.dumps({"text": "before", "vector": VECTOR, "end": "after"}) + "\n"),
        ("a.geojson", json.dumps({"name": "before", "coordinates": [POINTS], "end": "after"})),
        ("a.py", f"before = {VECTOR}\nafter = 1\n"),
        ("a.c", f"float before[] = {{\n{'f,'.join(map(str, VECTOR))}f}};\nint after;\n"),
        ("a.yaml", f"before: 1\nvector:\n{''.join(f'- {one}{chr(10)}' for one in VECTOR)}after: 2\n"),
    ],
)
def test_long_arrays_of_numbers_are_left_out_and_named(path: str, text: str) -> None:
    document = read(text, path)
    assert "before" in document.text
    assert "after" in document.text
    assert len(document.text) < 800
    assert document.text.count("\n") >= text.count("\n") - 1
    [note] = document.notes
    assert "arrays of numbers" in note.message


@pytest.mark.parametrize(
    "text",
    [
        f"ids = {list(range(1000, 1400))}\n",
        f"prices = {[one / 100 for one in range(500)]}\n",
        "".join(f"{one}, {one + 1}, {one + 2}\n" for one in range(200)),
        "".join(f"- {one / 7:.5f} m at noon\n" for one in range(200)),
        f"short = {VECTOR[:40]}\n",
        f"codes = {list(range(100, 400))}\n",
        f"INSERT INTO places VALUES {', '.join(f'(48.{one}, 11.{one})' for one in range(1000, 1100))};\n",
        "".join(f"- {one}\n" for one in range(100, 400)),
    ],
)
def test_numbers_that_people_search_for_stay(text: str) -> None:
    assert without_embedded_data(text).text == text


@pytest.mark.parametrize("unit", ["[1.23456,", "- 1.23456\n- x\n", "(((", "[1.23456], ["])
def test_arrays_are_found_in_linear_time(unit: str) -> None:
    assert_linear(without_embedded_data, lambda size: unit * (size // len(unit)), 400_000)


def test_a_hexadecimal_number_of_thousands_of_digits_is_left_out() -> None:
    assert read(json.dumps({"name": "before", "tx": f"0x{hex_of(3000)}"}), "a.json").text.count("[embedded data]") == 1
