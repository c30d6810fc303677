"""PDFs of several pages, with words where a test wants them, and with fields of forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_TO_UNICODE = (
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
    "1 begincodespacerange <0000><FFFF> endcodespacerange 1 beginbfrange <0000><FFFF><0000> endbfrange endcmap end end"
)
_FONTS = (
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [5 0 R] /ToUnicode 6 0 R >>",
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 500 /FontDescriptor 7 0 R "
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
    f"<< /Length {len(_TO_UNICODE)} >>\nstream\n{_TO_UNICODE}\nendstream",
    "<< /Type /FontDescriptor /FontName /Any /Flags 4 /FontBBox [0 -200 500 800] /ItalicAngle 0 /Ascent 800 "
    "/Descent -200 /CapHeight 700 /StemV 80 >>",
)
_FIRST_FREE = 8


@dataclass(frozen=True, slots=True)
class At:
    """A text at a place of the page, in points from the bottom left.

    ``leftwards``: each letter left of the last. ``invisible``: neither filled nor stroked.
    """

    x: float
    y: float
    text: str
    size: float = 12
    leftwards: bool = False
    invisible: bool = False

    def __str__(self) -> str:
        drawn = self._drawn()
        return f"BT 3 Tr{drawn[2:-2]}0 Tr ET" if self.invisible else drawn

    def _drawn(self) -> str:
        codes = [f"<{ord(char):04x}>" for char in self.text]
        if self.leftwards:
            return f"BT /F2 {self.size} Tf {self.x} {self.y} Td [{' 1000 '.join(codes)}] TJ ET"
        if self.text.isascii():
            text = self.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            return f"BT /F1 {self.size} Tf {self.x} {self.y} Td ({text}) Tj ET"
        return f"BT /F2 {self.size} Tf {self.x} {self.y} Td [{' '.join(codes)}] TJ ET"


def lines(*texts: str, top: float = 720, pitch: float = 16, x: float = 72) -> list[At]:
    """Return lines, one below the other."""
    return [At(x, top - pitch * at, text) for at, text in enumerate(texts) if text]


def table(
    rows: Sequence[Sequence[str]], top: float = 700, pitch: float = 18, columns: Sequence[float] = ()
) -> list[At]:
    """Return the cells of a table, row by row."""
    places = columns or [72 + 110 * at for at in range(len(rows[0]))]
    return [
        At(x, top - pitch * at, cell)
        for at, row in enumerate(rows)
        for x, cell in zip(places, row, strict=True)
        if cell
    ]


def printed(
    pages: Sequence[Sequence[At | str]], objects: Sequence[str] = (), catalog: str = "", page: str = ""
) -> bytes:
    """Return a PDF.

    ``objects`` are further ones, from number 8 on; ``catalog`` and ``page`` stand in the catalogue and in each page.
    """
    bodies = ["", "", *_FONTS, *objects]
    kids = []
    for items in pages:
        stream = "\n".join(map(str, items))
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        resources = "<< /Font << /F1 3 0 R /F2 4 0 R >> >>"
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(bodies)} 0 R "
            f"/Resources {resources} {page} >>"
        )
        kids.append(f"{len(bodies)} 0 R")
    bodies[0] = f"<< /Type /Catalog /Pages 2 0 R {catalog} >>"
    bodies[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out = ["%PDF-1.7\n"]
    offsets, size = [], len(out[0])
    for number, body in enumerate(bodies, 1):
        offsets.append(size)
        out.append(f"{number} 0 obj\n{body}\nendobj\n")
        size += len(out[-1])
    out.append(f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n")
    out += [f"{offset:010d} 00000 n \n" for offset in offsets]
    out.append(f"trailer << /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{size}\n%%EOF\n")
    return "".join(out).encode("latin-1")


def form(fields: Sequence[str], page: Sequence[At] = (), kids: Sequence[str] = (), roots: Sequence[int] = ()) -> bytes:
    """Return a form of one page; ``fields`` and ``kids`` are dictionaries without their brackets, from object 8 on.

    All of them are widgets on the page; ``roots`` are the numbers of fields that the form lists, else all ``fields``.
    """
    widget = "/Type /Annot /Subtype /Widget /Rect [72 600 300 620] /F 4"
    objects = [f"<< {widget} {one} >>" for one in (*fields, *kids)]
    numbers = [_FIRST_FREE + at for at in range(len(objects))]
    listed = roots or numbers[: len(fields)]
    annotations = f"/Annots [{' '.join(f'{number} 0 R' for number in numbers)}]"
    catalog = f"/AcroForm << /Fields [{' '.join(f'{number} 0 R' for number in listed)}] >>"
    return printed([page], objects, catalog, annotations)
