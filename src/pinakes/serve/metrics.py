"""Counters for Prometheus, one registry per server."""

from __future__ import annotations

import threading
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.library import CollectionStatus

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """What a server counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.registry = CollectorRegistry()
        self.requests = Counter("pinakes_requests", "Requests.", ("path", "status"), registry=self.registry)
        self.seconds = Histogram(
            "pinakes_request_seconds", "Time to answer.", ("path",), buckets=_BUCKETS, registry=self.registry
        )
        self._sizes = Gauge("pinakes_collection", "Size of a collection.", ("name", "of"), registry=self.registry)

    def text(self, collections: list[CollectionStatus]) -> bytes:
        """Return everything in the text format of Prometheus."""
        with self._lock:  # callers may see different collections
            self._sizes.clear()
            for status in collections:
                for what in ("documents", "chunks", "pending", "exact", "approximate", "waiting"):
                    self._sizes.labels(status.name, what).set(getattr(status, what))
            return generate_latest(self.registry)


class Meter:
    """Counts and times the requests that pass. Paths that no route has are counted as one."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - start)
