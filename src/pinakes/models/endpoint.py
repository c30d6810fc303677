"""A remote model's HTTP endpoint: JSON request, JSON answer."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import JSON
from pinakes.models.retrying import asked_wait_s

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
"""The form of environment variable names. Any other value may be a key given in place of its name."""

_BUSY_SIGNS = ("rate_limit", "ratelimit", "too_many_requests", "resource_exhausted")
"""Error codes of providers for too many requests."""

_LATER = "Try again later."
_MOST_BYTES = 4_000_000
_MOST_SHOWN = 200
_MOST_SAID = 400
_MOST_TOKENS = 10**9


def is_address(url: str) -> bool:
    """Return whether ``url`` is a valid HTTP address."""
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # unclosed brackets, invalid port
        return False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model. ``name``: its name in messages; ``section``: its section of the settings.

    The key itself is never stored, only the name of the environment variable that holds it, "": no key. Redirects are
    not followed, so that the key is sent nowhere else. ``advice``: what to check if it refuses. ``keyless``: the error
    raised if the variable holds no key. ``key_header``: the header of the key; in "authorization" it follows "Bearer ",
    any other header has the key alone. ``most_bytes``: size limit of an answer.
    """

    name: str
    section: str
    url: str
    key_variable: str
    advice: str
    keyless: type[ModelUnavailable] = ModelUnavailable
    key_header: str = "authorization"
    most_bytes: int = _MOST_BYTES

    @property
    def shown(self) -> str:
        """The address without login and query, to show."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"

    def headers(self) -> dict[str, str]:
        """Return the headers of a request, including the key if one is configured.

        Raises:
            ModelUnavailable: the environment variable does not hold a key.
        """
        headers = {"content-type": "application/json", "accept": "application/json"}
        if variable := self.key_variable:
            key = os.environ.get(variable, "").strip()
            if not key or not key.isascii() or not key.isprintable():
                named = variable if _VARIABLE.fullmatch(variable) else f"that {self.section}.key_variable names"
                raise self.keyless(
                    f"The environment variable {named} does not hold a key for the {self.name}.",
                    hint=f"Set it, or name another in {self.section}.key_variable; the key itself belongs elsewhere.",
                )
            headers[self.key_header] = f"Bearer {key}" if self.key_header == "authorization" else key
        return headers

    def ask(self, request: JSON, limit_s: float, client: httpx.Client | None = None) -> JSON:
        """Send ``request`` and return the answer; uses a connection of ``client`` if given.

        Raises:
            TimeoutError: there is no answer within ``limit_s``.
            ModelUnavailable: the endpoint cannot be reached, refuses, or does not answer in JSON.
        """
        import httpx

        body, headers = json.dumps(request).encode(), self.headers()
        try:
            response, data = within(limit_s, partial(self._exchanged, body, headers, limit_s, client))
        except httpx.TimeoutException as error:
            raise TimeoutError from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            hint = f"Check {self.section}.url and the network."
            raise self.failure(f"cannot be reached: {error}", hint, status=0) from error
        wait_s = asked_wait_s(response.headers.get("retry-after", ""))
        if not response.is_success:
            raise self._refusal(response.status_code, data, wait_s)
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.failure("does not answer in JSON", f"Check {self.section}.url.") from error
        if message := _complaint(answer):
            status = _busy_status(answer["error"])
            hint = _LATER if status else f"Check your account there, and {self.section}.model."
            raise self.failure(f"answers with an error: {self._cut(message)}", hint, status=status, wait_s=wait_s)
        return answer

    def _exchanged(
        self, body: bytes, headers: dict[str, str], limit_s: float, client: httpx.Client | None
    ) -> tuple[httpx.Response, bytes]:
        import httpx

        until = time.monotonic() + limit_s
        stream = client.stream if client is not None else httpx.stream
        with stream("POST", self.url, content=body, headers=headers, timeout=limit_s) as response:
            return response, _read(response, until, self.most_bytes)

    def late(self, limit_s: float) -> ModelUnavailable:
        """Return the error to raise for a ``TimeoutError``."""
        return self.failure(f"does not answer within {limit_s:g} s", f"Check it, or raise {self.section}.timeout_s.")

    def failure(
        self, what: str, hint: str, *, status: int | None = None, wait_s: float | None = None
    ) -> ModelUnavailable:
        """Return an error of this endpoint; ``what`` is the predicate of its message.

        ``what`` may quote the endpoint: it is shortened, and the key is removed in case it was sent back.
        """
        what = self._without_key(what).rstrip(".")
        message = f"The {self.name} at {self.shown} {what[:_MOST_SAID]}{'…' if len(what) > _MOST_SAID else '.'}"
        return ModelUnavailable(message, hint=hint, status=status, wait_s=wait_s)

    def _refusal(self, status: int, data: bytes, wait_s: float | None) -> ModelUnavailable:
        message = self._cut(data[:_MOST_BYTES].decode("utf-8", "replace"))
        hint = self.advice
        if status in (401, 403):
            hint = f"Check the key in the environment variable that {self.section}.key_variable names."
        elif status == 429 or status >= 500:
            hint = _LATER
        what = f"answers {status}: {message}" if message else f"answers {status}"
        return self.failure(what, hint, status=status, wait_s=wait_s)

    def _cut(self, message: str) -> str:
        return self._without_key(" ".join(message.split()))[:_MOST_SHOWN]

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        return text.replace(key, "…") if key else text


class Connections:
    """The HTTP client of an endpoint, created on first use. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def client(self) -> httpx.Client:
        """Return the client, which keeps connections open."""
        import httpx

        with self._lock:
            if self._client is None:
                self._client = httpx.Client()
            return self._client

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def within(limit_s: float, work: Callable[[], T]) -> T:
    """Return the result of ``work``, run in a thread: host lookup, several addresses and slow headers have no timeout.

    Raises:
        TimeoutError: it takes longer. The thread is abandoned, and ends with its connection.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="pinakes-endpoint", daemon=True).start()
    return done.result(limit_s)


def _complaint(answer: JSON) -> str:
    """Return the error message in an answer with a success status; "" if there is none."""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else json.dumps(error) if isinstance(error, dict) and error else ""


def _busy_status(error: JSON) -> int | None:
    """Return the status of a transient error in an answer, 429 or 5xx; None for any other error."""
    codes = [error.get(name) for name in ("code", "status", "type")] if isinstance(error, dict) else []
    for one in codes:
        if isinstance(one, str) and any(sign in one.lower() for sign in _BUSY_SIGNS):
            return 429
        if re.fullmatch(r"429|5\d\d", code := str(one)):
            return int(code)
    return None


def token_count(count: JSON) -> int | None:
    """Return a token count reported by a server; None if it is not plausible."""
    fits = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS
    return count if fits else None


def _read(response: httpx.Response, until: float, most_bytes: int) -> bytes:
    """Return the whole answer, even if it arrives byte by byte.

    Raises:
        TimeoutError: it takes longer than ``until``.
    """
    data = bytearray()
    for part in response.iter_bytes():
        data += part
        if time.monotonic() > until:
            raise TimeoutError
        if len(data) > most_bytes:
            break
    return bytes(data)
