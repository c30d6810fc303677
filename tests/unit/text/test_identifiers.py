"""What is left as it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear import assert_linear

from pinakes.text import identifiers


def found(text: str) -> list[tuple[str, str]]:
    return [(one.name, one.kind) for one in identifiers.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tcp_rcv_established", [("tcp_rcv_established", "snake")]),
        ("the __init__ method", [("__init__", "snake")]),
        ("a CustomResourceDefinition", [("CustomResourceDefinition", "camel")]),
        ("iPhone, getName and HTTPServer", [("iPhone", "camel"), ("getName", "camel"), ("HTTPServer", "camel")]),
        ("in CONFIG_NUMA or CONFIG_*", [("CONFIG_NUMA", "constant"), ("CONFIG_*", "constant")]),
        ("GFP_KERNEL or __GFP_HIGH?", [("GFP_KERNEL", "constant"), ("__GFP_HIGH", "constant")]),
        ("call kfree() first", [("kfree()", "call")]),
        ("alloc_pages(gfp, order)", [("alloc_pages(gfp, order)", "call")]),
        ("at 0x1f and 0xDEADbeef.", [("0x1f", "hex"), ("0xDEADbeef", "hex")]),
        ("since 5.4.0, v1.22 and 6.1-rc3", [("5.4.0", "version"), ("v1.22", "version"), ("6.1-rc3", "version")]),
        ("std::string page->lru os.path.join", [(n, "scoped") for n in ("std::string", "page->lru", "os.path.join")]),
        ("mm/page_alloc.c", [("mm/page_alloc.c", "path")]),
        ("see /proc/meminfo.", [("/proc/meminfo", "path")]),
        ("drivers/net/ethernet README.md", [("drivers/net/ethernet", "path"), ("README.md", "path")]),
        ("https://example.org/a_b?c=d.", [("https://example.org/a_b?c=d", "url")]),
        ("use --no-index here", [("--no-index", "flag")]),
    ],
)
def test_what_is_kept(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "memory allocation ERROR",
        "TCP and NUMA",
        "read/write and TCP/IP",
        "the file(s) of the class(es)",
        "well-known - or so",
        "KEPs, APIs and 3D",
        "a sentence. And another.",
        "e.g. this, i.e. that",
        "what is it (see below)",
        "5 of 10",
        "_",
    ],
)
def test_ordinary_words_are_no_identifiers(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how does tcp_rcv_established work", ["tcp_rcv_established"]),
        ("where is std::vector::push_back defined", ["std", "vector", "push_back"]),
        ("page->lru in os.path.join", ["page", "lru", "os", "path", "join"]),
        ("what calls alloc_pages(gfp, order) first", ["alloc_pages"]),
        ("CONFIG_NUMA and CustomResourceDefinition here", ["CONFIG_NUMA", "CustomResourceDefinition"]),
        ("kmalloc", ["kmalloc"]),
        ("struct page", ["struct", "page"]),
        ("rotate_keys now", ["rotate_keys", "now"]),
        ("how does the scheduler work", []),
        ("see mm/page_alloc.c or https://example.org/a_b since v1.22", []),
        ("getName getName getName", ["getName"]),
        ("", []),
    ],
)
def test_names_are_what_code_may_define(text: str, expected: list[str]) -> None:
    assert identifiers.names(text) == expected


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_places_are_those_of_the_text_in_order(text: str) -> None:
    end = 0
    for one in identifiers.find(text):
        assert text[one.start : one.end] == one.name
        assert one.start >= end
        end = one.end


@pytest.mark.parametrize("piece", ["a-", "-", "_-", "1-", "a+", ".", "a.1", "ab-.", "a.md-", "A_A-"])
def test_four_times_the_text_takes_about_four_times_the_time(piece: str) -> None:
    assert_linear(lambda text: list(identifiers.find(text)), lambda chars: piece * (chars // len(piece)), 64_000)


@pytest.mark.parametrize("piece", ["a/", "a.", "a_", "a::", "A", "aB", "1.", "a(", "--a", "a.b", "(", "/.", "x->"])
def test_long_texts_are_read_in_time(piece: str) -> None:
    assert sum(1 for _ in identifiers.find(piece * (2000 // len(piece)))) <= 2000


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see (RFC-0011), v1.10 and 12:30.", ["RFC-0011", "v1.10", "12:30"]),
        ("at 2024-03-17T08:15:00Z from 00:1A:2B:3C", ["2024-03-17T08:15:00Z", "00:1A:2B:3C"]),
        ("set max_retry_count or maxRetryCount", ["max_retry_count", "maxRetryCount"]),
        ("run --dry-run on std::vector", ["dry-run", "std::vector"]),
        ("sig-api-machinery", ["sig-api-machinery"]),
        ("a well-known, up-to-date and/or state-of-the-art 7 it's C++ C 2024", []),
    ],
)
def test_what_means_more_as_a_whole(text: str, names: list[str]) -> None:
    assert list(dict.fromkeys(identifiers.wholes(text))) == names
    assert all(map(identifiers.has_parts, names))
    assert identifiers.numbered(text) == [name for name in names if any(map(str.isdigit, name))]


@pytest.mark.parametrize(("piece", "end"), [("a-", ""), ("1:", ""), ("a_", "!"), ("-", "")])
def test_names_of_many_parts_take_linear_time(piece: str, end: str) -> None:
    assert_linear(identifiers.wholes, lambda times: piece * times + end, 20_000)
