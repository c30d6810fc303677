"""Words found by other forms: without accents, in other languages, as parts of compounds, as they are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pinakes.core.records import HELD, IndexEntry
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.keyword.tantivy_index import KeywordIndex
from pinakes.settings import SearchSettings
from pinakes.text.analysis import Analyzer

Find = Callable[[str], list[int]]

GERMAN = "Das Haus ist auf dem Berg und der Weg ist nicht lang, aber die Leute sind mit dem Bus in der Stadt. "
FRENCH = "Les gens de la ville sont dans une salle et ils ne sont pas avec le roi, mais la porte est ouverte. "


def filled(
    folder: Path, texts: Sequence[str], *, of: str = "chunks", languages: Sequence[str] = (), **more: object
) -> KeywordIndex:
    """Return an index of these texts, one document each, numbered from 1."""
    analyzer = Analyzer()
    index = KeywordIndex(folder / of, of, analyzer, search=SearchSettings(), lock_timeout_s=5)  # type: ignore[arg-type]
    wording = TermWriter(analyzer, languages)
    entries = [
        IndexEntry(number, number, "", f"{number}.md", "", text, (), None, **more)  # type: ignore[arg-type]
        for number, text in enumerate(texts, 1)
    ]
    words = wording.chunks(entries)
    index.apply([], words if of == "chunks" else wording.documents(words), 1)
    return index


def found(index: KeywordIndex, query: str) -> list[int]:
    ids: list[int] = index.search(query, 10, None, None).ids.tolist()
    return ids


@pytest.mark.parametrize("of", ["chunks", "documents"])
@pytest.mark.parametrize(
    ("plain", "accented"),
    [
        ("etudiant", "étudiant"),
        ("Hauptstrasse", "Hauptstraße"),
        ("Loewe", "Löwe"),
        ("Lowe", "Löwe"),
        ("Lodz", "Łódź"),
        ("kobenhavn", "København"),
        ("Istanbul", "İstanbul"),
        ("احمد", "أحمد"),
        ("سمك", "السَّمَك"),
        ("index", "indices"),
        ("mouse", "mice"),
        ("criterion", "criteria"),
    ],
)
def test_either_form_finds_the_other_and_first_itself(plain: str, accented: str, of: str, tmp_path: Path) -> None:
    index = filled(tmp_path, [f"one {plain} here", f"one {accented} here", "nothing of it"], of=of)
    assert found(index, plain) == [1, 2]
    assert found(index, accented) == [2, 1]


@pytest.mark.parametrize(
    ("first", "second"), [("cache", "caches"), ("policy", "policies"), ("rotate", "rotated"), ("run", "running")]
)
@pytest.mark.parametrize("of", ["chunks", "documents"])
def test_a_word_as_it_is_written_comes_before_its_other_endings(
    first: str, second: str, of: str, tmp_path: Path
) -> None:
    index = filled(tmp_path, [f"the {second} there", f"the {first} there", f"the {second} here"], of=of)
    assert found(index, first)[0] == 2
    assert set(found(index, second)[:2]) == {1, 3}


@pytest.mark.parametrize(
    ("query", "text"), [("魚", "鳥は魚を食べる"), ("물", "시원한물을"), ("鱼", "我吃鱼。"), ("人口", "東京都の人口は")]
)
def test_short_words_of_scripts_without_spaces_are_found(query: str, text: str, tmp_path: Path) -> None:
    assert found(filled(tmp_path, ["nothing", text]), query) == [2]


def test_endings_of_other_languages_are_known_where_the_language_is_plain(tmp_path: Path) -> None:
    index = filled(tmp_path, [GERMAN + "Viele Häuser.", FRENCH + "Il mangeait des pommes.", "The house of apples."])
    assert found(index, "Häusern") == [1]
    assert found(index, "mangeaient") == [2]
    assert found(index, "apple") == [3]


@pytest.mark.parametrize("query", ["istanbul", "Istanbul", "İstanbul", "İSTANBUL"])
def test_names_with_turkish_endings_are_found(query: str, tmp_path: Path) -> None:
    texts = ["Dün İstanbul'da ve İzmir'de çok güzel bir gün oldu ama daha sonra yağmur da yağdı.", "Ankara", "other"]
    assert found(filled(tmp_path, texts), query) == [1]


@pytest.mark.parametrize("query", ["kitap", "KİTAP", "KİTAPLAR", "kitaplar"])
def test_words_in_turkish_capitals_have_stems(query: str, tmp_path: Path) -> None:
    texts = ["Bu kitapları çok beğendi ve bir gün daha sonra da onları bize geri verdi.", "Ankara", "other"]
    assert found(filled(tmp_path, texts), query) == [1]


def test_a_language_that_is_set_holds_for_short_texts_too(tmp_path: Path) -> None:
    assert found(filled(tmp_path, ["Rote Häuser"]), "Häusern") == []
    assert found(filled(tmp_path / "set", ["Rote Häuser"], languages=["german"]), "Häusern") == [1]


def test_german_compounds_are_found_by_their_parts_and_parts_by_compounds(tmp_path: Path) -> None:
    texts = [
        "Ein Dampfschiff fährt.",
        "Der Dampf steigt, das Schiff wartet.",
        "Die Krawatte ist rot.",
        "Watte und Haus",
    ]
    index = filled(tmp_path, texts, languages=["german"])
    assert found(index, "Schiff") == [2, 1]
    assert found(index, "Dampf") == [2, 1]
    assert found(index, "Dampfschiff") == [1, 2]
    assert found(index, "Watte") == [4], "what is left of Krawatte is no word"


def test_german_compounds_of_three_parts_and_more_are_found_by_each(tmp_path: Path) -> None:
    texts = [
        "Die Kraftfahrzeughaftpflichtversicherung wird bezahlt.",
        "Jede Versicherung und jede Haftpflicht kostet, auch das Fahrzeug braucht Kraft.",
        "Die Krankenhausrechnung und die Arbeitszeiterfassung",
        "Im Krankenhaus ist die Rechnung, und die Erfassung der Zeit bei der Arbeit",
        "Die Zeitung",
    ]
    index = filled(tmp_path, texts, languages=["german"])
    for word in ("Versicherung", "Versicherungen", "Haftpflicht", "Fahrzeug", "Kraft"):
        assert found(index, word) == [2, 1]
    for word in ("Rechnung", "Rechnungen", "Zeit", "Arbeit", "Krankenhaus", "Erfassung"):
        assert found(index, word) == [4, 3], word
    assert found(index, "Krankenhausrechnung") == [3, 4]
    assert found(index, "Zeiterfassung") == [3, 4]


def test_compounds_of_one_kind_leave_room_for_the_others(tmp_path: Path) -> None:
    firsts = "Lauf Uhr Warte Reise Fahrt Spiel Lade Bau Probe Lehr Schul Ferien Ernte Liefer Halte Dienst".split()
    firsts += "Flug Rechen Antwort Sende Sommer Winter Nacht Tages Ruhe Schutz Frist Start Ziel Jugend Brut".split()
    kinds = [f"Das Wort {first}, die {first}zeit und der {first}arbeitsplatz." for first in firsts]
    texts = ["Die Arbeitszeiterfassung", "Arbeit und Erfassung", "Die Zeit", "Der Platz", *kinds]
    index = filled(tmp_path, texts, languages=["german"])
    find = partial(index.search, limit=100, documents=None, among=None)
    assert len(find("Zeit").ids) > 20
    assert 1 in find("Zeit").ids, "in the middle"
    assert {2, 4} <= set(find("Arbeitsplatz").ids), "the parts of the word"


def test_words_without_end_are_no_compounds(tmp_path: Path) -> None:
    texts = [f"{letters * 80} {letters * 70}" for letters in ("ab", "abc", "haus")]
    index = filled(tmp_path, [*texts, "Haus"], languages=["german"])
    start = time.process_time()
    for word in ("haus", "abab", "ab" * 80, "haus" * 70):
        found(index, word)
    assert time.process_time() - start < 1


def test_names_in_capitals_are_found_as_names(tmp_path: Path) -> None:
    index = filled(tmp_path, ["It is who it was, for us.", "The WHO and the IT department", "Nothing more"])
    assert found(index, "WHO") == [2]
    assert found(index, "US") == []
    assert found(index, "IT department") == [2]
    assert found(index, "IT DEPARTMENT") == [2]


def test_a_sentence_in_capitals_has_no_names(tmp_path: Path) -> None:
    index = filled(tmp_path, ["The question is: to be, or not to be.", "IT and OR are names", "nothing"])
    assert found(index, "TO BE OR NOT TO BE")[0] == 1
    assert found(index, "IT") == found(index, "IT OR WHO") == found(index, "IT AND OR") == [2]


def test_us_in_capitals_is_a_name_and_else_a_stop_word(tmp_path: Path) -> None:
    index = filled(tmp_path, ["Tell us of us, and they told us", "Exports to the US rose", "Nothing more"])
    assert found(index, "US") == found(index, "exports US")[:1] == [2]
    assert found(index, "us")[0] == 1


@pytest.mark.parametrize("of", ["chunks", "documents"])
@pytest.mark.parametrize(
    ("word", "other"),
    [("resume", "resumé"), ("Strasse", "Straße"), ("index", "indices"), ("mice", "mouse"), ("ö", "o")],
)
def test_the_exact_form_is_first_though_another_stands_more_often(
    word: str, other: str, of: str, tmp_path: Path
) -> None:
    texts = [f"{other} and {other} of {other} with {other}", f"the {word} that stands in a text with some more words"]
    assert found(filled(tmp_path, texts, of=of), word)[0] == 2


def test_a_german_word_begins_compounds_whose_stem_has_no_ending_of_it(tmp_path: Path) -> None:
    texts = [
        "Die Kündigungsfrist ist lang.",
        "Sicherheitsabstand halten",
        "Das Haus ist alt.",
        "Der Versicherungsbeitrag",
    ]
    index = filled(tmp_path, texts, languages=["german"])
    assert found(index, "Kündigung") == found(index, "Kündigungen") == found(index, "Frist") == [1]
    assert found(index, "Sicherheit") == found(index, "Abstand") == [2]
    assert found(index, "Beitrag") == found(index, "Versicherung") == [4]


@pytest.mark.parametrize(("query", "first"), [("I/O", 2), ("24/7", 4), ("2024/113", 6)])
def test_names_with_a_slash_come_before_their_parts(query: str, first: int, tmp_path: Path) -> None:
    texts = [
        "i o, o and i: ring o, ring i",
        "the I/O of a disk",
        "24 hours, 7 days, 24 and 7",
        "support 24/7",
        "2024 2024 113 113",
        "order 2024/113 here",
    ]
    assert found(filled(tmp_path, texts), query)[0] == first


def test_a_long_question_counts_words_as_often_as_they_stand(tmp_path: Path) -> None:
    index = filled(tmp_path, ["badger and fish", "heron and fish", "heron and birch"])
    assert found(index, "badger heron heron heron")[-1] == 1
    assert found(index, "badger badger badger heron")[0] == 1
    many = " ".join(f"word{number}" for number in range(300))
    assert found(index, f"{many} badger") == [1], "words at the end of a long question count, too"


def test_values_of_metadata_are_found_by_their_words(tmp_path: Path) -> None:
    index = filled(tmp_path, ["Rotate the keys."], metadata="Ada Lovelace\nsecurity")
    assert found(index, "lovelace") == found(index, "ada security") == [1]


def test_chunks_that_have_an_identifier_as_a_whole_are_told_from_those_that_have_its_parts(tmp_path: Path) -> None:
    index = filled(tmp_path, ["rule 0011 of RFC", "see rfc-0011 there", "RFC-0011, RFC-0012"])
    ranking = index.definitions(["RFC-0011", "RFC-0012"], 10, None, None)
    assert dict(zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True)) == {2: HELD, 3: 2 * HELD}
    assert found(index, "RFC-0011")[-1] == 1


@pytest.mark.parametrize(
    "phrase", ["vitamin C tablets", "vitamin a tablets", "Vitamin A tablets", "WHO is it", "the C++ book"]
)
def test_phrases_with_single_letters_and_stop_words_are_found(phrase: str, tmp_path: Path) -> None:
    texts = ["some vitamin C tablets", "take Vitamin A tablets", "who is it now", "read the C++ book", "tablets"]
    index = filled(tmp_path, texts)
    assert len(index.phrase(phrase, 10, None, None)) == 1


def test_variants_change_no_score_of_words_that_have_none(tmp_path: Path) -> None:
    plain = filled(tmp_path / "one", ["badger fish", "badger heron birch"]).search("badger", 5, None, None)
    mixed = filled(tmp_path / "two", ["badger fïsh", "badger héron birch"]).search("badger", 5, None, None)
    assert plain.ids.tolist() == mixed.ids.tolist()
    assert np.allclose(plain.scores, mixed.scores)


@pytest.mark.parametrize(
    ("query", "written", "otherwise"),
    [
        ("hepatitis B and C", "Hepatitis B and C are infections.", "B&C Consulting"),
        ("type B and C", "Plugs of type B and of type C fit.", "B&C Consulting"),
        ("see 1,2", "Figures 1,2 are above.", "Chapter 1.2 is below."),
        ("Das Gewicht des Pakets ist 3,4 kg", "Das Gewicht des Pakets", "Version 3.4"),
        ("12,5 %", "Es sind 12,5 % davon.", "Es sind 12.5 % davon."),
        ("1.249,00", "It costs 1.249,00 now.", "It costs 1249.00 now."),
        ("2'500", "It costs 2'500 now.", "It costs 2500 now."),
        ("16 GB", "It has 16 GB of memory.", "It has 16GB of memory."),
        ("24 V", "It runs on 24 V of current.", "It runs on 24V of current."),
        ("KB 5034441", "Update KB 5034441 is out.", "Update KB5034441 is out."),
        ("O Brien", "Mr. O Brien is in.", "Mr. O'Brien is in."),
        ("+49 (30) 9018-20", "Call +49 (30) 9018-20 now.", "Call +4930901820 now."),
    ],
)
@pytest.mark.parametrize("of", ["chunks", "documents"])
def test_names_and_numbers_as_written_come_before_their_other_spellings(
    query: str, written: str, otherwise: str, of: str, tmp_path: Path
) -> None:
    assert found(filled(tmp_path, [otherwise, written, "nothing", "Other words"], of=of), query)[:2] == [2, 1]


@pytest.mark.parametrize(
    ("query", "joined", "parts"),
    [
        ("R & D budget", "The budget of R&D", "The budget of R Smith"),
        ("KB 5034441", "Update KB5034441", "The KB of 12"),
        ("+49 30 901820", "Call +4930901820", "49 of 30 people"),
    ],
)
def test_the_other_spelling_comes_before_a_part_of_the_words(
    query: str, joined: str, parts: str, tmp_path: Path
) -> None:
    assert found(filled(tmp_path, [parts, joined, "nothing", "Other words"]), query)[0] == 2


@pytest.mark.parametrize(
    ("query", "right", "others"),
    [
        ("2,500 EUR", "It costs 2,500 EUR in all.", "It costs 500 EUR in all."),
        ("2.500 EUR", "It costs 2,500 EUR in all.", "It costs 500 EUR in all."),
        ("3750 EUR", "Es kostet 3.750,00 EUR im Jahr.", "Es kostet 750 EUR im Jahr."),
        ("12 500 people", "For 12,500 people in all.", "For 500 people and 12 dogs."),
        ("5 November 2023", "The meeting of 2023-11-05 is over.", "The 5 of 2023 and of November"),
        ("2023-11-05", "The meeting of November 5, 2023 is over.", "The 5 of 2023, 11 of them, and of November"),
        ("2023-10-05", "Die Sitzung vom 5. Oktober 2023 ist zu Ende.", "Oktober: 10 von 05 in 2023"),
        ("07.09.2021", "The meeting of 7 September 2021 is over.", "7 of 2021, 9 of September"),
        ("30km/h", "The limit is 30 km/h here.", "The limit is 30 here."),
        ("500 mg", "Take 500mg daily with food.", "Take 5 mg daily, then 10 mg."),
    ],
)
def test_a_number_or_date_in_another_writing_comes_before_parts_of_it(
    query: str, right: str, others: str, tmp_path: Path
) -> None:
    assert found(filled(tmp_path, [others, right, "nothing", "Other words"]), query)[0] == 2


@pytest.mark.parametrize(
    ("query", "right", "other"),
    [
        ("incident 2023-11-05", "Incident report: the crane fell.", "Published 7 June 2023 11:05, lunch"),
        ("harbour 2023-11-05", "Harbour report: the crane fell.", "Minutes, 11.05.2023: lunch was ordered."),
        ("incident 5 November 2023", "Incident of November 2023.", "Published 7 June 2023 11:05, lunch"),
        ("ubuntu 22.04", "How to install Ubuntu on a server", "2024-01-09 10:22:04 disk sda1 mounted"),
        ("python 3.12", "How to install Python on a server", "See chapters 3, 12 and 14"),
        ("ticket 12345", "The ticket was closed by the clerk", "Lottery numbers 12, 345 and 9"),
        ("port 8080", "The port is open to the world", "Telephone +49 8 080 33"),
        ("go 120 miles", "I want to go 120 miles by car", "Go120 and go-120 modules: nothing"),
        ("may 2023", "What happened in May 2023 in the town", "May2023 was a name"),
        ("500 mg", "Take 500 mg daily, and 10 mg at night", "Take 500mg daily with food"),
        ("5th November 2023", "The meeting of 5th November 2023 is over", "The meeting of 2023-11-05 is over"),
        ("2021/09/07", "The meeting of 2021/09/07 is over", "The meeting of 2021-09-07 is over"),
        ("2.500 EUR", "It costs 2.500 EUR in all", "It costs 2,500 EUR in all"),
        ("12 500 people", "For 12 500 people in all", "For 12500 people in all"),
        ("KB 5034441", "The KB 5034441 was installed", "The KB5034441 was installed"),
    ],
)
def test_what_is_written_as_in_the_query_comes_before_other_numbers(
    query: str, right: str, other: str, tmp_path: Path
) -> None:
    common = ["500 mg, 5 of November 2023, 12 people, 500 EUR, KB and go on 120 miles, 2021", "09", "07"] * 4
    assert found(filled(tmp_path, [other, right, *common, *["nothing"] * 30]), query)[0] == 2


def test_an_added_spelling_leaves_the_words_of_the_query_in_a_row(tmp_path: Path) -> None:
    apart = "Disks: 16 in the server, GB each"
    assert found(filled(tmp_path, [apart, "Disks: the server 16 GB each", "nothing"]), "server 16 GB")[0] == 2
