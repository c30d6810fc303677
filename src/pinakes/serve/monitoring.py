"""The routes that watch: ``/health``, ``/healthz``, ``/metrics``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from pydantic_core import to_json

from pinakes.errors import NotFound
from pinakes.library import CollectionStatus
from pinakes.serve.instance import HEADER
from pinakes.serve.knowledge import distinct
from pinakes.serve.service import Service
from pinakes.types import JSON
from pinakes.upkeep.watched import courses


class Health(BaseModel):
    """How the server is."""

    status: str
    indexed_documents: int
    indexed_chunks: int
    model_loaded: bool
    components: dict[str, Any]


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

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Give the counters in the text format of Prometheus."""
        text = await service.run(lambda: service.metrics.text(service.library.status()))
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return router


def _health(service: Service) -> dict[str, JSON]:
    startup = service.startup
    try:
        status = service.library.status(service.library.chosen())[0]
        held: dict[str, JSON] = {"indexed_documents": distinct(status), "indexed_chunks": status.chunks}
        index = {"pending": status.pending, **status.index}
        embedding = _embedding(status)
    except NotFound:
        held, index, embedding = {"indexed_documents": 0, "indexed_chunks": 0}, {}, {}
    components: dict[str, JSON] = {"catalog": "ok", "index": index, "embedding": embedding}
    if following := courses(service.library.shelves):
        components["following"] = following
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


def _embedding(status: CollectionStatus) -> dict[str, JSON]:
    """Return how far the vectors of a collection are; ``waiting`` chunks have none and are found by words only."""
    return {
        "exact": status.exact,
        "approximate": status.approximate,
        "waiting": status.waiting,
        "exact_share": status.exact_share,
    }
