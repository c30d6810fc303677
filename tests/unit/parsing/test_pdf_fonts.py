"""PDFs whose Chinese, Japanese or Korean fonts are not in the file: horizontal and vertical text, and notes."""

from __future__ import annotations

import pytest

from pinakes import parsing
from pinakes.core.errors import NeedsOcr, NoText
from pinakes.core.records import Document

NOVEL = ["吾輩は猫である。名前はまだ無い。", "どこで生れたかとんと見当がつかぬ。", "何でも薄暗いじめじめした所で、"]


def drawn(encoding: str, order: str, *pages: str) -> bytes:
    """Return a PDF with the font F1 of this encoding, which is not in the file, and F2, which is Helvetica."""
    font = "/Type /Font /BaseFont /Wombat-Light"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{6 + 2 * at} 0 R' for at in range(len(pages)))}] /Count {len(pages)} >>",
        f"<< {font} /Subtype /Type0 /Encoding /{encoding} /DescendantFonts [4 0 R] >>",
        f"<< {font} /Subtype /CIDFontType0 /DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /Wombat-Light "
        "/Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> "
        f"/CIDSystemInfo << /Registry (Adobe) /Ordering ({order}) /Supplement 2 >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for page in pages:
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects) + 2} 0 R "
            "/Resources << /Font << /F1 3 0 R /F2 5 0 R >> >> >>",
            f"<< /Length {len(page)} >>\nstream\n{page}\nendstream",
        ]
    body = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\n%%EOF\n".encode("latin-1")


def at(x: int, y: int, text: str, codec: str) -> str:
    return f"BT /F1 14 Tf {x} {y} Td <{text.encode(codec).hex()}> Tj ET\n"


def read(data: bytes) -> Document:
    return parsing.read(data, "a.pdf", max_chars=10_000)


@pytest.mark.parametrize(
    ("encoding", "order", "codec", "text"),
    [
        ("90ms-RKSJ-H", "Japan1", "cp932", "東京都千代田区の請求書"),
        ("UniJIS-UTF16-H", "Japan1", "utf-16-be", "有限会社山田商店"),
        ("GBK-EUC-H", "GB1", "gbk", "人民共和国合同签字"),
        ("ETen-B5-H", "CNS1", "big5", "臺灣繁體中文"),
        ("KSCms-UHC-H", "Korea1", "cp949", "대한민국 계약서"),
    ],
)
def test_fonts_that_are_not_in_the_file_have_letters_by_their_predefined_encoding(
    encoding: str, order: str, codec: str, text: str
) -> None:
    assert read(drawn(encoding, order, at(72, 700, text, codec))).text.strip() == text


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("head", ["", "BT /F2 12 Tf 100 740 Td (Chapter 1) Tj ET\n"])
def test_vertical_lines_are_read_from_right_to_left(count: int, head: str) -> None:
    page = head + "".join(at(500 - 24 * one, 700, NOVEL[one], "euc_jp") for one in range(count))
    text = read(drawn("EUC-V", "Japan1", page)).text
    assert [line for line in text.split("\n") if line] == [*(["Chapter 1"] if head else []), *NOVEL[:count]]


@pytest.mark.parametrize(
    ("encoding", "order", "codec", "text"),
    [
        ("UniGB-UCS2-V", "GB1", "utf-16-be", "人民共和国合同签字"),
        ("ETen-B5-V", "CNS1", "big5", "臺灣繁體中文"),
        ("KSCms-UHC-V", "Korea1", "cp949", "계약서"),
    ],
)
def test_pages_without_letters_are_named_with_their_fonts(encoding: str, order: str, codec: str, text: str) -> None:
    page = at(500, 700, text, codec)
    document = read(drawn(encoding, order, "BT /F2 12 Tf 72 700 Td (The first page) Tj ET", page))
    assert document.text.strip() == "The first page"
    [note] = [note for note in document.notes if note.code == "missing-fonts"]
    assert (note.count, "Wombat-Light" in note.message) == (1, True)
    with pytest.raises(NoText, match="Wombat-Light"):
        read(drawn(encoding, order, page))


