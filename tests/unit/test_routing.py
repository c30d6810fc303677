"""Which retriever answers a query best, and whether it names a symbol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.search.query.routing import looks_like_symbol, route


@pytest.mark.parametrize(
    ("text", "mode", "density"),
    [
        ("tcp_rcv_established", "keyword", 1.0),
        ("call_rcu implementation", "keyword", 0.75),
        ("error 404 in net/core/dev.c 12", "keyword", 0.74),
        ("CVE 2021 44228 1.2.3", "keyword", 0.875),
        ("what is it about", "vector", 0.2),
        ("why do they do this to the pods", "vector", 0.2375),
        ("rotate signing keys", "hybrid", 0.5),
        ("how do we rotate the signing keys", "hybrid", 2.3 / 7),
        ("pod security", "hybrid", 0.5),
    ],
)
def test_the_density_of_exact_words_decides(text: str, mode: str, density: float) -> None:
    found = route(text)
    assert found.features.density == pytest.approx(density)
    assert found.mode == mode
    assert 0.5 <= found.confidence <= 1


@pytest.mark.parametrize("text", ["", "  ", "?!"])
def test_a_blank_query_goes_to_both_without_much_confidence(text: str) -> None:
    found = route(text)
    assert (found.mode, found.confidence) == ("hybrid", 0.5)


def test_the_limits_themselves_belong_to_both() -> None:
    text = "call_rcu implementation"
    assert route(text, keyword_above=0.75).mode == "hybrid"
    assert route(text, keyword_above=0.74).mode == "keyword"
    assert route("what", vector_below=0.0).mode == "hybrid"


def test_the_reason_names_the_exact_words() -> None:
    found = route("kfree() GFP_KERNEL 0x1f page_alloc.c")
    assert found.reason == "4 of 4 words stand for nothing but themselves: kfree(), GFP_KERNEL, 0x1f, …"
    assert found.features.exact_terms == ("kfree()", "GFP_KERNEL", "0x1f", "page_alloc.c")
    assert found.confidence == 1.0


def test_the_words_of_a_phrase_are_exact() -> None:
    assert route("rotate the keys").mode == "hybrid"
    assert route("rotate the keys", ["rotate the keys"]).mode == "keyword"


@given(st.text(max_size=100))
def test_every_text_has_a_route(text: str) -> None:
    found = route(text)
    assert 0 <= found.features.density <= 1
    assert 0.5 <= found.confidence <= 1
    assert found.reason
    looks_like_symbol(text)


@pytest.mark.parametrize(
    ("text", "name", "kind", "alone"),
    [
        ("tcp_rcv_established", "tcp_rcv_established", "snake", True),
        (" `kfree()` ", "kfree", "call", True),
        ("GFP_NOFS", "GFP_NOFS", "constant", True),
        ("CustomResourceDefinition", "CustomResourceDefinition", "camel", True),
        ("std::string", "string", "scoped", True),
        ("os.path.join", "join", "scoped", True),
        ("mm/page_alloc.c", "mm/page_alloc.c", "path", True),
        ("page_alloc.c", "page_alloc.c", "path", True),
        ("kmalloc", "kmalloc", "word", True),
        ("definition of struct sk_buff", "sk_buff", "snake", False),
        ("call_rcu implementation", "call_rcu", "snake", False),
        ("where is wait_event_interruptible defined?", "wait_event_interruptible", "snake", False),
    ],
)
def test_what_names_a_symbol(text: str, name: str, kind: str, alone: bool) -> None:
    found = looks_like_symbol(text)
    assert found is not None
    assert (found.name, found.kind, found.alone) == (name, kind, alone)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the",
        "two words",
        "definition of",
        "when is sk_buff freed",
        "kfree_rcu or call_rcu",
        "5.4.0",
        "0x1f",
        "42",
        "https://example.org/a_b",
    ],
)
def test_what_does_not(text: str) -> None:
    assert looks_like_symbol(text) is None
