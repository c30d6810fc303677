"""The score of every hit can be computed from the numbers beside it, by the formulas of ``docs/ranking.md``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes.core.records import Hit
from pinakes.library import Library
from pinakes.settings import SearchSettings
from pinakes.testing import write_files
from pinakes.tools import TOOLS

OpenLibrary = Callable[..., Library]
WORDS = "amber birch cedar delta ember fjord grove heron islet krill lotus maple north oasis pearl quartz".split()
NEAR = 1e-3
MODES = ("hybrid", "keyword", "vector")


def written(docs: Path) -> Path:
    random = np.random.default_rng(11)
    files = {}
    for number in range(60):
        sections = (f"## Part {part}\n\n{' '.join(random.choice(WORDS, 90))}.\n" for part in range(1 + number % 3))
        files[f"part{number % 4}/file{number}.md"] = f"# File {number}\n\n" + "\n".join(sections)
    for number in range(8):
        body = " ".join(random.choice(WORDS, 20))
        files[f"tests/test_{WORDS[number]}.py"] = f"def watch_{WORDS[number]}(place):\n    # {body}\n    return place\n"
        files[f"code/{WORDS[number]}.py"] = f"def watch_{WORDS[number]}(place):\n    # {body}\n    return [place]\n"
    files["issues.md"] = "# Issues\n\nRFC-0011 is about the heron, CVE-2021-44228 about the krill.\n"
    files["exact.md"] = "# Heron krill\n\nHeron krill.\n"
    return write_files(docs, files)


@pytest.fixture
def filled(open_library: OpenLibrary, docs: Path) -> Library:
    """For tests that write."""
    library = open_library()
    library.add(str(written(docs)))
    return library


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same, for tests that ask only."""
    place = tmp_path_factory.mktemp("kept")
    settings = {"embedding__provider": "deterministic", "cache": str(place / "cache")}
    (place / "docs").mkdir()
    with Library.open(place / "home", **settings) as library:
        library.add(str(written(place / "docs")))
        yield library


def queries() -> Iterator[str]:
    random = np.random.default_rng(5)
    for count in (1, 2, 3, 5, 9):
        for _ in range(6):
            yield " ".join(random.choice(WORDS, count))
    yield from ("watch_heron", "where is watch_krill", "RFC-0011 heron", "CVE-2021-44228", "what does file 7 say of it")
    yield from ('what is said of "heron krill" in all these files', 'how do "amber birch" and "RFC-0011" differ here')


def made_of(hit: Hit) -> float:
    return sum(hit.score_parts.values())


def expected(hit: Hit, search: SearchSettings, weights: tuple[float, float]) -> Mapping[str, float]:
    """Compute the parts of a weighted score that come from raw scores, as the documentation says."""
    semantic, keyword = (weight / sum(weights) for weight in weights)
    raw, by = hit.scores, 1 + search.feedback_weight
    cosine, document = raw.cosine or 0.0, raw.document_cosine or 0.0
    near = (1 - search.document_cosine_share) * cosine + search.document_cosine_share * document > 0
    parts = {
        "meaning": near * semantic * (1 - search.document_cosine_share) * cosine / by,
        "document_meaning": near * semantic * search.document_cosine_share * document / by,
        "words": keyword * (1 - search.document_bm25_share) * (raw.bm25_share or 0) / by,
        "document_words": keyword * search.document_bm25_share * (raw.document_bm25_share or 0) / by,
        "likeness": search.feedback_weight * (raw.likeness or 0) / by,
    }
    return {name: part for name, part in parts.items() if abs(part) > NEAR}


