"""Which words a text has: characters alone, signs, names in capitals, other forms, languages; and hostile texts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear import assert_linear

from pinakes.indexes.storage.analyzer_v1 import AnalyzerV1
from pinakes.settings.sections import Language
from pinakes.text.analysis import LANGUAGES, Analyzer, detect, is_identifier, segmentation
from pinakes.text.analysis.folding import folded, forms

analyzer = Analyzer()
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("vitamin C", ["vitamin", "c"]),
        ("chapter 7, or 8", ["chapter", "7", "or", "8"]),
        ("Use K (or R) and `D`", ["use", "k", "or", "r", "and", "d"]),
        ("| C | 5 |", ["c", "5"]),
        ("**C** [R](x.md)", ["c", "r", "x.md", "md"]),
        ("Vitamin A deficiency. A badger. Plan A.", ["vitamin", "a", "defici", "badger", "plan", "a"]),
        ("World War I ended and I slept", ["world", "war", "i", "end", "and", "slept"]),
        ("C++, C# and F#", ["c++", "c#", "and", "f#"]),
        ("notepad++ on .NET", ["notepad++", "notepad", "on", ".net", "net"]),
        ("AT&T has R&D", ["at&t", "at", "has", "r&d"]),
        ("A+ grade, B+? a+b, A++", ["a+", "grade", "b+", "a++"]),
        (
            "A* search, Node.js, Objective-C, 5G",
            ["a*", "search", "node.j", "node", "js", "objective-c", "object", "5g"],
        ),
        (
            "con\u00adfig\u00adu\u00adra\u00adtion zero\u200bwidth word\u2060joiner",
            ["configur", "zerowidth", "wordjoin"],
        ),
        ("well\u2011known 5\u2010star", ["well-known", "well", "known", "5-star", "star"]),
    ],
)
def test_the_terms_of(text: str, terms: list[str]) -> None:
    assert analyzer.terms(text) == terms


@pytest.mark.parametrize(
    "text", ["x[0] = f(y)", "a = b", "i < n", "i == j", "1. fish\n2. fish", "a/b", "x-y-z", "@a %b"]
)
def test_characters_in_expressions_compounds_and_numbers_of_items_are_no_words(text: str) -> None:
    assert [term for term in analyzer.terms(f"\n{text}") if len(term) == 1 and term.isalpha()] in ([], ["a"])
    assert not {"0", "1", "2"} & set(analyzer.terms(f"\n{text}"))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (r'"twelve items\nthirteen apples\ttabbed"', "twelve items thirteen apples tabbed nthirteen ttabbed"),
        (r"'x\n\tindented\r\nsecond %d\n'", "indented second tindented nsecond"),
        (r're.compile(r"\bword\d+\nterm")', "re.compile word term bword nterm"),
        (r'"C:\\new\\table" "\\nback"', "new table nback"),
        (r"@'C:\new\table'", "ew able new table"),
        (r'"na\u00efve caf\u{e9} \x41lpha"', "naïve café Alpha na u00efve caf e9 x41lpha"),
        (r'"\033[1;31mError\e[0m \x1b[0mdone\0end"', "Error done end 033 31mError 0m x1b 0mdone 0end"),
        (r"bin\x64\Release C:\lib\x86\foo.dll", "bind Release lib oo.dll bin x64 x86 foo.dll"),
        (r"src\tests\test.py D:\new-api\v2.1", "src ests est.py ew-api 2.1 tests test.py new-api v2.1"),
    ],
)
def test_an_escape_in_a_string_of_code_parts_words_and_what_may_be_a_path_stays_found(code: str, words: str) -> None:
    assert analyzer.words(code, code=True) == words.split()
    assert analyzer.words(f"```\n{code}\n```") == words.split()


def test_code_has_no_words_of_one_character_or_with_signs_whether_it_is_a_file_or_fenced() -> None:
    code = "for (int i = 0; i < n; i++) { C x; }"
    assert analyzer.words(code, code=True) == ["for", "int"]
    assert analyzer.words(f"Use C:\n```c\n{code}\n```\nand R") == ["Use", "C", "c", "for", "int", "and", "R"]


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("c", ["c"]),
        ("plan b", ["plan", "b"]),
        ("vitamin a", ["vitamin", "a"]),
        ("type I error", ["type", "i", "error"]),
        ("how do I buy a car", ["buy", "car"]),
        ("C++", ["c++"]),
        ("IT policy", ["IT", "polici"]),
        ("WHO", ["WHO"]),
        ("US market", ["US", "market"]),
        ("ask us", ["ask"]),
        ("flights to OR in May", ["flight", "OR", "may"]),
        ("cats OR dogs", ["cat", "dog"]),
        ("WHAT IS IT FOR A CAR", ["car"]),
        ("what is it for a car", ["car"]),
    ],
)
def test_the_terms_of_the_query(query: str, terms: list[str]) -> None:
    assert analyzer.query_terms(query) == terms


def test_a_term_counts_as_often_as_it_stands_in_the_query() -> None:
    found = {term.text: term.weight for term in analyzer.query("Fish eat fish, and fishes sleep")}
    assert found == {"fish": 3, "eat": 1, "sleep": 1}


@pytest.mark.parametrize("name", ["RFC-0011", "DEC-0054", "INV-2024-0113", "v1.10", "CVE-2021-44228"])
def test_the_parts_of_an_identifier_weigh_less_than_the_whole(name: str) -> None:
    whole, *parts = analyzer.query(name)
    assert is_identifier(name)
    assert whole.text == analyzer.terms(name)[0]
    assert parts
    assert sum(part.weight for part in parts) < whole.weight


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("étudiant", ["etudiant"]),
        ("hauptstraße", ["hauptstrasse"]),
        ("häuser", ["hauser", "haeuser"]),
        ("øre", ["ore", "oere"]),
        ("łódź", ["lodz"]),
        ("i\u0307stanbul", ["istanbul"]),
        ("ısı", ["isi"]),
        ("ёлка", ["елка"]),
        ("السَّمَك", ["السمك", "سمك"]),
        ("أحمد", ["احمد"]),
        ("indices", ["index"]),
        ("criteria", ["criterion"]),
        ("mice", ["mouse"]),
        ("shelves", ["shelf"]),
        ("aliases", ["alias"]),
        ("l'été", ["l'ete", "été", "ete"]),
        ("dell'arte", ["arte"]),
        ("don't", []),
        ("o'clock", []),
        ("הספר", ["ספר"]),
        ("והַסֵּפֶר", ["והספר", "ספר"]),
        ("הוא", []),
        ("й", []),
        ("fish", []),
        ("魚", []),
    ],
)
def test_the_other_forms_of(word: str, other: list[str]) -> None:
    assert list(forms(word)) == other


@given(st.text(max_size=40))
def test_plain_letters_stay_plain(word: str) -> None:
    assert folded(folded(word)) == folded(word) or not word.islower()
    assert all(form and form != word for form in forms(word))


def test_other_forms_never_enter_the_stream() -> None:
    words = analyzer.words("Étudiants in Häuser; mice and IT people")
    assert analyzer.terms_of(words) == ["étudiant", "in", "häuser", "mice", "and", "it", "peopl"]
    others, exact = analyzer.variants(words)
    assert Counter(others) == Counter(["etudi", "hauser", "haeuser", "mous", "person", "IT"])
    assert exact == []


TEXTS = {
    "german": "Der Hund und die Katze sind im Haus, und das Haus ist auf dem Berg, der nicht hoch ist.",
    "french": "Les étudiants de la ville sont dans une grande salle et ils ne sont pas avec le professeur.",
    "spanish": "El perro y el gato están en la casa, que no es muy grande, pero es de los niños.",
    "swedish": "Hunden och katten är i huset som inte är stort men det har en dörr för att gå ut.",
    "russian": "Я не знаю, что это такое, но он был в доме и на улице, как и все мы, для того чтобы жить.",
    "english": "The dog and the cat are in the house, which is not on the hill but is for all of us.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_running_text_is_told(language: str) -> None:
    assert detect(TEXTS[language].split()) == language
    assert detect(TEXTS[language].split(), {"dutch"}) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Rechnung ist hoch und wird bezahlt.", "german"),
        ("Le chat est sur la table.", "french"),
        ("Il gatto è sul tavolo di casa.", "italian"),
        ("Der Bus", None),
        ("Use the locale de in the la config", None),
        ("no in de on", None),
    ],
)
def test_the_language_of_a_few_words_is_told_where_most_are_common_ones_of_it(text: str, language: str | None) -> None:
    assert detect(analyzer.words(text)) == language


@pytest.mark.parametrize("text", ["", "Haus", "kubectl get pods -n kube-system --watch " * 20, "1 2 3 4 5 " * 50])
def test_where_the_language_is_not_plain_none_is_told(text: str) -> None:
    assert detect(analyzer.words(text)) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Зелёная ёлка и красивые горы", "russian"),
        ("Η πρωτεύουσα είναι η Αθήνα", "greek"),
        ("Зелена ялинка і гарні гори", None),
        ("Красива елха и високи планини ще има", None),
        ("Ėlka горы", None),
    ],
)
def test_letters_tell_the_language_of_a_short_text_where_no_other_has_them(text: str, language: str | None) -> None:
    assert detect(analyzer.words(text)) == language


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("I/O errors", ["i/o", "error"]),
        ("(A/B) tests", ["a/b", "test"]),
        ("24/7 and OS/2.", ["24/7", "24", "and", "os/2", "os"]),
        ("order 2024/113", ["order", "2024/113", "2024", "113"]),
        ("10.0.0.0/8", ["10.0.0.0/8", "10.0.0.0", "10"]),
        ("and/or TCP/IP", ["and", "or", "tcp", "ip"]),
        ("src/app/1 /dev/x http://a.org/b/1", ["src", "app", "dev", "http", "a.org", "org"]),
    ],
)
def test_a_name_with_a_slash_is_a_word_where_its_parts_alone_are_none(text: str, terms: list[str]) -> None:
    assert analyzer.terms(text) == terms


def test_languages_may_be_set_that_the_analyser_knows() -> None:
    assert set(get_args(Language)) == LANGUAGES


def test_english_text_has_the_terms_it_had_before_and_new_ones_only_of_the_new_kinds() -> None:
    old, seen, powers = AnalyzerV1(), 0, {"10-9": 9, "232": 9}
    for path in sorted((ROOT / "docs").glob("*.md")):
        lines = path.read_text("utf-8").splitlines()
        text = "\n".join(line for line in lines if line.isascii() and r"\n" not in line)
        before, after = Counter(old.terms(text)), Counter(analyzer.terms(text))
        assert not before - after, path
        new = after - before - Counter(powers)
        assert all(len(term) == 1 or not (term[0] + term[-1]).isalnum() or {"&", "/"} & {*term} for term in new), new
        seen += before.total()
    assert seen > 10_000


HOSTILE: dict[str, Callable[[int], str]] = {
    "one word": lambda n: "x" * (150 * n),
    "combining marks": lambda n: "a" + "\u0301\u0323" * n,
    "control characters": lambda n: "\x01\x02\x7f" * (10 * n),
    "zero-width characters": lambda n: "\u200b\u00ad" * (15 * n),
    "distinct words": lambda n: " ".join(f"w{number}" for number in range(10 * n)),
    "mixed scripts": lambda n: "aбגд中ไ" * (5 * n),
    "signs": lambda n: "C++ C# .NET A* &" * (2 * n),
    "ampersands": lambda n: "a&" * (15 * n),
    "plus": lambda n: "+" * (25 * n),
    "dots": lambda n: ".a" * (15 * n),
    "single letters": lambda n: "A I " * (10 * n),
    "fences": lambda n: "```\n" * (5 * n),
    "capitals": lambda n: "IT WHO " * (7 * n),
    "slashes": lambda n: "a/" * (15 * n),
    "slashed names": lambda n: "I/O 24/7 " * (5 * n),
    "dotted slashes": lambda n: ".-" * (15 * n) + "/1",
    "accents": lambda n: "é" * (25 * n),
    "stop words": lambda n: "der die das " * (5 * n),
}


@given(st.text("abzAICDE09 \n\t.,;:-_'&/+#*()[]{}<>=^!?\"`|~", max_size=60))
def test_ascii_text_has_the_same_words_beside_a_line_that_is_not_ascii(text: str) -> None:
    for words in (segmentation.of_text, segmentation.of_query, segmentation.each, segmentation.raw):
        assert words(f"{text}\n—") == words(f"{text}\n") == words(text)
    assert segmentation.of_text(f"{text}\n—", code=True) == segmentation.of_text(text, code=True)


PIECES = (
    "Herons,", "(mice)", "`kubectl`", "DNS-over-HTTPS", "getHTTPServer()", "tcp_keepalive_time", "IT", "d'eau", ".NET",
    "C++", "I/O", "10.0.0.0/8", "v1.10", "2^32", "e-mail", "'criteria'", "AT&T,", "dying", "x=leaves;", "US?",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text("aeioyzAIST09.-_'&/^+#*()=:", min_size=1, max_size=9), max_size=8))
def test_words_are_found_whether_their_terms_are_known_already_or_not(pieces: list[str]) -> None:
    text, knows_all = " ".join(pieces), Analyzer()
    for piece in pieces:
        knows_all.all_terms(piece)
        knows_all.places(piece, knows_all.all_terms(piece))
    for piece in pieces:
        wanted = knows_all.all_terms(piece)
        assert Analyzer().places(text, wanted) == knows_all.places(text, wanted)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_take_linear_time(text: Callable[[int], str]) -> None:
    def analyse(made: str) -> None:
        own = Analyzer()
        words = own.words(made)
        terms = own.terms_of(words)
        own.variants(words)
        own.query(made[:2000])
        detect(words)
        assert all(len(term) <= 256 for term in terms)
        assert sys.getsizeof(own) < 10_000

    assert_linear(analyse, text, 5_000)
