"""``GET /api/v1/sources``: how the sources stand, in the envelope of that interface."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from pinakes.api.service import Service
from pinakes.schemas.envelope import PREFIX, RestApiResponse, refusals, wrapped
from pinakes.tools.sources import Sources, list_sources

PATH = f"{PREFIX}/sources"


class SourcesResponse(RestApiResponse):
    """The sources that were asked for."""

    data: Sources  # type: ignore[assignment]


def routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(prefix=PREFIX, tags=["monitoring"])

    @router.get(
        "/sources",
        response_model=SourcesResponse,
        response_model_exclude_none=True,
        responses=refusals({404: "There is no such collection."}),
    )
    async def sources(
        collection: Annotated[str, Query(description="Only those of this collection; empty = all.")] = "",
    ) -> Response:
        """Say of each source when it was read, what came of it, and when it is read next."""
        found = await service.run(lambda: list_sources.call(service.library, {"collection": collection}))
        return wrapped(found.as_data() or {})

    return router