class TestChunks:
    @pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
    @pytest.mark.parametrize("fusion", ["weighted", "rrf"])
    def test_parts_add_up_to_the_score(self, kept: Library, mode: Any, fusion: str) -> None:
        seen: set[str] = set()
        for query in queries():
            for hit in kept.search(query, mode=mode, fusion=fusion, top_k=50).hits:
                assert made_of(hit) == pytest.approx(hit.score, abs=NEAR), (query, hit.score_parts)
                seen |= set(hit.score_parts)
        if mode == "hybrid":
            assert {"meaning", "words", "boosts", "saturation", "phrases"} <= seen
        else:
            assert seen == ({"meaning"} if mode == "vector" else {"words", "document_words"}) | {"phrases"}

    def test_every_kind_of_part_is_met(self, kept: Library) -> None:
        seen = {name for query in queries() for hit in kept.search(query, top_k=50).hits for name in hit.score_parts}
        weighted = {"meaning", "document_meaning", "words", "document_words", "likeness", "definition", "identifier"}
        assert seen >= weighted | {"boosts", "saturation", "phrases"}

    def test_weighted_parts_are_those_of_the_raw_scores(self, kept: Library) -> None:
        search = kept.settings.search
        for query in queries():
            for hit in kept.search(query, top_k=50).hits:
                wanted = expected(hit, search, (search.semantic_weight, search.keyword_weight))
                assert {name: hit.score_parts.get(name, 0.0) for name in wanted} == pytest.approx(wanted, abs=NEAR)
                total = 1 + sum(hit.boosts.values())
                before = sum(hit.score_parts.get(name, 0.0) for name in (*wanted, "definition", "identifier"))
                assert hit.score_parts.get("boosts", 0.0) == pytest.approx((total - 1) * before, abs=2 * NEAR)

    def test_bm25_shares_are_bm25_divided_by_one_number(self, kept: Library) -> None:
        for query in ("heron krill", "amber birch cedar delta zanzibar"):
            hits = kept.search(query, top_k=50).hits
            known = [(hit.scores.bm25, hit.scores.bm25_share) for hit in hits if hit.scores.bm25_share]
            divisors = [bm25 / share for bm25, share in known if bm25 and share]
            assert divisors == pytest.approx([divisors[0]] * len(divisors), rel=1e-4)
            assert divisors[0] >= max(bm25 or 0 for bm25, _ in known) * 0.9999

    def test_ranks_are_the_parts_of_reciprocal_rank_fusion(self, kept: Library) -> None:
        k = kept.settings.search.rrf_k
        [first, *_] = kept.search("heron krill", fusion="rrf", top_k=5).hits
        for name in ("meaning", "words"):
            rank = 1 / first.score_parts[name] - k
            assert rank == pytest.approx(round(rank), abs=0.02)

    def test_what_exceeds_one_is_cut_in_the_open(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(search__definition_boost=1.0, boosts__saturation=0)
        library.add(str(written(docs)))
        [hit, *_] = library.search("watch_heron krill").hits
        assert hit.score == 1
        assert hit.score_parts["cut"] < 0
        assert made_of(hit) == pytest.approx(1, abs=NEAR)

    def test_without_a_model_words_are_all_there_is(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(embedding__provider="onnx", embedding__path=str(docs / "nowhere"))
        library.add(str(written(docs)))
        answer = library.search("heron krill", top_k=20)
        assert answer.degraded
        for hit in answer.hits:
            assert hit.score_parts["words"] == pytest.approx(0.5 * (hit.scores.bm25_share or 0), abs=NEAR)
            of_document = 0.5 * (hit.scores.document_bm25_share or 0)
            assert hit.score_parts["document_words"] == pytest.approx(of_document, abs=NEAR)
            assert made_of(hit) == pytest.approx(hit.score, abs=NEAR)


class TestSeveralCollections:
    def test_what_merging_takes_is_a_part(self, filled: Library, tmp_path: Path) -> None:
        other = {f"{word}.md": f"# Of {word}\n\nThe {word} likes {WORDS[at - 5]}.\n" for at, word in enumerate(WORDS)}
        filled.add(str(write_files(tmp_path / "other", other)), collection="other")
        asked = [*list(queries())[::4], *list(queries())[-2:], "what the heron likes"]  # which only the other says
        for way in ({"mode": mode, "fusion": fusion} for mode in MODES for fusion in ("weighted", "rrf")):
            seen: set[str] = set()
            for query in asked:
                for hit in filled.search(query, "*", top_k=50, **way).hits:
                    assert made_of(hit) == pytest.approx(hit.score, abs=NEAR), (query, way)
                    seen |= set(hit.score_parts)
            assert {"phrases", "collections"} <= seen, way


class TestDocuments:
    def test_a_summary_of_its_own_is_a_part(self, filled: Library) -> None:
        text = "A long text about nothing in particular. " * 5
        filled.documents.put(text, title="One", summary="Where the flamingo nests in zanzibar.")
        filled.documents.put(f"{text} More.", title="Two", summary="What the walrus ate in winter.")
        seen: set[str] = set()
        for query in (*queries(), "flamingo nests", "walrus winter"):
            for mode in ("hybrid", "keyword", "vector"):
                for one in filled.staged.summaries(query, top_k=50, mode=mode).documents:
                    parts = one.score_parts
                    assert sum(parts.values()) == pytest.approx(one.score, abs=NEAR), (query, mode, parts)
                    seen |= set(parts)
        assert {"summary", "meaning", "document_words", "phrases"} <= seen

    def test_several_questions_have_a_score_of_their_own(self, kept: Library) -> None:
        for merge in ("rrf", "max"):
            found = kept.staged.several(["heron krill", "amber birch"], merge=merge)
            assert found.documents
            assert all(not one.score_parts for one in found.documents)


TOOL = {tool.name: tool for tool in TOOLS}


def called(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    return TOOL[name](library=library, **arguments)


class TestTools:
    @pytest.mark.parametrize("query", list(queries())[::4])
    def test_what_they_answer_adds_up(self, kept: Library, query: str) -> None:
        answers = called(kept, "semantic_search", query=query)["results"]
        assert answers
        for one in answers:
            assert sum(one["score_parts"].values()) == pytest.approx(one["combined_score"], abs=NEAR)
        for weights in ({}, {"semantic_weight": 1, "keyword_weight": 4}):
            for one in called(kept, "hybrid_search", query=query, top_k=20, **weights)["results"]:
                assert sum(one["score_parts"].values()) == pytest.approx(one["similarity_score"], abs=NEAR)
        for one in called(kept, "search", query=query)["passages"]:
            assert sum(one["score_parts"].values()) == pytest.approx(one["score"], abs=NEAR)
        for one in called(kept, "explain_retrieval", query=query, doc_ids=["exact.md", "file3.md"])["explanations"]:
            assert sum(one["score_parts"].values()) == pytest.approx(one["score"], abs=NEAR)

    def test_those_that_do_not_promise_parts_stay_short(self, kept: Library) -> None:
        results = called(kept, "search_summaries", query="heron krill")["results"]
        assert results
        assert not any("score_parts" in one for one in results)
