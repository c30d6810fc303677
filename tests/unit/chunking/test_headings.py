"""The headings of documents, and what code defines, as a table of contents."""

from __future__ import annotations

import pytest

from pinakes.chunking import headings
from pinakes.core.records import Document, DocumentKind, Heading

MARKDOWN = """Intro.

# Zoo

Text of the zoo.

### Badgers and `foxes`

They dig.

## Rules

```
# no heading
```

Setext
------

Last.
"""

RST = """Zoo
===

.. _badgers:

Badgers
-------

They dig.

Rules
=====

None.
"""

PYTHON = '''"""A zoo."""

LIMIT = 3


class Zoo:
    """Where animals live."""

    name = "zoo"

    def feed(self, animal):
        def inner():
            return 1

        return inner()

    @property
    def size(self):
        return 1


def visit(): return 2
'''

C = """#include <zoo.h>

#define ANIMALS 7
#define FEED(x) \\
    feed(x)

/* What an animal is. */
struct animal {
    int legs;
};

static int feed(struct animal *one)
{
    return one->legs;
}
"""


def outline(text: str, kind: DocumentKind = "markdown", language: str | None = None) -> list[tuple[int, str, int, int]]:
    found = headings(Document(text, "", kind, language))
    return [(one.level, one.title, one.start_line, one.end_line) for one in found]


def test_sections_of_markdown_reach_to_the_next_heading_of_their_level() -> None:
    assert outline(MARKDOWN) == [
        (1, "Zoo", 3, 20),
        (2, "Badgers and foxes", 7, 10),
        (2, "Rules", 11, 16),
        (2, "Setext", 17, 20),
    ]


def test_titles_of_rst_have_the_levels_of_their_signs() -> None:
    assert outline(RST, "text", "rst") == [(1, "Zoo", 1, 10), (2, "Badgers", 4, 10), (1, "Rules", 11, 14)]


def test_types_and_functions_of_python_are_listed_with_what_stands_in_them() -> None:
    assert outline(PYTHON, "code", "python") == [
        (1, "Zoo", 6, 19),
        (2, "feed", 11, 15),
        (2, "size", 17, 19),
        (1, "visit", 22, 22),
    ]


def test_a_definition_in_c_has_its_comment_and_single_lines_that_define_a_value_are_left_out() -> None:
    assert outline(C, "code", "c") == [(1, "FEED", 4, 5), (1, "animal", 7, 10), (1, "feed", 12, 15)]


@pytest.mark.parametrize(
    ("text", "kind", "language"),
    [
        ("", "markdown", None),
        (" \n\n", "markdown", None),
        ("Only a paragraph.\n", "markdown", None),
        ("a,b\n1,2\n", "text", "csv"),
        ("Plain text.\n\nMore of it.\n", "text", None),
        ("do what\n", "code", "cobol"),
        ("x=1;" * 2000, "code", "javascript"),
    ],
)
def test_what_has_no_structure_has_no_headings(text: str, kind: DocumentKind, language: str | None) -> None:
    assert outline(text, kind, language) == []


@pytest.mark.parametrize(
    ("text", "kind", "language"),
    [(MARKDOWN, "markdown", None), (RST, "text", "rst"), (PYTHON, "code", "python"), (C, "code", "c")],
)
def test_offsets_and_lines_mean_the_same_place(text: str, kind: DocumentKind, language: str | None) -> None:
    lines = text.split("\n")
    found: tuple[Heading, ...] = headings(Document(text, "", kind, language))
    assert found
    for one in found:
        assert text[one.start : one.end].rstrip("\n") == "\n".join(lines[one.start_line - 1 : one.end_line]).rstrip(
            "\n"
        )


def test_a_heading_of_a_lower_level_first_does_not_leave_a_level_out() -> None:
    assert [level for level, *_ in outline("### Deep\n\na\n\n# High\n\nb\n\n#### Deeper\n\nc\n")] == [1, 1, 2]


def test_a_heading_without_words_is_not_listed() -> None:
    assert outline("# \n\ntext\n\n## Named\n\nmore\n") == [(2, "Named", 5, 7)]
