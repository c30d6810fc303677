"""Servers as a side of a comparison: real processes, killed in the middle; servers of another shape; silent ones."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import pytest
from forking import Forked
from serve_support import SERVE, Running, free_port

from pinakes.core.errors import ServerUnreachable
from pinakes.core.filters import parse
from pinakes.evaluation import runs
from pinakes.evaluation.querying import Replies, SystemQuerier
from pinakes.evaluation.questions import GoldenSet, Question
from pinakes.evaluation.servers import Fields, ServerSystem
from pinakes.evaluation.system_comparison import compare, unanswered
from pinakes.evaluation.systems import CollectionSystem, QueryMode, System
from pinakes.library import Library

TEXTS = (
    "bound service account tokens",
    "conversion webhooks of custom resources",
    "join more control plane nodes",
    "block storage for pods",
    "how are proposals coordinated",
    "authentication tokens replayed",
)
GOLDEN = GoldenSet("keps", Path("keps.txt"), tuple(Question(str(n), text, {}) for n, text in enumerate(TEXTS)))
WAY = {"passages": 20}
OpenServer: TypeAlias = Callable[..., ServerSystem]


@pytest.fixture
def server_side() -> Iterator[OpenServer]:
    """Open sides that are closed when the test ends."""
    with ExitStack() as stack:

        def open_(url: str, *words: str, timeout_s: float = 30) -> ServerSystem:
            side = ServerSystem(url, Fields.from_words(words), mode=None, top_k=20, timeout_s=timeout_s)
            stack.callback(side.close)
            return side

        yield open_


@pytest.fixture
def local(library: Library) -> System:
    record = library.collection("keps")
    configuration = runs.configuration_of(library.settings, record)
    way = QueryMode("hybrid", 20, None)
    return CollectionSystem(library.app.catalog, "keps", library.search, library.rank, record, way, configuration)


def test_a_server_of_the_same_home_gives_the_same_rankings(
    server: Running, local: System, server_side: OpenServer
) -> None:
    report = compare(SystemQuerier(local, {}), SystemQuerier(server_side(f"{server.url}#keps"), {}), GOLDEN)
    assert report.agreement["overlap_5"].mean == report.agreement["overlap_20"].mean == 1
    assert report.agreement["tau"].mean == 1
    assert report.linked_by == "path"
    assert report.a.latency is not None
    assert report.b.latency is not None
    assert report.b.latency.p50_ms > 0
    assert (report.b.passages, report.b.asked) == (20, 6)


def test_filters_of_questions_reach_the_server(server: Running, local: System, server_side: OpenServer) -> None:
    question = Question("1", "tokens", {}, where=parse({"path": {"glob": "keps/sig-auth/**"}}))
    report = compare(
        SystemQuerier(local, {}), SystemQuerier(server_side(server.url), {}), GoldenSet("x", Path("x"), (question,))
    )  # fmt: skip
    assert report.pairs[0].b
    assert all(path.startswith("keps/sig-auth/") for path in report.pairs[0].b)
    assert report.agreement["overlap_20"].mean == 1


@pytest.mark.parametrize("kept_before", [False, True])
def test_a_server_that_is_killed_in_the_middle_leaves_a_report_of_what_there_is(
    home: Path,
    local: System,
    process: Callable[..., Forked],
    tmp_path: Path,
    kept_before: bool,
    server_side: OpenServer,
) -> None:
    child = process(SERVE, home)
    assert child.stdout is not None
    url = child.stdout.readline().decode().strip()
    with Replies(tmp_path / "kept.jsonl") as replies:
        if kept_before:
            compare(SystemQuerier(local, {}), SystemQuerier(server_side(url), WAY, replies), GOLDEN)

        def kill_after_two(done: int) -> None:
            if done == 2:
                child.kill()
                child.wait()

        asker = SystemQuerier(server_side(url), WAY, replies)
        report = compare(SystemQuerier(local, {}), asker, GOLDEN, on_question=kill_after_two)
    origins = [pair.origin_b for pair in report.pairs]
    error = unanswered(asker, report.b)
    assert origins[:2] == ["asked"] * 2
    assert report.agreement["overlap_5"].mean == 1
    if kept_before:
        assert origins[2:] == ["kept"] * 4
        assert report.compared == 6
        assert error is None
        assert any(words.startswith("B: kept answers, ") for words in report.cautions)
    else:
        assert origins[2:] == ["none"] * 4
        assert report.compared == 2
        assert isinstance(error, ServerUnreachable)
        assert f"{url} has no answer to 4 of 6 questions" in error.message
        assert "does not answer" in error.message
    assert report.b.latency is not None


class Handler(BaseHTTPRequestHandler):
    """Another search service: other names, other shapes."""

    asked: ClassVar[list[Any]] = []
    answer: ClassVar[tuple[int, bytes]] = (200, b"")

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, body = self.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def stranger() -> Iterator[str]:
    Handler.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{service.server_port}/find"
        service.shutdown()
        thread.join()


def test_a_server_of_another_shape_is_read_through_a_map(stranger: str, server_side: OpenServer) -> None:
    hits = [{"doc": {"file": name}, "rank": 3 - n} for n, name in enumerate(("a.md", "a.md", "b.md"))]
    Handler.answer = 200, json.dumps({"data": {"hits": hits}}).encode()
    words = ("query=q", "top_k=page.size", "mode=", "results=data.hits", "path=doc.file", "score=rank")
    reply = server_side(stranger, *words).ask(Question("1", "bees", {}))
    assert [one.path for one in reply.documents] == ["a.md", "b.md"]
    assert reply.scores == (3.0, 1.0)
    assert Handler.asked == [{"q": "bees", "page": {"size": 20}}]
    Handler.answer = 200, b'[{"key": "one"}, {"key": "two"}]'
    reply = server_side(stranger, "results=.", "key=key").ask(Question("1", "bees", {}))
    assert [one.key for one in reply.documents] == ["one", "two"]
    assert reply.scores == ()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, b"<html>"), "without a list 'results'"),
        ((200, b'{"results": {}}'), "without a list 'results'"),
        ((200, b'{"results": [{"title": "x"}]}'), "name no document"),
        ((404, b'{"detail": "There is no collection."}'), "HTTP 404: There is no collection."),
        ((503, b"busy"), "HTTP 503"),
    ],
)
def test_answers_that_cannot_be_used_are_named(
    stranger: str, answer: tuple[int, bytes], says: str, server_side: OpenServer
) -> None:
    Handler.answer = answer
    with pytest.raises(ServerUnreachable, match=says):
        server_side(stranger, timeout_s=0.3).ask(Question("1", "bees", {}))


def test_a_server_that_says_nothing_is_waited_for_no_longer_than_asked(server_side: OpenServer) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        side = server_side(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2)
        with pytest.raises(ServerUnreachable, match=r"does not answer within 0\.2 s.*--timeout"):
            side.ask(Question("1", "bees", {}))


def test_a_server_that_is_not_there_is_an_error_when_nothing_was_kept(local: System, server_side: OpenServer) -> None:
    asker = SystemQuerier(server_side(f"http://127.0.0.1:{free_port()}"), {})
    with pytest.raises(ServerUnreachable, match="does not answer"):
        compare(SystemQuerier(local, {}), asker, GOLDEN)
