"""What the API says of itself is put to the test: made-up requests, right and wrong ones, are never answered by 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.schemas import APIOperation
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.api.mock import sampled
from pinakes.settings import load
from pinakes.tools import TOOLS

EXAMPLES = 4
"""Requests of each kind, right and wrong, for every operation."""

ANSWERED_S, STREAMED_S = 30, 5
"""How long an answer may take, and how long a stream of events, which has no end, is listened to."""

DOCUMENTS_OF_THE_API = ("/openapi.json", "/api/v1/openapi")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Serve every tool over a few documents."""
    load_all_checks()
    chosen = load(home=tmp_path_factory.mktemp("api"), environment={}, server__port=0)
    with sampled(chosen) as library:
        running = Running(create_app(library), library.settings)
        yield running
        running.stop()


def operations(server: Running) -> list[APIOperation[Any, Any, Any, Any]]:
    found: dict[tuple[str, str], APIOperation[Any, Any, Any, Any]] = {}
    for path in DOCUMENTS_OF_THE_API:
        document = server.client.get(path).json()
        for result in schemathesis.openapi.from_dict(document).get_all_operations():
            operation = result.ok()
            found[operation.method, operation.path] = operation
    return list(found.values())


def test_no_request_is_answered_with_a_server_error(server: Running) -> None:
    every = operations(server)
    assert len(every) > len(TOOLS)
    with requests.Session() as session:
        for operation in every:
            put_to_the_test(operation, GenerationMode.POSITIVE, server.url, session)
            with suppress(Unsatisfiable):  # nothing can be wrong with a request that may hold anything
                put_to_the_test(operation, GenerationMode.NEGATIVE, server.url, session)
    assert server.client.get("/healthz").status_code == 200


def put_to_the_test(
    operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, url: str, session: requests.Session
) -> None:
    timeout = STREAMED_S if operation.path.endswith("/events") else ANSWERED_S

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(base_url=url, session=session, timeout=timeout)
        assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.text}"

    ask()
