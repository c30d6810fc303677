"""What a server is asked, and how its answers are read, without one."""

from __future__ import annotations

import pytest

from pinakes.errors import InvalidInput
from pinakes.evaluation.servers import Fields, ServerSide, spelled
from pinakes.filters import parse
from pinakes.types import JSON


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"status": "beta"},
        {"status": ["alpha", "beta"], "path": {"glob": "docs/**"}},
        {"year": {"gte": 2020, "lt": 2024}, "tags": {"ne": ["draft"]}},
        {"created": {"gt": "2020-01-01"}},
    ],
)
def test_a_filter_is_sent_in_a_form_that_says_the_same(filters: dict[str, JSON]) -> None:
    assert parse(spelled(parse(filters))) == parse(filters)


def test_fields_are_named_by_words() -> None:
    found = Fields.of(["results=data.hits", "path = source.file ", "mode="], by="vendor")
    assert (found.results, found.path, found.mode, found.key) == ("data.hits", "source.file", "", "metadata.vendor")


@pytest.mark.parametrize("word", ["results", "hits=x", "=x", ""])
def test_a_word_that_maps_nothing_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="NAME=THEIRS"):
        Fields.of([word])


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("https://user:secret@example.org/api/find?x=1#keps", "https://example.org/api/find?x=1#keps"),
    ],
)
def test_a_server_is_shown_without_passwords(address: str, shown: str) -> None:
    side = ServerSide(address, Fields(), mode=None, top_k=5, timeout_s=1)
    assert side.about.label == shown
    side.close()


@pytest.mark.parametrize("address", ["ftp://example.org", "http://", "http://x:port"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="no address"):
        ServerSide(address, Fields(), mode=None, top_k=5, timeout_s=1)
