"""Controls of forms in RTF and DOCX are shown once, whether or not their field has a result."""

from __future__ import annotations

import pytest
from small_docx import docx

from pinakes import parsing

CHOICE = r"{\*\fldinst FORMDROPDOWN{\*\formfield{\fftype2\ffres1{\*\ffl Red}{\*\ffl Green}}}}"
BOX = r"{\*\fldinst {FORMCHECKBOX{\*\formfield{\fftype1\ffres1}}}}"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (rf"A {{\field{CHOICE}{{\fldrslt Green}}}} z", "A Green z"),
        (rf"A {{\field{CHOICE}{{\fldrslt {{\b Green}}}}}} z", "A **Green** z"),
        (rf"A {{\field{CHOICE}{{\fldrslt  }}}}z", "A Green z"),
        (rf"A {{\field{CHOICE}}} z", "A Green z"),
        (rf"A {{\v {{\field{BOX}{{\fldrslt }}}}}} z", "A [hidden: ☒] z"),
        (rf"A {{\deleted {{\field{BOX}{{\fldrslt }}}}}}z", "A z"),
        (
            rf'{{\field{{\*\fldinst HYPERLINK "http://a.org"}}{{\fldrslt A {{\field{BOX}}}}}}} z',
            "[A](http://a.org) ☒ z",
        ),
        (rf"{{\field{CHOICE}}} or {{\field{CHOICE}{{\fldrslt Green}}}} z", "Green or Green z"),
        (rf"A {{\field{CHOICE}", "A Green"),
    ],
)
def test_a_form_control_of_rtf_is_shown_once(source: str, shown: str) -> None:
    text = parsing.read(rf"{{\rtf1\ansi {source}\par}}".encode(), "a.rtf", max_chars=1000).text
    assert " ".join(text.split()) == shown


def test_the_entry_chosen_in_a_list_of_a_document_is_shown_once() -> None:
    choices = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="Red"/><w:listEntry w:val="Green"/></w:ddList>'
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    begin = f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{choices}</w:ffData></w:fldChar></w:r>'
    for result in ("", "<w:r><w:t>Green</w:t></w:r>"):
        field = f"{begin}<w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r>{mark.format('separate')}{result}"
        assert parsing.read(docx(f"<w:p>{field}{mark.format('end')}</w:p>"), "a.docx", max_chars=1000).text == "Green\n"
