"""Documents are opened within a budget of tokens, whatever they look like."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pinakes.core.errors import InvalidInput
from pinakes.library import Library
from pinakes.services.document_search.expanding import MOST_DOCUMENTS, ExpandRequest, Opened

LINE = " ".join(f"token{number}" for number in range(900))


def put(library: Library, text: str) -> str:
    return library.documents.put(text, title="One").document.uid


@pytest.mark.parametrize("budget", [1, 10, 50, 300, 1000, 5000])
def test_chunks_count_and_are_only_those_of_the_text_before_the_cut(library: Library, budget: int) -> None:
    text = "".join(f"## Part {name}\n\n{' '.join(f'{name}{n}' for n in range(250))}\n\n" for name in "abcd")
    uid = put(library, text)
    found = library.staged.expand([uid], max_tokens=budget, wanted=ExpandRequest(chunks=True))
    [opened] = found.documents
    assert found.tokens == opened.tokens
    assert opened.tokens + sum(mark.token_count for mark, _ in opened.chunks) <= budget
    assert all(mark.end <= len(opened.text) for mark, _ in opened.chunks)
    assert bool(opened.chunks) == (budget >= 1000)


def test_chunks_without_a_budget_are_all_there_and_the_tokens_those_of_the_text(library: Library) -> None:
    uid = put(library, f"# A\n\n{LINE}")
    found = library.staged.expand([uid], wanted=ExpandRequest(chunks=True))
    [opened] = found.documents
    assert found.tokens == opened.document.token_count == sum(mark.token_count for mark, _ in opened.chunks)


def test_a_line_that_is_over_the_budget_is_gone_on_with_by_its_chunks(library: Library) -> None:
    uid = put(library, f"# H\n\n{LINE}\n\n# I\n\nThe end.")
    line, seen = 1, list[Opened]()
    while line:
        [opened] = library.staged.expand([uid], max_tokens=200, wanted=ExpandRequest(lines=(line, 0))).documents
        seen.append(opened)
        assert opened.go_on == 0 or opened.go_on > line
        line = opened.go_on
    assert seen[-1].cut
    following = library.staged.chunk(uid, number=seen[-1].go_on_chunk)
    assert following.mark.start <= len(f"# H\n\n{seen[-1].text}") < following.mark.end


def test_much_of_a_budget_is_used_also_where_a_long_line_follows_a_short_one(library: Library) -> None:
    [opened] = library.staged.expand([put(library, f"# A\n\n{LINE}")], max_tokens=200).documents
    assert 100 <= opened.tokens <= 200
    assert opened.text.endswith(" ")


LONG = " ".join(f"The pump {number} is checked each week." for number in range(800))


@pytest.mark.parametrize("before", ["# Pump\n\n", "# Pump\n\nshort\n\n"])
@pytest.mark.parametrize("behind", ["", "\n\nshort"])
@pytest.mark.parametrize("budget", [1000, 2000])
def test_a_long_line_leaves_no_document_nearly_empty_and_no_word_is_read_twice(
    library: Library, before: str, behind: str, budget: int
) -> None:
    text = before + LONG + behind
    uid = put(library, text)
    [opened] = library.staged.expand([uid], max_tokens=budget).documents
    assert budget * 0.5 <= opened.tokens <= budget
    assert opened.go_on == 0
    following = library.staged.chunk(uid, number=opened.go_on_chunk, neighbours=1000)
    rest = [(mark.start, own) for mark, own in ((following.mark, following.text), *following.neighbours)]
    assert opened.text.split() + " ".join(own for at, own in sorted(rest) if at >= following.mark.start).split() == (
        text.split()
    )


def test_a_second_document_that_is_cut_is_not_nearly_empty(library: Library) -> None:
    uids = [put(library, LONG[:8000]), put(library, f"# Other\n\n{LONG}")]
    found = library.staged.expand(uids, max_tokens=4000)
    assert [one.cut for one in found.documents] == [False, True]
    assert found.tokens >= 3000


def test_a_line_that_begins_early_enough_is_cut_before_also_where_a_chunk_begins_in_it(library: Library) -> None:
    text = f"# Pump\n\n{LONG[:12_000]}\n{LONG[12_000:]}"
    [opened] = library.staged.expand([put(library, text)], max_tokens=4000).documents
    assert opened.text == f"# Pump\n\n{LONG[:12_000]}\n"
    assert opened.go_on == 4


@pytest.mark.parametrize("budget", [20, 100, 500])
def test_a_text_without_blanks_is_cut_where_the_budget_ends(open_library: Callable[..., Library], budget: int) -> None:
    library = open_library(chunking__unit="chars", chunking__size=300)
    text = "知识库检索系统的文档内容没有空格" * 100
    [opened] = library.staged.expand([put(library, text)], max_tokens=budget).documents
    assert text.startswith(opened.text)
    assert budget * 0.5 <= opened.tokens <= budget


def test_more_documents_than_can_be_opened_at_once_are_refused(library: Library) -> None:
    with pytest.raises(InvalidInput, match="too many to be opened at once"):
        library.staged.expand([put(library, "A text.")] * (MOST_DOCUMENTS + 1))
