"""What chunks repeat: column names, captions, signatures, keys of records, parents of list items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear import assert_linear

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import char_starts, word_starts
from pinakes.core.records import Chunk, Document


def cut(text: str, size: int = 60, *, kind: str = "markdown", language: str | None = None, **more: int) -> list[Chunk]:
    sizing = Sizing(size, more.pop("overlap", 0), word_starts, **more)
    chunks = chunk(Document(text, "", kind, language), sizing)  # type: ignore[arg-type]
    for each in chunks:
        assert text[each.start : each.end] == each.text
        assert each.token_count == len(word_starts(each.embedded_text)) <= size
    assert "".join("".join(each.text for each in chunks).split()) == "".join(text.split()) or more or sizing.overlap
    return chunks


def shown(each: Chunk) -> str:
    return " > ".join((*each.heading_path, each.text))


def rows(count: int, cells: int = 3) -> str:
    return "".join(f"| {' | '.join(f'r{row}c{cell}' for cell in range(cells))} |\n" for row in range(count))


class TestTables:
    def test_every_chunk_has_the_column_names_and_the_caption(self) -> None:
        text = f"# Top\n\nTable 3: Hosts of the north\n\n| Host | Watts | Place |\n|---|---|---|\n{rows(40)}"
        for each in cut(text):
            assert all(name in shown(each) for name in ("Host", "Watts", "Place", "Hosts of the north"))
            assert each.heading_path[0] == "Top"

    @pytest.mark.parametrize(
        ("head", "names"),
        [
            ("| Kind | Half | |\n|---|---|---|\n| | Q1 plan | Q2 plan |\n", "Kind | Half Q1 plan | Half Q2 plan"),
            ("| Kind | Q1 | Q2 |\n| | Jan-Mar | Apr-Jun |\n|---|---|---|\n", "Kind | Q1 Jan-Mar | Q2 Apr-Jun"),
            ("| Kind | Half | Half |\n|---|---|---|\n| Kind | Q1 | Q2 |\n", "Kind | Half Q1 | Half Q2"),
            ("| | | |\n|---|---|---|\n| Kind | Low | High |\n", "Kind | Low | High"),
            ("| **Kind** | [Low](http://x) | `High` |\n|---|:-:|---|\n", "Kind | Low | High"),
        ],
    )  # fmt: skip
    def test_several_rows_of_names_are_one(self, head: str, names: str) -> None:
        for each in cut(f"{head}{rows(40)}")[1:]:
            assert each.heading_path == (names,)

    @pytest.mark.parametrize("sign", ["> ", "> > ", "  > ", "- ", "1. "])
    def test_tables_in_quotations_and_list_items_have_names(self, sign: str) -> None:
        rest = sign if ">" in sign else " " * len(sign)
        lines = ["| Kind | Low | High |", "|---|---|---|", *rows(40).splitlines()]
        text = "\n".join((rest if place else sign) + line for place, line in enumerate(lines)) + "\n"
        for each in cut(text)[1:]:
            assert each.heading_path[-1] == "Kind | Low | High"

    def test_of_a_quoted_table_those_names_stand_there_whose_cells_do(self) -> None:
        cells = [[f"{mark}{column}" for column in range(90)] for mark in ("name", "cell")]
        text = "\n".join(f"> | {' | '.join(row)} |" for row in (cells[0], ["---"] * 90, cells[1]))
        for each in cut(text)[1:]:
            if each.text.startswith("cell"):
                assert each.heading_path[-1].startswith(f"name{each.text.split()[0].removeprefix('cell')} |")
        assert any(each.text.startswith("cell") for each in cut(text))

    @pytest.mark.parametrize("between", ["", "\n", "\n\n"])
    @pytest.mark.parametrize("caption", ["", "<caption>All <b>hosts</b></caption>"])
    def test_tables_in_html_have_names(self, between: str, caption: str) -> None:
        head = f"<table>{caption}\n<thead>\n<tr><th>Host</th>{between[:1]}<th align='right'>Watts</th></tr>\n</thead>\n"
        body = "".join(f"<tr>\n  <td>h{n} and more words</td>\n  <td>{n}</td>\n</tr>{between}\n" for n in range(40))
        chunks = cut(f"# Top\n\n{head}<tbody>\n{body}</tbody>\n</table>\n\nThe end.\n")
        assert len(chunks) > 3
        for each in chunks[1:]:
            assert each.heading_path == ("Top", *(["All hosts"] if caption else []), "Host | Watts")
            assert each.text.lstrip().startswith("<tr>")

    @pytest.mark.parametrize("between", ["\n", "\n<p>Next</p>\n", "\n\nNext\n\n"])
    @pytest.mark.parametrize("around", ["", "div"])
    def test_rows_of_each_table_in_html_have_its_own_names(self, between: str, around: str) -> None:
        small = "<table><tr><td>small</td></tr></table>"
        tables = [
            f"<TABLE>\n<TR><TH>{name}<TH>Other</TR>\n"
            + "".join(f"<TR><TD>{name}{row} has some words</TD><TD>{row}</TD></TR>\n" for row in range(60))
            + "</TABLE>"
            for name in ("City", "Host", "Bird")
        ]
        text = between.join([small, *tables])
        chunks = cut(f"<{around}>{text}\n</{around}>\n" if around else f"{text}\n")
        for name in ("City", "Host", "Bird"):
            within = [each for each in chunks if each.text.lstrip().startswith(f"<TR><TD>{name}")]
            assert len(within) > 2
            assert {each.heading_path for each in within} == {(f"{name} | Other",)}

    def test_rows_around_a_table_in_a_cell_have_their_own_names(self) -> None:
        def table(name: str, cell: str, count: int) -> str:
            body = "".join(
                f"<tr><td>{name}{row} has some words</td><td>{cell if row == 9 else row}</td></tr>\n"
                for row in range(count)
            )
            return f"<table>\n<tr><th>{name}</th><th>{name} more</th></tr>\n{body}</table>"

        chunks = cut(table("outer", table("inner", "", 60), 60))
        paths = {"outer": ("outer | outer more",), "inner": ("outer | outer more", "inner | inner more")}
        for name, path in paths.items():
            within = [each for each in chunks if each.text.lstrip().startswith(f"<tr><td>{name}")]
            assert len(within) > 2
            assert {each.heading_path for each in within} == {path}

    @pytest.mark.parametrize(
        ("first", "path"),
        [
            ("<td>12</td><td>34</td>", ()),
            ("<td>Host</td><td>Watts</td>", ("Host | Watts",)),
            ("<th>2019</th><th>2020</th>", ("2019 | 2020",)),
        ],
    )
    def test_figures_in_the_first_row_in_html_are_no_names(self, first: str, path: tuple[str, ...]) -> None:
        body = "".join(f"<tr>\n<td>{row}</td>\n<td>{row * 3}</td>\n</tr>\n" for row in range(60))
        chunks = cut(f"<table>\n<tr>{first}</tr>\n{body}</table>\n")
        assert len(chunks) > 2
        assert {each.heading_path for each in chunks[1:]} == {path}

    def test_a_title_over_all_columns_is_a_caption(self) -> None:
        chunks = cut(f"| Budget 2024 | | |\n|---|---|---|\n| Item | Plan | Spent |\n{rows(40)}")
        assert chunks[1].heading_path == ("Budget 2024", "Item | Plan | Spent")

    def test_a_row_of_words_is_no_second_row_of_names(self) -> None:
        chunks = cut(f"| Name | City | Note |\n|---|---|---|\n| Ann | Rome | late |\n{rows(40)}")
        assert chunks[1].heading_path == ("Name | City | Note",)

    def test_a_row_that_fits_is_not_cut_and_names_give_way(self) -> None:
        names = [f"a rather long name {column}" for column in range(4)]
        body = [f"| {' | '.join(f'{row} ' + 'word ' * 11 for _ in range(4))} |" for row in range(6)]
        chunks = cut(f"| {' | '.join(names)} |\n|---|---|---|---|\n" + "\n".join(body) + "\n")
        assert [line for each in chunks for line in each.text.split("\n")][2:] == [line.strip() for line in body]
        assert all(each.heading_path[0].endswith("…") for each in chunks[1:])

    def test_of_too_many_names_those_stand_there_whose_cells_do(self) -> None:
        text = " | ".join(f"name{column}" for column in range(400)) + "\n"
        text += "".join(" | ".join(f"r{row}c{cell}" for cell in range(400)) + "\n" for row in range(3))
        for each in cut(text, kind="text", language="csv"):
            if each.start > text.index("r0c0"):
                cells = [int(cell.partition("c")[2]) for cell in each.text.replace("|", " ").split()]
                assert f"name{cells[0]} " in f"{each.heading_path[-1]} "
                assert len(each.header.split()) <= 20

    def test_a_cut_row_repeats_its_first_cell(self) -> None:
        row = " | ".join([f"Row{number}" if not cell else "word " * 9 for number in [7] for cell in range(20)])
        for each in cut(
            "Key | " + " | ".join(f"n{one}" for one in range(19)) + f"\n{row}\n", kind="text", language="csv"
        ):
            assert "Key" in each.text or "Row7" in shown(each)

    @pytest.mark.parametrize("first", ["Year | 2019 | 2020", "Name | Age | City", "Host | Since | Place"])
    def test_rows_of_csv_repeat_the_first_one(self, first: str) -> None:
        text = first + "\n" + "".join(f"a{row} | {row} | town {row}\n" for row in range(60))
        assert all(first in shown(each) for each in cut(text, kind="text", language="csv"))

    @pytest.mark.parametrize("comments", ["# made by a program\n", "// one\n// two\n", "; a | b\n"])
    def test_comments_above_a_table_are_no_names(self, comments: str) -> None:
        text = f"{comments}Name | Age | City\n" + "".join(f"a{row} | {row} | town {row}\n" for row in range(60))
        chunks = cut(text, kind="text", language="csv")
        assert all("Name | Age | City" in shown(each) for each in chunks)
        assert chunks[0].text.startswith(comments)

    @pytest.mark.parametrize(
        "above", ["Staff of 2024\n", "Staff of 2024\nBy: office\n\n", "Staff of 2024 |  |\nBy | office |\n |  |\n"]
    )
    def test_lines_above_a_table_are_no_names_but_what_it_is(self, above: str) -> None:
        text = f"{above}Name | Age | City | Post\n" + "".join(f"a{row} | {row} | t{row} | p\n" for row in range(60))
        chunks = cut(text, kind="text", language="csv")
        assert {each.heading_path for each in chunks[1:]} == {("Staff of 2024", "Name | Age | City | Post")}

    def test_names_are_not_taken_for_a_line_above_where_rows_are_longer(self) -> None:
        text = "Name | Age\n" + "".join(f"a{row} | {row} | t{row} | p | q\n" for row in range(60))
        assert all(each.heading_path == ("Name | Age",) for each in cut(text, kind="text", language="csv")[1:])

    @pytest.mark.parametrize("names", ["# | Name | City", "#id | Name | City"])
    def test_names_may_begin_with_a_sign(self, names: str) -> None:
        text = f"{names}\n" + "".join(f"{row} | a{row} | town {row}\n" for row in range(60))
        assert all(names[2:] in shown(each) for each in cut(text, kind="text", language="csv"))

    def test_figures_are_no_names(self) -> None:
        text = "".join(f"{row} | {row * 3} | {row}.5\n" for row in range(60))
        assert {each.heading_path for each in cut(text, kind="text", language="csv")} == {()}

    @given(columns=st.integers(1, 8), count=st.integers(1, 30), size=st.integers(30, 80), words=st.integers(1, 4))
    @settings(max_examples=60)
    def test_every_chunk_has_the_names_and_no_row_is_cut_where_it_fits(
        self, columns: int, count: int, size: int, words: int
    ) -> None:
        names = [f"name{column}" for column in range(columns)]
        lines = [f"| {' | '.join(f'{row}.{cell} ' + 'w ' * words for cell in range(columns))}|" for row in range(count)]
        text = f"| {' | '.join(names)} |\n|{'---|' * columns}\n" + "\n".join(lines) + "\n"
        chunks = cut(text, size)
        least = len(f"{names[0]} …".split())
        for each in chunks:
            assert any(name in shown(each) for name in names)
            assert 3 * len(each.header.split()) <= size
        for line in lines:
            if len(line.split()) + least < size:
                assert any(line.strip() in each.text for each in chunks)


class TestRecords:
    YAML = "hosts:\n" + "".join(f"  - name: box{one}\n    ip: 10.1.{one}.7\n    rack: r{one}\n" for one in range(40))

    def test_a_record_that_fits_is_not_cut_and_the_keys_above_are_said(self) -> None:
        for each in cut(self.YAML, kind="text", language="yaml"):
            assert each.text.count("name: ") == each.text.count("rack: ")
            assert "hosts" in shown(each)

    def test_a_large_record_repeats_its_keys_and_those_above(self) -> None:
        many = "".join(f"            - key: K{one}\n              value: v{one}\n" for one in range(40))
        text = (
            "spec:\n  template:\n    containers:\n      - image: a\n        name: db\n      - name: web\n        env:\n"
        )
        text += many
        paths = {each.heading_path for each in cut(text, kind="text", language="yaml")[1:]}
        assert paths == {("spec.template.containers[1] name: web", "env")}

    def test_documents_of_one_file_say_what_they_are(self) -> None:
        keys = "".join(f"  key{one}: value\n" for one in range(60))
        text = "---\n".join(
            f"kind: Service\nmetadata:\n  labels: {{a: b}}\n  name: s{one}\nspec:\n{keys}" for one in range(2)
        )
        found = [each.heading_path for each in cut(text, kind="text", language="yaml")]
        assert ("kind: Service, name: s0", "spec") in found
        assert ("kind: Service, name: s1", "spec") in found

    @pytest.mark.parametrize(
        ("key", "value"), [("invoice_id", "INV-7"), ("orderId", "9"), ("slug", "a-b"), ("Title", "T")]
    )
    def test_what_names_a_record_is_found(self, key: str, value: str) -> None:
        words = "".join(f"  w{one}: some words\n" for one in range(60))
        text = f"- a: 1\n- z: 1\n  {key}: {value}\n{words}"
        assert cut(text, kind="text", language="json")[-1].heading_path == (f"[1] {key}: {value}",)

    @pytest.mark.parametrize("language", ["json", "yaml"])
    def test_a_large_record_of_one_line_repeats_its_keys(self, language: str) -> None:
        notes = " ".join(f"word{one}" for one in range(90))
        text = "".join(f"- name: box{one}, notes: {notes}, ip: 10.1.{one}.7\n" for one in range(5))
        for each in cut(text, kind="text", language=language):
            ends = [one for one in range(5) if f"10.1.{one}.7" in each.text]
            assert all(f"box{one}" in shown(each) for one in ends)

    def test_tables_of_toml_are_records(self) -> None:
        text = "".join(f"[[fruit]]\nname = 'f{one}'\n" + "".join(f"k{n} = 1\n" for n in range(30)) for one in range(3))
        chunks = cut(text, kind="text", language="toml")
        assert all(f"f{place}" in shown(each) for place, each in zip([0, 0, 1, 1, 2, 2], chunks, strict=True))

    def test_sections_of_ini_are_said(self) -> None:
        text = "".join(f"; about {one}\n[part {one}]\n" + "".join(f"k{n} = 1\n" for n in range(30)) for one in range(3))
        for each in cut(text, kind="text", language="ini"):
            assert "[part" in each.text or each.heading_path[0].startswith("part")


class TestLists:
    def test_an_item_repeats_its_parents(self) -> None:
        inner = "".join(f"   - step {one} has some words to say\n" for one in range(30))
        text = f"Do as follows:\n\n1. Stop\n2. Install **the agent**\n{inner}3. Start\n"
        found = [each.heading_path for each in cut(text) if each.text.startswith("   - step")]
        assert found
        assert set(found) == {("Do as follows", "2. Install the agent")}

    def test_the_rest_of_a_long_item_says_how_it_began(self) -> None:
        item = "* Anna said: " + " ".join(f"This is sentence {one}." for one in range(60))
        assert all("Anna said" in shown(each) for each in cut(f"* Bob\n{item}\n"))


class TestCode:
    @pytest.mark.parametrize(
        ("language", "head", "line", "end", "said"),
        [
            ("python", "class A:\n    def go(self, b: int):", "        x{} = f({})", "", "def go(self, b: int)"),
            ("c", "static int go(struct x *a,\n\tint b)\n{", "\tf({}, {});", "}", "static int go(struct x *a, int b)"),
            ("go", "package x\n\nfunc (r *R) Go(a int) error {", "\tf({}, {})", "}", "func (r *R) Go(a int) error"),
            ("javascript", "const f = async (a, b) => {", "  f({}, {});", "};", "f = async (a, b) =>"),
            ("java", "class A {\n  public void go(int a) {", "    f({}, {});", "  }\n}", "public void go(int a)"),
        ],
    )  # fmt: skip
    def test_a_long_function_repeats_its_signature(
        self, language: str, head: str, line: str, end: str, said: str
    ) -> None:
        text = f"{head}\n" + "\n".join(line.format(one, one) for one in range(80)) + f"\n{end}\n"
        chunks = cut(text, kind="code", language=language)
        assert len(chunks) > 2
        assert all(each.heading_path[-1] == said for each in chunks[1:])


class TestLeastSize:
    def test_smaller_chunks_are_joined_to_their_neighbours(self) -> None:
        text = "# Top\n\n" + "".join(f"## Part {one}\n\n{'word ' * 60}.\n\n" for one in range(12))
        assert min(each.token_count for each in cut(text, 200)) < 80
        assert min(each.token_count for each in cut(text, 200, min_size=80)) >= 80

    def test_a_document_smaller_than_that_is_kept(self) -> None:
        assert [each.text for each in cut("Few words.", 200, min_size=50)] == ["Few words."]


class TestHostile:
    @pytest.mark.parametrize(
        ("text", "kind", "language"),
        [
            (lambda n: "| " + "a | " * n + "\n|" + "-|" * n + "\n| " + "b | " * n, "markdown", None),
            (lambda n: "a,b|" * n + "\n" + "c | " * n, "text", "csv"),
            (lambda n: "- " * n + "x", "text", "yaml"),
            (lambda n: "[" * n + "\n" + "[[a]]\n" * (n // 8), "text", "toml"),
            (lambda n: "[[a.b]]\nname = 'x'\n" * (n // 4), "text", "toml"),
            (lambda n: "---\n" * n, "text", "yaml"),
            (lambda n: '"' * (4 * n), "text", "yaml"),
            (lambda n: "# N\n\nN/A\n\n" * (n // 8), "markdown", None),
            (lambda n: "<table><tr><th>a</th></tr><tr>" * (n // 8), "markdown", None),
            (lambda n: "<table>\n<tr><td>" * (n // 4) + "</table>\n" * (n // 4), "markdown", None),
            (lambda n: "<table>" + "<tr>" * n + "<td" * n, "markdown", None),
            (lambda n: "<table>\n<tr><td>a</td></tr>\n\n" * (n // 8), "markdown", None),
            (lambda n: f"id{' ' * n}name\n" * 5, "text", None),
            (lambda n: f"a b\n{'-- ' * n}x\n{'--|' * n}x\n", "text", None),
            (lambda n: "a) b\n  - c\n" * (n // 2), "text", None),
        ],
    )
    def test_takes_time_by_its_length(self, text: Callable[[int], str], kind: Any, language: str | None) -> None:
        def cut_up(made: str) -> None:
            chunks = chunk(Document(made, "", kind, language), Sizing(200, 0, word_starts))
            assert all(each.token_count <= 200 for each in chunks)

        assert_linear(cut_up, text, 20_000)

    @pytest.mark.parametrize(
        ("step", "item", "kind", "language"),
        [(" ", "k{}:\n", "text", "yaml"), ("  ", "- item {}\n", "markdown", None)],
    )
    def test_depth_takes_time_by_its_length(self, step: str, item: str, kind: Any, language: str | None) -> None:
        def text(chars: int) -> str:  # as deep again is four times as long
            return "".join(step * depth + item.format(depth) for depth in range(int(chars**0.5)))

        assert_linear(
            lambda made: chunk(Document(made, "", kind, language), Sizing(200, 0, word_starts)), text, 1_000_000
        )


PIECES = ["- a: 1\n", "  b: c\n", "key:\n", "  - name: x\n", "    id: y\n", "# note\n", "\n", "---\n", "[s]\n",
          "[[t]]\n", "k = [\n", "]\n", "x = 1\n", "a | b | c\n", "1 | 2\n",
          " | \n", "'", '"', ": ", "word " * 8, "é"]  # fmt: skip


@pytest.mark.parametrize("language", ["yaml", "json", "xml", "toml", "ini", "csv"])
@given(pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=60), size=st.integers(2, 60))
@settings(max_examples=60)
def test_data_loses_nothing_and_keeps_the_budget(language: str, pieces: list[str], size: int) -> None:
    cut("".join(pieces).replace("\r", " "), size, kind="text", language=language)


@given(pieces=st.lists(st.sampled_from(["| a | b |\n", "|---|---|\n", "| c |\n", "- x\n", "  - y y y\n", "Lead:\n",
                                        "\n", "| \\| | d e |\n", "# H\n", "N/A\n", "word " * 9]), max_size=60),
       size=st.integers(4, 400))  # fmt: skip
@settings(max_examples=100)
def test_the_budget_holds_in_characters_too(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    for each in chunk(Document(text, "Title"), Sizing(size, size // 4, char_starts)):
        assert len(each.embedded_text) == each.token_count <= size
        assert text[each.start : each.end] == each.text


class TestPlainText:
    ROWS = tuple(f"cell{one}" for one in range(30))

    def test_grids_of_rst_repeat_their_names(self) -> None:
        border = "+----------+----------+\n"
        text = f"Top\n===\n\n.. table:: All hosts\n\n{border}| Host     | Place    |\n+==========+==========+\n"
        text += "".join(f"| {row:<8} | {row:<8} |\n{border}" for row in self.ROWS)
        for each in cut(text, kind="text", language="rst"):
            assert all(name in shown(each) for name in ("Host", "Place", "All hosts", "Top"))

    def test_simple_tables_of_rst_repeat_their_names(self) -> None:
        border = "========  ==========\n"
        text = (
            f"{border}Host      Place of it\n{border}" + "".join(f"{row:<9} {row} x y\n" for row in self.ROWS) + border
        )
        chunks = cut(text, kind="text", language="rst")
        assert len(chunks) > 2
        assert all("Host | Place of it" in shown(each) for each in chunks[1:])
        assert all(line.endswith("x y") for each in chunks[1:-1] for line in each.text.split("\n"))

    def test_list_tables_of_rst_repeat_their_names_and_keep_rows(self) -> None:
        text = ".. list-table:: All hosts\n   :header-rows: 1\n\n   * - Host\n     - Place\n"
        text += "".join(f"   * - {row}\n     - {row}\n" for row in self.ROWS)
        for each in cut(text, kind="text", language="rst"):
            assert all(name in shown(each) for name in ("Host", "Place", "All hosts"))
            assert all(each.text.count(row) in (0, 2) for row in self.ROWS if f"{row}\n" in f"{each.text}\n")

    def test_csv_tables_of_rst_repeat_their_names(self) -> None:
        text = '.. csv-table:: All hosts\n   :header: Host, "Place, of it"\n\n'
        text += "".join(f"   {row}, {row}, a b c\n" for row in self.ROWS)
        for each in cut(text, kind="text", language="rst"):
            assert all(name in shown(each) for name in ("Host", "Place, of it", "All hosts"))

    @pytest.mark.parametrize("cell", ["x" * 140_000, "a\rb"])
    def test_csv_tables_of_rst_keep_cells_that_csv_refuses(self, cell: str) -> None:
        text = f".. csv-table:: Hosts\n   :header-rows: 1\n\n   Host, {cell}\n   db1, end\n"
        chunks = cut(text, kind="text", language="rst")
        assert "".join("".join(each.text.split()) for each in chunks) == "".join(text.split())

    @pytest.mark.parametrize(
        ("head", "row", "names"),
        [
            ("Name      Age   City\n--------  ----  ------\n", "N{0}       {0}    C{0}\n", "Name | Age | City"),
            ("| Name | Age |\n|:-----|----:|\n", "| N{0} | {0} |\n", "Name | Age"),
            (" name | age \n------+-----\n", " n{0} | {0} \n", "name | age"),
        ],
    )
    def test_tables_in_plain_text_repeat_their_names(self, head: str, row: str, names: str) -> None:
        rows = [row.format(number) for number in range(60)]
        chunks = cut(f"What follows is a table.\n\n{head}{''.join(rows)}\nThe end.\n", kind="text")
        assert len(chunks) > 2
        assert all(each.heading_path == (names,) for each in chunks[1:])
        assert all(sum(line.strip() in each.text.split("\n") for each in chunks) <= 1 for line in rows)

    def test_framed_tables_in_plain_text_repeat_their_names(self) -> None:
        border = "+------+-----+\n"
        rows = "".join(f"| N{number} | {number} |\n" for number in range(60))
        chunks = cut(f"{border}| Name | Age |\n{border}{rows}{border}", 80, kind="text")
        assert all(each.heading_path == ("Name | Age",) for each in chunks[1:])

    def test_rules_that_end_nothing_make_no_table(self) -> None:
        text = "-- --\n\n" + "some words\n\n-- --\n\n" * 40
        assert all(each.heading_path == () for each in cut(text, kind="text"))

    @pytest.mark.parametrize("language", [None, "rst"])
    def test_items_of_lists_repeat_their_parents(self, language: str | None) -> None:
        text = "1. Stop it\n2. Install the agent\n" + "".join(f"   - step {one} some words\n" for one in range(40))
        chunks = cut(text, kind="text", language=language)
        assert all("2. Install the agent" in shown(each) for each in chunks)
        assert all(each.text.lstrip().startswith("- step") for each in chunks[1:])


@given(pieces=st.lists(st.sampled_from(["+---+---+\n", "| a | b |\n", "+===+===+\n", "===  ===\n", "a    b\n", "\n",
                                        ".. table:: T\n", ".. list-table::\n", "   :header-rows: 1\n", "   * - x\n",
                                        "     - y\n", "- i\n", "  - j k\n", ".. csv-table:: C\n", "   a,b\n",
                                        "T\n=\n"]),
                       max_size=60), size=st.integers(4, 60))  # fmt: skip
@settings(max_examples=100)
def test_rst_loses_nothing_and_keeps_the_budget(pieces: list[str], size: int) -> None:
    cut("".join(pieces), size, kind="text", language="rst")


STEPS = [f"Step{n}(speed * {n});" for n in range(80)]


@pytest.mark.parametrize(
    ("language", "lines", "labels"),
    [
        (
            "csharp",
            ["namespace Birds", "{", "  class Heron {", "    void Fly(int a)", "    {", *STEPS, "    }", "  }", "}"],
            ("namespace Birds", "class Heron", "void Fly(int a)"),
        ),
        ("ruby", ["class Heron", "  def fly(speed)", *STEPS, "  end", "end"], ("class Heron", "def fly(speed)")),
        ("php", ["class Heron {", "  function fly($a) {", *STEPS, "  }", "}"], ("class Heron", "function fly($a)")),
        ("hcl", ['resource "aws_vpc" "main" {', *STEPS, "}"], ('resource "aws_vpc" "main"',)),
        ("shell", ["deploy() {", *STEPS, "}"], ("deploy()",)),
        ("kotlin", ["fun fly(a: Int) {", "  if (a > 1) {", *STEPS, "  }", "}"], ("fun fly(a: Int)",)),
    ],
)
def test_blocks_of_code_without_a_grammar_repeat_what_opens_them(
    language: str, lines: list[str], labels: tuple[str, ...]
) -> None:
    text = "\n".join(f"      {line}" if line in STEPS else line for line in lines) + "\n\nlast = 1\n"
    chunks = cut(text, kind="code", language=language)
    inner = [each for each in chunks if each.start and "Step" in each.text]
    assert len(inner) > 2
    assert {each.heading_path for each in inner} == {labels}
    assert all(each.heading_path == () for each in chunks if each.text.startswith("last"))


@pytest.mark.parametrize(
    ("language", "head", "between", "label"),
    [
        ("csharp", "void Fly(int a)\n{", "#if DEBUG\n      Log();\n#endif\n", "void Fly(int a)"),
        ("csharp", "void Fly(int a)\n{", "// off\n/* off\n * too\n */\nagain:\n", "void Fly(int a)"),
        (
            "shell",
            "deploy() {",
            "      cat <<EOF\nUsage of it\n  all\n" + "  Step by step\n" * 80 + "EOF\n",
            "deploy()",
        ),
        ("shell", "deploy() {", "      cat <<-'END_OF'\nUsage of it\n\tEND_OF\n", "deploy()"),
        ("php", "function fly($a) {", "      $x = <<<EOT\nUsage of it\nEOT;\n", "function fly($a)"),
        ("ruby", "def fly(a)", "# old\n      x <<missing\n", "def fly(a)"),
        ("ruby", "def fly(a)", "      class << self\n      list << item\n      item\n      self\n", "def fly(a)"),
        ("lua", "function fly(a)", "-- old\n", "function fly(a)"),
        ("pascal", "PROC foo\nBEGIN", "", "PROC foo"),
    ],
)
def test_a_line_at_the_margin_that_goes_on_ends_no_block(language: str, head: str, between: str, label: str) -> None:
    steps = "".join(f"      {step}\n" for step in STEPS)
    text = f"{head}\n      begin(1);\n{between}{steps}END;\n# About the next one\nnext = 1\n"
    chunks = cut(text, kind="code", language=language)
    assert {each.heading_path for each in chunks if each.text.lstrip().startswith("Step")} == {(label,)}


def test_a_comment_between_two_blocks_is_of_the_next_one() -> None:
    comment = "".join(f"# word{n} of the comment\n" for n in range(40))
    body = "".join(f"      {step}\n" for step in STEPS)
    chunks = cut(f"def one(a)\n{body}end\n\n{comment}def two(b)\n{body}end\n", kind="code", language="ruby")
    paths = [each.heading_path for each in chunks if each.text.startswith("# word")]
    assert paths
    assert set(paths) == {()}


@pytest.mark.parametrize("first", ["makefile clean:", "asm _start:", "css #header {", "perl %names = ("])
def test_labels_and_selectors_name_blocks_where_they_open_them(first: str) -> None:
    language, _, first = first.partition(" ")
    body = "".join(f"\t{step}\n" for step in STEPS)
    chunks = cut(f"all: clean\n\tone\n\ttwo\n{first}\n{body}", kind="code", language=language)
    assert {each.heading_path for each in chunks[1:]} == {(first.rstrip(" {:("),)}


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "  {\n" * n,
        lambda n: "".join(f"{' ' * (at % 190)}ab\n" for at in range(n)),
        lambda n: "a\n" * n,
        lambda n: "x <<A b\n" * n,
        lambda n: "x <<A b\n" * n + "A\n",
        lambda n: "f(1)\n" + "  #\n# {\n" * (n // 2),
    ],
)
def test_hostile_indentation_takes_linear_time(text: Callable[[int], str]) -> None:
    assert_linear(lambda made: chunk(Document(made, "", "code", "ruby"), Sizing(200, 0, word_starts)), text, 12_000)
