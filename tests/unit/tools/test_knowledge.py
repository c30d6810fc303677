"""``manageKnowledge`` and ``version``, called as an interface calls them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.catalog.audit import AuditQuery
from pinakes.compat.platform.chunk_ids import ChunkIds, chunk_id
from pinakes.compat.platform.knowledge import COLLECTION, OPERATIONS, failed, manage_knowledge, version
from pinakes.compat.staged.observe import retrieval_log
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import Busy, InvalidInput, ModelUnavailable, PinakesError, StorageFull, Unreadable
from pinakes.library import Library
from pinakes.settings import load
from pinakes.tools import tools_of

A, B = "https://example.org/docs/a.md", "https://example.org/docs/b.md"
DEPLOY = "# Deploying\n\nA merge to main is deployed by the pipeline.\n"
BACKUP = "# Backup\n\nDatabases are copied every night.\n"
LONG = "\n\n".join(f"Paragraph {n}. " + "Much is said here about very little. " * 25 for n in range(3))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    settings = load(
        home=tmp_path / "home", profile="platform", environment={}, embedding__provider="deterministic"
    )  # fmt: skip
    with Library(settings) as opened:
        yield opened


def call(library: Library, operation: str, **arguments: Any) -> dict[str, Any]:
    """Return the answer, which is never an error to the protocol, and the same as text and as data."""
    outcome = manage_knowledge.answer(library, {"operation": operation, **arguments})
    assert not outcome.failed
    assert outcome.data is not None
    assert outcome.text == json.dumps(outcome.data, ensure_ascii=False, indent=2)
    return outcome.data


def uris(answer: dict[str, Any]) -> set[str]:
    return {chunk["uri"] for chunk in answer["chunks"]}


@pytest.mark.parametrize(
    ("operation", "given", "name", "hint"),
    [
        ("ingest", {"uri": A}, "content", "Provide the document content to ingest"),
        ("ingest", {"uri": A, "content": ""}, "content", "Provide the document content to ingest"),
        (
            "ingest",
            {"content": DEPLOY},
            "uri",
            "Provide the full URL identifying the document (e.g., https://github.com/org/repo/blob/main/docs/guide.md)",
        ),
        ("search", {}, "query", "Provide a natural language search query"),
        ("search", {"query": " "}, "query", "Provide a natural language search query"),
        ("deleteByUri", {}, "uri", "Provide the URI of the document to delete all chunks for"),
        ("deleteBySource", {}, "sourceId", "Provide the identifier of the source to delete all chunks of"),
        ("getChunk", {}, "chunkId", "Provide the id of a chunk, as ingest and search return it"),
    ],
)
def test_what_an_operation_needs_is_asked_for(
    library: Library, operation: str, given: dict[str, str], name: str, hint: str
) -> None:
    message = f"Missing required parameter: {name}"
    expected = {"success": False, "error": {"message": message, "operation": operation, "hint": hint}}
    assert call(library, operation, **given) == expected
    assert call(library, operation, **given, interaction_id="x1") == expected


@pytest.mark.parametrize("operation", ["explode", "Ingest", 5, ["search"]])
def test_an_operation_there_is_not_is_answered_with_those_there_are(library: Library, operation: Any) -> None:
    error = call(library, operation)["error"]
    assert error["message"] == f"Unsupported operation: {operation}"
    assert error["operation"] == operation
    assert error["supportedOperations"] == ["ingest", "search", "deleteByUri", "deleteBySource", "getChunk"]
    assert error["hint"]


def test_a_call_without_an_operation_is_told_so(library: Library) -> None:
    outcome = manage_knowledge.answer(library, {"query": "deploy"})
    assert outcome.data is not None
    assert not outcome.failed
    assert outcome.data["error"]["message"] == "Missing required parameter: operation"
    assert outcome.data["error"]["supportedOperations"] == list(OPERATIONS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"content": 5, "uri": A}, "content cannot be 5: it has to be text"),
        ({"content": DEPLOY, "uri": ["a"]}, "uri cannot be ['a']: it has to be text"),
        ({"content": DEPLOY, "uri": "x" * 5000}, "it has to be text, at most 4096 characters long"),
        ({"content": DEPLOY, "uri": A, "metadata": "team"}, "metadata cannot be 'team'"),
        ({"content": DEPLOY, "uri": A, "meta": {}}, "there is no parameter 'meta'"),
        (
            {"content": DEPLOY, "uri": A, "metadata": {"sourceIdentifier": 7}},
            "metadata.sourceIdentifier has to be text",
        ),
        ({"content": DEPLOY, "uri": A, "metadata": {"sourceIdentifier": "s" * 5000}}, "at most 4096 characters"),
        (
            {"content": DEPLOY, "uri": A, "sourceId": "one", "metadata": {"sourceIdentifier": "two"}},
            "sourceId is 'one' and metadata.sourceIdentifier is 'two'.",
        ),
        ({"content": "half \ud800", "uri": A}, "An argument holds half a character"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_kept(
    library: Library, arguments: dict[str, Any], words: str
) -> None:
    answer = call(library, "ingest", **arguments)
    assert answer["success"] is False
    assert words in answer["error"]["message"]
    assert answer["error"]["operation"] == "ingest"
    assert library.collections() == []


@pytest.mark.parametrize("limit", [0, -1, "many", float("nan"), [5]])
def test_a_limit_that_is_none_is_refused(library: Library, limit: Any) -> None:
    assert call(library, "search", query="deploy", limit=limit)["error"]["message"].startswith(
        "Invalid arguments for manageKnowledge: limit "
    )


def test_a_limit_above_the_most_is_lowered_and_that_is_said(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A)
    assert "notes" not in call(library, "search", query="deploy", limit=50)
    assert call(library, "search", query="deploy", limit=51.0)["notes"] == [
        "limit 51 was lowered to 50 (search.max_top_k)"
    ]


@pytest.mark.parametrize(
    ("operation", "error", "told"),
    [
        ("search", ModelUnavailable("No model.", hint="Get it."), ("Embedding service not available", "reason")),
        ("ingest", ModelUnavailable("No model.", hint="Get it."), ("Embedding service not available", "reason")),
        ("ingest", Unreadable("Not text.", hint="Mend it."), ("Document chunking failed", "error")),
        ("ingest", StorageFull("The disk is full.", hint="Free some."), ("Failed to store chunk", "error")),
        ("ingest", PinakesError("An internal error.", hint="See."), ("Document ingestion failed", "error")),
        ("search", Busy("Locked.", hint="Wait."), ("Search failed", "error")),
        ("deleteByUri", Busy("Locked.", hint="Wait."), ("Delete operation failed", "error")),
        ("deleteBySource", StorageFull("The disk is full.", hint="Free."), ("Delete operation failed", "error")),
    ],
)
def test_a_failure_has_the_words_of_its_operation_and_its_reason(
    operation: str, error: PinakesError, told: tuple[str, str]
) -> None:
    message, place = told
    expected = {"message": message, "operation": operation, "hint": error.hint, place: error.message}
    assert failed(manage_knowledge, {"operation": operation}, error) == {"success": False, "error": expected}


def test_what_the_caller_can_mend_is_told_in_its_own_words() -> None:
    error = InvalidInput("The title is too long.", hint="Shorten it.")
    told = failed(manage_knowledge, {"operation": "ingest"}, error)["error"]
    assert told == {"message": "The title is too long.", "operation": "ingest", "hint": "Shorten it."}


def test_who_may_only_read_searches_and_is_refused_the_rest(library: Library) -> None:
    made = call(library, "ingest", content=DEPLOY, uri=A)
    with calling(Caller("guest", "http", scope="read")):
        assert uris(call(library, "search", query="deploy")) == {A}
        assert call(library, "getChunk", chunkId=made["chunkIds"][0])["success"] is True
        for operation in ("ingest", "deleteByUri", "deleteBySource"):
            answer = call(library, operation, content=BACKUP, uri=A, sourceId="user-provided")
            assert answer.pop("message")
            assert answer == {
                "error": "FORBIDDEN",
                "tool": "manageKnowledge",
                "operation": operation,
                "user": "guest",
            }
    assert uris(call(library, "search", query="deploy")) == {A}


def test_nothing_is_found_where_nothing_was_ever_taken_in(library: Library) -> None:
    assert call(library, "search", query="deploy") == {
        "success": True,
        "operation": "search",
        "chunks": [],
        "totalMatches": 0,
        "query": "deploy",
        "message": "No matching documents found",
    }
    assert call(library, "deleteByUri", uri=A)["message"] == "No chunks found for URI"
    assert call(library, "deleteBySource", sourceId="docs")["message"] == "No chunks found for source"
    assert call(library, "getChunk", chunkId=chunk_id(A, 0))["error"]["message"] == "Chunk not found"
    assert call(library, "ingest", content=" \n", uri=A)["chunksCreated"] == 0
    assert library.collections() == []


def test_a_document_is_taken_in_found_and_taken_out(library: Library) -> None:
    made = call(library, "ingest", content=LONG, uri=A, sourceId="docs", metadata={"team": "platform"})
    assert made == {
        "success": True,
        "operation": "ingest",
        "chunksCreated": 3,
        "chunkIds": [str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{A}#{n}")) for n in range(3)],
        "uri": A,
        "message": "Successfully ingested document into 3 chunks",
    }
    found = call(library, "search", query="Paragraph 1")
    assert {chunk["id"] for chunk in found["chunks"]} == set(made["chunkIds"])
    assert found["message"] == "Found 3 matching chunks"
    assert "uri" in found["agentInstructions"]
    chunk = found["chunks"][0]
    assert chunk["content"] in LONG
    assert (chunk["sourceId"], chunk["totalChunks"]) == ("docs", 3)
    assert chunk["metadata"] == {"team": "platform", "sourceIdentifier": "docs"}
    assert call(library, "deleteByUri", uri=A)["chunksDeleted"] == 3
    assert call(library, "search", query="Paragraph 1")["chunks"] == []


def test_a_document_that_says_of_no_source_is_the_users(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A)
    [chunk] = call(library, "search", query="deploy")["chunks"]
    assert (chunk["sourceId"], chunk["metadata"]) == ("user-provided", {"sourceIdentifier": "user-provided"})
    assert call(library, "deleteBySource", sourceId="user-provided")["chunksDeleted"] == 1


def test_a_document_that_is_known_keeps_its_source_until_another_is_named(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A, sourceId="docs")
    again = call(library, "ingest", content=BACKUP, uri=A)
    assert again["notes"] == ["The document stays one of the source 'docs'."]
    other = call(library, "ingest", content=DEPLOY, uri=f"{A}.other", metadata={"team": "platform"})
    assert "notes" not in other
    assert uris(call(library, "search", query="deploy", sourceId="docs")) == {A}
    assert "notes" not in call(library, "ingest", content=BACKUP, uri=A, sourceId="user-provided")
    assert call(library, "deleteBySource", sourceId="docs")["chunksDeleted"] == 0
    call(library, "ingest", content=BACKUP, uri=A, metadata={"sourceIdentifier": "docs"})
    assert call(library, "deleteBySource", sourceId="docs")["chunksDeleted"] == 1


def test_the_source_is_one_value_under_two_names(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A, sourceId="docs")
    call(library, "ingest", content=BACKUP, uri=B, metadata={"sourceIdentifier": "docs"})
    call(library, "ingest", content=DEPLOY, uri=f"{A}.other", sourceId="Docs", metadata={"sourceIdentifier": "Docs"})
    assert uris(call(library, "search", query="deploy", sourceId="docs")) == {A, B}
    assert uris(call(library, "search", query="deploy", metadata={"sourceIdentifier": "Docs"})) == {f"{A}.other"}
    answer = call(library, "deleteBySource", metadata={"sourceIdentifier": "docs"})
    assert (answer["sourceId"], answer["sourceIdentifier"], answer["chunksDeleted"]) == ("docs", "docs", 2)
    assert uris(call(library, "search", query="deploy")) == {f"{A}.other"}


def test_metadata_may_be_an_object_written_as_text(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A, metadata='{"team": "platform", "tags": ["howto"]}')
    [chunk] = call(library, "search", query="deploy")["chunks"]
    assert chunk["metadata"]["team"] == "platform"
    assert chunk["tags"] == ["howto"]


@pytest.mark.parametrize(
    ("uri", "content", "metadata", "kind", "language", "title"),
    [
        (A, DEPLOY, {}, "markdown", None, "Deploying"),
        (A, "No heading here.", {}, "markdown", None, "a"),
        (A, DEPLOY, {"title": " The guide "}, "markdown", None, "The guide"),
        (A, DEPLOY, {"title": 5}, "markdown", None, "Deploying"),
        (
            "https://example.org/blob/main/run.py",
            "# Runs.\ndef run():\n    pass\n",
            {},
            "code",
            "python",
            "run",
        ),
        ("https://example.org/guide.rst", "Guide\n=====\n\nText.\n", {}, "text", "rst", "Guide"),
        ("https://example.org/values.yaml", "name: a\n", {}, "text", None, "values"),
        ("https://example.org", "Some words.", {}, "markdown", None, "https://example.org"),
        ("https://[half", "Some words.", {}, "markdown", None, "https://[half"),
        ("wiki:4711", "Some words.", {}, "markdown", None, "4711"),
    ],
)
def test_a_document_is_cut_and_called_as_its_address_and_content_say(
    library: Library, uri: str, content: str, metadata: dict[str, Any], kind: str, language: str | None, title: str
) -> None:
    call(library, "ingest", content=content, uri=uri, metadata=metadata)
    document = library.read(uri, COLLECTION).document
    assert (document.kind, document.language, document.title) == (kind, language, title)
    made = call(library, "getChunk", chunkId=chunk_id(uri, 0))["chunk"]
    assert (made["uri"], made["title"], made["source"]["type"]) == (uri, title, uri.partition(":")[0])
    assert content.rstrip().endswith(made["content"])


def test_a_title_that_is_no_title_is_refused(library: Library) -> None:
    assert "title" in call(library, "ingest", content=DEPLOY, uri=A, metadata={"title": "t" * 2000})["error"]["message"]


def test_tags_and_metadata_are_those_of_the_last_time(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A, metadata={"tags": ["old"], "team": "one"})
    call(library, "ingest", content=BACKUP, uri=A, metadata={"owner": "two"})
    [chunk] = call(library, "search", query="backup")["chunks"]
    assert chunk["metadata"] == {"owner": "two", "sourceIdentifier": "user-provided"}
    assert chunk["tags"] == []


def test_the_same_document_again_changes_nothing(library: Library) -> None:
    first = call(library, "ingest", content=DEPLOY, uri=A)
    before = library.read(A, COLLECTION).document
    assert call(library, "ingest", content=DEPLOY, uri=A) == first
    after = library.read(A, COLLECTION).document
    assert (after.version, after.updated_at) == (before.version, before.updated_at)


def test_an_address_filters_by_itself_or_as_a_beginning(library: Library) -> None:
    for uri in ("a_b", "axb", "a%b", "[b]"):
        call(library, "ingest", content=DEPLOY, uri=f"https://example.org/{uri}")
    call(library, "ingest", content=DEPLOY, uri="2024 report")
    call(library, "ingest", content=DEPLOY, uri="2025 report")
    for uri_filter, expected in {
        "https://example.org/a_b": {"https://example.org/a_b"},
        "https://example.org/a": {"https://example.org/a_b", "https://example.org/axb", "https://example.org/a%b"},
        "https://example.org/a%": {"https://example.org/a%b"},
        "https://example.org/*": set(),
        "https://example.org/A_B": set(),
        "https://example.org/": {f"https://example.org/{name}" for name in ("a_b", "axb", "a%b", "[b]")},
        "https://example.org/[": {"https://example.org/[b]"},
        "example.org": set(),
        "2024": {"2024 report"},
    }.items():
        answer = call(library, "search", query="deploy", uriFilter=uri_filter)
        assert uris(answer) == expected, uri_filter
        meant = uri_filter.endswith("/") or uri_filter in expected
        told = f"no document has the URL {uri_filter!r}: all whose URL begins with it were searched"
        assert (told in answer.get("notes", ())) is not meant, uri_filter


def test_a_chunk_is_returned_in_full_while_it_is_there(library: Library) -> None:
    metadata = {"sourceType": "git", "sourceLastModified": "2026-01-05T10:00:00Z", "tags": ["policy"]}
    made = call(library, "ingest", content=LONG, uri=A, sourceId="docs", metadata=metadata)
    kept = {**metadata, "sourceIdentifier": "docs"}
    chunk = call(library, "getChunk", chunkId=made["chunkIds"][1].upper())["chunk"]
    assert chunk["content"].startswith("Paragraph 1.")
    assert (chunk["chunkIndex"], chunk["totalChunks"], chunk["status"]) == (1, 3, "processed")
    assert chunk["source"] == {"type": "git", "uri": A, "metadata": kept}
    assert (chunk["metadata"], chunk["tags"], chunk["extractedPolicyIds"]) == (kept, ["policy"], [])
    assert chunk["sourceLastModified"] == "2026-01-05T10:00:00Z"
    assert len(chunk["checksum"]) == 64
    assert chunk["ingestedAt"] == chunk["fetchedAt"] == chunk["processedAt"]
    call(library, "ingest", content=DEPLOY, uri=A)
    error = call(library, "getChunk", chunkId=made["chunkIds"][1])["error"]
    assert (error["message"], error["chunkId"]) == ("Chunk not found", made["chunkIds"][1])
    call(library, "ingest", content=LONG, uri=A)
    assert call(library, "getChunk", chunkId=made["chunkIds"][1])["chunk"]["content"] == chunk["content"]
    call(library, "deleteByUri", uri=A)
    call(library, "ingest", content=LONG, uri=B)
    assert call(library, "getChunk", chunkId=made["chunkIds"][1])["success"] is False
    assert call(library, "getChunk", chunkId=chunk_id(B, 2))["chunk"]["uri"] == B
    assert call(library, "getChunk", chunkId="no id at all")["error"]["message"] == "Chunk not found"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 120))
def test_an_id_is_the_uuid_of_address_and_number(uri: str, count: int) -> None:
    ids = ChunkIds()
    ids._add(uri, 0, count)
    expected = {uuid.uuid5(uuid.NAMESPACE_DNS, f"{uri}#{index}").bytes: (uri, index) for index in range(count)}
    assert ids._places == expected
    assert chunk_id(uri, count - 1) == str(uuid.UUID(bytes=list(expected)[-1]))


def test_without_a_model_documents_are_kept_and_wait(tmp_path: Path) -> None:
    nowhere = tmp_path / "none"
    nowhere.mkdir()
    settings = load(home=tmp_path / "home", profile="platform", environment={}, embedding__path=nowhere)
    with Library(settings) as library:
        made = call(library, "ingest", content=DEPLOY, uri=A)
        assert call(library, "getChunk", chunkId=made["chunkIds"][0])["chunk"]["status"] == "pending"
        answer = call(library, "search", query="deploy")
        assert [chunk["matchType"] for chunk in answer["chunks"]] == ["keyword"]
        assert any("keyword" in note for note in answer["notes"])


def test_without_a_model_a_search_by_meaning_alone_is_an_error(tmp_path: Path) -> None:
    nowhere = tmp_path / "none"
    nowhere.mkdir()
    by_meaning = {"embedding__path": nowhere, "collections": {COLLECTION: {"retrieval": "vector"}}}
    settings = load(home=tmp_path / "home", profile="platform", environment={}, **by_meaning)
    with Library(settings) as library:
        call(library, "ingest", content=DEPLOY, uri=A)
        error = call(library, "search", query="deploy")["error"]
        assert error["message"] == "Embedding service not available"
        assert error["reason"]


def test_both_arms_may_answer_and_a_chunk_says_which_found_it(tmp_path: Path) -> None:
    settings = load(
        home=tmp_path,
        environment={},
        toolsets=("knowledge",),
        embedding__provider="deterministic",
        search__fusion="rrf",
    )
    with Library(settings) as library:
        call(library, "ingest", content=DEPLOY, uri=A)
        call(library, "ingest", content=BACKUP, uri=B)
        chunks = call(library, "search", query="pipeline")["chunks"]
        assert {chunk["uri"]: chunk["matchType"] for chunk in chunks} == {A: "hybrid", B: "semantic"}


def test_a_chunk_that_says_the_same_is_named_with_the_one_that_is_shown(tmp_path: Path) -> None:
    chosen = {"toolsets": ("knowledge",), "embedding__provider": "deterministic"}
    settings = load(home=tmp_path, environment={}, **chosen)
    with Library(settings) as library:
        for uri in (A, B):
            call(library, "ingest", content="Databases are copied every night.", uri=uri, metadata={"title": "Backup"})
        [chunk] = call(library, "search", query="databases copied")["chunks"]
        other = B if chunk["uri"] == A else A
        assert chunk["duplicates"] == [{"id": chunk_id(other, 0), "uri": other, "chunkIndex": 0}]


def test_the_version_says_what_the_knowledge_base_holds(library: Library) -> None:
    def state() -> Any:
        data = version.call(library, {}).as_data()
        assert data is not None
        assert data["version"]
        return data["vectorDB"]["collections"]["knowledgeBase"]

    assert state() == {"exists": False, "documentsCount": 0, "chunksCount": 0}
    call(library, "ingest", content=LONG, uri=A)
    call(library, "ingest", content=DEPLOY, uri=B)
    assert state() == {"exists": True, "documentsCount": 2, "chunksCount": 4}


def test_the_profile_offers_this_tool_on_its_port(tmp_path: Path) -> None:
    settings = load(home=tmp_path, profile="platform", environment={})
    assert settings.server.port == 3456
    assert [tool.name for tool in tools_of(settings)] == ["manageKnowledge", "version"]
    assert (settings.of_collection(COLLECTION).retrieval, settings.search.fusion) == ("hybrid", "weighted")
    assert settings.collection == COLLECTION


def test_what_is_answered_is_what_the_schema_says(library: Library) -> None:
    made = call(library, "ingest", content=DEPLOY, uri=A)
    schema = manage_knowledge.output_schema()
    assert schema is not None
    for answer in (
        made,
        call(library, "search", query="deploy"),
        call(library, "getChunk", chunkId=made["chunkIds"][0]),
        call(library, "deleteByUri", uri=A),
        call(library, "deleteBySource", sourceId="docs"),
    ):
        assert answer.keys() <= schema["properties"].keys()


def test_calls_are_in_the_log_with_the_collection_and_the_documents(library: Library) -> None:
    ingested = call(library, "ingest", content=DEPLOY, uri=A, sourceId="docs")
    uid = library.read(A, COLLECTION).document.uid
    call(library, "search", query="deployed")
    call(library, "getChunk", chunkId=ingested["chunkIds"][0])
    call(library, "search", query="deployed", sourceId="nobody's")
    call(library, "deleteByUri", uri=A)
    call(library, "ingest", content=BACKUP, uri=B, sourceId="docs")
    other = library.read(B, COLLECTION).document.uid
    call(library, "deleteBySource", sourceId="docs")
    call(library, "deleteBySource")
    logged = library.audit.entries(20, AuditQuery(collection=COLLECTION))
    told = [(entry.parameters["operation"], entry.ids, entry.result_count) for entry in reversed(logged)]
    assert told == [
        ("ingest", (uid,), 1),
        ("search", (uid,), 1),
        ("getChunk", (uid,), 1),
        ("search", (), 0),
        ("deleteByUri", (uid,), 1),
        ("ingest", (other,), 1),
        ("deleteBySource", (other,), 1),
        ("deleteBySource", (), 0),
    ]
    assert logged[0].outcome == "INVALID_INPUT"
    outcome = retrieval_log.answer(library, {"last_n": 2, "collection": COLLECTION})
    assert [entry["doc_ids"] for entry in (outcome.data or {})["entries"]] == [[], [other]]


def test_fields_without_a_value_are_not_kept_as_words(library: Library) -> None:
    nothing = {"source": None, "sourceIdentifier": None, "tags": None, "title": None}
    call(library, "ingest", content=DEPLOY, uri=A, metadata=nothing)
    [chunk] = call(library, "search", query="deployed")["chunks"]
    assert (chunk["sourceId"], chunk["title"], chunk["tags"]) == ("user-provided", "Deploying", [])
    uid = library.read(A, COLLECTION).document.uid
    library.documents.update(uid, collection=COLLECTION, metadata=nothing)
    [chunk] = call(library, "search", query="deployed")["chunks"]
    assert "None" not in json.dumps(chunk)


def test_what_filters_miss_is_told_as_callers_write_them(library: Library) -> None:
    call(library, "ingest", content=DEPLOY, uri=A, sourceId="docs")
    for asked, words in (
        ({"uriFilter": "https://b.example/"}, "no document has uri beginning with 'https://b.example/'"),
        ({"sourceId": "nowhere"}, "no document has sourceIdentifier = 'nowhere'"),
    ):
        [note] = call(library, "search", query="deployed", **asked)["notes"]
        assert note.startswith(words)
