"""Text with typographic quotation marks, apostrophes and dashes is not taken for text with rare letters."""

from __future__ import annotations

import pytest

from pinakes.parsing.encodings import guess

TEXTS = [
    ("He called it “safe” in the report. …", "cp1252 mac_roman"),
    ("Don’t panic, it’s fine", "cp1252 mac_roman"),
    ("It’s open again, and the staff don’t mind.", "cp1252 mac_roman"),
    ("‘Yes,’ she said, and the lawyers’ fees weren’t paid.", "cp1252 mac_roman"),
    ("Gödel – a proof", "cp1252 cp1250"),
    ("The years 1998–99 were quiet — that’s all…", "cp1252 mac_roman"),
    ("L’année n’est pas finie, c’est « presque » l’hiver.", "cp1252 mac_roman"),
    ("„Gut“, sagte Jürgen – und ging.", "cp1252 mac_roman"),
    ("”Hej”, sade hon – och gick.", "cp1252 mac_roman"),
    ("»Hej,« sagde hun – og gik ud på gaden.", "cp1252 mac_roman"),
    ("Nazwał to „bezpieczeństwem” w raporcie.", "cp1250 mac_latin2"),
    ("Договорът влиза в сила", "mac_cyrillic cp1251"),
    ("Об’єднання громад, п’ять зобов’язань", "mac_cyrillic cp1251"),
    ("Visi pakeitimai daromi raštu", "cp775"),
]


@pytest.mark.parametrize(("text", "encoding"), [(text, one) for text, names in TEXTS for one in names.split()])
def test_marks_in_their_usual_places_are_read_as_marks_and_letters_as_letters(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert data.decode(guess(data).encoding) == text


def test_a_name_in_letters_that_its_language_lacks_is_never_read_wrongly_without_a_doubt() -> None:
    text = "Øystein and Þór"
    found = guess(text.encode("latin-1"))
    assert not found.sure or text.encode("latin-1").decode(found.encoding) == text
