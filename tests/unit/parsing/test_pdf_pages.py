"""Pages of print made Markdown: running lines, words that lines broke, headings, rows, and where pages begin."""

from __future__ import annotations

import pytest
from small_pdf import pdf

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.parsing.office import joined
from pinakes.parsing.pdf import markdown
from pinakes.parsing.pdf_forms import PageExtras
from pinakes.parsing.pdf_headers import cleaned
from pinakes.parsing.pdf_prose import mended
from pinakes.text.page_numbers import page_words, pages_of

PROSE = "Every service signs its messages with a key of its own, which is kept in the vault and renewed each month by"


def printed(*bodies: str, head: str = "The annual report", foot: str = "Page {}") -> list[str]:
    return [f"{head}\n{body}\n{foot.format(number)}" for number, body in enumerate(bodies, start=1)]


def test_running_headers_and_footers_go_but_the_first_title() -> None:
    pages = cleaned(printed("One.", "Two.", "Three.", "Four.")).pages
    assert [page.split() for page in pages] == [["The", "annual", "report", "One."], ["Two."], ["Three."], ["Four."]]


def test_headers_of_left_and_right_pages_are_told_apart() -> None:
    pages = [f"{'Left title' if at % 2 else 'Right title'}\nBody number {'abcdefgh'[at]}" for at in range(8)]
    kept = cleaned(pages).pages
    assert sum("title" in page for page in kept) == 2
    assert all("Body number" in page for page in kept)


def test_of_section_titles_beside_the_page_number_the_first_stays_without_it() -> None:
    pages = [f"{at + 12} {'Methods' if at < 3 else 'Results'}\nWords of page {'abcdef'[at]}" for at in range(6)]
    firsts = [page.split()[0] for page in cleaned(pages).pages]
    assert firsts == ["Methods", "Words", "Words", "Results", "Words", "Words"]


@pytest.mark.parametrize("line", ["7", "- 7 -", "Page 7", "page 7 of 9", "Seite 7 von 9", "[7]", "7 / 9"])
def test_page_numbers_of_any_form_go(line: str) -> None:
    words = ["The first words.", "The following ones.", "What comes last."]
    pages = [f"{one}\n{line.replace('7', str(at))}" for at, one in enumerate(words, start=7)]
    assert [page.strip() for page in cleaned(pages).pages] == words


def test_figures_that_are_no_page_numbers_stay() -> None:
    pages = ["Total\n4711", "Total of all\n815", "Words\n42"]
    assert cleaned(pages).pages == pages


def test_small_roman_numbers_of_pages_go_where_they_fit() -> None:
    assert cleaned(["Preface\ni", "ii\nMore of it", "Words\niii", "Words\nxi"]).pages == [
        "Preface\ni",
        "\nMore of it",
        "Words\n",
        "Words\nxi",
    ]


@pytest.mark.parametrize(
    ("first", "gap"), [(1233, "   "), (2419, "  "), (10_007, " | "), (1233, " "), (2418, " "), (33, " ")]
)
def test_large_page_numbers_that_change_sides_go(first: int, gap: str) -> None:
    heads = [
        f"{first + at}{gap}A. Wombat and B. Quoll" if at % 2 else f"Burrows of the South{gap}{first + at}"
        for at in range(8)
    ]
    pages = [f"{head}\nWords of page {'abcdefgh'[at]}\nand more" for at, head in enumerate(heads)]
    kept = cleaned(pages).pages
    assert not any(str(first + at) in page for at, page in enumerate(kept))
    assert sum("Wombat" in page for page in kept) == sum("Burrows" in page for page in kept) == 1
    assert all("Words of page" in page for page in kept)


@pytest.mark.parametrize("first", [234, 1234])
@pytest.mark.parametrize("head", ["J. Smith et al.", "B. Quoll Jr.", "Borders of the profiles"])
def test_page_numbers_before_names_that_end_with_a_full_stop_go(first: int, head: str) -> None:
    heads = [f"{first + at}  {head}" if at % 2 else f"Journal of Things  {first + at}" for at in range(8)]
    kept = cleaned([f"{line}\nWords of page {'abcdefgh'[at]}\nto read" for at, line in enumerate(heads)]).pages
    assert not any(str(first + at) in page for at, page in enumerate(kept))


@pytest.mark.parametrize(
    "line", ["Page {} of 3  Initials: ____", "p. {} / 3 | Draft of the rules", "Seite {} von 3 Satzung"]
)
def test_named_page_numbers_before_the_same_words_go(line: str) -> None:
    kept = cleaned([f"Words of page {'abc'[at]}\nto read\nand keep\n{line.format(at + 1)}" for at in range(3)]).pages
    assert not any("of 3" in page or "/ 3" in page or "von 3" in page for page in kept)
    assert sum(line.split()[-1].strip("_") in page for page in kept) == 1 or "____" in line


@pytest.mark.parametrize("line", ["Invoice  {}", "{}  Delivery note", "Certificate {}"])
def test_large_numbers_of_a_series_stay(line: str) -> None:
    pages = [f"{line.format(4711 + at)}\nWords of page {'abcdefgh'[at]}" for at in range(8)]
    assert cleaned(pages).pages == pages


@pytest.mark.parametrize("name", ["Invoice", "Lieferschein", "Certificate of Smith", "N° de dossier"])
def test_large_numbers_of_a_series_stay_where_they_change_sides(name: str) -> None:
    heads = [f"{4711 + at}  {name}" if at % 2 else f"{name}  {4711 + at}" for at in range(8)]
    pages = [f"{head}\nWords of page {'abcdefgh'[at]}\nto read" for at, head in enumerate(heads)]
    assert all(str(4711 + at) in page for at, page in enumerate(cleaned(pages).pages))


