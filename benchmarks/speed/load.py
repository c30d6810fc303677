"""A load generator, run as a process of its own: ``python -m benchmarks.speed.load PORT CLIENTS SECONDS < REQUESTS``.

Each client sends one request after the other over one connection. It is bare sockets and prepared bytes, so that
little of the machine's time goes to asking. Requests are JSON bodies, one a line; the answer is JSON on stdout.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.speed.machine import Spread, spread


@dataclass(frozen=True, slots=True)
class Load:
    """What some clients got in some seconds; ``client_cpu_share`` is the generator's own, of one core."""

    clients: int
    seconds: float
    answers_per_s: float
    times: Spread
    client_cpu_share: float


async def generate(port: int, clients: int, seconds: float, bodies: Sequence[bytes]) -> Load:
    """Ask for ``seconds`` with as many connections as ``clients``."""
    requests = [_request(port, body) for body in bodies]
    times: list[float] = []
    began, used = time.perf_counter(), time.process_time()
    turns = [
        requests[i * len(requests) // clients :] + requests[: i * len(requests) // clients] for i in range(clients)
    ]
    await asyncio.gather(*(_client(port, turn, began + seconds, times) for turn in turns))
    took = time.perf_counter() - began
    return Load(clients, took, len(times) / took, spread(times), (time.process_time() - used) / took)


def _request(port: int, body: bytes) -> bytes:
    head = f"POST /search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


async def _client(port: int, requests: Sequence[bytes], until: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = 0
    while (began := time.perf_counter()) < until:
        writer.write(requests[number % len(requests)])
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"the server answered {head[:20]!r} {body[:200]!r}")
        times.append(time.perf_counter() - began)
        number += 1
    writer.close()
    await writer.wait_closed()


def main() -> None:
    """Read requests from stdin, generate, print."""
    port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    bodies = sys.stdin.buffer.read().splitlines()
    print(json.dumps(dataclasses.asdict(asyncio.run(generate(port, clients, seconds, bodies)))))


if __name__ == "__main__":
    main()
