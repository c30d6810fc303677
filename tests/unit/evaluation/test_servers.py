"""What a server is asked, and how its answers are read, without one."""

from __future__ import annotations

import http.server
import threading

import pytest

from pinakes.core.errors import InvalidInput, ServerUnreachable
from pinakes.core.filters import parse
from pinakes.core.records import JSON
from pinakes.evaluation.questions import Question
from pinakes.evaluation.servers import Fields, ServerSystem, headers_of, spelled


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
    found = Fields.from_words(["results=data.hits", "path = source.file ", "mode="], by="vendor")
    assert (found.results, found.path, found.mode, found.key) == ("data.hits", "source.file", "", "metadata.vendor")


@pytest.mark.parametrize("word", ["results", "hits=x", "=x", ""])
def test_a_word_that_maps_nothing_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="NAME=THEIRS"):
        Fields.from_words([word])


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("https://user:secret@example.org/api/find?x=1#keps", "https://example.org/api/find?x=1#keps"),
    ],
)
def test_a_server_is_shown_without_passwords(address: str, shown: str) -> None:
    side = ServerSystem(address, Fields(), mode=None, top_k=5, timeout_s=1)
    assert side.about.label == shown
    side.close()


@pytest.mark.parametrize("address", ["ftp://example.org", "http://", "http://x:port"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="no address"):
        ServerSystem(address, Fields(), mode=None, top_k=5, timeout_s=1)


def test_headers_are_words_with_a_colon() -> None:
    words = ["Authorization: Bearer s3cret", " X-Key:a:b "]
    assert headers_of(words) == {"Authorization": "Bearer s3cret", "X-Key": "a:b"}
    assert headers_of([]) == {}


@pytest.mark.parametrize("word", ["s3cret", "", ": s3cret", "X-Key:", "X Key: s3cret", "X-Key: s3\ncret", "X-Key: ü"])
def test_a_word_that_is_no_header_is_refused_and_not_shown(word: str) -> None:
    with pytest.raises(InvalidInput, match=r"--header 2 of 2 .* NAME: VALUE") as raised:
        headers_of(["X-Other: 1", word])
    assert "s3" not in str(raised.value)


def test_headers_go_with_every_question_and_are_never_shown() -> None:
    seen: list[str | None] = []

    class Server(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seen.append(self.headers["X-Key"])
            body = b'{"results": [{"kep_id": "a"}]}' if len(seen) < 3 else b"{}"
            self.send_response(200 if len(seen) < 3 else 401)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        side = ServerSystem(url, Fields(), mode=None, top_k=5, timeout_s=5, headers={"X-Key": "s3cret"})
        for _ in range(2):
            assert [one.key for one in side.ask(Question("1", "why", {})).documents] == ["a"]
        with pytest.raises(ServerUnreachable, match="HTTP 401") as raised:
            side.ask(Question("1", "why", {}))
        side.close()
        server.shutdown()
        thread.join()
    assert seen == ["s3cret"] * 3
    assert "s3cret" not in f"{raised.value} {side.about}"