def test_few_pages_have_no_running_lines() -> None:
    pages = ["Same head\nOne", "Same head\nTwo"]
    assert cleaned(pages).pages == pages


def test_words_broken_at_the_end_of_a_line_are_made_whole() -> None:
    page = "A long-\nterm plan for implemen\x02tation, with dual-encoder models: a dual\x02encoder of Lucene\x02BM25."
    whole = "A longterm plan for implementation, with dual-encoder models: a dual-encoder of Lucene-BM25."
    assert mended([page, "longterm"]) == [whole, "longterm"]


def test_compounds_keep_the_hyphen_at_which_a_line_breaks_them() -> None:
    page = "A d\x02dimensional vector of state-of-the-\nart models, non-implemen\x02tation and the a\x02priori."
    whole = "A d-dimensional vector of state-of-the-art models, non-implementation and the a-priori."
    assert mended([page, "implementation"]) == [whole, "implementation"]
    assert mended(["A-\nB-\nC"]) == ["A-\nB-\nC"]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("Vor-\nund Nachteile", "Vor- und Nachteile"),
        ("short-\nand long-term plans", "short- and long-term plans"),
        ("ned-\noch uppsida", "ned- och uppsida"),
        ("Aus\x02oder Einfuhr", "Aus- oder Einfuhr"),
        ("thou-\nsand and hus-\nband", "thousand and husband"),
    ],
)
def test_a_hyphen_before_a_conjunction_stays_with_a_space(page: str, shown: str) -> None:
    assert mended([page]) == [shown]


def test_joined_words_are_parted_only_where_both_are_known() -> None:
    page = "The price endStart of it. At the end, a start. Use camelCase, iPhone and eBay; camel case is known."
    assert mended([page]) == [page.replace("endStart", "end Start").replace("camelCase", "camel Case")]
    twice = "An endStart and an endStart. At the end, a start."
    assert mended([twice]) == [twice]


def test_numbered_headings_follow_each_other_through_the_pages() -> None:
    first, second = markdown(
        [
            f"1 Introduction\n{PROSE}\nnobody.\n1.1 Aims\n{PROSE}\nnobody.",
            f"2 Methods\n{PROSE}\nnobody.\n5 Apples\n{PROSE}",
        ]
    )
    assert first.startswith("## 1 Introduction\n\nEvery service")
    assert "\n\n### 1.1 Aims\n\n" in first
    assert second.startswith("## 2 Methods\n\n")
    assert "# 5" not in second


def test_numbered_lines_that_follow_each_other_are_a_list() -> None:
    (page,) = markdown([f"{PROSE}\nnobody.\n1 Apples\n2 Pears\n3 Plums"])
    assert "#" not in page
    assert page.endswith("1 Apples\n2 Pears\n3 Plums")


def test_lines_of_a_paragraph_become_one_and_rows_stay() -> None:
    rows = "Item Price Sum\nBolts 12.50 25.00\nNuts 3.10 6.20"
    (page,) = markdown([f"{PROSE}\nnobody but the vault.\n{rows}"])
    assert f"{PROSE} nobody but the vault.\n\nItem" in page
    assert page.endswith(rows)


def test_bullets_rules_and_marks_do_not_become_markup() -> None:
    (page,) = markdown(["• One thing\n● Another\n=========\nRegister\n---------\n# 5 is the number\n> quoted"])
    assert page == "- One thing\n- Another\nRegister\n\\# 5 is the number\n\\> quoted"


def test_addresses_that_the_text_does_not_show_stand_below_the_page() -> None:
    besides = PageExtras(links=["https://a.example/", "https://b.example/", "https://b.example/"])
    assert markdown(["See https://a.example/ there."], "", [besides]) == [
        "See https://a.example/ there.\n\nLinks: <https://b.example/>"
    ]


def test_pages_begin_where_their_text_does() -> None:
    text, begins = joined(["One.", "", "Two.\n"])
    assert text == "One.\n\nTwo.\n"
    assert begins == (0, 6, 6)
    assert [pages_of(begins, *span) for span in ((0, 4), (6, 10), (0, 10))] == [(1, 1), (3, 3), (1, 3)]


def test_a_document_without_pages_is_on_none() -> None:
    assert pages_of((), 0, 4) == pages_of(None, 0, 4) == (None, None)
    assert [page_words(*one) for one in ((None, None), (3, 3), (3, 4), (3, None))] == ["", "p. 3", "p. 3-4", "p. 3"]


def test_a_pdf_knows_its_pages() -> None:
    document = parsing.read(pdf("Words on the page"), "a.pdf", max_chars=1000)
    assert (document.text, document.pages) == ("Words on the page\n", (0,))


@pytest.mark.parametrize(
    ("date", "created"),
    [
        ("D:20230423175904+08'00'", "2023-04-23T17:59:04+08:00"),
        ("D:20181229014113-05'30", "2018-12-29T01:41:13-05:30"),
        ("D:20230925152312Z00'00'", "2023-09-25T15:23:12+00:00"),
        ("D:20220415113826", "2022-04-15T11:38:26"),
        ("D:20220415113826+99'00'", "2022-04-15T11:38:26"),
    ],
)
def test_the_date_of_a_pdf_keeps_its_zone(date: str, created: str) -> None:
    data = pdf("Words", title=f"A title) /CreationDate ({date}")
    assert parsing.read(data, "a.pdf", max_chars=1000).metadata["created"] == created


def test_a_locked_pdf_says_how_to_give_its_password() -> None:
    with pytest.raises(Unreadable, match=r"^PDF is encrypted and cannot be decrypted") as caught:
        parsing.read(pdf("Words", locked=True), "a.pdf", max_chars=1000, passwords=("wrong",))
    assert "ingest.passwords_variable" in caught.value.hint
