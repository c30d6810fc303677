"""An HTTP client for single requests within limits, over connections to checked addresses only."""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from pinakes.core.errors import InvalidInput, SourceError, TooLarge
from pinakes.core.installation import running_version
from pinakes.fetching.addresses import Allowed
from pinakes.fetching.urls import check_url, shown
from pinakes.settings import FetchSettings

_MOVED: Final = frozenset((301, 302, 303, 307, 308))
_PACKED: Final = frozenset(("gzip", "x-gzip", "deflate"))
_SECRET_HEADERS: Final = frozenset(("authorization", "cookie"))
"""Headers that are sent only to the original host, not to redirects."""

_STEP_BYTES: Final = 1 << 16
_BEGINNING_S: Final = 1.0
_CONNECTIONS: Final = 32
_MOST_REDIRECTS: Final = 5
_until: ContextVar[float] = ContextVar("until", default=float("inf"))


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer with any status. ``url`` is the last one redirected to, ``body`` unpacked, header names lower-case."""

    url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower-case, "" if missing."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_success(self) -> bool:
        """Whether the status is 200 to 299."""
        return 200 <= self.status < 300


class Client:
    """Sends requests to URLs from users or documents. Thread-safe; keeps connections open until closed."""

    def __init__(self, settings: FetchSettings) -> None:
        """Prepare the client; no connection is opened.

        Raises:
            InvalidSetting: ``allow_private`` has an entry that is not a host, address or network.
        """
        self._settings = settings
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=_CONNECTIONS,
            max_keepalive_connections=_CONNECTIONS,
            keepalive_expiry=15,
            network_backend=Guarded(Allowed(settings.allow_private)),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def get(
        self, url: str, *, max_bytes: int, headers: Mapping[str, str] | None = None, timeout_s: float | None = None
    ) -> Fetched:
        """Return the answer of ``url``, with redirects followed; its unpacked body has at most ``max_bytes``.

        ``timeout_s``: time limit in seconds, including redirects; None = the setting ``fetch.timeout_s``.

        Raises:
            Refused: an address or redirect is not public, and not allowed by the settings.
            InvalidInput: the URL or that of a redirect cannot be fetched.
            TooLarge: the body exceeds ``max_bytes``.
            SourceError: the host cannot be reached, or its answer is invalid or too late.
        """
        with self._translated(url, timeout_s):
            at, given = check_url(url), dict(headers or {})
            for _ in range(_MOST_REDIRECTS + 1):
                answer = self._get_once(at, given, max_bytes)
                onward = answer.headers.get("location") if answer.status in _MOVED else None
                if onward is None:
                    return answer
                at, before = self._next(at, onward), at
                if _origin(at) != _origin(before):
                    given = {name: value for name, value in given.items() if name.lower() not in _SECRET_HEADERS}
        raise SourceError(
            f"{shown(url)!r} leads on more than {_MOST_REDIRECTS} times.",
            hint="Give the address that it leads to in the end.",
        )

    def post(
        self,
        url: str,
        *,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        max_bytes: int = 65_536,
        timeout_s: float | None = None,
    ) -> Fetched:
        """Post ``content`` and return the answer; redirects are not followed, so that ``content`` stays with this host.

        Only the status matters: the part of the body that exceeds ``max_bytes``, or takes longer than a second, is
        dropped.

        Raises:
            Refused, InvalidInput, SourceError: see ``get``.
        """
        given = {**(headers or {}), "accept-encoding": "identity"}
        with self._translated(url, timeout_s), self._asked("POST", check_url(url), content, given) as (response, found):
            return Fetched(url, response.status, found, _beginning(response, max_bytes))

    def _next(self, at: str, onward: str) -> str:
        try:
            return check_url(urljoin(at, onward))
        except InvalidInput as error:
            raise SourceError(f"{shown(at)!r} leads to an address that is not fetched: {error.message}") from error
        except ValueError as error:
            raise SourceError(f"{shown(at)!r} leads to an address that is malformed.") from error

    def _get_once(self, url: str, headers: Mapping[str, str], max_bytes: int) -> Fetched:
        with self._asked("GET", url, b"", headers) as (response, found):
            declared = found.get("content-length", "")
            if response.status != 304 and declared.isdecimal() and int(declared) > max_bytes:
                raise _too_large(url, max_bytes)
            body = b"".join(_limited(_unpacked(response.iter_stream(), found, url), url, max_bytes))
        return Fetched(url, response.status, found, body)

    @contextmanager
    def _asked(
        self, method: str, url: str, content: bytes, headers: Mapping[str, str]
    ) -> Iterator[tuple[httpcore.Response, dict[str, str]]]:
        """Yield an answer with an unread body, and its headers."""
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), time_left())
        with self._pool.stream(
            method,
            url,
            headers=self._headers(url, method, content, headers),
            content=content or None,
            extensions={"timeout": timeout},
        ) as response:
            found = {
                name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in response.headers
            }
            yield response, found

    def _headers(self, url: str, method: str, content: bytes, given: Mapping[str, str]) -> list[tuple[str, str]]:
        parsed = httpx.URL(url)
        headers = {
            "host": parsed.netloc.decode("ascii"),
            "user-agent": self._settings.user_agent or _user_agent(),
            "accept": "*/*",
            "accept-encoding": "gzip, deflate",
            **{name.lower(): value for name, value in given.items()},
        }
        if method == "POST":
            headers["content-length"] = str(len(content))
        return list(headers.items())

    @contextmanager
    def _translated(self, url: str, timeout_s: float | None) -> Iterator[None]:
        limit_s = timeout_s if timeout_s is not None else self._settings.timeout_s
        try:
            with time_limit(limit_s):
                yield
        except httpcore.TimeoutException as error:
            raise SourceError(
                f"{shown(url)!r} did not answer within {limit_s:g} s.", hint="Try later, or raise fetch.timeout_s."
            ) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            hint = "SSL_CERT_FILE names other authorities." if "CERTIFICATE_VERIFY_FAILED" in reason else "Try later."
            raise SourceError(f"{shown(url)!r} cannot be fetched: {reason}.", hint=hint) from error


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _beginning(response: httpcore.Response, most: int) -> bytes:
    found = b""
    broken = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)
    with suppress(*broken), time_limit(min(time_left(), _BEGINNING_S)):
        for part in response.iter_stream():
            found += part
            if len(found) >= most:
                break
    return found[:most]


def _limited(parts: Iterable[bytes], url: str, max_bytes: int) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if size > max_bytes:
            raise _too_large(url, max_bytes)
        yield part


def _unpacked(parts: Iterable[bytes], headers: Mapping[str, str], url: str) -> Iterator[bytes]:
    """Yield a body without its content encoding, in small blocks whatever its compression ratio."""
    coding = headers.get("content-encoding", "").lower()
    if coding in ("", "identity"):
        yield from parts
        return
    if coding not in _PACKED:
        raise SourceError(f"{shown(url)!r} is packed by {coding!r}, which was not asked for.")
    # 47: gzip and zlib are distinguished by their headers; some servers send deflate without one
    unpack, bare, began = zlib.decompressobj(47), coding == "deflate", False
    try:
        for part in parts:
            rest, began = part, began or bool(part)
            while rest and not unpack.eof:
                try:
                    out = unpack.decompress(rest, _STEP_BYTES)
                except zlib.error:
                    if not bare:
                        raise
                    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
                    out = unpack.decompress(rest, _STEP_BYTES)
                bare = False
                yield out
                rest = unpack.unconsumed_tail
        while not unpack.eof and (out := unpack.decompress(b"", _STEP_BYTES)):
            yield out
    except zlib.error as error:
        raise SourceError(f"{shown(url)!r} is packed, and damaged: {error}.", hint="Try later.") from error
    if began and not unpack.eof:  # an answer without a body, as 304, may say how its body would be packed
        raise SourceError(f"{shown(url)!r} is packed, and breaks off.", hint="Try later.")


def _too_large(url: str, max_bytes: int) -> TooLarge:
    return TooLarge(f"{shown(url)!r} has more than {max_bytes:,} bytes, the most that is fetched.")


def _user_agent() -> str:
    return f"Pinakes/{running_version()} (knowledge server)"


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
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
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
