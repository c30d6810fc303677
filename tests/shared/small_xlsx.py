"""Workbooks small enough to be written here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from small_docx import zipped
from small_pptx import relations

_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMES = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_OFFICE}"'


def xlsx(
    sheets: Mapping[str, Sequence[str]], besides: Mapping[str, Mapping[str, str]] | None = None, people: str = ""
) -> bytes:
    """Return a workbook with a row of cells in each sheet.

    ``besides``: of a sheet, kind → content of what it refers to, such as its ``comments``; ``people`` have written it.
    """
    named = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(sheets, 1))
    entries = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"/>',
        "_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f"<workbook {_NAMES}><sheets>{named}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            {f"r{at}": ("worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(sheets) + 1)}
        ),
        "xl/persons/person.xml": f"<personList>{people}</personList>",
    }
    for at, (name, cells) in enumerate(sheets.items(), 1):
        row = "".join(
            f'<c r="{column}1" t="inlineStr"><is><t>{cell}</t></is></c>'
            for column, cell in zip("ABCDEF", cells, strict=False)
        )
        rows = f'<row r="1">{row}</row>' if cells else ""
        entries[f"xl/worksheets/sheet{at}.xml"] = f"<worksheet {_NAMES}><sheetData>{rows}</sheetData></worksheet>"
        kinds = (besides or {}).get(name, {})
        entries[f"xl/worksheets/_rels/sheet{at}.xml.rels"] = relations(
            {kind: (kind, f"../{kind}{at}.xml") for kind in kinds}
        )
        entries |= {f"xl/{kind}{at}.xml": content for kind, content in kinds.items()}
    return zipped({name: text.encode() for name, text in entries.items()})


def comments(authors: Sequence[str], *made: tuple[str, int, str]) -> str:
    """Return the notes of a sheet: cell, which of the authors, and words of each."""
    listed = "".join(f"<author>{name}</author>" if name else "<author/>" for name in authors)
    found = "".join(
        f'<comment ref="{cell}" authorId="{author}"><text><r><t>{words}</t></r></text></comment>'
        for cell, author, words in made
    )
    return f"<comments {_NAMES}><authors>{listed}</authors><commentList>{found}</commentList></comments>"
