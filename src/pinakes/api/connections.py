"""Limits of connections: how many there may be, and how long each may stay idle or slow.

uvicorn waits for ever for the head and the body of a request, and accepts every connection. Here those that wait too
long are closed; where there are too many, those go first that have waited longest for a request, since a client that
only holds connections open never has one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_network
from typing import Any, Final, Literal, Protocol

from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pinakes.api.descriptors import Descriptors
from pinakes.core.loopback import address_of
from pinakes.core.records import JSON
from pinakes.settings import ServerSettings

_log = logging.getLogger(__name__)

_SWEEP_S: Final = 0.5
_FLUSH_S: Final = 1.0
_LOG_EVERY_S: Final = 60.0
_MOST_HEAD_BYTES: Final = 65_536
READING: Final = "pinakes.reading"
"""In the scope of a request: whether the application waits for more of its body."""

_OFFERS: Final = frozenset((b"upgrade", b"http2-settings"))
_REASONS: Final = {
    408: ("Request Timeout", "The request did not come in time."),
    431: ("Request Header Fields Too Large", f"The head of a request may have {_MOST_HEAD_BYTES} bytes."),
    503: ("Service Unavailable", "There are too many connections. Try again in a moment."),
}
_ENDS: Final = "The server ends. Nothing was done: the request had not arrived. Ask again once it runs again."


class CountedConnection(Protocol):
    """A connection that is counted."""

    address: str
    since: float

    @property
    def is_idle(self) -> bool:
        """Whether it has no request that is being answered."""
        ...

    def close_if_slow(self) -> None:
        """Close, where the client takes too long."""
        ...

    def close_for_room(self) -> None:
        """Close, so that others have room."""
        ...


class Connections:
    """All connections of one server; used by its event loop alone, but for ``status``."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.descriptors = Descriptors()
        self._proxies = [ip_network(one, strict=False) for one in settings.trusted_proxies]
        self._open: dict[CountedConnection, None] = {}
        self._of_address: Counter[str] = Counter()
        self._closed: Counter[str] = Counter()
        self._unlogged: Counter[str] = Counter()
        self._logged_at = float("-inf")

    def address_of(self, client: tuple[str, int] | None) -> str:
        """Return by which address a client is counted, "" for a proxy, behind which there are many."""
        found = address_of(client[0].partition("%")[0] if client else "")
        if found is None or any(found in network for network in self._proxies if network.version == found.version):
            return ""
        if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
            return str(ip_network((found, 64), strict=False))
        return str(found)

    def add(self, one: CountedConnection) -> bool:
        """Count a connection; say whether there is room for it, perhaps since another was closed."""
        most, here = self.settings.max_connections_per_address, self._of_address[one.address]
        roomy = not (one.address and most and here >= most) or self._make_room(one.address)
        if roomy and len(self._open) >= self.descriptors.most_connections(len(self._open)):
            roomy = self._make_room(max(self._of_address, key=self._of_address.__getitem__))
        if not roomy:
            self.note("refused")
            return False
        self._open[one] = None
        self._of_address[one.address] += 1
        return True

    def remove(self, one: CountedConnection) -> None:
        """Count a connection no longer."""
        if one in self._open:
            del self._open[one]
            self._of_address[one.address] -= 1
            if not self._of_address[one.address]:
                del self._of_address[one.address]

    def note(self, what: Literal["slow", "for room", "refused"]) -> None:
        """Count a connection that was closed or refused; it is told, though not each one."""
        self._closed[what] += 1
        self._unlogged[what] += 1

    def status(self) -> dict[str, JSON]:
        """Return how many there are, and how many were closed: for their slowness, to make room, or at once."""
        closed = self._closed
        return {
            "open": len(self._open),
            "closed_slow": closed["slow"],
            "closed_for_room": closed["for room"],
            "refused": closed["refused"],
            "descriptors": self.descriptors.status(),
        }

    async def watch(self) -> None:
        """Close what waits too long, and tell of what was closed, until the task is cancelled."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            for one in [*self._open]:
                one.close_if_slow()
            self.descriptors.count_open()
            self._log_closed()

    def _make_room(self, address: str) -> bool:
        """Close what has waited longest for a request from an address; say whether there was such a connection."""
        waiting = [one for one in self._open if one.address == address and one.is_idle]
        if not waiting:
            return False
        first = min(waiting, key=lambda one: one.since)
        self.note("for room")
        self.remove(first)
        first.close_for_room()
        return True

    def _log_closed(self) -> None:
        if self._unlogged and time.monotonic() - self._logged_at >= _LOG_EVERY_S:
            words = ", ".join(f"{count} {_WORDS[what]}" for what, count in sorted(self._unlogged.items()))
            _log.warning("connections: %s; %d are open", words, len(self._open))
            self._unlogged.clear()
            self._logged_at = time.monotonic()


_WORDS = {
    "slow": "closed that sent or read too slowly (server.header_timeout_s, server.body_timeout_s)",
    "for room": "closed that had sent no request, to make room (server.max_connections_per_address, ulimit -n)",
    "refused": "refused since there were too many (server.max_connections_per_address, ulimit -n)",
}


class _Parser(HttpRequestParser):
    """Reads a request that offers another protocol than WebSockets as one that does not: its body would be lost."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._connection = connection

    def feed_data(self, data: Any) -> None:
        """Read what has come."""
        parser, left = self, memoryview(data)
        while True:
            try:
                HttpRequestParser.feed_data(parser, left)
            except HttpParserUpgrade as upgrade:
                if not self._connection.is_other_protocol:
                    raise
                head, left = self._connection.head_without_offer(), left[upgrade.args[0] :]
                parser = self._connection.parser = _Parser(self._connection)
                HttpRequestParser.feed_data(parser, head)
            else:
                return


