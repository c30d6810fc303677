"""Hosts, origins and client addresses that claim to be others, and repositories that lead into the network."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from real_server import RealServer, real_server

from pinakes.core.errors import PinakesError
from pinakes.library import Library
from pinakes.settings import load

HOSTS = [
    *("[::1].evil.com", "[::1]evil.com", "[::1", "::1", "[127.0.0.1].evil.com", "[::1%25lo]"),
    *("localhost:80@evil.com", "localhost@evil.com", "evil.com#localhost", "evil.com\\localhost"),
    *("localhost\\.evil.com", "localhost/.evil.com", "localhost:80:80", "localhost:x", "localhost:99999"),
    *("localhost,evil.com", "localhost evil.com", "127.0.0.1.evil.com", "evil.com:localhost", "localhost.."),
    *("loc\xe4lhost", "", "127.1", "0x7f000001", "localhost?x"),
]
ORIGINS = [
    *("http://[::1].evil.com", "http://localhost:80@evil.com", "http://localhost\\@evil.com"),
    *("http://localhost#@evil.com", "http://evil.com\\localhost", "http:\\\\localhost"),
    *("http://localhost/@evil.com", "http://localhost, http://evil.com", "http://localhost.evil.com"),
    *("ftp://localhost", "http://localhost:80:80", "http://", "localhost", "null"),
]


@pytest.fixture(scope="module")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    home = tmp_path_factory.mktemp("forged") / "home"
    shutil.copytree(made, home)
    with real_server(home, server__per_minute=1000, server__trusted_proxies="127.0.0.2") as running:
        yield running


def status(server: RealServer, *headers: str, version: str = "1.1") -> int:
    """Return the status of a request with just these header lines."""
    lines = [f"GET /stats HTTP/{version}", *headers, "Connection: close", "", ""]
    with server.connect("\r\n".join(lines).encode("latin-1")) as connection:
        connection.settimeout(20)
        answer = b""
        while part := connection.recv(4096):
            answer += part
    return int(answer.split()[1])


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_that_is_no_name_and_port_is_refused(server: RealServer, host: str) -> None:
    assert status(server, f"Host: {host}") in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:8000", "[::1]", "[::1]:8000", "localhost."])
def test_names_of_this_machine_are_answered(server: RealServer, host: str) -> None:
    assert status(server, f"Host: {host}") == 200


def test_a_second_host_or_origin_is_refused(server: RealServer) -> None:
    assert status(server, "Host: localhost", "Host: evil.com") in (400, 403)
    assert status(server, version="1.0") in (400, 403)
    origins = ("Origin: http://localhost", "Origin: http://evil.com")
    assert status(server, "Host: localhost", *origins) == 403


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_origin_that_is_no_scheme_name_and_port_is_refused(server: RealServer, origin: str) -> None:
    assert status(server, "Host: localhost", f"Origin: {origin}") == 403
    assert status(server, "Host: localhost", "Origin: http://localhost:3000") == 200


def test_only_a_proxy_that_is_named_says_who_asks(home: Path) -> None:
    with real_server(home, server__per_minute=20, server__trusted_proxies="127.0.0.2") as server:
        forged = [
            {name: value.format(number)}
            for number in range(15)
            for name, value in (
                ("X-Forwarded-For", "8.8.8.{}"),
                ("X-Real-IP", "8.8.8.{}"),
                ("Forwarded", "for=8.8.8.{}"),
            )
        ]
        seen = asked(server, "127.0.0.1", forged)
        assert 429 in seen[:30]
        assert set(seen[30:]) == {429}
        forwarded = [{"X-Forwarded-For": f"8.8.8.{number}, 9.9.9.9"} for number in range(40)]
        assert asked(server, "127.0.0.2", forwarded)[-1] == 429  # only what the proxy added counts
        assert asked(server, "127.0.0.2", [{"X-Forwarded-For": "9.9.9.10"}]) == [200]


def asked(server: RealServer, origin: str, headers: Iterable[dict[str, str]]) -> list[int]:
    """Return what is answered to requests from an address of this machine."""
    transport = httpx.HTTPTransport(local_address=origin)
    with httpx.Client(base_url=server.url, timeout=30, transport=transport) as client:
        return [client.get("/stats", headers=one).status_code for one in headers]


DOCUMENT = """\
apiVersion: dot-ai.devopstoolkit.live/v1alpha1
kind: GitKnowledgeSource
metadata: {{name: notes, namespace: team}}
spec: {{repository: {{url: "{url}", depth: 0}}, paths: ["*.md"]}}
"""
LOCATIONS = [
    *("http://169.254.169.254/latest/meta-data", "https://10.0.0.5/x.git"),
    *("http://192.0.0.8/x.git", "http://192.0.0.170/x.git", "https://100.100.100.200/x.git", "https://[fd00:ec2::254]/x"),
    *("http://[::ffff:169.254.169.254]/x.git", "http://[64:ff9b::a9fe:a9fe]/x.git", "http://2130706433/x.git"),
    *("http://127.1/x.git", "http://0/x.git", "http://localhost:1/x.git", "ssh://git@127.0.0.1/x.git"),
    *("git@192.168.1.1:x.git", "git://127.0.0.1/x.git", "file:///srv/x.git", "/srv/x.git", "ext::sh -c touch% x"),
    *("http://127.0.0.1#.example.org/x", "https://127.0.0.1\\\\.example.org/x.git", "file://localhost/srv/x.git"),
]  # fmt: skip


def read(home: Path, url: str, **settings: object) -> PinakesError | None:
    """Return why the repository of a document in this home could not be read, None where it was."""
    (home / "sources.d").mkdir(parents=True, exist_ok=True)
    (home / "sources.d" / "notes.yaml").write_text(DOCUMENT.format(url=url), "utf-8")
    with Library(load(home=home, environment={}, embedding__provider="deterministic", **settings)) as library:
        [report] = library.sync("default")
    return report.error


@pytest.mark.parametrize("location", LOCATIONS)
def test_a_document_leads_no_git_into_the_network_of_the_operator(tmp_path: Path, location: str) -> None:
    error = read(tmp_path / "home", location)
    assert error is not None
    assert error.code == "REFUSED", error
    assert not (tmp_path / "home" / "x").exists()


@contextmanager
def forge(folder: Path, **moved: str) -> Iterator[str]:
    """Serve a bare repository as files, and redirects from ``/NAME/…``; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, _, rest = self.path.lstrip("/").partition("/")
            file = folder / self.path.lstrip("/").partition("?")[0]
            self.send_response(302 if name in moved else 200 if file.is_file() else 404)
            if name in moved:
                self.send_header("location", f"{moved[name]}/{rest}")
            self.end_headers()
            if name not in moved and file.is_file():
                self.wfile.write(file.read_bytes())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A bare repository with one page on ``main``, as a forge serves it to everybody."""
    work, bare = tmp_path / "work", tmp_path / "served" / "notes.git"
    work.mkdir()
    (work / "a.md").write_text("# Heron\n\nHerons wait.\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "a")):
        subprocess.run(["git", *command], cwd=work, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    subprocess.run(["git", "update-server-info"], cwd=bare, check=True)
    return bare


def test_what_the_operator_allows_is_read_and_redirects_are_not_followed(tmp_path: Path, repository: Path) -> None:
    allowed = {"fetch__allow_private": ["127.0.0.1"]}
    with forge(repository.parent) as inside, forge(repository.parent, gone=inside) as address:
        moved = read(tmp_path / "moved", f"{address}/gone/notes.git", **allowed)
        assert "leads to another address" in str(moved)
        assert read(tmp_path / "there", f"{address}/notes.git", **allowed) is None


def test_the_settings_of_the_operator_may_name_any_repository(tmp_path: Path, repository: Path) -> None:
    sources = [{"kind": "git", "location": str(repository)}]
    with Library(
        load(home=tmp_path / "home", environment={}, embedding__provider="deterministic", sources=sources)
    ) as library:
        [report] = library.sync()
        assert (report.error, report.added) == (None, 1)
