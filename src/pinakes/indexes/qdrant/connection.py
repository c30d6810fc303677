"""Requests to a Qdrant server: sent again where that may help; a server that is away is left alone for a while."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from pinakes.core.errors import IndexCorrupt, IndexUnavailable, PinakesError, worded
from pinakes.settings import QdrantSettings

T = TypeVar("T")

_MEMORY = ":memory:"
_OLDEST = (1, 16)
"""The first version of Qdrant that has conditional updates; phrases came with 1.15."""

_FIRST_PAUSE_S = 0.1
_MOST_DOUBLINGS = 5
_REFUSED = (401, 403)
_BUSY = (408, 429)
_MISFITS = ("dimension", "vector name", "Not existing vector", "is not found in the collection")
"""What a server says of points that do not go with the vectors of a collection."""

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_servers: dict[QdrantSettings, Server] = {}


class Missing(IndexCorrupt):
    """The server has no collection of this name."""


def connect(settings: QdrantSettings) -> Server:
    """Return the server of these settings, which indexes of a process share; each calls ``release`` in the end.

    Nothing is sent yet.
    """
    with _lock:
        server = _servers.get(settings)
        if server is None:
            server = _servers[settings] = Server(settings)
        server.users += 1
        return server


class Server:
    """A client of one server. Thread-safe."""

    def __init__(self, settings: QdrantSettings) -> None:
        self.settings, self.users = settings, 0
        self._failures, self._away_until = 0, 0.0
        self._failure = IndexUnavailable("")
        self._checked = self.in_memory
        self._turn = threading.RLock() if self.in_memory else nullcontext()  # which does not serve two threads
        self._client = self._opened()

    @property
    def in_memory(self) -> bool:
        """Whether there is none: then there are no payload indexes and every search is exact."""
        return self.settings.url == _MEMORY

    @property
    def name(self) -> str:
        """How messages call it."""
        return "Qdrant in memory" if self.in_memory else f"Qdrant at {self.settings.url}"

    def call(self, ask: Callable[[QdrantClient], T]) -> T:
        """Return what ``ask`` gets of the client; a request that may go well the next time is sent again.

        ``ask`` has to be harmless when it is done twice.

        Raises:
            Missing: there is no such collection.
            IndexCorrupt: a collection is of other vectors.
            IndexUnavailable: the server does not answer or refuses to, or did so a moment ago.
        """
        self.check()
        pause = _FIRST_PAUSE_S
        for left in range(self.settings.retries, -1, -1):
            try:
                if not self._checked:
                    self._check_version()
                with self._turn:
                    found = ask(self._client)
            except (ApiException, ResourceExhaustedResponse, ValueError) as error:
                failure, again = self._translated(error)
                if not isinstance(failure, IndexUnavailable):
                    raise failure from error
                if not (left and again):
                    raise self._leave_alone(failure) from error
                time.sleep(pause)
                pause *= 2
            else:
                self._failures = 0
                return found
        raise AssertionError("unreachable")

    def check(self) -> None:
        """Make sure that the server is not left alone just now.

        Raises:
            IndexUnavailable: it is.
        """
        if self._failures and time.monotonic() < self._away_until:
            raise self.last_failure()

    def last_failure(self) -> IndexUnavailable:
        """Return why it did not answer the last time that it did not."""
        return IndexUnavailable(self._failure.message, hint=self._failure.hint)

    def release(self) -> None:
        """Close the connections once nobody needs them any more. What is in memory stays until the process ends."""
        with _lock:
            self.users -= 1
            if self.users or self.in_memory:
                return
            _servers.pop(self.settings, None)
        self._client.close()

    def _opened(self) -> QdrantClient:
        settings = self.settings
        if self.in_memory:
            return QdrantClient(_MEMORY)
        key = os.environ.get(settings.key_variable, "") if settings.key_variable else ""
        if key and settings.url.startswith("http:"):
            _log.warning("the key of %s is sent unencrypted: use https", self.name)
        return QdrantClient(
            url=settings.url,
            headers={"api-key": key} if key else {},
            timeout=max(1, round(settings.timeout_s)),
            check_compatibility=False,  # asked for with the first request, and told in our words
        )

    def _check_version(self) -> None:
        said = self._client.info().version
        numbers = tuple(int(part) for part in said.split("-")[0].split(".")[:2] if part.isdigit())
        if numbers < _OLDEST:
            raise self._leave_alone(
                IndexUnavailable(
                    f"{self.name} is version {said}; what is needed came with {'.'.join(map(str, _OLDEST))}.",
                    hint="Update the server.",
                )
            )
        self._checked = True

    def _leave_alone(self, failure: IndexUnavailable) -> IndexUnavailable:
        """Ask nothing for a while, each time longer."""
        pause_s = self.settings.retry_after_s * 2 ** min(self._failures, _MOST_DOUBLINGS)
        self._failures += 1
        self._away_until, self._failure = time.monotonic() + pause_s, failure
        _log.warning("%s It is asked again in %g s.", failure, pause_s)
        return failure

    def _translated(self, error: Exception) -> tuple[PinakesError, bool]:
        """Return what an error of the client means, and whether the same request may go well when it is sent again."""
        if isinstance(error, ResponseHandlingException):
            return self._away(f"does not answer: {worded(error.source)}"), True
        if isinstance(error, UnexpectedResponse):
            return self._answered(error)
        if isinstance(error, ResourceExhaustedResponse):
            return self._away(f"is busy: {error}"), True
        text = str(error)
        if text.startswith("Collection ") and text.endswith("not found"):
            return self._missing(text), False
        if any(word in text for word in _MISFITS):
            return self._misfit(text), False
        raise error

    def _answered(self, error: UnexpectedResponse) -> tuple[PinakesError, bool]:
        status, text = error.status_code or 0, bytes(error.content or b"").decode("utf-8", "replace")[:300]
        if status == 404 and self._checked:
            return self._missing(text), False
        if status in _REFUSED:
            hint = f"Set the environment variable {self.settings.key_variable or 'that qdrant.key_variable names'}."
            return IndexUnavailable(f"{self.name} refuses the key ({status}).", hint=hint), False
        if status < 500 and any(word in text for word in _MISFITS):
            return self._misfit(text), False
        return self._away(f"answers {status}: {text}"), status >= 500 or status in _BUSY

    def _away(self, what: str) -> IndexUnavailable:
        return IndexUnavailable(f"{self.name} {what}.", hint="Check qdrant.url, and that the server runs.")

    def _missing(self, text: str) -> Missing:
        return Missing(
            f"{self.name} has not the collection of this index: it was deleted ({text}).", hint="Run: pinakes reindex"
        )

    def _misfit(self, text: str) -> IndexCorrupt:
        return IndexCorrupt(
            f"The collection of this index at {self.name} is of other vectors: {text}.", hint="Run: pinakes reindex"
        )
