"""No word of a document is lost between its file and the chunks that the catalogue keeps, whatever its format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from email.message import EmailMessage
from typing import Any, Final, NamedTuple

import xlwt
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_pdf import At, printed
from small_docx import docx, paragraph
from small_epub import epub
from small_odf import opendocument
from small_pptx import pptx
from small_xlsx import xlsx

from pinakes import parsing
from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import word_starts


class Table(NamedTuple):
    names: list[str]
    rows: list[list[str]]


class Part(NamedTuple):
    """A part of a document: a heading, paragraphs below it, items of a list, and a table."""

    heading: str
    paragraphs: list[str]
    items: list[str]
    table: Table


Parts = list[Part]

LETTERS: Final = "abcdefghijklmnopqrstuvwxyzäöüßéñçøłžąğжщюяαβγδकखग中文日本한글0123456789"
RIGHT_TO_LEFT: Final = "אבגדהوابتثجح"
LEFT: Final = st.text(LETTERS, min_size=2, max_size=9).map(lambda text: f"q{text}q")
WORD: Final = LEFT | st.text(RIGHT_TO_LEFT, min_size=3, max_size=9)


@st.composite
def parts(draw: st.DrawFn, words: st.SearchStrategy[str]) -> Parts:
    phrase = st.lists(words, min_size=1, max_size=8).map(" ".join)
    found = []
    for _ in range(draw(st.integers(1, 4))):
        width = draw(st.integers(2, 4))
        row = st.lists(phrase, min_size=width, max_size=width)
        table = Table(draw(row), draw(st.lists(row, min_size=1, max_size=6)))
        listed = st.lists(phrase, min_size=1, max_size=4)
        found.append(Part(draw(phrase), draw(listed), draw(listed), table))
    return found


def each(content: Parts) -> Iterable[str]:
    for part in content:
        yield from (part.heading, *part.paragraphs, *part.items, *part.table.names)
        for row in part.table.rows:
            yield from row


def markdown(content: Parts) -> str:
    found = []
    for part in content:
        items = "\n".join(f"- {one}" for one in part.items)
        rows = [part.table.names, ["---"] * len(part.table.names), *part.table.rows]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        found += [f"# {part.heading}", *part.paragraphs, items, table]
    return "\n\n".join(found)


def html(content: Parts) -> str:
    found = []
    for part in content:
        rows = "".join(f"<tr>{''.join(f'<td>{one}</td>' for one in row)}</tr>" for row in part.table.rows)
        names = "".join(f"<th>{one}</th>" for one in part.table.names)
        found += [f"<h2>{part.heading}</h2>", *(f"<p>{one}</p>" for one in part.paragraphs)]
        found += ["<ul>", *(f"<li>{one}</li>" for one in part.items), "</ul>"]
        found.append(f"<table><tr>{names}</tr>{rows}</table>")
    return "".join(found)


def word(content: Parts) -> bytes:
    found = []
    for part in content:
        found += [paragraph(part.heading, "Heading1"), *map(paragraph, (*part.paragraphs, *part.items))]
        rows = (
            "".join(f"<w:tc>{paragraph(one)}</w:tc>" for one in row) for row in (part.table.names, *part.table.rows)
        )
        found.append(f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>")
    return docx("".join(found))


def odf_rows(table: Table) -> str:
    rows = (
        "".join(f"<table:table-cell><text:p>{one}</text:p></table:table-cell>" for one in row)
        for row in (table.names, *table.rows)
    )
    return "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)


def odf_text(part: Part) -> str:
    items = "".join(f"<text:list-item><text:p>{one}</text:p></text:list-item>" for one in part.items)
    paragraphs = "".join(f"<text:p>{one}</text:p>" for one in part.paragraphs)
    return f"{paragraphs}<text:list>{items}</text:list>"


def odt(content: Parts) -> bytes:
    body = "".join(
        f'<text:h text:outline-level="1">{part.heading}</text:h>{odf_text(part)}'
        f"<table:table>{odf_rows(part.table)}</table:table>"
        for part in content
    )
    return opendocument("text", body)


def ods(content: Parts) -> bytes:
    sheets = []
    for at, part in enumerate(content):
        lines = [Table([one], []) for one in (part.heading, *part.paragraphs, *part.items)]
        rows = "".join(map(odf_rows, lines)) + "<table:table-row/>" + odf_rows(part.table)
        sheets.append(f'<table:table table:name="S{at}">{rows}</table:table>')
    return opendocument("sheet", "".join(sheets))


def odp(content: Parts) -> bytes:
    box = '<draw:frame presentation:class="{}"><draw:text-box>{}</draw:text-box></draw:frame>'
    pages = (
        box.format("title", f"<text:p>{part.heading}</text:p>")
        + box.format("outline", odf_text(part))
        + f"<draw:frame><table:table>{odf_rows(part.table)}</table:table></draw:frame>"
        for part in content
    )
    return opendocument("show", "".join(f"<draw:page>{page}</draw:page>" for page in pages))


def slides(content: Parts) -> bytes:
    def cell(text: str) -> str:
        return f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    tables = {}
    for at, part in enumerate(content):
        lines = [[one] for one in (*part.paragraphs, *part.items)]
        rows = ("".join(map(cell, row)) for row in (part.table.names, *part.table.rows, *lines))
        tables[at] = f"<a:tbl>{''.join(f'<a:tr>{row}</a:tr>' for row in rows)}</a:tbl>"
    return pptx([part.heading for part in content], range(len(content)), tables=tables)


def workbook(content: Parts) -> bytes:
    book: dict[str, list[str]] = {}
    for part in content:
        lines = [[one] for one in (part.heading, *part.paragraphs, *part.items)]
        for row in (*lines, part.table.names, *part.table.rows):
            book[f"S{len(book)}"] = row
    return xlsx(book)


def old_workbook(content: Parts) -> bytes:
    book, data = xlwt.Workbook(), io.BytesIO()
    for at, part in enumerate(content):
        sheet = book.add_sheet(f"S{at}")
        lines = [[one] for one in (part.heading, *part.paragraphs, *part.items)]
        for row, cells in enumerate([*lines, [], part.table.names, *part.table.rows]):
            for column, text in enumerate(cells):
                sheet.write(row, column, text)
    book.save(data)
    return data.getvalue()


def rtf(content: Parts) -> bytes:
    def escaped(text: str) -> str:
        units = text.encode("utf-16-le")
        codes = (int.from_bytes(units[at : at + 2], "little") for at in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else rf"\u{code if code < 32768 else code - 65536}?" for code in codes)

    found = [r"{\rtf1\ansi\uc1 "]
    for part in content:
        found += [rf"\pard\outlinelevel0 {escaped(part.heading)}\par"]
        found += [rf"\pard {escaped(one)}\par" for one in part.paragraphs]
        found += [rf"\pard{{\listtext\'b7\tab}}{escaped(one)}\par" for one in part.items]
        for row in (part.table.names, *part.table.rows):
            edges = "".join(rf"\cellx{1000 * at}" for at in range(1, len(row) + 1))
            found.append(rf"\trowd{edges}\pard\intbl " + "".join(escaped(one) + r"\cell " for one in row) + r"\row")
        found.append(r"\pard")
    return "".join([*found, "}"]).encode("ascii")


def pdf(content: Parts) -> bytes:
    pages = []
    for part in content:
        texts = [part.heading, *part.paragraphs, *part.items]
        page = [At(40, 800 - 16 * at, text, 9) for at, text in enumerate(texts)]
        for at, row in enumerate((part.table.names, *part.table.rows)):
            page += [At(40 + 1000 * place, 500 - 16 * at, text, 9) for place, text in enumerate(row)]
        pages.append(page)
    return printed(pages, page="/MediaBox [0 0 5000 842]")


def separated(delimiter: str) -> Callable[[Parts], bytes]:
    def written(content: Parts) -> bytes:
        file = io.StringIO()
        rows = csv.writer(file, delimiter=delimiter)
        width = max(len(part.table.names) for part in content)
        for row in (row for part in content for row in (part.table.names, *part.table.rows)):
            rows.writerow(row + [""] * (width - len(row)))
        for text in (one for part in content for one in (part.heading, *part.paragraphs, *part.items)):
            rows.writerow([text] + [""] * (width - 1))
        return file.getvalue().encode()

    return written


def records(content: Parts) -> list[dict[str, Any]]:
    return [
        {
            "heading": part.heading,
            "paragraphs": part.paragraphs,
            "nested": {"items": part.items, "names": part.table.names},
            "rows": [{f"c{at}": one for at, one in enumerate(row)} for row in part.table.rows],
        }
        for part in content
    ]


def toml(content: Parts) -> str:
    found = []
    for one in records(content):
        inner = one["nested"]
        found.append(f"[[part]]\nheading = {json.dumps(one['heading'])}\nparagraphs = {json.dumps(one['paragraphs'])}")
        found.append(f"[part.nested]\nitems = {json.dumps(inner['items'])}\nnames = {json.dumps(inner['names'])}")
        for row in one["rows"]:
            found += ["[[part.rows]]", *(f"{key} = {json.dumps(text)}" for key, text in row.items())]
    return "\n".join(found)


def xml(content: Parts) -> str:
    found = []
    for part in content:
        rows = "".join(f"<row>{''.join(f'<c>{one}</c>' for one in row)}</row>" for row in part.table.rows)
        listed = "".join(f"<p>{one}</p>" for one in (*part.paragraphs, *part.items, *part.table.names))
        found.append(f"<part><heading>{part.heading}</heading>{listed}{rows}</part>")
    return f"<parts>{''.join(found)}</parts>"


def captions(content: Parts) -> str:
    cues = ["WEBVTT"]
    for at, one in enumerate(each(content)):
        moment = f"00:{at // 60:02}:{at % 60:02}"
        cues.append(f"{moment}.000 --> {moment}.900\n{one}")
    return "\n\n".join(cues)


def mail(content: Parts) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Words"
    message.set_content(markdown(content))
    return bytes(message)


def notebook(content: Parts) -> str:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": markdown([part])} for part in content]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def feed(content: Parts) -> str:
    item = "<item><title>{}</title><description><![CDATA[{}]]></description></item>"
    entries = "".join(item.format(part.heading, html([part])) for part in content)
    return f"<rss><channel><title>News</title>{entries}</channel></rss>"


def ini(content: Parts) -> str:
    found = []
    for at, part in enumerate(content):
        rows = [*part.paragraphs, *part.items, *part.table.names, *(one for row in part.table.rows for one in row)]
        found.append(f"; {part.heading}\n[part{at}]\n" + "\n".join(f"key{key} = {one}" for key, one in enumerate(rows)))
    return "\n\n".join(found)


def jsonl(content: Parts) -> str:
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in records(content))


def org(content: Parts) -> str:
    return markdown(content).replace("# ", "* ").replace("| --- ", "|-----").replace("--- |", "|")


def text(content: Parts) -> str:
    return "\n\n".join(each(content))


def pages(content: Parts) -> bytes:
    return epub(*(html([part]) for part in content))


BUILT: Final[dict[str, Callable[[Parts], str | bytes]]] = {
    ".md": markdown,
    ".html": html,
    ".docx": word,
    ".pptx": slides,
    ".xlsx": workbook,
    ".xls": old_workbook,
    ".odt": odt,
    ".ods": ods,
    ".odp": odp,
    ".rtf": rtf,
    ".epub": pages,
    ".pdf": pdf,
    ".csv": separated(","),
    ".tsv": separated("\t"),
    ".json": lambda content: json.dumps(records(content), ensure_ascii=False, indent=1),
    ".jsonl": jsonl,
    ".yaml": lambda content: yaml.safe_dump(records(content), allow_unicode=True),
    ".toml": toml,
    ".ini": ini,
    ".xml": xml,
    ".rss": feed,
    ".vtt": captions,
    ".srt": lambda content: captions(content).removeprefix("WEBVTT\n\n").replace(".", ","),
    ".eml": mail,
    ".ipynb": notebook,
    ".org": org,
    ".rst": text,
    ".txt": text,
}
SIZING: Final = Sizing(40, 0, word_starts)


def lost(content: Parts, extension: str) -> list[str]:
    """Return the words of ``content`` that are in no chunk of a file of that format."""
    made = BUILT[extension](content)
    document = parsing.read(made if isinstance(made, bytes) else made.encode(), f"a{extension}", max_chars=1_000_000)
    said = {one for chunk_ in chunk(document, SIZING) for one in chunk_.text.replace("|", " ").split()}
    wanted = {one for phrase in each(content) for one in phrase.split()}
    whole = " ".join(said)
    return [one for one in wanted if one not in said and one not in whole]


@given(content=parts(WORD))
@settings(max_examples=15)
def test_every_word_of_a_document_is_in_its_chunks(content: Parts) -> None:
    """One document in all formats: to make one up takes longer than to write, read and cut it."""
    of_each = {extension: lost(content, extension) for extension in BUILT if extension != ".pdf"}
    assert {extension: words for extension, words in of_each.items() if words} == {}


@given(content=parts(LEFT))
@settings(max_examples=15)
def test_every_word_of_a_pdf_is_in_its_chunks(content: Parts) -> None:
    """A PDF has words as they are drawn, so those from right to left are left out."""
    assert lost(content, ".pdf") == []
