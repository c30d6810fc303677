"""The HTTP routes, asked over a real port."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from serve_support import Running, settings_for

from pinakes.api.http_app import create_app
from pinakes.library import Library

KEYS = {"results", "query", "search_type", "total_results", "search_time_ms"}


def test_the_root_says_what_is_served(server: Running) -> None:
    body = server.client.get("/").json()
    assert body["message"] == "KEP Knowledge Server"
    assert body["version"] == "1.0.0"
    assert body["search_modes"] == ["hybrid", "vector", "keyword"]
    assert {"search": "/search", "health": "/health", "stats": "/stats"}.items() <= body["endpoints"].items()


def test_a_browser_gets_a_page_that_loads_nothing_from_elsewhere(server: Running) -> None:
    for path in ("/", "/docs"):
        page = server.client.get(path, headers={"Accept": "text/html,*/*"})
        assert page.headers["content-type"].startswith("text/html")
        assert page.text.startswith("<!doctype html>")
        assert "src=" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<td>keps</td>" in server.client.get("/", headers={"Accept": "text/html"}).text


def test_the_documentation_describes_every_route(server: Running) -> None:
    document = server.client.get("/openapi.json").json()
    assert document["info"] | {"title": "KEP Knowledge Server", "version": "1.0.0"} == document["info"]
    assert [tag["name"] for tag in document["tags"]] == ["root", "search", "tools", "graph", "monitoring"]
    assert document["components"]["schemas"]["SearchRequest"]["example"]["query"]
    page = server.client.get("/docs").text
    for path in document["paths"]:
        assert path in page


def test_the_documentation_names_every_field_of_an_answer(home: Path) -> None:
    body = {"query": "implementable crd conversion", "top_k": 20, "neighbours": 1, "explain": True}
    with Library(
        settings_for(
            home,
            server__port=0,
            boosts__metadata_most=0.2,
            collections={"keps": {"boosts": [{"field": "status", "weight": 0.2}]}},
        )
    ) as library:
        running = Running(create_app(library), library.settings)
        try:
            schemas = running.client.get("/openapi.json").json()["components"]["schemas"]
            answer = running.client.post("/search", json=body).json()
        finally:
            running.stop()
    whys = [result["why"] for result in answer["results"]]
    assert any("boosts" in why for why in whys)
    for name, objects in (("SearchResponse", [answer]), ("SearchResult", answer["results"]), ("Why", whys)):
        assert {field for one in objects for field in one} <= set(schemas[name]["properties"])


def test_the_mode_may_be_left_to_the_query(server: Running) -> None:
    found = server.client.post("/search", json={"query": "kube_proxy", "search_type": "auto"}).json()
    assert found["search_type"] == "auto"
    assert any(note.startswith("searched by words: ") for note in found["notes"])


@pytest.mark.parametrize(
    "body",
    [
        {"query": "How does Kubernetes handle CRD versioning?", "search_type": "hybrid", "top_k": 5},
        {"query": "custom resource definition schema", "search_type": "vector", "top_k": 3},
        {"query": "sig-api-machinery CRD", "search_type": "keyword", "top_k": 5},
        {"query": "authentication", "search_type": "hybrid", "filters": {"sig_name": "sig-auth"}},
        {"query": "authentication", "filters": {"sig_name": "sig-auth"}},
    ],
)
def test_the_calls_of_the_guide_work_unchanged(server: Running, body: dict[str, object]) -> None:
    answer = server.client.post("/search", json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert set(found) - {"notes"} == KEYS
    assert found["query"] == body["query"]
    assert found["search_type"] == body.get("search_type", "hybrid")
    assert 0 < found["total_results"] == len(found["results"]) <= int(str(body.get("top_k", 5)))
    scores = [result["score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)
    if "filters" in body:
        assert {result["metadata"]["sig_name"] for result in found["results"]} == {"sig-auth"}


def test_a_result_names_its_kep(server: Running) -> None:
    body = {"query": "CustomResourceDefinition", "search_type": "keyword", "filters": {"file_type": ".md"}}
    result = server.client.post("/search", json=body).json()["results"][0]
    assert set(result) == {"chunk_id", "kep_id", "text", "score", "metadata", "chunk_index", "source_state"}
    assert result["kep_id"] == "sig-api-machinery/598"
    assert result["chunk_id"] == f"{result['kep_id']}_{result['chunk_index']}"
    expected = {
        "kep_id": "sig-api-machinery/598",
        "sig_name": "sig-api-machinery",
        "kep_number": "598",
        "title": "CRD Conversion Webhook",
        "file_path": "keps/sig-api-machinery/598-crd-conversion/README.md",
        "file_type": "md",
    }
    assert expected.items() <= result["metadata"].items()
    assert result["metadata"]["owning-sig"] == "sig-api-machinery"


def test_a_result_says_why_it_is_there_when_asked(server: Running) -> None:
    body = {"query": "CustomResourceDefinition conversion", "top_k": 1, "explain": True}
    found = server.client.post("/search", json=body).json()
    [result] = found["results"]
    assert found["total_found"] > found["total_results"] == 1
    assert found["query_id"]
    why = result["why"]
    of_document = {"document_cosine", "document_bm25", "document_bm25_share"}
    assert set(why["scores"]) == {"cosine", "bm25", "fused", "bm25_share", "likeness"} | of_document
    assert sum(why["score_parts"].values()) == pytest.approx(result["score"], abs=1e-3)
    assert why["scores"]["fused"] == result["score"]
    assert why["explanation"].startswith(f"{why['confidence_word'].capitalize()} match: has ")
    assert "conversion" in [result["text"][start:end].lower() for start, end in why["highlights"]]
    line = next(line for line in why["context"] if line["marks"])
    start, end = line["marks"][0]
    assert line["text"][start:end] in result["text"]
    assert "why" not in server.client.post("/search", json=body | {"explain": False}).json()["results"][0]


def test_neighbours_come_when_asked_for(server: Running) -> None:
    body = {"query": "bound tokens", "top_k": 50, "neighbours": 1}
    results = server.client.post("/search", json=body).json()["results"]
    assert all(isinstance(result["neighbours"], list) for result in results)
    answer = server.client.post("/search", json=body | {"neighbours": 4})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "neighbours"])


def test_chunk_ids_are_unique_over_the_files_of_a_kep(server: Running) -> None:
    body = {"query": "bound tokens approver alpha", "top_k": 50, "filters": {"kep_id": "sig-auth/1205"}}
    results = server.client.post("/search", json=body).json()["results"]
    assert len({result["metadata"]["file_path"] for result in results}) == 3
    assert len({result["chunk_id"] for result in results}) == len(results)


@pytest.mark.parametrize(
    ("filters", "keps"),
    [
        ({"status": "implemented"}, {"sig-auth/1205"}),
        ({"owning-sig": "sig-api-machinery"}, {"sig-api-machinery/598"}),
        ({"kep_number": "1205", "file_type": "yaml"}, {"sig-auth/1205"}),
        ({"sig_name": ["sig-auth", "sig-cluster-lifecycle"]}, {"sig-auth/1205", "sig-cluster-lifecycle/2500"}),
        ({"file_path": "keps/sig-cluster-lifecycle/**"}, {"sig-cluster-lifecycle/2500"}),
        ({"kep-number": {"gte": 1000, "lte": 2000}}, {"sig-auth/1205"}),
        ({"kep-number": {"gt": 598}}, {"sig-auth/1205", "sig-cluster-lifecycle/2500", "provider-aws/630"}),
        ({"owning-sig": {"ne": "sig-auth"}, "kep-number": {"lt": 2000}}, {"sig-api-machinery/598", "provider-aws/630"}),
        ({"sig_name": "provider-aws"}, {"provider-aws/630"}),
        ({"sig_name": "prod-readiness"}, set()),
    ],
)
def test_every_filter_holds(server: Running, filters: dict[str, object], keps: set[str]) -> None:
    body = {"query": "the pod of a cluster with authentication", "top_k": 50, "filters": filters}
    assert {result["kep_id"] for result in server.client.post("/search", json=body).json()["results"]} == keps


def test_reciprocal_rank_fusion_is_done_on_request(server: Running) -> None:
    body = {"query": "CRD versioning", "fusion": "rrf"}
    best = server.client.post("/search", json=body).json()["results"][0]["score"]
    assert 1 / 61 - 1e-6 <= best <= 2 / 61 + 1e-6


def test_min_score_leaves_out_what_scores_less(server: Running) -> None:
    body = {"query": "CRD versioning", "search_type": "keyword", "top_k": 50}
    every = server.client.post("/search", json=body).json()["results"]
    least = every[0]["score"] * 0.99
    kept = server.client.post("/search", json=body | {"min_score": least}).json()["results"]
    assert [result["chunk_id"] for result in kept] == [r["chunk_id"] for r in every if r["score"] >= least]
    assert len(kept) < len(every)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("topk", "There is no field 'topk': did you mean 'top_k'?"),
        ("filter", "There is no field 'filter': did you mean 'filters'?"),
        (
            "zzz",
            "There is no field 'zzz': there are query, search_type, top_k, min_score, filters, collection, fusion, "
            "phrases, neighbours, expand, explain, as_of, refresh",
        ),
    ],
)
def test_a_field_that_does_not_exist_is_refused_with_the_one_that_was_meant(
    server: Running, field: str, words: str
) -> None:
    answer = server.client.post("/search", json={"query": "pod", field: 3})
    assert (answer.status_code, answer.json()["detail"][0]["msg"]) == (422, words)


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b'{"query": "a", "top_k": 0}',
        b'{"query": "a", "top_k": 51}',
        b'{"query": "a", "min_score": 1.5}',
        b'{"query": "a", "min_score": NaN}',
        b'{"query": "a", "search_type": "fuzzy"}',
        b'{"query": "a", "filters": "sig_name"}',
        b'{"query": "a", "filters": {"sig_name": {"near": 1}}}',
        b'{"query": "\\ud800"}',
        b'{"query": ',
        b"\xff\xfe",
        b"[" * 50_000,
        b"",
    ],
)
def test_what_cannot_be_a_search_is_answered_with_422(server: Running, content: bytes) -> None:
    answer = server.client.post("/search", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_the_setting_decides_how_many_chunks_may_be_asked_for(home: Path) -> None:
    with Library(settings_for(home, server__port=0, search__max_top_k=60)) as library:
        running = Running(create_app(library), library.settings)
        try:
            statuses = [
                running.client.post("/search", json={"query": "pod", "top_k": top_k}).status_code for top_k in (60, 61)
            ]
        finally:
            running.stop()
    assert statuses == [200, 422]


def test_a_query_that_is_cut_is_said_to_be(server: Running) -> None:
    answer = server.client.post("/search", json={"query": "tokens " * 500}).json()
    assert answer["notes"] == ["the query was cut from 3499 to 2000 characters"]
    assert "notes" not in server.client.post("/search", json={"query": "tokens"}).json()


def test_a_filter_on_a_field_nobody_has_is_told(server: Running) -> None:
    answer = server.client.post("/search", json={"query": "tokens", "filters": {"sig_nam": "sig-node"}}).json()
    assert answer["results"] == []
    assert answer["notes"] == ["no document has a field 'sig_nam': did you mean 'sig_name'?"]


def test_an_unknown_collection_is_not_found(server: Running) -> None:
    answer = server.client.post("/search", json={"query": "a", "collection": "nope"})
    assert answer.status_code == 404
    assert "Collections: keps" in answer.json()["hint"]


def test_health_counts_keps(server: Running) -> None:
    health = server.client.get("/health").json()
    assert health["status"] == "healthy"
    assert health["indexed_documents"] == 4
    assert health["indexed_chunks"] > 3
    assert health["model_loaded"] is True
    answer = server.client.get("/healthz")
    assert answer.text == '{"status":"ok"}'
    assert answer.headers["pinakes-instance"] == "this-one"


def test_stats_say_what_is_indexed(server: Running) -> None:
    stats = server.client.get("/stats").json()
    assert stats["total_keps"] == 4
    assert stats["total_vectors"] == stats["total_chunks"] > 3
    assert stats["embedding_dimension"] == 384
    assert stats["search_modes"] == ["hybrid", "vector", "keyword"]
    assert "Reciprocal Rank Fusion (RRF)" in stats["fusion_algorithm"]


def test_metrics_count_requests_and_sizes(server: Running) -> None:
    server.client.get("/no/such/route")
    text = server.client.get("/metrics").text
    assert 'pinakes_requests_total{path="other",status="404"}' in text
    assert 'pinakes_collection{name="keps",of="documents"}' in text
    assert "/no/such/route" not in text


def test_eight_clients_at_once_are_all_answered_alike(server: Running) -> None:
    queries = ["CRD versioning", "authentication", "kubeadm join", "kube-scheduler"]

    def ask(number: int) -> list[str]:
        with httpx.Client(base_url=server.url, timeout=30) as client:
            answers = [client.post("/search", json={"query": queries[(number + i) % 4]}) for i in range(12)]
        assert {answer.status_code for answer in answers} == {200}
        return [json.dumps([r["chunk_id"] for r in a.json()["results"]]) + a.json()["query"] for a in answers]

    with ThreadPoolExecutor(8) as pool:
        found = {entry for entries in pool.map(ask, range(8)) for entry in entries}
    assert len(found) == len(queries)
