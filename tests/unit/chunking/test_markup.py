"""AsciiDoc and LaTeX: sections, tables with their column names, cuts between rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear import assert_linear

from pinakes import parsing
from pinakes.chunking import Sizing, chunk, headings
from pinakes.chunking.sizing import word_starts
from pinakes.core.records import Chunk, Document


def read(text: str, path: str) -> Document:
    return parsing.read(text.encode(), path, max_chars=10**8)


def cut(text: str, path: str, size: int = 60) -> list[Chunk]:
    document = read(text, path)
    chunks = chunk(document, Sizing(size, 0, word_starts))
    assert all(document.text[each.start : each.end] == each.text and each.token_count <= size for each in chunks)
    assert "".join("".join(each.text for each in chunks).split()) == "".join(text.split())
    return chunks


LINES = "".join(f"|r{row} |b{row} |c{row}\n" for row in range(60))
CELLS = "".join(f"\n|r{row}\n|b{row}\n|c{row}\n" for row in range(60))


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (f".Hosts\n|===\n|Host |Watts |Place\n\n{LINES}|===\n", "Host | Watts | Place"),
        (f'.Hosts\n[cols="1,1,2a",options="header"]\n|===\n|Host |Watts |Place\n{LINES}|===\n', "Host | Watts | Place"),
        (f"[[id]]\n.Hosts\n[%header,cols=3*]\n|===\n|Host\n|Watts\n|Place\n{CELLS}|===\n", "Host | Watts | Place"),
        (f".Hosts\n[%header,cols=3*]\n|===\n|*Host* 2+^|Size\n{LINES}|===\n", "Host | Size | Size"),
        (".Hosts\n,===\nHost,Watts\n\n" + "".join(f'r{n},"w {n}"\n' for n in range(60)) + ",===\n", "Host | Watts"),
        (
            ".Hosts\n[%header,format=csv]\n|===\nHost,Watts\n" + "".join(f"r{n},w{n}\n" for n in range(60)) + "|===\n",
            "Host | Watts",
        ),
    ],
)
def test_a_table_of_asciidoc_repeats_its_caption_and_column_names(table: str, names: str) -> None:
    chunks = cut(f"= Plant\n\n== Inventory\n\n{table}\nThe end.\n", "a.adoc")
    assert len(chunks) > 1
    for each in chunks[1:]:
        assert each.heading_path == ("Plant", "Inventory", "Hosts", names)
        assert each.text.lstrip("|").startswith("r")


def test_rows_of_asciidoc_without_column_names_stay_rows() -> None:
    for each in cut(f"|===\n{LINES}|===\n", "a.adoc"):
        assert each.heading_path == ()
        assert each.text.startswith("|")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("= Top\n\n== One\n\na\n\n=== Deep ===\n\nb\n\n== *Two*\n\nc\n", ["Top", "One", "Deep", "Two"]),
        ("Top\n===\n\nNAME\n----\na - b\n\nSee also\n~~~~~~~~\nc\n", ["Top", "NAME", "See also"]),
        ("= Top\n\n----\n== Code\n----\n\n....\n= More\n....\n\n## Two\n\na\n", ["Top", "Two"]),
        ("= Top\n\n====\nAn example\n====\n\n|===\n|== no\n|===\n", ["Top"]),
    ],
)
def test_titles_of_asciidoc_are_headings(text: str, found: list[str]) -> None:
    document = read(text, "a.adoc")
    assert [each.title for each in headings(document)] == found
    assert document.title == "Top"


ROWS = "".join(f"r{row} & {row} & {row * 2} \\\\\n" for row in range(60))


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (f"\\begin{{tabular}}{{lrr}}\n\\hline\nHost & Watts & Cost \\$ \\\\\n\\hline\n{ROWS}", "Host | Watts | Cost $"),
        (
            "\\begin{tabular}{@{}l|rr@{}}\n\\toprule\n\\textbf{Host} & \\multicolumn{2}{c}{Load} \\\\\n"
            f"\\cmidrule(lr){{2-3}} & Low & High \\\\ \\midrule\n{ROWS}",
            "Host | Load Low | Load High",
        ),
        (f"\\begin{{tabular*}}{{5cm}}{{ l p{{3cm}} r }} Host & Watts & Cost \\\\\n{ROWS}", "Host | Watts | Cost"),
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_a_table_of_latex_repeats_its_caption_and_column_names(table: str, names: str, above: bool) -> None:
    end = table.split("{", 1)[1].split("}", 1)[0]
    body = f"{table}\\bottomrule\n\\end{{{end}}}\n"
    caption = "\\caption[short]{Hosts of \\emph{the} north}\n"
    text = f"\\begin{{table}}\n{caption if above else ''}{body}{'' if above else caption}\\end{{table}}\n"
    chunks = cut(f"\\section{{Data}}\n\n{text}\nThe end.\n", "a.tex")
    assert len(chunks) > 3
    for each in chunks[1:]:
        assert each.heading_path == ("Data", "Hosts of the north", names)
        assert each.text.startswith("r")


def test_sections_of_latex_are_headings() -> None:
    text = (
        "\\title{A \\textbf{Study}\\\\ of Gulls}\n\\begin{document}\n\\chapter{One}\na\n\\section*{Deep \\& wide}\nb\n"
        "\\begin{verbatim}\n\\section{No}\n\\end{verbatim}\n%\\section{No}\n\\chapter[short]{Two}\nc\n\\end{document}\n"
    )
    document = read(text, "a.tex")
    assert [(each.level, each.title) for each in headings(document)] == [(1, "One"), (2, "Deep & wide"), (1, "Two")]
    assert (document.title, document.kind, document.language) == ("A Study of Gulls", "text", "latex")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("\\section{The \\texorpdfstring{$\\mathbb{R}$}{R} case}", "The R case"),
        ("\\section{A {\\bf b {c}} d}", "A b c d"),
        ("\\section{A title over % 1 of 2 {\n  two lines}", "A title over two lines"),
        ("\\maketitle \\section{Intro}", "Intro"),
        ("Before.\\section{Intro} % no", "Intro"),
        ("\\section {Spaced}\\label{a}", "Spaced"),
        ("\\section\n[Short]\n{Long \\{ one}", "Long { one"),
    ],
)
def test_sections_of_latex_are_found_however_they_are_written(written: str, title: str) -> None:
    text = f"\\section{{First}}\n\n{'a ' * 30}\n\n{written}\n\n{'b ' * 30}\n"
    assert [each.title for each in headings(read(text, "a.tex"))] == ["First", title]
    for each in cut(text, "a.tex"):
        assert each.heading_path == ((title,) if "b b" in each.text else ("First",))


@pytest.mark.parametrize(
    "written",
    [
        "a % \\section{No}",
        "\\verb|\\section{No}|",
        "\\renewcommand\\section{No}",
        "\\newcommand{\\s}[1]{\\section{#1}}",
        "\\\\section{No}",
        "\\section{No\n\nend}",
        f"\\section{{{'No ' * 200}}}",
    ],
)
def test_what_only_looks_like_a_section_of_latex_is_none(written: str) -> None:
    assert [each.title for each in headings(read(f"{written}\n\\section{{Yes}}\n", "a.tex"))] == ["Yes"]


def test_text_behind_a_title_of_latex_stands_under_it() -> None:
    chunks = cut(f"\\section{{One}} {'a ' * 50}\\section{{Two}} {'b ' * 50}\n", "a.tex")
    assert [each.heading_path for each in chunks] == [("One",), ("Two",)]


TABULAR = f"\\begin{{tabular}}{{lrr}}\nHost & Watts & Cost \\\\\n\\hline\n{ROWS}\\end{{tabular}}\n"
FIGURE = "\\begin{figure}\n\\caption{A cat}\n\\end{figure}\n"


@pytest.mark.parametrize(
    ("text", "captions"),
    [
        (f"{FIGURE}{TABULAR}", [""]),
        (f"{TABULAR}\\begin{{table}}\\caption{{Other}}{TABULAR}\\end{{table}}\n{TABULAR}", ["", "Other", ""]),
        (f"\\begin{{table}}\n{TABULAR}\\end{{table}}\n{FIGURE}", [""]),
        (f"\\begin{{table}}\n{TABULAR}\n\n\n\n\n\\caption{{Far {{\\it {{x}}}}}}\n\\end{{table}}\n", ["Far x"]),
        (f"\\begin{{table}}\n{TABULAR}\\caption{{A}}\n{TABULAR}\\caption{{B}}\n\\end{{table}}\n", ["A", "B"]),
        (f"\\begin{{table}}\n\\caption{{A}}\n{TABULAR}\\caption{{B}}\n{TABULAR}\\end{{table}}\n", ["A", "B"]),
        (f"\\begin{{table}}\\caption{{A}}\n{TABULAR[:-1]}\\end{{table}}\n{TABULAR}", ["A", ""]),
        (TABULAR.replace("tabular", "longtable").replace("Host", "\\caption{A}\\\\\nHost") + TABULAR, ["A", ""]),
        (f"\\begin{{table}}\n% \\caption{{No}}\n{TABULAR}\\end{{table}}\n", [""]),
        (f"\\begin{{table}}\n\\caption{{A}}\n\n\\section{{}}\n{TABULAR}", [""]),
    ],
)
def test_a_table_of_latex_has_the_caption_of_its_own_float(text: str, captions: list[str]) -> None:
    paths = [each.heading_path for each in cut(text, "a.tex") if each.text.startswith("r")]
    expected = [(caption, "Host | Watts | Cost") if caption else ("Host | Watts | Cost",) for caption in captions]
    assert [path for path, _ in groupby(paths)] == [path for path, _ in groupby(expected)]


PIECES = ["|===\n", ",===\n", "----\n", "====\n", "= A\n", "== B b\n", "|a |b\n", "2+|c\n", "\n", ".Cap\n",
          "[cols=2*]\n", "x y\n", "B\n-\n", "[%header]\n", "\\begin{tabular}{l}\n", "a & b \\\\\n",
          "\\end{tabular}\n", "\\hline\n",
          "\\section{S}\n", "\\caption{C}\n", "\\begin{verbatim}\n", "\\end{verbatim}\n",
          "\\begin{table}", "\\end{table}", " x ", "% c\n", "\\section{a\nb}", "}"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=40), st.sampled_from(["a.adoc", "a.tex"]))
@settings(max_examples=200)
def test_no_word_is_lost_whatever_stands_where(pieces: list[str], path: str) -> None:
    if "".join(pieces).strip():
        cut("".join(pieces), path, size=30)


def in_table(cell: str) -> str:
    return f"\\begin{{tabular}}{{ll}}\na & {cell} \\\\\n\\hline\nb & c \\\\\n\\end{{tabular}}\n"


@pytest.mark.parametrize(
    "text",
    [lambda n: "|===\n" * (2 * n), lambda n: "".join(f"|{'=' * (3 + at % 500)}\n" for at in range(n // 2)),
     lambda n: "|a " * (8 * n), lambda n: "----\n" * (2 * n + 1), lambda n: "a\n-\n" * (2 * n),
     lambda n: "\\begin{tabular}{l}\n" * n, lambda n: "\\section{" * n, lambda n: "{" * (8 * n),
     lambda n: "a & b \\\\\n" * (2 * n), lambda n: "```a\n" * n, lambda n: "= a" + " " * (4 * n) + "b",
     lambda n: "== a " + "[" * (4 * n), lambda n: f"[{'opts=' * n}]\n|===\n|a |b\n|===\n",
     lambda n: f"[{'options=' * (n // 2)}]\n|===\n|a |b\n|===\n",
     lambda n: "".join(f"{'-' * (4 + at % 1000)}\n" for at in range(n // 20)) + "\n" * (3 * n),
     lambda n: "".join(f"|{'=' * (3 + at % 1000)}\n" for at in range(n // 20)) + "\n" * (3 * n),
     lambda n: f",===\n{'a' * (8 * n)}\n\nb\n,===\n", lambda n: ",===\na\rb,c\n\nd\n,===\n",
     lambda n: in_table("\\\\[" * n), lambda n: in_table("\\cline(" * (n // 2)),
     lambda n: in_table("\\cline{" * (n // 2)), lambda n: in_table("\\multirow[" * n),
     lambda n: "\\section{a}" * n, lambda n: "\\section[" * n, lambda n: "\\section{a\n" * n,
     lambda n: "\\section" + " " * (4 * n), lambda n: "\\begin{table}" + "\\caption{" * n,
     lambda n: "\\begin{tabular}{l}a\\end{tabular}" * (n // 5), lambda n: "\\verb|" * n,
     lambda n: "\\section{\\texorpdfstring{" * (n // 5), lambda n: in_table("\\texorpdfstring{" * (n // 2))],
)  # fmt: skip
def test_hostile_markup_takes_linear_time(text: Callable[[int], str]) -> None:
    def cut_up(made: str) -> None:
        kind = "latex" if "\\" in made or "{" in made else "asciidoc"
        chunk(Document(made, "", "text", kind), Sizing(1000, 0, word_starts))

    assert_linear(cut_up, text, 6_000)


@pytest.mark.parametrize(
    ("above", "item", "label"),
    [
        ("* Hosts in Berlin\n", "** host {} has words\n", "Hosts in Berlin"),
        (". First step\n", "* host {} has words\n", "First step"),
        ("- Hosts\n", ".. host {} has words\n", "Hosts"),
        ("1. Hosts\n+\nA paragraph of it.\n", "** host {} has words\n", "1. Hosts"),
    ],
)
def test_items_of_asciidoc_repeat_those_above_them(above: str, item: str, label: str) -> None:
    text = f"= Plant\n\n{above}{''.join(item.format(number) for number in range(60))}\nThe end of it.\n"
    chunks = cut(text, "a.adoc")
    assert len(chunks) > 3
    assert all(each.heading_path == ("Plant", label) for each in chunks[1:])
