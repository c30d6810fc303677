"""Connections that use checked addresses only, with a time limit for each exchange."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import httpcore

from pinakes.fetching.addresses import Allowed

if TYPE_CHECKING:
    from httpcore import SOCKET_OPTION

_until: ContextVar[float] = ContextVar("until", default=float("inf"))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit all network I/O within the block to ``seconds`` in total, however slowly data arrives."""
    token = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


def time_left() -> float:
    """Return the remaining seconds.

    Raises:
        httpcore.TimeoutException: no time is left.
    """
    left = _until.get() - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time is up")
    return left


class Guarded(httpcore.NetworkBackend):
    """Resolves a host once, checks its addresses, and connects only to these."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of ``host`` that answers.

        Raises:
            SourceError: the host does not exist.
            Refused: a connection to it is not allowed.
        """
        del timeout
        failed: Exception = httpcore.ConnectError("the host has no address")
        for address in self._allowed.reach(host, port):
            try:
                return _Timed(
                    self._backend.connect_tcp(address, port, time_left(), local_address, socket_options or ())
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


class _Timed(httpcore.NetworkStream):
    """A stream whose operations time out with the whole exchange."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        return self._stream.read(max_bytes, time_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        self._stream.write(buffer, time_left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        del timeout
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, time_left()))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
