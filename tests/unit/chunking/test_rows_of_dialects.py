"""Statements of several dialects of SQL end where their rows do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from linear import assert_linear

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import word_starts
from pinakes.core.records import Chunk, Document


def cut(text: str) -> list[Chunk]:
    return chunk(Document(text, "", "code", "sql"), Sizing(60, 0, word_starts))


def rows(template: str) -> str:
    return ",\n".join(template.format(at) for at in range(80))


LATER = "".join(f"UPDATE later SET zebra = {at};\n" for at in range(60))
HEADS = {
    "mysql": "INSERT IGNORE INTO `my zoo`.`beasts` (`id`, `kind`) VALUES",
    "postgresql": 'INSERT INTO public."beasts" (id, kind) VALUES',
    "sqlite": "INSERT OR REPLACE INTO beasts (id, kind) VALUES",
    "mssql": "INSERT [dbo].[Zoo Beasts] ([Id], [Kind]) VALUES",
}


@pytest.mark.parametrize("separator", ["\n", "\n  "])
@pytest.mark.parametrize("dialect", HEADS)
@pytest.mark.parametrize(
    ("row", "end"),
    [
        ("({0}, 'emu {0}')", ";\n"),
        ("({0}, 'emu {0}')", "\nGO\n"),
        ("({0}, N'emu {0}')", "\n$$\n"),
        ("({0}, 'semi;')", ";\n"),
        ("({0}, 'semi; {0}\n  (and more);')", ";\n"),
        ("({0}, 'it''s {0} ;)')", "\nON CONFLICT DO NOTHING;\n"),
        ("({0}, 'it\\'s {0} ;)')", " ON DUPLICATE KEY UPDATE id = 1;\n"),
        ("({0}, 'C:\\emus\\')", ";\n"),
        ("-- it's {0};\n({0}, CAST(N'2020-01-01' AS date))", "\n;\n"),
        ("/* it's ( */ ({0}, NULL /* ' */)", " # it's\n-- done;\n"),
        ('({0}, "it\'s ;")', "\n"),
    ],
)
def test_rows_name_their_columns_and_nothing_after_them(dialect: str, separator: str, row: str, end: str) -> None:
    head = HEADS[dialect]
    written = rows(row).replace("\n(", f"{separator}(")
    chunks = cut(f"{head}{separator}{written}{end}\n{LATER}")
    of_rows = [each for each in chunks[1:] if "UPDATE later" not in each.text]
    assert len(of_rows) > 1
    assert all(each.header.count(head) == 1 for each in of_rows)
    assert not any("INSERT" in each.header for each in chunks if each.text.startswith("UPDATE"))


def test_rows_that_are_copied_end_at_their_mark() -> None:
    data = "".join(f"{at}\tINSERT INTO x (y) VALUES; emu\n" for at in range(80))
    head = "COPY public.beasts (id, kind) FROM stdin"
    chunks = cut(f"{head};\n{data}\\.\n\n{LATER}")
    assert all(head in each.header for each in chunks[1:] if "UPDATE" not in each.text)
    assert not any(each.header for each in chunks if each.text.startswith("UPDATE"))


@pytest.mark.parametrize("head", ["COPY beasts (id) FROM '/var/lib/emus.csv';", "COPY beasts (id) FROM stdin;"])
def test_a_copy_without_rows_names_nothing(head: str) -> None:
    assert not any(each.header for each in cut(f"{head}\n{LATER}"))


@pytest.mark.parametrize(
    "piece",
    [
        "INSERT INTO a (b) VALUES (1,\n",
        "INSERT INTO a (b) VALUES (/* x\n",
        "INSERT INTO a (b) VALUES ('x\n",
        "INSERT INTO a (b) VALUES (\"',`\n",
        "INSERT INTO a (b) VALUES (1), (\n",
        "INSERT INTO a (b)\n\n\n\n",
        "COPY a (b) FROM stdin;\n",
    ],
)
def test_statements_that_do_not_end_take_linear_time(piece: str) -> None:
    make: Callable[[int], str] = lambda n: piece * n  # noqa: E731
    assert_linear(cut, make, 4000)