BLANKS = [
    "12 Tf 72 700 Td ( ) Tj",
    "12 Tf 72 700 Td <A0> Tj",
    "0.0001 Tf 72 700 Td (words) Tj",
    "9 Tf 0 1 -1 0 9 9 Tm (   ) Tj",
]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("font", ["Helvetica", "Wombat-Light"])
def test_a_page_without_words_lacks_no_fonts(blank: str, font: str) -> None:
    def file(*pages: str) -> bytes:
        return drawn("EUC-V", "Japan1", *pages).replace(b"/BaseFont /Helvetica", f"/BaseFont /{font}".encode())

    words = "BT /F2 12 Tf 72 700 Td (Words of a page) Tj ET"
    assert not read(file(words, f"BT /F2 {blank} ET", words)).notes
    with pytest.raises(NeedsOcr):
        read(file(f"BT /F2 {blank} ET"))


@pytest.mark.parametrize(("encoding", "order", "codec"), [("EUC-H", "Japan1", "euc_jp"), ("GBK-EUC-H", "GB1", "gbk")])
def test_letters_that_are_drawn_one_by_one_lack_their_fonts(encoding: str, order: str, codec: str) -> None:
    with pytest.raises(NoText, match="Wombat-Light"):
        read(drawn(encoding, order, "".join(at(72 + 60 * one, 700, "山", codec) for one in range(3))))
    with pytest.raises(NeedsOcr):
        read(drawn(encoding, order, at(72, 700, " ", codec)))


@pytest.mark.parametrize("text", ["계약서", "대한민국", "공급자는"])
def test_a_page_that_is_partly_in_a_missing_font_is_named(text: str) -> None:
    words = "BT /F2 12 Tf 72 700 Td (Words of a page) Tj ET "
    document = read(drawn("KSCms-UHC-V", "Korea1", words + at(72, 600, text, "cp949"), words))
    assert document.text.count("Words of a page") == 2
    assert [(note.code, note.count) for note in document.notes] == [("missing-fonts", 1)]
    assert "1 page read in part only: fonts are not in the file: Wombat-Light" in document.notes[0].message


@pytest.mark.parametrize("text", ["계약서", "대한민국"])
def test_a_page_with_a_picture_needs_ocr_rather_than_fonts(text: str) -> None:
    picture = "q 500 0 0 700 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID 0 EI Q "
    with pytest.raises(NeedsOcr):
        read(drawn("KSCms-UHC-V", "Korea1", picture + at(500, 700, text, "cp949")))


def test_a_page_that_is_recognised_lacks_no_fonts() -> None:
    word = "THETHLE"
    pytest.importorskip("rapidocr")
    bars = {
        "H": "0 0 15 100 re 45 0 15 100 re 0 45 60 12 re",
        "E": "0 0 15 100 re 0 0 55 12 re 0 44 50 12 re 0 88 55 12 re",
        "L": "0 0 15 100 re 0 0 55 12 re",
        "T": "22 0 15 100 re 0 88 60 12 re",
    }
    shape = "".join(f"q .4 0 0 .4 {150 + 32 * at} 400 cm {bars[letter]} f Q " for at, letter in enumerate(word))
    page = shape + at(500, 700, "계약서", "cp949")
    document = parsing.read(drawn("KSCms-UHC-V", "Korea1", page), "a.pdf", max_chars=10_000, ocr=True)
    assert (document.text.strip(), document.notes) == (word, ())


@pytest.mark.parametrize("drawn_from", [1, -1])
def test_tiers_of_vertical_lines_follow_each_other(drawn_from: int) -> None:
    under = ["名前はまだ無いがどこで。", "生れたか頓と見当がつか。"]
    pieces = [at(500 - 24 * one, 700, line, "euc_jp") for one, line in enumerate(NOVEL)]
    pieces += [at(500 - 24 * one, 440, line, "euc_jp") for one, line in enumerate(under)]
    text = read(drawn("EUC-V", "Japan1", "".join(pieces[::drawn_from]))).text
    assert [line for line in text.split("\n") if line] == [*NOVEL, *under]


@pytest.mark.parametrize("top", [440, 400, 300])
@pytest.mark.parametrize("place", [1, len(NOVEL)])
def test_a_single_lower_column_is_not_joined_to_the_one_above_it(top: int, place: int) -> None:
    under = "どこで。"
    pieces = [at(500 - 24 * one, 700, line, "euc_jp") for one, line in enumerate(NOVEL)]
    pieces.insert(place, at(500, top, under, "euc_jp"))
    text = read(drawn("EUC-V", "Japan1", "".join(pieces))).text
    assert [line for line in text.split("\n") if line] == [*NOVEL, under]
