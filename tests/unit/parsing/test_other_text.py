"""Plain text, reStructuredText, code, tables, HTML and notebooks."""

from __future__ import annotations

import json
import time

import pytest

from pinakes import parsing
from pinakes.core.errors import Binary, Empty, TooLarge, Unreadable
from pinakes.core.records import Document
from pinakes.parsing.limits import Limits


def read(text: str | bytes, path: str, max_chars: int = 1_000_000) -> Document:
    return parsing.read(text.encode() if isinstance(text, str) else text, path, max_chars=max_chars)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  First line \nsecond", "First line"),
        ("=====\nReal title\n=====", "Real title"),
        ("42\nThe answer\n", "The answer"),
        ("12\n34\n", ""),
        ("word " * 100, ("word " * 23).strip() + "…"),
    ],
)
def test_the_title_of_a_text_is_its_first_line(text: str, title: str) -> None:
    assert read(text, "notes.txt").title == title


@pytest.mark.parametrize("path", ["server.log", "app.cfg", "app.ini"])
def test_logs_and_configuration_have_no_title(path: str) -> None:
    assert read("[section]\nkey = value here\n", path).title == ""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("=====\nTitle\n=====\n\ntext", "Title"),
        (".. SPDX-License-Identifier: GPL-2.0\n\nSection one\n===========\n\nx\n", "Section one"),
        (
            ".. _label:\n\nThe ``foo()`` and :c:func:`bar` call\n--------------------------------\n",
            "The foo() and bar call",
        ),
        ("Some prose\n\n====  ====\na     b\n====  ====\n", ""),
        ("no section here", ""),
    ],
)
def test_the_title_of_restructured_text_is_its_first_section(text: str, title: str) -> None:
    document = read(text, "doc.rst")
    assert (document.title, document.kind, document.language, document.text) == (title, "text", "rst", text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("= Gulls\nJo\n\ntext\n", "Gulls"),
        ("Gulls\n=====\n\n= Later\n", "Gulls"),
        ("// note\n:toc:\n:long: a \\\n  b\n\n////\n= No\n////\n[[top]]\ninclude::a.adoc[]\n= Gulls\n", "Gulls"),
        ("---\nlayout: page\n---\n= Gulls\n", "Gulls"),
        ("== Install\n\ntext\n\n[source,bash]\n----\n# apt install foo\n----\n", "Install"),
        ("== Install\n\n[NOTE]\n====\nDo this.\n====\n", "Install"),
        (":toc:\n\n[source,bash]\n----\n# apt install foo\n----\n\nInstall it\n\n= Later\n", "Install it"),
        ("[NOTE]\n====\nDo this.\n====\n", "Do this."),
    ],
)
def test_the_title_of_asciidoc_stands_in_its_header(text: str, title: str) -> None:
    document = read(text, "doc.adoc")
    assert (document.title, document.kind, document.language, document.text) == (title, "text", "asciidoc", text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("% \\title{Old Title}\n\\title{New \\emph{title}}\n", "New title"),
        (
            "\\documentclass{a} % \\title{Old}\n\\title % here\n  {A {\\bf b {c}} over % no\n two lines}\n",
            "A b c over two lines",
        ),
        ("% \\title{Old Title}\ntext\n", ""),
    ],
)
def test_the_title_of_latex_stands_outside_of_comments(text: str, title: str) -> None:
    assert read(text, "doc.tex").title == title


