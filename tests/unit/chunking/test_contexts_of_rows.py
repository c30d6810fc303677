"""Rows of SQL dumps, tables between bars and long listings repeat what identifies them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear import assert_linear

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import word_starts
from pinakes.core.records import Chunk, Document, DocumentKind


def cut(text: str, kind: DocumentKind = "text", language: str | None = None, size: int = 60) -> list[Chunk]:
    return chunk(Document(text, "Notes", kind=kind, language=language), Sizing(size, 0, word_starts))


def headers(chunks: list[Chunk]) -> list[str]:
    return [each.header for each in chunks[1:]]


@pytest.mark.parametrize(
    ("head", "row", "end", "names"),
    [
        (
            "INSERT INTO beasts (id, kind) VALUES\n",
            "({}, 'quoll {}'),\n",
            ";\n",
            "INSERT INTO beasts (id, kind) VALUES",
        ),
        (
            "insert into `b` (`id`, `kind`)\nvalues\n",
            "  ({}, 'emu {}'),\n",
            ";\n",
            "insert into `b` (`id`, `kind`) values",
        ),
        (
            "COPY public.beasts (id, kind) FROM stdin;\n",
            "{}\tquoll {}\n",
            "\\.\n",
            "COPY public.beasts (id, kind) FROM",
        ),
    ],
)
def test_rows_of_a_dump_repeat_their_table_and_columns(head: str, row: str, end: str, names: str) -> None:
    rows = "".join(row.format(at, at) for at in range(120))
    chunks = cut(f"{head}{rows}{end}\nSELECT * FROM other;\n", "code", "sql")
    within = [each for each in chunks[1:] if "SELECT" not in each.text]
    assert len(within) > 3
    assert all(names in each.header for each in within)
    assert not any(names in each.header for each in chunks if each.text.startswith("SELECT"))


@pytest.mark.parametrize("indent", ["", "      "])
def test_tables_between_bars_repeat_their_column_names(indent: str) -> None:
    rows = "".join(f"{indent}| {at} | fine{at} |\n" for at in range(100))
    chunks = cut(f"Feature: Cash\n\n  Examples:\n{indent}| amount | result |\n{rows}\n  Scenario: other\n")
    of_rows = [each for each in chunks[1:] if "fine" in each.text and "amount" not in each.text]
    assert len(of_rows) > 3
    assert all("amount | result" in each.header for each in of_rows)
    assert all(line.count("|") in (0, 3) for each in chunks for line in each.text.split("\n"))


@pytest.mark.parametrize(
    "step", ["  Given these users", "* these:", "    Scenarios: of users\n    # note\n", "Beispiele:"]
)
def test_tables_below_steps_repeat_their_column_names(step: str) -> None:
    table = "      | user | mail |\n" + "".join(f"      | emu{at} | e{at}@zoo.example |\n" for at in range(80))
    assert all("user | mail" in each.header for each in cut(f"{step}\n{table}")[1:])


LEVELS = ("INFO", "WARN", "DEBUG", "ERROR")


@pytest.mark.parametrize(
    "text",
    [
        "| 1 | 2 |\n| 3 | 4 |\n" * 60,
        "| a |\n" * 200,
        "| one | two |\n| three |\n" * 60,
        "".join(f"| INFO | started worker {at} |\n" for at in range(80)),
        "The log:\n" + "".join(f"    | {LEVELS[at % 4]} | worker {at} |\n" for at in range(80)),
        "Examples:\n" + "".join(f"    | {LEVELS[at % 4]} | worker {at} |\n" for at in range(80)),
        "Board:\n" + "| x | o | x |\n| o | x | o |\n" * 60,
        "Drawing\n" + "| Client one | Server two |\n| ask for it | give it |\n" * 60,
    ],
)
def test_bars_without_column_names_are_no_table(text: str) -> None:
    assert set(headers(cut(text))) == {"Notes"}


@pytest.mark.parametrize("framed", [True, False])
def test_tables_of_database_clients_keep_their_column_names(framed: bool) -> None:
    rule = "+-----+------+\n" if framed else "-----+------\n"
    edge = "|" if framed else ""
    body = "".join(f"{edge} {at} | emu{at} {edge}\n" for at in range(80))
    text = f"{rule if framed else ''}{edge} id | name {edge}\n{rule}{body}{rule if framed else '(80 rows)'}"
    assert all("id | name" in each.header for each in cut(text)[1:])


@pytest.mark.parametrize(
    ("fence", "first", "line"),
    [
        ("```python", "def total(rate, year):", "    v{0} = get({0}) * rate"),
        ("~~~", "deploy_quoll() {{", "  kubectl apply -f {0}.yaml"),
        ("   ```yaml", "   containers:", "     key{0}: value {0}"),
    ],
)
def test_a_listing_of_markdown_repeats_what_opens_its_blocks(fence: str, first: str, line: str) -> None:
    body = "\n".join(line.format(at) for at in range(80))
    opening = first.format()
    chunks = cut(
        f"# Guide\n\n{fence}\n{opening}\n{body}\n{fence.rstrip('abcdefghijklmnopqrstuvwxyz')}\n\nEnd of it.\n",
        "markdown",
    )
    within = [each for each in chunks[1:] if "End of it" not in each.text]
    assert len(within) > 2
    assert all(opening.strip(" {:(") in each.header for each in within)
    assert "total" not in chunks[-1].header or "End of it" not in chunks[-1].text.split("\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        "~~~ " + "word " * 500,
        "``` py\n" + "word " * 500,
        "- ~~~ " + "word " * 500 + "\n\nnext\n",
        "> ``` " + "word " * 500,
        "a\n\n~~~\n" + "word\n" * 300 + "~~",
        "```\n" + "word\n" * 300 + "```",
        "```\n" + "word\n" * 300 + "~~~\n",
    ],
)
def test_a_fence_of_any_end_is_cut(text: str) -> None:
    chunks = cut(text, "markdown")
    assert sum(each.text.count("word") for each in chunks) == text.count("word")


@pytest.mark.parametrize("closing", ["", "\n", "\n```", "\n```\n", "\n````\n", "\n~~~\n"])
def test_the_last_line_of_an_open_listing_has_its_block(closing: str) -> None:
    last = " ".join(f"last{at}" for at in range(50))
    text = "```python\ndef total(rate):\n" + "    step = 1\n" * 40 + f"    {last}{closing}"
    chunks = cut(text, "markdown")
    assert all("total" in each.header for each in chunks[1:] if "last" in each.text)


@pytest.mark.parametrize("info", ["diff", "patch", "diff-python", "Diff title=x", "console", "text", "{.console}", ""])
def test_lines_of_patches_and_consoles_name_no_blocks(info: str) -> None:
    body = "".join(f" old words {at}\n" for at in range(60))
    for first in ("+new words:", "-old ones {", "$ make all", "Output of it"):
        chunks = cut(f"# Guide\n\n```{info}\n{first}\n{body}```\n", "markdown")
        assert not any(first[1:].rstrip(":{ ") in each.header for each in chunks)


def test_many_listings_take_linear_time() -> None:
    listing = "```\n" + "cat <<EOF\n" + "echo some words\n" * 20 + "```\n\n"
    assert_linear(lambda text: cut(text, "markdown"), lambda n: listing * n, 800)


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "INSERT INTO a (b) VALUES\n",
                "(1, 'x'),\n",
                ";\n",
                "COPY t (a) FROM stdin;\n",
                "\\.\n",
                "```\n",
                "~~~ py\n",
            ),
            *(
                "def f(x):\n",
                "    y = 1\n",
                "| a | b |\n",
                "| 1 | 2 |\n",
                "|--|--|\n",
                "\n",
                "words\n",
                "# Head\n",
                "> ```\n",
                "~~~ " + "word " * 30,
                "- ```sql\n",
                "```diff\n+a\n b\n",
                "cat <<EOF\n",
                "EOF\n",
                "  Examples:\n",
                "| INFO | a |\n",
                "+---+---+\n",
                "GO\n",
                "('it\\'s', ';'),\n",
                "  (1, (2)),\n",
                "/* ",
                "DELIMITER $$\n",
                "----\n",
                "|===\n",
                ".. code::\n\n",
                "\\begin{verbatim}\n",
            ),
        ]
    ),
    max_size=60,
)


KINDS: list[tuple[DocumentKind, str | None]] = [
    ("text", None),
    ("code", "sql"),
    ("code", "shell"),
    ("markdown", None),
    ("text", "asciidoc"),
    ("text", "rst"),
    ("text", "latex"),
]


@settings(max_examples=60, deadline=None)
@given(PIECES, st.integers(8, 40), st.sampled_from(KINDS))
def test_nothing_is_lost_and_the_budget_holds(
    pieces: list[str], size: int, kind: tuple[DocumentKind, str | None]
) -> None:
    text = "".join(pieces)
    chunks = cut(text, *kind, size)
    assert all(text[each.start : each.end] == each.text and each.token_count <= size for each in chunks)
    found = " ".join(each.embedded_text for each in chunks)
    assert all(word in found for word in text.split() if word.isalnum())


@pytest.mark.parametrize(
    "text", ["INSERT INTO a (b) VALUES\n" * 20_000, "| a | b |\n\n" * 40_000, "INSERT INTO a (" * 20_000]
)
def test_hostile_rows_are_cut(text: str) -> None:
    assert cut(text, "code", "sql")
    assert cut(text)


def test_lines_that_a_blank_line_parts_from_a_table_describe_it() -> None:
    rows = "".join(f"{at} | station {at} | north\n" for at in range(80))
    table = f"Report of stations\nCreated | 2024-05-01\n\nid | name | place\n{rows}"
    chunks = cut(table, language="csv")
    assert len(chunks) > 3
    assert all("id | name | place" in one for one in headers(chunks))
