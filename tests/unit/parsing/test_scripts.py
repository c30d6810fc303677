"""What is raised or lowered stays so, in characters that are; numbers of notes stay apart from their word."""

from __future__ import annotations

import pytest

from pinakes.parsing.scripts import Script, scripted


@pytest.mark.parametrize(
    ("before", "text", "script", "shown"),
    [
        ("10", "-9", "super", "⁻⁹"),
        ("10", "\u22129", "super", "⁻⁹"),
        ("2", "32", "super", "³²"),
        ("Fe", "3+", "super", "³⁺"),
        ("x", "n", "super", "ⁿ"),
        ("km", "2", "super", "²"),
        ("H", "2", "sub", "₂"),
        ("log", "10", "sub", "₁₀"),
        ("x", "i", "sub", "_i"),
        ("e", "kx", "super", "^kx"),
        ("e", "a/b", "super", "^(a/b)"),
        ("21", "st", "super", "st"),
        ("Brand", "TM", "super", "™"),
        ("harbour", "1", "super", "[1]"),
        ("end.", "12", "super", "[12]"),
        ("harbour", "[3]", "super", "[3]"),
        ("harbour", "*", "super", "*"),
        ("", "a", "super", "a"),
        ("word", "", "super", ""),
    ],
)
def test_text_is_raised_or_lowered(before: str, text: str, script: Script, shown: str) -> None:
    assert scripted(text, script, before) == shown


def test_what_is_known_as_a_reference_is_kept_apart_from_any_word() -> None:
    assert scripted("2", "super", "m", reference=True) == "[2]"