@pytest.mark.parametrize(
    "line", ["////\n", "----\n", "[a]\n", ":a: b \\\n", "---\n", "[", "\\title{", "\\title", "\\title{{a}", "%"]
)
@pytest.mark.parametrize("path", ["doc.adoc", "doc.tex"])
def test_the_title_of_hostile_markup_is_looked_for_in_linear_time(line: str, path: str) -> None:
    started = time.process_time()
    read(line * (200_000 // len(line)) + "x", path)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("mm/slab.c", "c"),
        ("include/linux/mm.H", "c"),
        ("a.cpp", "cpp"),
        ("a.hpp", "cpp"),
        ("a.py", "python"),
        ("a.js", "javascript"),
        ("a.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("A.java", "java"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("run.sh", "shell"),
        ("q.sql", "sql"),
        ("a.proto", "proto"),
        ("Makefile", "makefile"),
        ("arch/Makefile.build", "makefile"),
        ("Dockerfile.dev", "dockerfile"),
        ("mm/Kconfig", "kconfig"),
        ("schema.xsd", "xml"),
        ("CMakeLists.txt", "cmake"),
    ],
)
def test_code_is_read_as_it_is_with_its_language(path: str, language: str) -> None:
    text = "line one\n\n    line three  \n"
    assert parsing.supported(path)
    assert read(text, path) == Document(text=text, kind="code", language=language, reader=parsing.reader_of(path))


def test_a_script_without_extension_is_code() -> None:
    assert read("#!/usr/bin/env python3\nprint()\n", "bin/tool").language == "python"
    assert read("#!/bin/bash -e\nls\n", "bin/tool").language == "shell"


@pytest.mark.parametrize("name", ["README", "LICENSE", ".gitignore", "CODEOWNERS", "MAINTAINERS"])
def test_files_known_by_name_are_text(name: str) -> None:
    assert parsing.supported(f"folder/{name}")
    assert read("some words", name).kind == "text"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('name,"city, state"\nJo,"a|b"\n', "a.csv"),
        ("name;city, state\nJo;a|b\n", "a.csv"),
        ("name\tcity, state\nJo\ta|b\n", "a.tsv"),
    ],
)
def test_delimited_text_becomes_a_row_a_line(text: str, path: str) -> None:
    document = read(text, path)
    assert document.text == "name | city, state\nJo | a\\|b\n"
    assert (document.kind, document.language, document.metadata) == ("text", "csv", {"rows": 1, "columns": 2})


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            'Made 2024\nBy: Finance, north\n\nAccount;Debit;Note\nA1;1,50;"a; b"\nA2;2,50;c\n',
            [
                "Made 2024",
                "By: Finance, north",
                "",
                "Account | Debit | Note",
                "A1 | 1,50 | a; b",
                "A2 | 2,50 | c",
            ],
        ),
        ("sep=;\nHost;Load\nh1;1,5\nh2;2,5\n", ["", "Host | Load", "h1 | 1,5", "h2 | 2,5"]),
        ('"sep=;"\nHost;Load\nh1;1,5\nh2;2,5\n', ["", "Host | Load", "h1 | 1,5", "h2 | 2,5"]),
        ("SEP=;\nHost;Load\nh1;1,5\nh2;2,5\n", ["", "Host | Load", "h1 | 1,5", "h2 | 2,5"]),
        ("Sep=|\nHost|Load\nh1|1,5\nh2|2,5\n", ["", "Host | Load", "h1 | 1,5", "h2 | 2,5"]),
        ("sep=;x\nHost;Load\n", ["sep= | x", "Host | Load"]),
        ('id,text\n1,"a; b; c"\n2,"d; e; f"\n', ["id | text", "1 | a; b; c", "2 | d; e; f"]),
        ('id;text\n1;"a,\nb, c"\n2;d, e, f, g\n', ["id | text", "1 | a, b, c", "", "2 | d, e, f, g"]),
        ("Wert;Anteil\n1,5;2,5\n3,5;4,5\n", ["Wert | Anteil", "1,5 | 2,5", "3,5 | 4,5"]),
    ],
)
def test_the_delimiter_is_that_of_most_lines(text: str, rows: list[str]) -> None:
    document = read(text, "a.csv")
    assert document.text.split("\n") == [*rows, ""]
    assert document.metadata["columns"] == rows[-1].count("|") + 1


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_row_has_the_number_of_its_line_in_the_file(newline: str) -> None:
    source = newline.join(["a,b", '"x', 'y",2', "", "3", ""])
    assert read(source, "a.csv").text == "a | b\nx y | 2\n\n\n3\n"


def test_a_wide_header_does_not_multiply_short_rows() -> None:
    text = ",".join(f"c{n}" for n in range(2000)) + "\n" + "1\n" * 2000
    assert len(read(text, "a.csv").text) < 5 * len(text)


def test_a_table_stops_at_the_limit() -> None:
    with pytest.raises(TooLarge):
        read("a,b\n" + "1,2\n" * 200, "a.csv", max_chars=1000)


def test_a_quote_that_never_ends_is_read_as_text() -> None:
    document = read('a,"' + "x\n" * 100_000, "a.csv")
    assert document.metadata["parse_error"]


PAGE = """<!doctype html><html lang="en"><head><title>The &amp; title</title>
<meta name="description" content="What it is"><meta name="author" content="Jo"><meta name="date" content="2024-01-02">
<style>p { color: red }</style><script>var hidden = "<title>no</title>";</script></head>
<body><nav><a href="/">Home</a></nav><h1>The heading</h1><p>some_name and <b>bold</b> text</p>
<img src="data:image/png;base64,AAAABBBBCCCC" alt="a chart">
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<pre><code>x = 1\ny = 2</code></pre></body></html>"""


def test_html_becomes_markdown_without_what_is_not_read() -> None:
    document = read(PAGE, "page.html")
    assert document.title == "The & title"
    assert document.metadata == {"lang": "en", "description": "What it is", "author": "Jo", "date": "2024-01-02"}
    for part in ("# The heading", "some_name", "**bold**", "x = 1\ny = 2", "| 1", "a chart"):
        assert part in document.text
    for part in ("hidden", "color: red", "Home", "base64", "What it is", "The & title"):
        assert part not in document.text


