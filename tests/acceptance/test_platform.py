"""What a platform team's clients rely on: ``manageKnowledge`` over HTTP and MCP, by a server that is one process."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import forking
import httpx
import pytest
from forking import Forked

from pinakes.core.errors import ModelUnavailable
from pinakes.models import weights
from pinakes.settings import EmbeddingSettings

PINAKES = Path(sys.executable).with_name("pinakes")
LONGEST_S = 60
TOOL = "/api/v1/tools/manageKnowledge"

ROLLOUT = (
    "Every service is deployed by its pipeline and never by hand. A merge to the main branch builds the image, "
    "signs it and hands it to the staging cluster, where smoke tests run for ten minutes. When they pass, the "
    "pipeline asks the owners of the service for approval and then starts a gradual rollout: five percent of the "
    "traffic, a quarter, a half, all of it, with a pause of fifteen minutes at each step. During a pause the "
    "error rate and the latency of the new version are compared with those of the old one. If either is clearly "
    "worse, the rollout stops and the old version takes all of the traffic again without anybody being called. To"
    " roll back later, run the pipeline with the number of the release that is wanted; its image is still in the "
    "registry, since images are kept for ninety days after their last use. A rollback takes about two minutes."
)
SECRETS = (
    "Passwords, tokens and certificates live in the vault and nowhere else. A service reads them when it starts, "
    "by the identity that the cluster gives to its pods, so no secret is written into a manifest, an image or a "
    "pipeline. Database passwords are rotated by the vault every thirty days: the new one is valid at once, the "
    "old one stays valid for another day, and services notice the change because the file that holds the password"
    " is replaced. Certificates last for seven days and are renewed after five. Whoever finds a secret in a "
    "repository reports it to the security channel, where the person on duty revokes it within the hour; removing"
    " the commit is not enough, since copies of the repository may have it already. Access to the vault by people"
    " is granted for eight hours at a time, needs a ticket with a reason, and is recorded for one year."
)
BACKUPS = (
    "Databases are copied every night at two o'clock and their logs are shipped every five minutes, so that at "
    "most five minutes of work can be lost. The copies are encrypted and kept in another region for thirty-five "
    "days; the copy of the first day of a month is kept for a year. Once a week an automatic job restores the "
    "latest copy of every database into an empty instance, counts the rows of the largest tables and compares the"
    " figures with the original. A restore that fails opens an incident with the owners of the database. To "
    "restore by hand, open a request with the point in time that is wanted; an engineer of the platform restores "
    "into a new instance beside the damaged one, the owners check the data, and only then is the service pointed "
    "to it. Plan one hour for each hundred gigabytes. Object storage has versions instead of copies."
)
DEPLOY = "# Deploying\n\nA merge to main is deployed by the pipeline.\n"
HANDBOOK = "\n\n".join((ROLLOUT, SECRETS, BACKUPS))
QUESTIONS = {
    "How do I roll back a deployment of a service?": 0,
    "How often are database passwords rotated by the vault?": 1,
    "How are databases backed up and restored?": 2,
}
_NUMBERS = itertools.count(1)


class Server:
    """``pinakes serve --profile platform`` over a home of its own, asked as clients ask it."""

    def __init__(self, home: Path, cache: Path, *settings: str, mock: bool = False) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
        flags = itertools.chain.from_iterable(("--set", setting) for setting in settings)
        words = [*flags, "serve", "--profile", "platform", "--port", "0", *(["--mock"] if mock else [])]
        environment = {**kept, "PINAKES_HOME": str(home), "PINAKES_CACHE": str(cache)}
        self._process = Forked(forking.PINAKES, *words, environment=environment)
        self.said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.client = httpx.Client(timeout=LONGEST_S)
        try:
            self._until(lambda: self.url is not None)
            self.client.base_url = httpx.URL(str(self.url))
            self._until(lambda: self.client.get("/health").json()["status"] == "healthy")
        except BaseException:
            self._process.kill()
            self.stop()
            raise

    @property
    def url(self) -> str | None:
        found = re.search(r"http://127\.0\.0\.1:\d+", "".join(self.said))
        return found[0] if found else None

    def stop(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(LONGEST_S)
        with self._process:
            self._listener.join(LONGEST_S)

    def post(self, **body: Any) -> dict[str, Any]:
        """Return the whole answer to a call of the tool, which is always 200."""
        response = self.client.post(TOOL, json=body)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def tool(self, operation: str, **body: Any) -> dict[str, Any]:
        """Return what the tool answered, without its envelope."""
        answer = self.post(operation=operation, **body)
        assert answer["success"] is True
        result: dict[str, Any] = answer["data"]["result"]
        return result

    def ids_at(self, uri: str, query: str = "the platform") -> set[str]:
        """Return the ids of all chunks of one document."""
        found = self.tool("search", query=query, limit=50, uriFilter=uri)["chunks"]
        assert {chunk["uri"] for chunk in found} <= {uri}
        return {chunk["id"] for chunk in found}

    def _listen(self) -> None:
        assert self._process.stderr is not None
        self.said.extend(map(bytes.decode, self._process.stderr))

    def _until(self, true: Any) -> None:
        end = time.monotonic() + LONGEST_S
        while not true():
            assert self._process.poll() is None, "".join(self.said)
            assert time.monotonic() < end, "".join(self.said)
            threading.Event().wait(0.02)


@pytest.fixture(scope="module")
def cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("models")
    try:
        weights.install(EmbeddingSettings(), folder)
    except ModelUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("home"), cache)
    yield running
    running.stop()


@pytest.fixture
def uri() -> str:
    """Name a document that no other test has."""
    return f"https://github.com/org/repo/blob/main/docs/guide-{next(_NUMBERS)}.md"


def ids(uri: str, count: int) -> list[str]:
    return [str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{uri}#{index}")) for index in range(count)]


def deleted(server: Server, source: str) -> dict[str, Any]:
    response = server.client.delete(f"/api/v1/knowledge/source/{quote(source, safe='')}")
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    assert answer["success"] is True
    data: dict[str, Any] = answer["data"]
    return data


def test_each_paragraph_becomes_a_chunk_with_an_id_that_clients_can_tell(server: Server, uri: str) -> None:
    assert {len(paragraph) for paragraph in (ROLLOUT, SECRETS, BACKUPS)} <= set(range(834, 891))
    answer = server.tool("ingest", content=HANDBOOK, uri=uri, metadata={"sourceIdentifier": "ns/handbook"})
    assert answer == {
        "success": True,
        "operation": "ingest",
        "chunksCreated": 3,
        "chunkIds": ids(uri, 3),
        "uri": uri,
        "message": "Successfully ingested document into 3 chunks",
    }


@pytest.mark.parametrize("shortest", [834, 890])
@pytest.mark.parametrize("heading", ["", "# Handbook of the platform team\n\n"])
def test_three_paragraphs_of_834_to_890_characters_are_three_chunks(
    server: Server, uri: str, shortest: int, heading: str
) -> None:
    paragraphs = [(paragraph + " " + paragraph)[: shortest - 1] + "." for paragraph in (ROLLOUT, SECRETS, BACKUPS)]
    answer = server.tool("ingest", content=heading + "\n\n".join(paragraphs), uri=uri)
    assert answer["chunkIds"] == ids(uri, 3)
    chunks = [server.tool("getChunk", chunkId=one)["chunk"]["content"] for one in answer["chunkIds"]]
    assert [chunk.removeprefix(heading) for chunk in chunks] == paragraphs


@pytest.mark.parametrize(("question", "index"), QUESTIONS.items())
def test_a_question_finds_its_paragraph_by_meaning(server: Server, uri: str, question: str, index: int) -> None:
    metadata = {"sourceIdentifier": "ns/meaning", "team": "platform", "reviewed": True}
    server.tool("ingest", content=HANDBOOK, uri=uri, metadata=metadata)
    answer = server.tool("search", query=question, uriFilter=uri)
    assert answer["operation"] == "search"
    assert answer["query"] == question
    assert answer["totalMatches"] == len(answer["chunks"]) == 3
    assert answer["message"] == "Found 3 matching chunks"
    assert answer["agentInstructions"]
    first = answer["chunks"][0]
    assert first["id"] == ids(uri, 3)[index]
    assert (first["matchType"], first["uri"], first["chunkIndex"], first["totalChunks"]) == ("hybrid", uri, index, 3)
    assert 0.5 <= first["score"] <= 1
    assert first["content"] == (ROLLOUT, SECRETS, BACKUPS)[index]
    assert (first["metadata"], first["sourceId"]) == (metadata, "ns/meaning")
    assert first["tags"] == []
    scores = [chunk["score"] for chunk in answer["chunks"]]
    assert scores == sorted(scores, reverse=True)


def test_a_search_keeps_to_one_document_or_to_all_below_an_address(server: Server, uri: str) -> None:
    folder = uri.removesuffix(".md")
    places = [f"{folder}/a.md", f"{folder}/ab.md", f"{folder}/b/c.md"]
    for place in (*places, uri):
        server.tool("ingest", content=ROLLOUT, uri=place)

    def found(uri_filter: str) -> set[str]:
        answer = server.tool("search", query="rollback", limit=50, uriFilter=uri_filter)
        return {chunk["uri"] for chunk in answer["chunks"]}

    assert found(places[0]) == {places[0]}
    assert found(f"{folder}/") == set(places)
    assert found(f"{folder}/a") == set(places[:2])
    assert found(f"{folder}/b/") == {places[2]}
    assert found(folder) == {*places, uri}
    assert found(f"{folder}/none") == set()


def test_the_limit_holds(server: Server, uri: str) -> None:
    server.tool("ingest", content=HANDBOOK, uri=uri)
    for limit in (1, 2, 3, 4):
        answer = server.tool("search", query="vault", limit=limit, uriFilter=uri)
        assert answer["totalMatches"] == len(answer["chunks"]) == min(limit, 3)
    assert len(server.tool("search", query="vault", limit=2)["chunks"]) == 2


def test_a_document_takes_the_place_of_the_one_before_and_of_no_other(server: Server, uri: str) -> None:
    other = f"{uri}.other"
    for place in (uri, other):
        server.tool("ingest", content=HANDBOOK, uri=place)
    again = server.tool("ingest", content=f"{SECRETS}\n\n{BACKUPS}", uri=uri)
    assert (again["chunksCreated"], again["chunkIds"]) == (2, ids(uri, 2))
    assert server.ids_at(uri) == set(ids(uri, 2))
    assert server.ids_at(other) == set(ids(other, 3))
    assert server.tool("getChunk", chunkId=ids(uri, 3)[2])["error"]["message"] == "Chunk not found"
    assert server.tool("getChunk", chunkId=ids(uri, 2)[0])["chunk"]["content"] == SECRETS


def test_a_source_is_removed_with_all_of_its_documents_and_no_others(server: Server, uri: str) -> None:
    mine, others = [f"{uri}#{n}" for n in range(3)], [f"{uri}?{n}" for n in range(2)]
    for place in mine:
        server.tool("ingest", content=HANDBOOK, uri=place, metadata={"sourceIdentifier": "team-a/docs"})
    server.tool("ingest", content=HANDBOOK, uri=others[0], metadata={"sourceIdentifier": "team-b/docs"})
    server.tool("ingest", content=HANDBOOK, uri=others[1], metadata={"sourceIdentifier": "Team-A/Docs"})
    assert deleted(server, "team-a/docs") == {"sourceIdentifier": "team-a/docs", "chunksDeleted": 9}
    assert not any(server.ids_at(place) for place in mine)
    assert [len(server.ids_at(place)) for place in others] == [3, 3]
    assert deleted(server, "team-a/docs")["chunksDeleted"] == 0
    assert deleted(server, "nobody/knows")["chunksDeleted"] == 0


def test_a_document_is_removed_once(server: Server, uri: str) -> None:
    server.tool("ingest", content=f"{ROLLOUT}\n\n{SECRETS}", uri=uri)
    first, second = server.tool("deleteByUri", uri=uri), server.tool("deleteByUri", uri=uri)
    assert first == {
        "success": True,
        "operation": "deleteByUri",
        "uri": uri,
        "chunksDeleted": 2,
        "message": "Successfully deleted 2 chunks for URI",
    }
    assert (second["success"], second["chunksDeleted"]) == (True, 0)
    assert second["message"] == "No chunks found for URI"
    assert server.ids_at(uri) == set()


def test_white_space_leaves_nothing_of_the_document_before(server: Server, uri: str) -> None:
    server.tool("ingest", content=ROLLOUT, uri=uri)
    answer = server.tool("ingest", content=" \n\t\n", uri=uri)
    assert answer == {
        "success": True,
        "operation": "ingest",
        "chunksCreated": 0,
        "chunkIds": [],
        "uri": uri,
        "message": "Empty or whitespace-only content - no chunks created",
    }
    assert server.ids_at(uri) == set()


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        (
            {"operation": "ingest", "uri": "https://example.org/a"},
            "Missing required parameter: content",
            "Provide the document content to ingest",
        ),
        (
            {"operation": "ingest", "uri": "https://example.org/a", "content": ""},
            "Missing required parameter: content",
            "Provide the document content to ingest",
        ),
        (
            {"operation": "ingest", "content": "Some text."},
            "Missing required parameter: uri",
            "Provide the full URL identifying the document (e.g., https://github.com/org/repo/blob/main/docs/guide.md)",
        ),
        ({"operation": "search"}, "Missing required parameter: query", "Provide a natural language search query"),
        (
            {"operation": "deleteByUri"},
            "Missing required parameter: uri",
            "Provide the URI of the document to delete all chunks for",
        ),
    ],
)
def test_what_is_missing_is_named(server: Server, body: dict[str, Any], message: str, hint: str) -> None:
    answer = server.post(**body)
    assert answer["success"] is True
    expected = {"message": message, "operation": body["operation"], "hint": hint}
    assert answer["data"]["result"] == {"success": False, "error": expected}
    assert answer["error"] == expected


def test_a_question_without_words_is_refused(server: Server) -> None:
    for body in ({}, {"query": ""}, {"query": "  "}, {"query": 5}):
        response = server.client.post("/api/v1/knowledge/ask", json=body)
        assert response.status_code == 400
        error = response.json()["error"]
        assert (error["code"], error["message"]) == ("BAD_REQUEST", "Missing or empty required parameter: query")


def test_a_client_may_read_the_answer_in_the_envelope_or_beside_it(server: Server, uri: str) -> None:
    answer = server.post(operation="ingest", content=HANDBOOK, uri=uri)
    result = answer["data"]["result"]
    assert answer["data"]["tool"] == "manageKnowledge"
    assert answer["data"]["executionTime"] >= 0
    assert re.fullmatch(r"rest_\d+_\d+", answer["meta"]["requestId"])
    assert answer["meta"]["version"] == "v1"
    assert {name: answer[name] for name in result} == result
    found = server.post(operation="search", query="vault", uriFilter=uri)
    assert found["chunks"] == found["data"]["result"]["chunks"]
    assert found["totalMatches"] == 3


def test_the_calls_of_the_first_interface_work_as_written(server: Server) -> None:
    uri = "https://docs.example.org/deploy.md"
    calls = [
        {"operation": "ingest", "sourceId": "docs", "content": ROLLOUT, "uri": uri},
        {"operation": "search", "query": "how to deploy", "limit": 10},
        {"operation": "getChunk", "chunkId": ids(uri, 1)[0]},
        {"operation": "deleteBySource", "sourceId": "docs"},
    ]
    made, found, chunk, gone = (server.client.post(TOOL, json=body).json()["data"]["result"] for body in calls)
    assert made["chunkIds"] == ids(uri, 1)
    mine = next(one for one in found["chunks"] if one["uri"] == uri)
    assert (mine["sourceId"], mine["metadata"]) == ("docs", {"sourceIdentifier": "docs"})
    assert len(found["chunks"]) <= 10
    assert chunk["chunk"]["content"] == ROLLOUT
    assert chunk["chunk"]["status"] == "processed"
    assert chunk["chunk"]["source"] == {"type": "https", "uri": uri, "metadata": {"sourceIdentifier": "docs"}}
    assert (gone["sourceId"], gone["chunksDeleted"]) == ("docs", 1)
    assert server.tool("getChunk", chunkId=ids(uri, 1)[0])["error"]["message"] == "Chunk not found"


def test_agents_get_the_same_answers_over_mcp(server: Server, uri: str) -> None:
    def call(**arguments: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        params = {"name": "manageKnowledge", "arguments": arguments}
        answer: dict[str, Any] = server.client.post("/mcp", json={**message, "params": params}).json()["result"]
        return answer

    for arguments in (
        {"operation": "ingest", "content": SECRETS, "uri": uri},
        {"operation": "search", "query": "passwords", "uriFilter": uri},
        {"operation": "ingest"},
        {"operation": "explode"},
    ):
        answer = call(**arguments)
        assert not answer.get("isError")
        [content] = answer["content"]
        told = json.loads(content["text"])
        assert content["text"] == json.dumps(told, indent=2, ensure_ascii=False)
        assert told == server.post(**arguments)["data"]["result"]


def test_every_operation_answers_alike_over_stdio_and_http(tmp_path: Path) -> None:
    chosen = ("--set", "embedding.provider=deterministic", "--set", f"cache={tmp_path / 'cache'}")
    command = [str(PINAKES), *chosen, "mcp", "--profile", "platform", "--home", str(tmp_path / "stdio")]
    pipe = subprocess.PIPE
    running = Server(tmp_path / "http", tmp_path / "cache", "embedding.provider=deterministic")
    agent = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    uri = "https://example.org/a.md"
    try:
        assert agent.stdin is not None
        assert agent.stdout is not None
        for number, arguments in enumerate(
            (
                {"operation": "ingest", "content": HANDBOOK, "uri": uri, "sourceId": "docs"},
                {"operation": "search", "query": "vault", "limit": 2},
                {"operation": "deleteByUri", "uri": uri},
                {"operation": "getChunk", "chunkId": ids(uri, 1)[0]},
                {"operation": "deleteBySource", "sourceId": "docs"},
                {"operation": "deleteBySource"},
                {"operation": "explode"},
            )
        ):
            params = {"name": "manageKnowledge", "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            agent.stdin.write(json.dumps(message) + "\n")
            agent.stdin.flush()
            answer = json.loads(agent.stdout.readline())
            assert answer["id"] == number
            assert not answer["result"].get("isError")
            assert json.loads(answer["result"]["content"][0]["text"]) == running.post(**arguments)["data"]["result"]
    finally:
        running.stop()
        agent.kill()
        agent.communicate()


def test_the_tool_is_listed_with_its_schema(server: Server) -> None:
    listed = server.client.get("/api/v1/tools").json()["data"]
    tools = {tool["name"]: tool for tool in listed["tools"]}
    tool = tools["manageKnowledge"]
    assert (tool["category"], set(tool["tags"])) == (
        "Knowledge",
        {"knowledge", "documents", "ingest", "semantic", "search"},
    )
    operations = ["ingest", "search", "deleteByUri", "deleteBySource", "getChunk"]
    assert sorted(tool["schema"]["properties"]["operation"]["enum"]) == sorted(operations)
    assert tool["schema"]["required"] == ["operation"]
    assert tool["schema"]["properties"]["limit"]["default"] == 20
    assert tool["annotations"]["destructiveHint"] is True


def test_a_controller_may_be_built_against_the_mock(server: Server, tmp_path: Path, uri: str) -> None:
    """It makes three calls, and reads their answers within the envelope or beside it."""
    mock = Server(tmp_path / "home", tmp_path / "cache", mock=True)
    body = {"content": DEPLOY, "uri": uri, "metadata": {"sourceIdentifier": "ns/mocked"}}
    try:
        for each in (server, mock):
            made = each.post(operation="ingest", **body)
            assert made["success"] is True
            assert made["chunksCreated"] == made["data"]["result"]["chunksCreated"] == len(made["chunkIds"]) > 0
            gone = each.post(operation="deleteByUri", uri=uri)
            assert gone["chunksDeleted"] == gone["data"]["result"]["chunksDeleted"] > 0
            assert set(deleted(each, "ns/mocked")) == {"sourceIdentifier", "chunksDeleted"}
    finally:
        mock.stop()


def test_a_megabyte_goes_in_by_one_call(tmp_path: Path) -> None:
    running = Server(tmp_path / "home", tmp_path / "cache", "embedding.provider=deterministic")
    try:
        paragraphs = (f"{paragraph} Number {n}." for n in range(400) for paragraph in (ROLLOUT, SECRETS, BACKUPS))
        content = "\n\n".join(paragraphs)[:1_000_000]
        uri = "https://example.org/large.md"
        made = running.tool("ingest", content=content, uri=uri)
        assert made["chunkIds"] == ids(uri, made["chunksCreated"])
        assert made["chunksCreated"] > 1000
        last = running.tool("getChunk", chunkId=made["chunkIds"][-1])["chunk"]
        assert content.rstrip().endswith(last["content"])
        assert deleted(running, "user-provided")["chunksDeleted"] == made["chunksCreated"]
    finally:
        running.stop()


def test_the_collection_may_be_searched_by_words_and_meaning_together(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "home").mkdir()
    settings = '[search]\nfusion = "rrf"\n\n[collections.knowledge-base]\nretrieval = "hybrid"\n'
    (tmp_path / "home" / "config.toml").write_text(settings, "utf-8")
    running = Server(tmp_path / "home", cache)
    try:
        running.tool(
            "ingest", content=f"{HANDBOOK}\n\nThe ticket queue is called zk-4711.", uri="https://example.org/a"
        )
        exact = running.tool("search", query="zk-4711")["chunks"][0]
        assert exact["matchType"] == "hybrid"
        assert "zk-4711" in exact["content"]
        assert len(running.tool("search", query="zk-4711", limit=1)["chunks"]) == 1
        assert running.tool("search", query="anything", sourceId="nobody")["chunks"] == []
    finally:
        running.stop()
