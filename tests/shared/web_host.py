"""A web host on this machine whose answers tests decide, and which remembers what it was asked."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Page:
    """An answer. ``etag`` makes one that is asked for with it again be answered by 304."""

    body: bytes = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: bool = False


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Raw = Callable[[socket.socket], None]
"""Writes to the connection itself, for answers that are none."""


class WebHost:
    """Answers by ``pages``, from path to a page; everything else is 404."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.pages: dict[str, Page | Raw] = {}
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.port = server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"

    def put(self, path: str, text: str, **more: object) -> str:
        """Put a page there; return its address."""
        self.pages[path] = Page(text.encode(), **more)  # type: ignore[arg-type]
        return self.address + path

    def paths(self) -> list[str]:
        """Return what was asked for, in order, without robots.txt; and forget it."""
        paths = [one.path for one in self.asked if one.path != "/robots.txt"]
        self.asked.clear()
        return paths


@contextmanager
def web_host() -> Iterator[WebHost]:
    """Serve on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            host.asked.append(Asked(self.command, self.path, headers, self.rfile.read(size)))
            page = host.pages.get(self.path, Page(b"not here", 404, "text/plain"))
            if not isinstance(page, Page):
                self.close_connection = True
                page(self.connection)
                return
            etag = f'"{hashlib.sha256(page.body).hexdigest()[:16]}"' if page.etag else ""
            if etag and headers.get("if-none-match") == etag:
                self.send_response(304)
                self.end_headers()
                return
            self.send_response(page.status)
            self.send_header("content-type", page.kind)
            if etag:
                self.send_header("etag", etag)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients hang up on purpose
    host = WebHost(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        host.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def sitemap(*entries: tuple[str, str] | str) -> str:
    """Return a sitemap of addresses, or of (address, when it changed)."""
    return _listing("urlset", "url", entries)


def sitemap_index(*entries: tuple[str, str] | str) -> str:
    """Return an index of sitemaps."""
    return _listing("sitemapindex", "sitemap", entries)


def _listing(root: str, name: str, entries: tuple[tuple[str, str] | str, ...]) -> str:
    rows = []
    for entry in entries:
        url, changed = entry if isinstance(entry, tuple) else (entry, "")
        rows.append(f"<{name}><loc>{url}</loc>{f'<lastmod>{changed}</lastmod>' if changed else ''}</{name}>")
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{space}">{"".join(rows)}</{root}>'
