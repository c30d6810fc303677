"""Git repositories behind real transports: smart HTTP by ``git http-backend``, and SSH by a command that stands in."""

from __future__ import annotations

import base64
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from pinakes.core.errors import SourceError
from pinakes.ingestion.report import Event, Report
from pinakes.library import Library
from pinakes.testing import FILES, write_files

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = write_files(tmp_path / "served" / "repository")
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


def sync(library: Library) -> tuple[Report, list[str]]:
    events: list[Event] = []
    [report] = library.sync(on_event=events.append)
    return report, [event.detail for event in events if event.stage == "read"]


class _SmartHttp(http.server.BaseHTTPRequestHandler):
    """Hands every request to ``git http-backend``, as a web server does."""

    root: ClassVar[Path]
    asked: ClassVar[list[str]]
    sent_bytes: ClassVar[list[int]]
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        self.asked.append(f"{self.command} {self.path}")
        path, _, query = self.path.partition("?")
        environment = os.environ | {
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True, env=environment, timeout=60, check=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().splitlines()]
        self.send_response(next((int(value.split()[0]) for name, value in headers if name == "Status"), 200))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.sent_bytes.append(len(content))
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Stay silent."""


class _Private(http.server.BaseHTTPRequestHandler):
    """Asks everyone for a password."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="private"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Stay silent."""


def serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def smart(repository: Path) -> Iterator[tuple[str, type[_SmartHttp]]]:
    class Handler(_SmartHttp):
        root, asked, sent_bytes = repository.parent, [], []

    for url in serving(Handler):
        yield url, Handler


@pytest.fixture
def private() -> Iterator[str]:
    yield from serving(_Private)


def test_a_repository_over_smart_http_is_read_and_a_second_sync_reads_only_the_diff(
    library: Library, repository: Path, smart: tuple[str, type[_SmartHttp]]
) -> None:
    base, handler = smart
    url = f"{base}/repository"
    (repository / "noise.txt").write_text(
        "".join(f"{number * 7919 % 100_003} words of noise\n" for number in range(20_000))
    )
    commit(repository)
    report = library.add(url)
    assert (report.added, report.failed, report.error) == (len(FILES) + 1, [], None)
    hit = library.search("earthworms", mode="keyword").hits[0]
    assert (hit.path, hit.uri) == ("animals/badger.md", f"{url}/blob/main/animals/badger.md")
    assert any("git-upload-pack" in line for line in handler.asked)
    first = sum(handler.sent_bytes)
    handler.sent_bytes.clear()
    assert sync(library)[1] == []
    (repository / "animals/newt.md").write_text("# Newt\n\nNewts swim.\n")
    (repository / "animals/otter.md").unlink()
    commit(repository)
    report, read = sync(library)
    assert read == ["animals/newt.md"]
    assert (report.added, report.changed, report.removed) == (1, 0, 1)
    assert sum(handler.sent_bytes) < first / 3
    hit = library.search("newts", mode="keyword").hits[0]
    assert (hit.path, hit.metadata["commit"]) == ("animals/newt.md", git(repository, "rev-parse", "HEAD").strip())
    assert not any(library.verify().values())


def test_a_path_that_the_server_does_not_have_is_said_to_be_no_repository(
    library: Library, smart: tuple[str, type[_SmartHttp]]
) -> None:
    url = f"{smart[0]}/nothing.git"
    with pytest.raises(SourceError, match="is not there, or is not a git repository"):
        library.add(url)


def test_a_repository_that_asks_for_credentials_ends_the_command_at_once_without_a_prompt(
    home: Path, private: str, tmp_path: Path
) -> None:
    asking = tmp_path / "ask"
    asking.write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'\n")
    asking.chmod(0o755)
    environment = os.environ | {"GIT_ASKPASS": str(asking), "SSH_ASKPASS": str(asking), "DISPLAY": ":0"}
    words = ["--home", str(home), "--set", "embedding.provider=deterministic", "add", f"{private}/secret.git"]
    started = time.monotonic()
    done = subprocess.run(
        [str(Path(sys.executable).with_name("pinakes")), *words],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert time.monotonic() - started < 20
    assert done.returncode not in (0, 1)
    assert done.stdout == ""
    assert "asks for credentials" in done.stderr
    assert "credential helper" in done.stderr
    assert "Password" not in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("form", ["ssh://git@kb.example{path}", "git@kb.example:{path}"])
def test_a_repository_over_ssh_is_read_by_the_ssh_command_of_the_user_which_may_not_ask(
    library: Library, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    command = tmp_path / "fake-ssh"
    command.write_text(
        f'#!/bin/sh\necho "$*" >> \'{tmp_path}/asked\'\nfor last; do :; done\nunset GIT_PROTOCOL\nexec sh -c "$last"\n'
    )
    command.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(command))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    report = library.add(form.format(path=repository / ".git"))
    assert (report.added, report.error) == (len(FILES), None)
    (repository / "animals/newt.md").write_text("# Newt\n\nNewts swim.\n")
    commit(repository)
    assert sync(library)[1] == ["animals/newt.md"]
    hit = library.search("newts", mode="keyword").hits[0]
    assert hit.uri.startswith("ssh://git@kb.example/")
    for line in (tmp_path / "asked").read_text().splitlines():
        assert line.startswith("-oBatchMode=yes ")
        assert "git@kb.example git-upload-pack" in line


def test_a_token_of_the_environment_opens_a_private_repository_and_is_written_nowhere(
    home: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = f"Basic {base64.b64encode(b'x-access-token:very-secret').decode()}"

    (repository / "later.md").write_text("# Later\n", "utf-8")
    commit(repository)

    class Locked(_SmartHttp):
        root, asked, sent_bytes = repository.parent, [], []

        def _answer(self, body: bytes) -> None:
            if self.headers.get("Authorization") == wanted:
                super()._answer(body)
                return
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="private"')
            self.end_headers()

    for base in serving(Locked):
        source = {"kind": "git", "location": f"{base}/repository", "token_variable": "FORGE_TOKEN"}
        settings = {"embedding__provider": "deterministic", "cache": str(tmp_path / "cache"), "sources": [source]}
        monkeypatch.setenv("FORGE_TOKEN", "wrong-secret")
        with Library.open(home, **settings) as library:
            [report] = library.sync()
            assert "asks for credentials" in str(report.error)
            monkeypatch.setenv("FORGE_TOKEN", "very-secret")
            [report] = library.sync()
            assert (report.error, report.added) == (None, len(FILES) + 1)
            told = library.blames.of_results(library.search("text", mode="vector", top_k=50), wait_s=30)
            assert any(hit.blame for hit in told.hits), "the history is asked for with the token, too"
            [compared] = library.staleness.stale(library.collection())
            assert compared.error == ""
            monkeypatch.delenv("FORGE_TOKEN")
            [report] = library.sync()
            assert "FORGE_TOKEN, which is to hold the token" in str(report.error)
    for path in home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"very-secret" not in content
            assert wanted.partition(" ")[2].encode() not in content, path
