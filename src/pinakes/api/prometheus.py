"""Counters for Prometheus: of one server, or of all processes that answer for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.api.counters import VARIABLE
from pinakes.services.collections.status import CollectionStatus

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """What a server counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter("pinakes_requests", "Requests.", ("path", "status"), registry=self._registry)
        self.seconds = Histogram(
            "pinakes_request_seconds", "Time to answer.", ("path",), buckets=_BUCKETS, registry=self._registry
        )

    def text(self, collections: Sequence[CollectionStatus]) -> bytes:
        """Return everything in the text format of Prometheus, of ``collections`` their sizes."""
        counted = self._registry
        if os.environ.get(VARIABLE):
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
        sizes = CollectorRegistry()
        sizes.register(_Sizes(collections))
        return generate_latest(counted) + generate_latest(sizes)


class _Sizes(Collector):
    """The sizes of collections: callers may see different ones."""

    def __init__(self, collections: Sequence[CollectionStatus]) -> None:
        self._collections = collections

    def collect(self) -> Iterable[Metric]:
        """Return them as Prometheus has them."""
        family = GaugeMetricFamily("pinakes_collection", "Size of a collection.", labels=("name", "of"))
        for status in self._collections:
            for what in ("documents", "chunks", "pending", "exact", "approximate", "waiting"):
                family.add_metric((status.name, what), getattr(status, what))
        return [family]


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