class Connection(HttpToolsProtocol):
    """A connection of HTTP that knows what it waits for, since when."""

    counted: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, where there is room."""
        super().connection_made(transport)
        self.address = self.counted.address_of(self.client)
        self._head_bytes = 0
        self._blocked_since: float | None = None
        self._is_refused = False
        self.parser = _Parser(self)
        self._receive("head")
        if not self.counted.add(self):
            self._refuse(503)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.counted.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; a head that is too large is refused."""
        if self._is_refused or self.transport.is_closing():
            return
        if self._receiving == "nothing":
            self._receive("head")
        super().data_received(data)
        before = data.rfind(b"\r\n\r\n")  # where the head of a request before this one ends
        unended = self._head_bytes + len(data) if before < 0 else len(data) - before - 4
        self._head_bytes = unended if self._receiving == "head" else 0
        if self._head_bytes > _MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431)

    def handle_websocket_upgrade(self) -> None:
        """Become a socket, which is counted as one."""
        self.counted.remove(self)
        super().handle_websocket_upgrade()

    def on_message_begin(self) -> None:
        """Note that a request comes."""
        self._receive("head")
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that its head is there."""
        if not self.is_other_protocol:
            self._receive("body")
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of it is there."""
        if not self.is_other_protocol:
            self._receive("nothing")
            super().on_message_complete()

    @property
    def is_other_protocol(self) -> bool:
        """Whether the request whose head is read offers to go on in a protocol that is not spoken here, as HTTP/2."""
        offered = any(name == b"upgrade" for name, _ in self.headers)
        return offered and self.parser.should_upgrade() and not self._should_upgrade()

    def head_without_offer(self) -> bytes:
        """Return the head of the request that is read, without the offer of another protocol."""
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"connection":
                words = (one.strip() for one in value.split(b","))
                value = b", ".join(one for one in words if one.lower() not in _OFFERS)
            if name not in _OFFERS:
                lines.append(b"%s: %s" % (name, value))
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def on_response_complete(self) -> None:
        """Note that it is answered."""
        self.since = time.monotonic()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        self._blocked_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that it does."""
        self._blocked_since = None
        super().resume_writing()

    def shutdown(self) -> None:
        """Close once what was asked is answered; a request that is not there yet is refused: nothing was done of it."""
        if self._is_refused:
            return
        if self._receiving == "body" and self.is_idle and self._waits_for_body:
            self.cycle.disconnected = True  # the app writes no more, since nothing may be written after an end
            self.cycle.waiting_for_100_continue = False
            self._refuse(503, _ENDS, read_on=True)
        else:
            super().shutdown()

    @property
    def _waits_for_body(self) -> bool:
        """Whether the application does nothing but wait for the body; some requests need none, and are under way."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_started and bool(cycle.scope.get(READING))

    @property
    def is_idle(self) -> bool:
        """Whether it has no request that is being answered."""
        if self._receiving == "body":  # the last one, which may be behind others
            return not self.pipeline
        return self.cycle is None or self.cycle.response_complete

    def close_if_slow(self) -> None:
        """Close, where the client takes too long to send a request or to read its answer."""
        if self._is_refused:
            return
        limits, now = self.counted.settings, time.monotonic()
        if self._blocked_since is not None and now - self._blocked_since > limits.body_timeout_s:
            self.counted.note("slow")
            self.transport.abort()
            return
        limit_s = limits.header_timeout_s if self._receiving == "head" else limits.body_timeout_s
        if self._receiving == "nothing" or not self.is_idle or now - self.since <= limit_s:
            return
        if self.flow.read_paused:  # it is us who do not read
            self.since = now
            return
        self.counted.note("slow")
        if self._receiving == "head" and not self._head_bytes:
            self.transport.close()
        else:
            self._refuse(408)

    def close_for_room(self) -> None:
        """Close, so that others have room."""
        if self._is_refused:
            return
        if self._receiving == "nothing":
            self.transport.close()
        else:
            self._refuse(503)  # a request may be on its way

    def _receive(self, what: Literal["head", "body", "nothing"]) -> None:
        self._receiving = what
        self.since = time.monotonic()

    def _refuse(self, status: int, reason: str = "", *, read_on: bool = False) -> None:
        """Say why, where no answer has begun, and close, whether or not the client reads it.

        ``read_on``: drop what the client still sends, for a moment; where a connection is closed while more comes, the
        system drops an answer that the client has not read.
        """
        if self._is_refused:
            return
        phrase, usual = _REASONS[status]
        if self.is_idle and (self.cycle is None or self.cycle.response_complete or not self.cycle.response_started):
            body = json.dumps({"detail": reason or usual}).encode()
            head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self._is_refused = True
        if read_on and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()
        self.loop.call_later(_FLUSH_S, self.transport.abort)


def http_protocol(connections: Connections) -> type[asyncio.Protocol]:
    """Return the protocol of a server whose connections are counted there."""
    return type("CountedConnection", (Connection,), {"counted": connections})


def socket_protocol(protocol: Any, connections: Connections) -> Any:
    """Return a protocol of WebSockets whose connections are counted there; they end by uvicorn's pings."""

    class Socket(protocol):  # type: ignore[misc]
        since = 0.0
        waits = False

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.address = connections.address_of(transport.get_extra_info("peername"))
            if not connections.add(self):
                transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            connections.remove(self)
            super().connection_lost(exc)

        def close_if_slow(self) -> None:
            pass

        def close_for_room(self) -> None:
            self.transport.close()

    return Socket


def network_names(entries: Sequence[str]) -> list[str]:
    """Return addresses and networks as uvicorn takes them."""
    return [str(ip_network(entry, strict=False)) for entry in entries]
