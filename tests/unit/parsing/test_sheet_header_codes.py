"""Codes in headers of sheets: two ampersands are one in the text."""

from __future__ import annotations

import pytest

from pinakes.parsing.sheet_margins import texts_of


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("&LP&&L Report&RPage &P", ["P&L Report"]),
        ("&CT&&Cs apply", ["T&Cs apply"]),
        ("&LR&&P&&R group", ["R&P&R group"]),
        ("&CA &&&&C B&RRight", ["A &&C B", "Right"]),
        ("&LA&&&CB", ["A&", "B"]),
        ("&CR&&P", ["R&P"]),
    ],
)
def test_an_ampersand_in_a_header_of_a_sheet_begins_no_code(written: str, shown: list[str]) -> None:
    assert list(texts_of(written)) == shown
