"""The monitoring routes: ``/health``, ``/healthz``, ``/metrics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from pydantic_core import to_json

from pinakes.api.instance import HEADER
from pinakes.api.service import Service
from pinakes.core.installation import installed_version, outdated, running_version
from pinakes.core.records import JSON
from pinakes.services.collections.status import CollectionStatus
from pinakes.tools.exactness import counted, distinct, exact_share


class Health(BaseModel):
    """How the server is."""

    status: str
    indexed_documents: int
    indexed_chunks: int
    model_loaded: bool
    components: dict[str, Any]


class Readiness(BaseModel):
    """Whether the server answers everything; ``behind``: so many of its indexes have not caught up yet."""

    status: Literal["ready", "starting", "failed", "ending"]
    behind: int


def routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(tags=["monitoring"])

    @router.get("/health", response_model=Health)
    async def health() -> Response:
        """Say whether the server is ready, how much it holds, and how far it is while starting."""
        return Response(to_json(await service.run(lambda: _health(service))), media_type="application/json")

    @router.get("/healthz")
    async def healthz() -> Response:
        """Say that the process answers."""
        return Response(b'{"status":"ok"}', media_type="application/json", headers={HEADER: service.instance_id})

    @router.get("/readyz", responses={503: {"model": Readiness, "description": "It cannot answer everything yet."}})
    async def readyz() -> Response:
        """Say whether the server answers from all that was in the catalogue when it started; 503 until it does."""
        ready = await service.run(lambda: _readiness(service))
        status = 200 if ready.status == "ready" else 503
        return Response(ready.model_dump_json(), status, media_type="application/json")

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Give the counters in the text format of Prometheus."""
        text = await service.run(lambda: service.metrics.text(service.library.status()))
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return router


def _readiness(service: Service) -> Readiness:
    startup = service.startup
    if service.ending.is_set():
        return Readiness(status="ending", behind=0)
    if startup is None or startup.answers_all:
        return Readiness(status="ready", behind=0)
    return Readiness(status="starting" if startup.failure is None else "failed", behind=startup.behind())


def _health(service: Service) -> dict[str, JSON]:
    startup = service.startup
    every = counted(service.library)
    held: dict[str, JSON] = {
        "indexed_documents": sum(map(distinct, every)),
        "indexed_chunks": sum(status.chunks for status in every),
    }
    components: dict[str, JSON] = {"catalog": "ok", "version": running_version(), "index": _index(every)}
    components["embedding"] = _embedding(every)
    if words := outdated(running_version(), installed_version(), "installed is"):
        components["outdated"] = words
    components["collections"] = {
        status.name: {"documents": distinct(status), "chunks": status.chunks} for status in every
    }
    if not every and (missing := service.library.naming.missing()):
        components["note"] = missing
    if following := service.library.watched.described():
        components["following"] = following
    if jobs := Counter(job.state for job in service.library.jobs.list_all()):
        components["jobs"] = jobs
    if service.library.cluster.is_shared:
        components["cluster"] = [asdict(one) for one in service.library.cluster.members()]
    log = service.library.audit.status()
    if log.lost or log.problem:
        components["audit"] = {"waiting": log.waiting, "lost": log.lost, "problem": log.problem}
    if service.connections is not None:
        components["connections"] = service.connections.status()
    if startup is not None and startup.running:
        components["progress"] = startup.progress()
    if startup is not None and startup.failure is not None:
        components["failure"] = str(startup.failure)
    return {
        "status": service.status_word(),
        **held,
        "model_loaded": startup is None or startup.model_loaded,
        "components": components,
    }


def _index(every: Sequence[CollectionStatus]) -> dict[str, JSON]:
    """Return what the indexes say of themselves: of several the sums of numbers, and the oldest versions."""
    if len(every) == 1:
        return {"pending": every[0].pending, **every[0].index}
    totals: dict[str, JSON] = {"pending": sum(one.pending for one in every)}
    for name in dict.fromkeys(name for one in every for name in one.index):
        numbers = [value for one in every if isinstance(value := one.index.get(name), int | float)]
        if numbers and not any(isinstance(value, bool) for value in numbers):
            totals[name] = min(numbers) if name in ("format", "analyser") else sum(numbers)
    return totals


def _embedding(every: Sequence[CollectionStatus]) -> dict[str, JSON]:
    """Return how far the vectors of collections are; ``waiting`` chunks have none and are found by words only."""
    if not every:
        return {}
    return {
        "exact": sum(status.exact for status in every),
        "approximate": sum(status.approximate for status in every),
        "waiting": sum(status.waiting for status in every),
        "exact_share": exact_share(every),
    }
