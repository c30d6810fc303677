"""The long attack: made-up requests over all routes, and hostile values through all tools, by every kind of key.

``PYTHONPATH=tests/shared:. python tests/attacks/hostile_run.py --cases 5000``; it takes some ten minutes, prints what
was sent, what was slowest and what was wrong, and ends with 1 where anything was.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import httpx
import requests
import schemathesis
from hostile_home import OPEN, PLANTED, HostileCaller, HostileHome, hostile_calls, hostile_requests, make_home, waiting
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from real_server import RealServer, real_server
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup

ANYBODY = "anybody"
"""Who needs no key, because the server wants none."""

MOST_S, MOST_WAIT_S, STREAMED_S = 5.0, 0.1, 3.0
CHECKED = ("response_schema_conformance", "status_code_conformance", "content_type_conformance")
Operation = schemathesis.schemas.APIOperation[Any, Any, Any, Any]


def main() -> int:
    """Run the attack by the arguments of the command line."""
    given_words = argparse.ArgumentParser(description=__doc__)
    given_words.add_argument("--cases", type=int, default=5000, help="made-up requests, of all keys together")
    given_words.add_argument("--each", type=int, default=3, help="hostile values for each parameter")
    given_words.add_argument("--seed", type=int, default=1)
    given_words.add_argument("--key", action="append", help="only this kind of key; may be repeated")
    chosen = given_words.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        made = make_home(Path(scratch) / "made", documents=12)
        keys = chosen.key or [ANYBODY, *made.keys]
        for key in keys:
            wrong += attack(made, key, Path(scratch) / key, chosen.cases // len(keys), chosen.each, chosen.seed)
    return 1 if wrong else 0


def attack(made: HostileHome, key: str, folder: Path, cases: int, each: int, number: int) -> int:
    """Attack a server of its own with one kind of key; return how much was wrong."""
    shutil.copytree(made.home, folder / "home")
    readable = {"nobody": (), "reader": (OPEN,), "writer": (OPEN,)}.get(key, tuple(PLANTED))
    foreign = tuple(word for name, word in PLANTED.items() if name not in readable)
    headers = made.keys.get(key, {})
    with (
        real_server(folder / "home", server__require_keys=key != ANYBODY) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=120) as client,
    ):
        caller = HostileCaller(server, client, foreign, MOST_S)
        with waiting(caller) as waits:
            values = sum(1 for _ in hostile(caller, made, each, number))
            told = Counter(status for _, _, status, _ in caller.answers)
        found, unlike = made_up(server, dict(headers), dict(made.keys["admin"]), foreign, cases, number)
        caller.faults += found
    print(f"{key}: {values} hostile values {dict(told)}, {len(waits)} times /healthz, {max(waits)[0]:.2f} s at most")
    for waited, before in sorted(one for one in waits if one[0] > MOST_WAIT_S)[-5:]:
        print(f"  /healthz waited {waited:.2f} s, after {before[:100]}")
    for took, what, status, _ in sorted(caller.answers, reverse=True)[:5]:
        print(f"  {took:.2f} s: {what[:100]} → {status}")
    for line in [*caller.faults, *(f"not as documented: {one}" for one in unlike.values())]:
        print(f"  {line[:1000]}")
    return len(caller.faults) + len(unlike)


def hostile(caller: HostileCaller, made: HostileHome, each: int, number: int) -> Iterator[None]:
    """Send hostile values through all tools, over HTTP and MCP, and through all other routes."""
    tools = caller.tools()
    spec = httpx.get(f"{caller.server.url}/openapi.json", headers=dict(made.keys["admin"])).json()
    calls, asked = list(hostile_calls(tools, made.ids, number, each)), list(hostile_requests(spec, number, 2 * each))
    for way in ("rest", "mcp"):
        for tool, what, body in calls:
            yield
            caller.call(way, tool, what, body)
    for what, method, path, body in asked:
        yield
        caller.send(what, method, path, body)


def made_up(
    server: RealServer,
    headers: dict[str, str],
    admin: dict[str, str],
    foreign: tuple[str, ...],
    cases: int,
    number: int,
) -> tuple[list[str], dict[tuple[Any, ...], str]]:
    """Send requests that are made of what the API says of itself; return faults, and what is not as documented."""
    load_all_checks()
    checks = CHECKS.get_by_names(CHECKED)
    operations: dict[tuple[str, str], Operation] = {}
    for path in ("/openapi.json", "/api/v1/openapi"):
        document = requests.get(f"{server.url}{path}", headers=admin, timeout=60).json()
        for result in schemathesis.openapi.from_dict(document).get_all_operations():
            operation = result.ok()
            operations[operation.method, operation.path] = operation
    faults, unlike, told = list[str](), dict[tuple[Any, ...], str](), Counter[int]()
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    many = [one for one in operations.values() if not one.path.endswith(("/events", "/healthz", "/health", "/stats"))]

    def put_to_the_test(operation: Operation, mode: GenerationMode, count: int) -> None:
        @seed(number)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            streams, begun = operation.path.endswith("/events"), time.monotonic()
            shown = {**dict(case.headers or {}), **headers}
            with suppress(requests.Timeout, requests.ConnectionError) if streams else nullcontext():
                answer = case.call(base_url=server.url, headers=shown, timeout=STREAMED_S if streams else 60)
                told[answer.status_code] += 1
                wrong = [f"the word {word}" for word in foreign if word in answer.text]
                if answer.status_code >= 500 and answer.status_code != 503:
                    wrong.append(f"status {answer.status_code}")
                if time.monotonic() - begun > MOST_S:
                    wrong.append(f"{time.monotonic() - begun:.1f} seconds")
                faults.extend(f"{one}: {case.as_curl_command()[:400]} → {answer.text[:300]}" for one in wrong)
                try:
                    case.validate_response(answer, checks=checks)
                except (AssertionError, FailureGroup) as error:
                    kind = (operation.method, operation.path, answer.status_code)
                    unlike.setdefault(kind, f"{kind} {case.as_curl_command()[:200]}: {str(error)[:400]}")

        with suppress(Unsatisfiable):  # nothing can be wrong with a request that may hold anything
            ask()

    for operation in operations.values():
        for mode in modes:
            put_to_the_test(operation, mode, max(1, cases // (2 * len(many))) if operation in many else 3)
    print(f"{sum(told.values())} made-up requests {dict(told)}")
    return faults, unlike


if __name__ == "__main__":
    sys.exit(main())
