"""A server that speaks Qdrant's protocol over HTTP, as far as the engine does, in front of the client's own memory.

Not Qdrant: no HNSW, no payload indexes, no quantisation, no disk. It is there for what happens between machines:
requests are counted, and the server can be stopped, started again, and told to refuse or to wait.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from qdrant_client import QdrantClient, models

VERSION = "1.17.0"


class QdrantServer:
    """Listens on a free port of this machine while it is entered; what it holds survives ``stop`` and ``start``."""

    def __init__(self, client: Any = None) -> None:
        """``client``: what answers; by default Qdrant's client in memory."""
        self.key, self.version = "", VERSION
        self.client = client or QdrantClient(":memory:")
        self.in_memory = client is None
        self.requests: list[str] = []
        self.failing: list[int] = []
        """Statuses with which the next requests are answered, one each."""
        self.delay_s = 0.0
        self._lock = threading.Lock()
        self._port = 0
        self._http: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                outer.answer(self)

            do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        assert self._http is not None
        self._http.shutdown()
        self._http.server_close()
        self._http = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._http is not None:
            self.stop()
        self.client.close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        body = json.loads(request.rfile.read(int(request.headers.get("content-length") or 0)) or b"{}")
        time.sleep(self.delay_s)
        with self._lock:
            self.requests.append(f"{request.command} {path}")
            status, result = self._result(request.command, path, body, request.headers.get("api-key", ""))
        said = {"result": result, "status": "ok", "time": 0.0} if status == 200 else {"status": {"error": result}}
        data = json.dumps(said if path != "/" else result).encode()
        try:
            request.send_response(status)
            request.send_header("content-type", "application/json")
            request.send_header("content-length", str(len(data)))
            request.end_headers()
            request.wfile.write(data)
        except OSError:  # whoever asked is gone
            pass

    def _result(self, method: str, path: str, body: Mapping[str, Any], key: str) -> tuple[int, Any]:
        if self.failing:
            return self.failing.pop(0), "told to fail"
        if self.key and key != self.key:
            return 401, "Must provide an API key or an Authorization bearer token"
        if path == "/":
            return 200, {"title": "qdrant - vector search engine", "version": self.version}
        parts = path.strip("/").split("/")
        name, what = (parts[1] if len(parts) > 1 else ""), "/".join(parts[2:])
        try:
            return 200, _dumped(_ROUTES[method, what](self, name, body))
        except ValueError as error:
            said = f"Wrong input: Vector dimension error: {error}" if "not aligned" in str(error) else str(error)
            return (404 if "not found" in said else 400), said
        except ConnectionError as error:
            return 500, str(error)


def _dumped(found: Any) -> Any:
    if isinstance(found, list):
        return [_dumped(one) for one in found]
    if isinstance(found, dict):
        return {name: _dumped(one) for name, one in found.items()}
    return found.model_dump(mode="json") if hasattr(found, "model_dump") else found


def _create(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    wanted = models.CreateCollection.model_validate(body)
    return server.client.create_collection(
        name, vectors_config=wanted.vectors or {}, sparse_vectors_config=wanted.sparse_vectors
    )


def _delete(server: QdrantServer, name: str, _: Mapping[str, Any]) -> Any:
    server.client.get_collection(name)  # a server answers 404 where there is none
    return server.client.delete_collection(name)


def _retrieve(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    wanted = models.PointRequest.model_validate(body)
    return server.client.retrieve(name, wanted.ids, wanted.with_payload or False, wanted.with_vector or False)


def _scroll(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    wanted = models.ScrollRequest.model_validate(body)
    found, after = server.client.scroll(
        name,
        scroll_filter=wanted.filter,
        limit=wanted.limit or 10,
        offset=wanted.offset,
        with_payload=wanted.with_payload or False,
        with_vectors=wanted.with_vector or False,
    )
    return {"points": found, "next_page_offset": after}


def _count(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    return server.client.count(name, count_filter=models.CountRequest.model_validate(body).filter)


def _query(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    wanted = models.QueryRequestBatch.model_validate(body).searches
    if server.in_memory:  # where it would warn of what it does not know
        wanted = [one.model_copy(update={"params": None}) for one in wanted]
    return server.client.query_batch_points(name, wanted)


def _update(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    return server.client.batch_update_points(name, models.UpdateOperations.model_validate(body).operations)


def _index(server: QdrantServer, name: str, body: Mapping[str, Any]) -> Any:
    server.client.get_collection(name)
    wanted = models.CreateFieldIndex.model_validate(body)
    if not server.in_memory:
        server.client.create_payload_index(name, wanted.field_name, wanted.field_schema)
    return {"operation_id": 0, "status": "completed"}


_ROUTES: Mapping[tuple[str, str], Callable[[QdrantServer, str, Mapping[str, Any]], Any]] = {
    ("PUT", ""): _create,
    ("DELETE", ""): _delete,
    ("PUT", "index"): _index,
    ("POST", "points"): _retrieve,
    ("POST", "points/scroll"): _scroll,
    ("POST", "points/count"): _count,
    ("POST", "points/query/batch"): _query,
    ("POST", "points/batch"): _update,
}
