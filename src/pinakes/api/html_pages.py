"""The pages ``/`` and ``/docs`` for people; they load nothing from other hosts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, select_autoescape
from pydantic_core import to_json

from pinakes.api.service import Service
from pinakes.core.caller import KEY_VARIABLE
from pinakes.core.records import JSON
from pinakes.schemas.envelope import PREFIX
from pinakes.schemas.hits import MODES, QUESTION

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"


def routes(service: Service, api: FastAPI) -> APIRouter:
    """Return the routes over ``service``; ``api`` is what ``/docs`` describes."""
    router = APIRouter()

    @router.get("/", tags=["root"])
    async def root(request: Request) -> Response:
        """Say what this server is and where its routes are; a browser gets a page."""
        if "text/html" not in request.headers.get("accept", ""):
            return Response(to_json(_about(api)), media_type="application/json", headers={"Vary": "Accept"})
        collections = await service.run(service.library.status)
        words = service.startup.words() if service.startup is not None else ""
        page = {"collections": collections, "status": service.status_word(), "progress": words}
        ask = next(one["call"] for one in _operations(api.openapi(), _url(request)) if one["path"] == "/search")
        return _page("home.html", title=api.title, version=api.version, ask=ask, **page)

    @router.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        document = api.openapi()
        return _page("docs.html", api=document, operations=list(_operations(document, _url(request))), key=KEY_VARIABLE)

    return router


def _about(api: FastAPI) -> dict[str, JSON]:
    return {
        "message": api.title,
        "version": api.version,
        "search_modes": MODES,
        "endpoints": {"search": "/search", "health": "/health", "stats": "/stats", "docs": "/docs", "mcp": "/mcp"},
    }


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return Environment(loader=PackageLoader("pinakes.api"), autoescape=select_autoescape())


def refused_page(request: Request, status: int, message: str, hint: str, headers: Mapping[str, str]) -> Response:
    """Return the page that tells people why they are not let in, and what to do."""
    wants_key = status == HTTPStatus.UNAUTHORIZED
    about = {"message": message, "hint": hint, "wants_key": wants_key, "openapi": f"{PREFIX}/openapi"}
    page = _page("refused.html", url=_url(request), question=QUESTION, **about)
    page.status_code = status
    page.headers.update(headers)
    return page


def _page(template: str, **values: Any) -> Response:
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Vary": "Accept"}
    return HTMLResponse(_templates().get_template(template).render(**values), headers=headers)


def _url(request: Request) -> str:
    return str(request.base_url).rstrip("/")


def _operations(document: dict[str, JSON], url: str) -> Iterator[dict[str, JSON]]:
    """Yield what the page shows of every operation of an OpenAPI document, ``url``: where the server answers."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            schema = _resolved(document, body)
            security = operation.get("security", document.get("security"))
            yield {
                "path": path,
                "method": method,
                "tag": operation.get("tags", [""])[0],
                "description": operation.get("description", operation.get("summary", "")),
                "fields": list(_fields(schema)),
                "call": _call(url + _path(path, operation), method, schema, operation, key=bool(security)),
                "responses": {code: answer["description"] for code, answer in operation["responses"].items()},
            }


def _call(url: str, method: str, schema: dict[str, JSON], operation: dict[str, JSON], *, key: bool) -> str:
    """Return the command that calls an operation, with the least that it takes."""
    streams = "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    parts = ["curl -sN" if streams else "curl -s", shlex.quote(url)]
    if key:
        parts.append(f'-H "Authorization: Bearer ${KEY_VARIABLE}"')
    if method not in ("get", "post"):
        parts.append(f"-X {method.upper()}")
    if method == "post":
        body = schema.get("example", dict.fromkeys(schema.get("required", ()), QUESTION))
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(body))}"]
    return " ".join(parts)


def _path(path: str, operation: dict[str, JSON]) -> str:
    """Return ``path`` with the examples of the parameters that it needs in their places."""
    asked = {}
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["schema"]["examples"][0])
        elif parameter["in"] == "query" and parameter.get("required"):
            asked[parameter["name"]] = parameter["schema"]["examples"][0]
    return f"{path}?{urlencode(asked)}" if asked else path


def _fields(schema: dict[str, JSON]) -> Iterator[dict[str, JSON]]:
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        options = [option.get("type", "") for option in field.get("anyOf", [field])]
        values: list[str] = next((option["enum"] for option in field.get("anyOf", [field]) if "enum" in option), [])
        yield {
            "name": name,
            "required": name in required,
            "type": ", ".join(values) or " or ".join(options),
            "default": "" if field.get("default") is None else json.dumps(field["default"]),
            "description": field.get("description", ""),
        }


def _resolved(document: dict[str, JSON], schema: dict[str, JSON]) -> dict[str, JSON]:
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    found: dict[str, JSON] = document["components"]["schemas"][name]
    return found
