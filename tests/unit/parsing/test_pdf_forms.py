"""What forms of PDF say: values of fields with their names, boxes, comments; scripts do not run and are not read."""

from __future__ import annotations

import io

import pypdf
import pytest
from linear import assert_linear
from printed_pdf import At, form, lines, printed
from pypdf.generic import NameObject, TextStringObject

from pinakes import parsing
from pinakes.core.errors import TooLarge

MAX_CHARS = 1_000_000


def text_of(data: bytes, max_chars: int = MAX_CHARS) -> str:
    return parsing.read(data, "form.pdf", max_chars=max_chars).text


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("/FT /Tx /T (name) /V (Zelda Fitzgerald)", "- name: Zelda Fitzgerald"),
        ("/FT /Tx /T (n) /TU (Full name) /V (Ada)", "- Full name: Ada"),
        ("/FT /Tx /T (town) /V <FEFF0141006F0064017A>", "- town: Łodz\u0301".replace("z\u0301", "ź")),
        ("/FT /Tx /T (note) /V (caf\\351)", "- note: café"),
        ("/FT /Tx /T (lines) /Ff 4096 /V (one\\rtwo)", "- lines: one two"),
        ("/FT /Ch /Ff 131072 /T (colour) /Opt [(red) (green)] /V (green)", "- colour: green"),
        ("/FT /Ch /Ff 131072 /T (land) /Opt [[(de) (Germany)] [(fr) (France)]] /V (fr)", "- land: France"),
        ("/FT /Ch /Ff 2097152 /T (days) /Opt [(Mon) (Tue) (Wed)] /V [(Mon) (Wed)]", "- days: Mon, Wed"),
        ("/FT /Btn /T (news) /V /Yes /AS /Yes /AP << /N << /Yes 6 0 R /Off 6 0 R >> >>", "- ☒ news"),
        ("/FT /Btn /T (ads) /V /Off /AS /Off /AP << /N << /Yes 6 0 R /Off 6 0 R >> >>", "- ☐ ads"),
        ("/FT /Btn /Ff 32768 /T (size) /V /Large /AS /Large /AP << /N << /Large 6 0 R >> >>", "- size: Large"),
    ],
)
def test_the_value_of_a_field_stands_below_the_page_with_its_name(field: str, line: str) -> None:
    assert line in text_of(form([field], lines("An application"))).split("\n")


def test_fields_within_fields_have_their_whole_name_and_their_value() -> None:
    kids = ["/Parent 8 0 R /T (street) /V (Elm Street 7) /FT /Tx", "/Parent 8 0 R /T (town) /V (Springfield) /FT /Tx"]
    text = text_of(form(["/T (address) /Kids [9 0 R 10 0 R]"], kids=kids, roots=[8]))
    assert "- address.street: Elm Street 7" in text
    assert "- address.town: Springfield" in text


def test_a_form_that_a_program_filled_in_is_read() -> None:
    writer, filled = pypdf.PdfWriter(), io.BytesIO()
    writer.append(io.BytesIO(form(["/FT /Tx /T (owner) /DA (/Helv 12 Tf 0 g)"], lines("Deed"))))
    for one in writer.pages[0]["/Annots"]:  # type: ignore[attr-defined]
        one.get_object()[NameObject("/V")] = TextStringObject("Żaneta Müller")
    writer.write(filled)
    assert "- owner: Żaneta Müller" in text_of(filled.getvalue())


def test_a_value_that_the_page_shows_at_its_place_is_not_repeated() -> None:
    shown = form(["/FT /Tx /T (name) /V (Zelda)"], [At(74, 606, "Zelda")])
    assert text_of(shown).count("Zelda") == 1


def test_passwords_empty_fields_and_buttons_are_not_read() -> None:
    fields = [
        "/FT /Tx /Ff 8192 /T (pin) /V (4711)",
        "/FT /Tx /T (empty)",
        "/FT /Btn /Ff 65536 /T (go) /MK << /CA (Go) >>",
    ]
    assert text_of(form(fields, lines("Words on the page"))) == "Words on the page\n"