def test_the_heading_is_the_title_of_html_without_one() -> None:
    assert read("<p>x</p><h1>The heading</h1>", "a.htm").title == "The heading"


def test_html_in_the_encoding_it_declares_is_read() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Привет, мир</p>'
    assert "Привет, мир" in read(page.encode("koi8-r"), "a.html").text


def test_equations_of_a_page_are_read_once() -> None:
    page = "<p>before <math><mi>x</mi><mo>=</mo><mn>1</mn></math> after</p>"
    assert read(page, "a.html").text == "before x=1 after\n"


def test_html_that_shows_nothing_is_empty() -> None:
    with pytest.raises(Empty):
        read("<html><head><script>x</script></head><body></body></html>", "a.html")


def _notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4})


def test_a_notebook_keeps_text_code_and_printed_output() -> None:
    outputs = [
        {"output_type": "stream", "text": ["42\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": ["<Figure>"]}},
    ]
    document = read(
        _notebook(
            {"cell_type": "markdown", "source": ["# Study\n", "\n", "Words."]},
            {"cell_type": "code", "source": "print(42)", "outputs": outputs},
            {"cell_type": "code", "source": "", "outputs": []},
        ),
        "a.ipynb",
    )
    assert document.title == "Study"
    assert document.text == "# Study\n\nWords.\n\n```python\nprint(42)\n```\n\n```text\n42\n\n<Figure>\n```\n"


def test_a_fence_is_longer_than_any_in_what_it_holds_however_long_that_is() -> None:
    ticks = "`" * 300_000
    began = time.process_time()
    text = read(_notebook({"cell_type": "code", "source": f"a {ticks} b", "outputs": []}), "a.ipynb").text
    assert text == f"{ticks}`python\na {ticks} b\n{ticks}`\n"
    assert time.process_time() - began < 2


@pytest.mark.parametrize("text", ["{}", "[1]", '{"cells": 3}', "{broken"])
def test_what_is_no_notebook_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(Unreadable, match="notebook"):
        read(text, "a.ipynb")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            {"output_type": "error", "ename": "ValueError", "evalue": "bad curlew", "traceback": []},
            "ValueError: bad curlew",
        ),
        ({"output_type": "display_data", "data": {"text/markdown": ["**Knot**"], "text/plain": "<M>"}}, "**Knot**"),
        ({"output_type": "execute_result", "data": {"text/latex": "$x$"}}, "$x$"),
        (
            {"output_type": "display_data", "data": {"text/html": "<b>Red</b> knot<script>x()</script>"}},
            "**Red** knot\n",
        ),
        (
            {
                "output_type": "display_data",
                "data": {"text/html": ["<p>Dunlin</p>"], "text/plain": ["<IPython.core.display.HTML object>"]},
            },
            "text\nDunlin\n",
        ),
        (
            {
                "output_type": "execute_result",
                "data": {"text/html": "<p>Sanderling</p>", "text/plain": "<pandas.io.formats.style.Styler at 0x7f1>"},
            },
            "text\nSanderling\n",
        ),
    ],
)
def test_errors_and_formatted_outputs_of_a_notebook_are_kept(output: dict[str, object], said: str) -> None:
    assert said in read(_notebook({"cell_type": "code", "source": "a", "outputs": [output]}), "a.ipynb").text


def test_a_cut_output_of_a_notebook_is_named() -> None:
    output = {"output_type": "stream", "text": "x " * 5000}
    document = read(_notebook({"cell_type": "code", "source": "a", "outputs": [output]}), "a.ipynb")
    assert [note.code for note in document.notes] == ["limit"]


def test_a_notebook_without_text_is_empty() -> None:
    with pytest.raises(Empty):
        read(_notebook({"cell_type": "code", "source": []}), "a.ipynb")


def test_every_row_of_the_tables_names_a_reader() -> None:
    for name in {**parsing.READERS, **{f"x/{key}": "" for key in parsing.NAMES}}:
        path = f"file{name}" if name.startswith(".") else name
        assert hasattr(parsing.reader_for(path, Limits(1000)), "read"), name


@pytest.mark.parametrize("name", [".env", ".env.production", "home/.netrc", "keys/id_rsa", "tls/server.key", ".npmrc"])
def test_files_that_usually_hold_credentials_are_refused(name: str) -> None:
    with pytest.raises(Binary):
        parsing.read(b"PASSWORD=hunter2\n", name, max_chars=1000)


def test_an_example_of_an_env_file_is_read() -> None:
    assert "PASSWORD" in parsing.read(b"PASSWORD=\n", ".env.example", max_chars=1000).text
