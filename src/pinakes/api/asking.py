"""``POST /api/v1/ask``: a question answered in words, with the chunks that the answer cites."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from pinakes.api.service import Service
from pinakes.schemas.envelope import PREFIX, RestApiResponse, failed, json_object, refusals, wrapped
from pinakes.tools.ask import AskReply, ask

PATH: Final = f"{PREFIX}/ask"


class AskedResponse(RestApiResponse):
    """The answer to a question."""

    data: AskReply  # type: ignore[assignment]


def routes(service: Service) -> APIRouter:
    """Return the route over ``service``.

    Raises:
        InvalidSetting: a setting of ``chat`` cannot be used, which is to be told when a server starts.
    """
    _ = service.library.answer_writer, service.library.staged.texts.writer
    router = APIRouter(tags=["search"])

    @router.post(
        PATH,
        response_model=AskedResponse,
        response_model_exclude_none=True,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": ask.schema()}}}},
        responses=refusals(
            {
                400: "The body is no JSON object.",
                404: "There is no such collection.",
                422: "The question cannot be asked.",
                503: "There is no chat model, or it does not answer.",
            }
        ),
    )
    async def answer(request: Request) -> Response:
        """Have a question answered in words from the documents, with citations like [2] and what they stand for."""
        body = await json_object(request)
        if isinstance(body, Response):
            return body
        outcome = await service.answer(ask, body)
        if outcome.error is not None:
            return failed(outcome.error)
        return wrapped(outcome.data or {})

    return router
