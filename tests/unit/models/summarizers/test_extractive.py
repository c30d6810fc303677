"""Summaries made of sentences of the text."""

from __future__ import annotations

import pytest
from linear import assert_linear

from pinakes.core.records import Document, DocumentKind
from pinakes.models.summarizers import Extractive, open_summarizer, writer_of
from pinakes.models.summarizers.extractive import LOOKED_AT_CHARS, MAX_CHARS
from pinakes.settings import ChatSettings, SummarySettings

ARTICLE = """# Badgers

![A badger](badger.png)

- [Food](#food)
- [Homes](#homes)

The badger is a nocturnal animal that lives in woods and meadows. It eats earthworms, beetles and fallen fruit.
A group of badgers shares one set of tunnels. Some of the tunnels are hundreds of years old and have many doors.

| food  | share |
|-------|-------|
| worms | 80 %  |

```python
print("The code of this page should not be in any summary at all.")
```

## Food

Badgers dig for earthworms at night, most of all after rain. See [the map](map.md) for places where they were seen.
"""


def summarize(text: str, title: str = "", kind: DocumentKind = "markdown", most: int = 4, **more: object) -> str:
    language = more.pop("language", None)
    document = Document(text, title, kind, language if isinstance(language, str) else None)
    summary = Extractive(most).summarize(document, more.pop("symbols", ()))  # type: ignore[arg-type]
    assert summary.by == "extractive"
    return summary.text


def test_sentences_of_the_text_are_taken_and_nothing_else() -> None:
    summary = summarize(ARTICLE, "Badgers")
    assert summary.startswith("The badger is a nocturnal animal that lives in woods and meadows.")
    for clutter in ("badger.png", "Homes", "80 %", "print", "|", "#", "["):
        assert clutter not in summary


def test_no_more_sentences_are_taken_than_wanted_and_they_keep_their_order() -> None:
    one, three = summarize(ARTICLE, most=1), summarize(ARTICLE, most=3)
    assert one.count(".") == 1
    assert three.count(".") == 3
    places = [ARTICLE.index(sentence.split(",")[0].rstrip(".")) for sentence in three.split(". ")]
    assert places == sorted(places)


def test_the_same_text_gives_the_same_summary() -> None:
    assert summarize(ARTICLE, "Badgers") == summarize(ARTICLE, "Badgers")


def test_what_stands_under_a_heading_called_summary_comes_first() -> None:
    text = "# Plan\n\nThis page was written by the people who keep the fences in order.\n\n## Summary\n\n"
    text += (
        "The old fence at the river is to be replaced by a new one.\n\n## Costs\n\nNobody knows the costs yet today.\n"
    )
    assert summarize(text, most=1) == "The old fence at the river is to be replaced by a new one."


@pytest.mark.parametrize(
    "line",
    [
        "Copyright 2024 The Keepers of the Woods and their many friends.",
        "ALL OF THIS SENTENCE IS WRITTEN IN CAPITAL LETTERS, SADLY.",
        "2021 2022 2023 2024 11 12 13 14 15 and so on and so on and on.",
        "Too short.",
        "- [ ] This box is still to be ticked by somebody of the team.",
        "<!-- A comment that only those who edit the page can ever see. -->",
        "| one column of a table | another column of it | a third one of it |",
        "    indented_code(that, is, not, prose) and should never be shown.",
        "What does the badger eat when there is no rain for many weeks?",
        "These are the things that a badger eats at night in summer:",
    ],
)
def test_what_tells_nothing_is_passed_over(line: str) -> None:
    sentence = "The heron waits for fish in the shallow water of the river."
    assert summarize(f"{line}\n\n{sentence}\n") == sentence


def test_a_sentence_that_repeats_another_is_not_taken() -> None:
    text = "The heron waits for fish in the shallow water. The heron waits for fish in shallow water. Otters play."
    assert summarize(text) == "The heron waits for fish in the shallow water."


def test_short_forms_do_not_end_a_sentence() -> None:
    sentence = "Small animals, e.g. Shrews and Dr. Miller's mice, are eaten by the owl every night."
    assert summarize(sentence + " It sleeps during the day in the old barn.", most=1) == sentence


def test_marks_of_markdown_and_rst_are_taken_off() -> None:
    text = "The **grey** heron of :ref:`the river <river>` waits for `fish` in [shallow](x.md) water for hours.\n"
    assert summarize(text) == "The grey heron of the river waits for fish in shallow water for hours."


def test_a_text_in_another_script_has_sentences_too() -> None:
    assert summarize("アナグマは夜に活動し、森と牧草地に住んでいる動物です。ミミズを食べます。", most=1) == (
        "アナグマは夜に活動し、森と牧草地に住んでいる動物です。"
    )