def test_scripts_of_a_form_are_neither_run_nor_read() -> None:
    script = "/AA << /K << /S /JavaScript /JS (app.alert\\('xyzzy'\\); while \\(true\\) {}) >> >>"
    data = form([f"/FT /Tx /T (name) /V (Zelda) {script}"], lines("Words"))
    opening = b"/AcroForm << /CO [8 0 R]"
    data = data.replace(b"/AcroForm <<", opening, 1)
    text = text_of(data)
    assert "- name: Zelda" in text
    assert not [part for part in ("xyzzy", "alert", "while") if part in text]


def test_thousands_of_fields_are_read_in_linear_time() -> None:
    def made(fields: int) -> bytes:
        return form([f"/FT /Tx /T (f{at}) /V (value {at} of many)" for at in range(fields)])

    assert text_of(made(1000)).count("of many") == 1000
    assert_linear(text_of, made, 2000)


@pytest.mark.parametrize("depth", [20, 10_000])
def test_fields_nested_deep_end_neither_the_process_nor_the_page(depth: int) -> None:
    fields = [f"/T (a) /Kids [{at + 9} 0 R] {f'/Parent {at + 7} 0 R' if at else ''}" for at in range(depth)]
    fields.append(f"/FT /Tx /T (deep) /V (Zelda) /Parent {depth + 7} 0 R")
    data = form(fields, lines("Words on the page"), roots=[8])
    document = parsing.read(data, "form.pdf", max_chars=MAX_CHARS, timeout_s=8)
    assert document.text.startswith("Words on the page\n")
    assert ("Zelda" in document.text) == (depth == 20)
    assert [note.code for note in document.notes] == ([] if depth == 20 else ["limit"])


def test_fields_that_are_kids_of_their_own_kids_are_read_once() -> None:
    fields = ["/T (a) /FT /Tx /V (round) /Kids [9 0 R] /Parent 9 0 R", "/T (b) /Kids [8 0 R] /Parent 8 0 R"]
    assert text_of(form(fields, lines("Words on the page"))).startswith("Words on the page\n")


def test_a_value_of_ten_megabytes_is_read_or_refused_by_the_limit() -> None:
    data = form([f"/FT /Tx /T (big) /V ({'word ' * 2_000_000})"])
    assert len(text_of(data, 20_000_000)) > 9_000_000
    with pytest.raises(TooLarge, match="characters allowed"):
        text_of(data)


def test_comments_stand_below_the_page_with_author_and_time() -> None:
    note = "/Type /Annot /Subtype /Text /Rect [10 10 30 30] /T (Ada) /M (D:20240131120500Z) /Contents (Check the sum.)"
    free = "/Type /Annot /Subtype /FreeText /Rect [100 10 300 30] /Contents (Written over it)"
    objects = [f"<< {note} >>", f"<< {free} >>", "<< /Type /Annot /Subtype /Popup /Rect [0 0 1 1] /Contents (no) >>"]
    text = text_of(printed([lines("Words")], objects, page="/Annots [8 0 R 9 0 R 10 0 R]"))
    assert text == "Words\n\nWritten over it\n\nComments:\n\n- Ada, 2024-01-31 12:05: Check the sum.\n"


def test_the_values_of_a_form_in_xml_are_read() -> None:
    data = (
        "<xfa:datasets xmlns:xfa='x'><xfa:data><form1><Full_name>Zelda &amp; Co</Full_name><empty/></form1></xfa:data>"
    )
    packet = f"<< /Length {len(data) + 15} >>\nstream\n{data}</xfa:datasets>\nendstream"
    catalog = "/AcroForm << /Fields [] /XFA [(datasets) 8 0 R] >> /NeedsRendering true"
    text = text_of(printed([lines("Please wait")], [packet], catalog))
    assert text == "Please wait\n\nForm fields:\n\n- Full name: Zelda & Co\n"
