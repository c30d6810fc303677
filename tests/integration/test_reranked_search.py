"""Searches whose head a real, tiny cross-encoder ranks again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_reference import WORDS
from cross_encoder_reference import make_tiny_cross_encoder, reference_score

from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import JSON, Hit, Results
from pinakes.library import Library
from pinakes.models import weights
from pinakes.models.embedders import open_embedder
from pinakes.models.rerankers import RERANKERS
from pinakes.models.rerankers.cross_encoder import CrossEncoder
from pinakes.parsing.pool import InProcess, ParseOptions
from pinakes.settings import ChunkingSettings, EmbeddingSettings, IngestSettings
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
QUERY = "which quick fox jumps over the dog"
POOL = 12
PLENTY_MS = 60_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_cross_encoder(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def folder(docs: Path) -> Path:
    random = np.random.default_rng(3)
    texts = (" ".join(random.choice(list(WORDS), 9)) for _ in range(40))
    return write_files(docs, {f"file{number}.md": f"{text}.\n" for number, text in enumerate(texts)})


@pytest.fixture
def reranked(open_library: OpenLibrary, model: Path, folder: Path) -> OpenLibrary:
    def open_(**more: Any) -> Library:
        chosen = {
            "rerank__enabled": True,
            "rerank__model": "acme/tiny",
            "rerank__path": str(model),
            "rerank__precision": "fp32",
            "rerank__budget_ms": PLENTY_MS,
            "rerank__adaptive": False,
            "rerank__pool": POOL,
            "search__fold_duplicates": False,
        }
        library = open_library(**chosen | more)
        library.add(str(folder))
        return library

    return open_


def order(found: Results) -> list[str]:
    return [hit.path for hit in found.hits]


def told(found: Results) -> dict[str, JSON]:
    [stage] = [stage for stage in found.trace.stages if stage.name == "rerank"]
    return dict(stage.detail)


def logit(hit: Hit) -> float:
    assert hit.scores.rerank is not None
    return hit.scores.rerank


class TestTheOrder:
    @pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
    def test_the_head_is_in_the_order_of_the_cross_encoder(self, reranked: OpenLibrary, model: Path, mode: Any) -> None:
        library = reranked()
        hits = library.search(QUERY, mode=mode, top_k=POOL).hits
        expected = [reference_score(model, QUERY, f"{hit.path}\n{hit.text}") for hit in hits]
        assert [logit(hit) for hit in hits] == pytest.approx(expected, abs=1e-4)
        assert expected == sorted(expected, reverse=True)
        before = reranked(rerank__enabled=False).search(QUERY, mode=mode, top_k=POOL)
        assert {hit.path for hit in hits} == set(order(before)), "the same chunks"
        assert [hit.path for hit in hits] != order(before), "in another order"

    def test_the_others_come_behind_in_their_order(self, reranked: OpenLibrary) -> None:
        found = reranked().search(QUERY, top_k=40)
        before = reranked(rerank__enabled=False).search(QUERY, top_k=40)
        assert order(found)[POOL:] == order(before)[POOL:]
        assert [hit.scores.rerank for hit in found.hits[POOL:]] == [None] * (len(found.hits) - POOL)

    def test_a_search_can_do_without(self, reranked: OpenLibrary) -> None:
        library = reranked()
        plain = library.search(QUERY, top_k=POOL, rerank=False)
        assert not [stage for stage in plain.trace.stages if stage.name == "rerank"]
        assert {hit.scores.rerank for hit in plain.hits} == {None}
        again = library.search(QUERY, top_k=POOL)
        assert told(again)
        assert order(again) != order(plain), "the one without is not remembered for the one with"
        assert order(plain) == order(reranked(rerank__enabled=False).search(QUERY, top_k=POOL))

    def test_scores_fall_from_one_to_zero(self, reranked: OpenLibrary) -> None:
        hits = reranked().search(QUERY, top_k=40).hits
        scores = [hit.score for hit in hits]
        assert len(scores) > POOL
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        for hit in hits[:POOL]:
            assert hit.score == pytest.approx(1 / (1 + np.exp(-logit(hit))), abs=1e-5)

    def test_they_fall_also_where_the_reranker_thinks_little_of_the_head(
        self, reranked: OpenLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(RERANKERS, "stern", f"{__name__}:SternReranker")
        scores = [hit.score for hit in reranked(rerank__provider="stern").search(QUERY, top_k=40).hits]
        assert scores[0] < 0.01
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] >= 0

    def test_what_is_no_logit_is_the_score_as_it_is(
        self, reranked: OpenLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(RERANKERS, "sure", f"{__name__}:SureReranker")
        library = reranked(rerank__provider="sure")
        hits = library.search(QUERY, top_k=40).hits
        assert [hit.score for hit in hits[:POOL]] == pytest.approx([logit(hit) for hit in hits[:POOL]])
        assert hits[0].score > 0.9
        assert hits[POOL - 1].score < 0.1
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        kept = library.search(QUERY, top_k=40, min_score=0.5).hits
        assert 0 < len(kept) < POOL, "the least score tells chunks apart"

    def test_the_score_before_is_kept_beside(self, reranked: OpenLibrary) -> None:
        found = {hit.path: hit.scores.fused for hit in reranked().search(QUERY, top_k=40).hits}
        before = {hit.path: hit.score for hit in reranked(rerank__enabled=False).search(QUERY, top_k=40).hits}
        assert found == pytest.approx(before)

    @pytest.mark.parametrize("query", [QUERY, f'{QUERY} and also "quick fox" or "dog"'])
    @pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
    def test_parts_add_up_to_the_score(self, reranked: OpenLibrary, query: str, mode: Any) -> None:
        hits = reranked().search(query, mode=mode, top_k=40).hits
        seen = {name for hit in hits for name in hit.score_parts}
        assert {"reranked", "behind_reranked"} <= seen
        assert ("phrases" in seen) == ('"' in query)
        for hit in hits:
            assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-3)
            if hit.scores.rerank is not None:
                assert set(hit.score_parts) <= {"reranked", "phrases"}
                assert hit.score_parts["reranked"] == pytest.approx(1 / (1 + np.exp(-logit(hit))), abs=1e-4)

    def test_the_least_score_is_that_of_the_new_order(self, reranked: OpenLibrary) -> None:
        library = reranked()
        every = library.search(QUERY, top_k=40).hits
        bound = every[4].score
        kept = library.search(QUERY, top_k=40, min_score=bound).hits
        assert [hit.path for hit in kept] == [hit.path for hit in every if hit.score >= bound]

    def test_explanations_tell_of_it(self, reranked: OpenLibrary) -> None:
        hits = reranked().search(QUERY, top_k=40).hits
        assert f"reranked {logit(hits[0]):.2f}" in hits[0].explanation
        assert "reranked" not in hits[-1].explanation


class TestPages:
    @pytest.mark.parametrize("adaptive", [False, True])
    def test_the_first_five_are_those_of_ten(self, reranked: OpenLibrary, adaptive: bool) -> None:
        library = reranked(rerank__adaptive=adaptive)
        five, ten, all_of_them = (library.search(QUERY, top_k=most).hits for most in (5, 10, 40))
        for shorter, longer in ((five, ten), (ten, all_of_them)):
            pairs = zip(shorter, longer, strict=False)
            assert all((one.path, one.score) == (other.path, other.score) for one, other in pairs)

    def test_the_second_page_is_not_scored_again(self, reranked: OpenLibrary) -> None:
        library = reranked()
        assert told(library.search(QUERY, top_k=5))["remembered"] is False
        assert told(library.search(QUERY, top_k=10))["remembered"] is True

    def test_pages_agree_also_where_time_was_over(self, reranked: OpenLibrary) -> None:
        library = reranked(rerank__budget_ms=0.001)
        five, ten = (library.search(QUERY, top_k=most) for most in (5, 10))
        assert order(five) == order(ten)[:5]
        assert told(ten)["scored"] == told(five)["scored"]


class TestTheTrace:
    def test_it_says_what_was_done(self, reranked: OpenLibrary) -> None:
        found = reranked().search(QUERY, top_k=5)
        names = [stage.name for stage in found.trace.stages]
        assert names.index("rerank") == names.index("hydrate") - 1
        detail = told(found)
        assert str(detail["model"]).startswith("onnx/acme/tiny@")
        assert (detail["pool"], detail["scored"], detail["note"]) == (POOL, POOL, None)

    def test_nothing_found_needs_no_model(self, reranked: OpenLibrary, tmp_path: Path) -> None:
        library = reranked(rerank__path=str(tmp_path / "nowhere"))
        found = library.search(QUERY, filters={"path": "nowhere/**"})
        assert found.hits == ()
        assert not any("rerank" in note for note in found.notes)


class TestWithoutIt:
    def test_missing_weights_leave_the_fused_ranking_and_say_so(self, reranked: OpenLibrary, tmp_path: Path) -> None:
        found = reranked(rerank__path=str(tmp_path / "nowhere")).search(QUERY, top_k=40)
        before = reranked(rerank__enabled=False).search(QUERY, top_k=40)
        assert [(hit.path, hit.score) for hit in found.hits] == [(hit.path, hit.score) for hit in before.hits]
        [said] = found.notes
        assert said.startswith("not reranked: ")
        assert told(found)["note"] == said
        assert {hit.scores.rerank for hit in found.hits} == {None}

    def test_weights_that_come_later_are_used(self, reranked: OpenLibrary, model: Path, tmp_path: Path) -> None:
        """The first answer is not remembered, so the second is ranked again."""
        late = tmp_path / "late"
        library = reranked(rerank__path=str(late))
        assert library.search(QUERY).notes
        late.symlink_to(model, target_is_directory=True)
        found = library.search(QUERY)
        assert found.notes == ()
        assert found.hits[0].scores.rerank is not None

    def test_what_time_did_not_reach_keeps_its_place(self, reranked: OpenLibrary) -> None:
        """The first few are scored in any case."""
        library = reranked(rerank__budget_ms=0.001, rerank__threads=1)
        found = library.search(QUERY, top_k=40)
        before = order(reranked(rerank__enabled=False).search(QUERY, top_k=40))
        scored = told(found)["scored"]
        assert isinstance(scored, int)
        assert 0 < scored < POOL
        assert order(found)[scored:] == before[scored:]
        assert set(order(found)[:scored]) == set(before[:scored])
        assert any("the time of 0.001 ms was over" in note for note in found.notes)

    def test_an_answer_that_was_cut_short_is_not_remembered(self, reranked: OpenLibrary) -> None:
        library = reranked(rerank__budget_ms=0.001, rerank__threads=1)
        for _ in range(3):
            assert "hydrate" in [stage.name for stage in library.search(QUERY).trace.stages]

    def test_a_reranker_that_fails_is_told(self, reranked: OpenLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(RERANKERS, "failing", f"{__name__}:FailingReranker")
        found = reranked(rerank__provider="failing").search(QUERY)
        assert found.notes == ("not reranked: RuntimeError: out of order",)
        assert found.hits


class SternReranker(CrossEncoder):
    """Finds nothing good."""

    def score(self, query: str, chunks: Any, *, within_s: float | None = None) -> Any:
        return super().score(query, chunks, within_s=within_s) - 12


class SureReranker(CrossEncoder):
    """Gives probabilities, as most endpoints do."""

    logits = False

    def score(self, query: str, chunks: Any, *, within_s: float | None = None) -> Any:
        found = super().score(query, chunks, within_s=within_s)
        return 1 / (1 + np.exp(-40 * (found - np.median(found))))


class FailingReranker(CrossEncoder):
    """Loads as it should and then breaks."""

    def score(self, query: str, chunks: Any, *, within_s: float | None = None) -> Any:
        raise RuntimeError("out of order")


def test_what_is_left_out_is_not_brought_back(reranked: OpenLibrary) -> None:
    library = reranked()
    texts = [hit.text for hit in library.search(f"{QUERY} -lazy", top_k=40).hits]
    assert texts
    assert not any("lazy" in text for text in texts)


def test_ranks_are_those_of_search(reranked: OpenLibrary) -> None:
    library = reranked()
    assert order(library.rank(QUERY, depth=40)) == order(library.search(QUERY, top_k=40))


class TestPathsAsHeaders:
    """What has no title is known by its path, to the embedder and to the reranker."""

    @pytest.fixture
    def here(self, tmp_path: Path) -> InProcess:
        embedding = EmbeddingSettings(provider="deterministic")
        recipe = ParseOptions(IngestSettings(), ChunkingSettings(size=60), embedding, tmp_path, counted=True)
        return InProcess(recipe, open_embedder(embedding, tmp_path))

    CODE = "".join(f"def step_{number}(value):\n    return value + {number} * factor\n\n\n" for number in range(12))

    def test_every_chunk_of_code_carries_its_path(self, here: InProcess) -> None:
        cut = here.cut(self.CODE.encode(), "src/keys/rotation.py")
        assert len(cut.chunks) > 1
        assert all("src/keys/rotation.py" in chunk.header for chunk in cut.chunks)
        assert cut.document.title != "src/keys/rotation.py", "it is no title of the document"

    def test_the_path_counts_to_what_a_chunk_may_have(self, here: InProcess, tmp_path: Path) -> None:
        embedder = open_embedder(EmbeddingSettings(provider="deterministic"), tmp_path)
        cut = here.cut(self.CODE.encode(), "a/very/deep/folder/of/many/parts/keys/rotation.py")
        assert max(len(embedder.token_starts(chunk.embedded_text)) for chunk in cut.chunks) <= 60

    def test_what_has_a_title_is_known_by_that(self, here: InProcess) -> None:
        cut = here.cut(b"# Signing keys\n\n## Rotation\n\nRotate them.\n", "guides/keys.md")
        assert not any("guides/keys.md" in chunk.header for chunk in cut.chunks)
        assert cut.chunks[-1].header.startswith("Signing keys")

    def test_the_reranker_reads_it(self, reranked: OpenLibrary, folder: Path, model: Path) -> None:
        write_files(folder, {"fox/dog.py": "def jumps():\n    return 42\n"})
        library = reranked()
        [hit] = library.search(QUERY, filters={"path": "fox/dog.py"}).hits
        expected = reference_score(model, QUERY, f"fox/dog.py\n{hit.text}")
        assert logit(hit) == pytest.approx(expected, abs=1e-4)
        assert expected != pytest.approx(reference_score(model, QUERY, hit.text), abs=1e-3)


ASKED = "how are the signing keys rotated"
NOTICES = [
    f"The signing keys are rotated every {days} days by the operator on duty, who tells all teams beforehand."
    for days in range(30, 42)
]
SUBJECTS = (
    "Signing keys are rotated by a cron job that calls the vault.",
    "The lighthouse was painted white and red in the spring.",
    "Interest rates rose again, and the central bank explained why.",
    "A recipe for bread: flour, water, salt, and a night of patience.",
    "The pump of the washing machine is blocked by a coin.",
    "Penguins huddle together when the storm comes.",
    "The violin was tuned before the concert began.",
    "def quicksort(items): return items",
    "The glacier has lost a third of its ice.",
    "Chess openings are learned by heart.",
    "The ferry leaves at noon, but not on Sundays.",
    "Her passport had expired a week before the flight.",
)
ALIKE = (
    "Keys for signing are rotated once a quarter.",
    "The rotation of signing keys happens once a quarter.",
    "Once a quarter, we rotate our signing keys.",
    "Every quarter the keys used for signing get rotated.",
    "Quarterly rotation applies to all signing keys.",
    "All signing keys must be rotated each quarter.",
    "Our policy: rotate the signing keys quarterly.",
    "Signing keys are changed by rotation each quarter.",
    "We rotate keys that sign releases once per quarter.",
    "Release signing keys rotate on a quarterly schedule.",
    "The team rotates signing keys four times a year.",
    "Key rotation for signing: four times every year.",
)


@pytest.fixture(scope="module")
def embedder_cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("models")
    try:
        weights.install(EmbeddingSettings(), folder)
    except ModelUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return folder


class TestThePool:
    """How alike the first chunks are, by the default model: other pools than the usual one hold all twelve."""

    @pytest.mark.parametrize(
        ("texts", "pool", "reason"),
        [
            (SUBJECTS, 12, "chunks that differ: mean pairwise cosine"),
            (ALIKE, 6, "a question and chunks of the usual kind"),
            (NOTICES, 12, "chunks much alike: mean pairwise cosine"),
        ],
    )
    @pytest.mark.parametrize("mode", ["hybrid", "vector"])
    def test_it_is_that_of_the_settings_unless_chunks_differ_or_are_much_alike(
        self,
        open_library: OpenLibrary,
        model: Path,
        embedder_cache: Path,
        docs: Path,
        texts: Sequence[str],
        pool: int,
        reason: str,
        mode: Any,
    ) -> None:
        rerank = {"enabled": True, "model": "acme/tiny", "path": str(model), "budget_ms": PLENTY_MS}
        library = open_library(embedding__provider="onnx", cache=str(embedder_cache), rerank=rerank | {"pool": 6})
        library.add(str(write_files(docs, {f"note{number}.md": f"{text}\n" for number, text in enumerate(texts)})))
        detail = told(library.search(ASKED, mode=mode))
        assert str(detail["reason"]).startswith(reason)
        assert (detail["pool"], detail["scored"]) == (pool, pool)