def test_a_text_without_sentences_gives_its_first_lines() -> None:
    assert summarize("# Index\n\n- [Food](food.md)\n- [Homes](homes.md)\n", "Index") == "Food; Homes"
    assert summarize("status: draft\ncost: 1200\n", kind="text", language="yaml") == "status: draft; cost: 1200"


@pytest.mark.parametrize(("text", "title", "expected"), [("", "A title", "A title"), ("\n\n", "", "(no text)")])
def test_nothing_at_all_gives_the_title(text: str, title: str, expected: str) -> None:
    assert summarize(text, title) == expected


def test_a_summary_is_never_long() -> None:
    wordy = " ".join(f"Sentence number {name} goes on and on about the many things of this world." for name in WORDS)
    assert len(summarize(wordy, most=10)) <= MAX_CHARS
    endless = summarize("word " * 5000)
    assert len(endless) < 350
    assert endless.endswith("…")


WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "sigma")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", '#!/usr/bin/env python\n"""When to feed the animals of the zoo."""\n\nimport os\n'),
        (
            "c",
            "// SPDX-License-Identifier: GPL-2.0\n/*\n * When to feed the animals of the zoo.\n */\n#include <x.h>\n",
        ),
        ("go", "// Copyright 2020 The Zoo Authors. All rights reserved.\n\n// When to feed the animals of the zoo.\n"),
        (
            "java",
            "/**\n * When to feed the animals of the zoo.\n * @author somebody of the many keepers\n */\nclass A {}\n",
        ),
        ("lua", "-- When to feed the animals of the zoo.\nlocal x = 1\n"),
    ],
)
def test_code_is_told_by_its_leading_comment_and_its_names(language: str, text: str) -> None:
    assert summarize(text, kind="code", language=language, symbols=("feed", "Zoo", "feed")) == (
        "When to feed the animals of the zoo. Defines feed, Zoo."
    )


def test_of_many_names_the_first_are_told() -> None:
    told = summarize("int x;\n", kind="code", language="c", symbols=tuple(f"name{number}" for number in range(20)))
    assert told == f"Defines {', '.join(f'name{number}' for number in range(12))} and 8 more."


def test_a_comment_further_down_is_not_the_leading_one() -> None:
    text = "int x;\n/* This comment comes later in the file. */\n"
    assert summarize(text, "x.c", kind="code", symbols=("x",)) == "Defines x."


ODD = (
    "x [a]: ",
    "a",
    "a@",
    "·",
    " · ",
    "A > ",
    "[a\n",
    "© ",
    "1\n",
    "A: b\n",
    "A\n",
    "cookies ",
    ". . ",
    "www.",
    "2024 ",
)


@pytest.mark.parametrize("kind", ["markdown", "code"])
@pytest.mark.parametrize(
    "unit", ["[", "{{", "![", "[a](", ":", ":a:", "`", "A. ", " ", "\t", "*", "- [", "x [a]: ", *ODD]
)
@pytest.mark.parametrize("before", ["", "# ", "/* "])
def test_no_text_takes_long(before: str, unit: str, kind: DocumentKind) -> None:
    def text(chars: int) -> str:
        return before + unit * (chars // len(unit)) + "x"

    assert_linear(lambda made: summarize(made, kind=kind), text, LOOKED_AT_CHARS)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("The heron {{ template }} waits in the shallow water.", "The heron waits in the shallow water."),
        ("The heron {{ {'a': 1} }} waits in the shallow water.", "The heron waits in the shallow water."),
        ("The heron ![near](data:image/png;base64,AAAA) waits in the water.", "The heron waits in the water."),
        ("The heron :ref:`waits <x>` in the shallow water.", "The heron waits in the shallow water."),
    ],
)
def test_marks_within_a_line_are_taken_off(written: str, read: str) -> None:
    assert summarize(written) == read


@pytest.mark.parametrize(
    ("writer", "url", "expected"),
    [
        ("auto", "", "extractive"),
        ("auto", "http://localhost:1/v1", "chat"),
        ("extractive", "http://localhost:1/v1", "extractive"),
        ("none", "", "none"),
    ],
)
def test_the_settings_say_who_writes_summaries(writer: str, url: str, expected: str) -> None:
    summary, chat = SummarySettings.model_validate({"writer": writer}), ChatSettings(url=url)
    assert writer_of(summary, chat) == expected
    assert open_summarizer(summary, chat)


def test_where_no_summaries_are_wanted_there_are_none() -> None:
    nobody = open_summarizer(SummarySettings(writer="none"), ChatSettings())
    assert (nobody.summarize(Document(ARTICLE)).text, nobody.summarize(Document(ARTICLE)).by) == ("", "none")
