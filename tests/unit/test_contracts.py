"""The published contracts hold for what is known to be right, and fail for what is known to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes import testing
from pinakes.core.ports import Embedder, Index, KeywordQuery, VectorQuery, Vectors
from pinakes.core.records import Filter, Float32, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.keyword.tantivy_engine import TantivyEngine
from pinakes.indexes.opening import Opening
from pinakes.indexes.vector.faiss_engine import FaissEngine
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import SearchSettings, Settings
from pinakes.testing import ReferenceIndex
from pinakes.testing import index_contract as contract


@pytest.mark.parametrize("check", testing.EMBEDDER_CHECKS, ids=testing.name_of)
def test_the_deterministic_embedder(check: Callable[[Embedder], None]) -> None:
    check(DeterministicEmbedder())


class Remembering:
    """Opens a ``ReferenceIndex`` once per folder, as if it were written to disk."""

    def __init__(self, kind: type[ReferenceIndex] = ReferenceIndex) -> None:
        self._kind = kind
        self._open: dict[Path, ReferenceIndex] = {}

    def __call__(self, folder: Path, dimension: int, select: Callable[[Filter], Int64]) -> Index:
        return self._open.setdefault(folder, self._kind(dimension, select))


def test_the_reference_index_passes(tmp_path: Path) -> None:
    testing.check_index(Remembering(), tmp_path)


@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
@pytest.mark.parametrize("ours", [TantivyEngine, FaissEngine])
def test_an_engine_of_ours_goes_with_one_of_others(
    ours: type[Any], check: Callable[[testing.MakeIndex, Path], None], tmp_path: Path
) -> None:
    remembered = Remembering()
    settings = Settings(search=SearchSettings(title_boost=0, path_boost=0, phrase_boost=0))

    def make(folder: Path, dimension: int, select: Callable[[Filter], Int64]) -> Index:
        other = remembered(folder, dimension, select)
        own = ours(Opening(folder, dimension, select, settings))
        return CombinedIndex("both", *((own, other) if ours is TantivyEngine else (other, own)))

    check(make, tmp_path)


class FiltersTooLate(ReferenceIndex):
    def by_meaning(self, query: VectorQuery) -> Ranking:
        best = super().by_meaning(replace(query, where=None))
        allowed = super().by_meaning(replace(query, limit=10_000)).ids
        kept = np.isin(best.ids, allowed)
        exact = None if best.exact is None else best.exact[kept]
        return Ranking(best.ids[kept], best.documents[kept], best.scores[kept], exact)


class ForgetsToRemove(ReferenceIndex):
    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        super().apply((), added, position, vectors)


class LeavesVectorsOut(ReferenceIndex):
    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        super().apply(removed, added, position)


class TakesVectorsForExact(ReferenceIndex):
    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        super().apply(removed, added, position, [replace(entry, exact=True) for entry in vectors])


class ForgetsWordsOfNewVectors(ReferenceIndex):
    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        vectors = list(vectors)
        super().apply(removed, added, position, vectors)
        for entry in vectors:
            self._entries[entry.chunk_id] = replace(self._entries[entry.chunk_id], text="")


class CallsEveryScoreExact(ReferenceIndex):
    def by_meaning(self, query: VectorQuery) -> Ranking:
        return replace(super().by_meaning(query), exact=None)


class HoldsEveryVectorForExact(ReferenceIndex):
    def contents(self) -> Mapping[str, Int64]:
        found = super().contents()
        return {**found, "exact": found["vector"]}


class HoldsOneDocument(ReferenceIndex):
    def contents(self) -> Mapping[str, Int64]:
        found = super().contents()
        return {**found, "documents": found["documents"][:1]}


class ScoresInnerProductsOfSigns(ReferenceIndex):
    def by_meaning(self, query: VectorQuery) -> Ranking:
        return super().by_meaning(replace(query, vector=(np.sign(query.vector) / 4).astype(np.float32)))


class ForgetsItsPosition(ReferenceIndex):
    def position(self) -> int:
        return 0


class IgnoresAmong(ReferenceIndex):
    def by_words(self, query: KeywordQuery) -> Ranking:
        return super().by_words(replace(query, among=None))


class WorstFirst(ReferenceIndex):
    def by_words(self, query: KeywordQuery) -> Ranking:
        found = super().by_words(query)
        return Ranking(found.ids[::-1], found.documents[::-1], found.scores[::-1])


class RanksChunksForDocuments(ReferenceIndex):
    def by_words(self, query: KeywordQuery) -> Ranking:
        return super().by_words(query if query.evidence == "definitions" else replace(query, evidence="chunks"))


class TakesAnyWordForAPhrase(ReferenceIndex):
    def by_words(self, query: KeywordQuery) -> Ranking:
        if query.evidence != "phrases":
            return super().by_words(query)
        found = super().by_words(replace(query, evidence="chunks"))
        return Ranking(found.ids, found.documents, np.ones_like(found.scores))


class FoldsNames(ReferenceIndex):
    def by_words(self, query: KeywordQuery) -> Ranking:
        return super().by_words(replace(query, text=query.text.lower()))


class TakesOneVectorForAll(ReferenceIndex):
    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        found = super().vectors(chunks, documents)
        return found if documents is None else replace(found, sums=super().vectors(documents).own)


@pytest.mark.parametrize(
    ("kind", "noticed_by"),
    [
        (FiltersTooLate, contract.the_best_are_taken_after_filtering),
        (ForgetsToRemove, contract.removed_and_replaced_documents_leave_nothing_behind),
        (LeavesVectorsOut, contract.vectors_alone_take_the_place_of_others_or_of_none),
        (TakesVectorsForExact, contract.vectors_alone_take_the_place_of_others_or_of_none),
        (ForgetsWordsOfNewVectors, contract.vectors_alone_leave_keywords_as_they_are),
        (CallsEveryScoreExact, contract.it_says_which_scores_are_of_exact_vectors),
        (HoldsEveryVectorForExact, contract.vectors_alone_take_the_place_of_others_or_of_none),
        (HoldsOneDocument, contract.removed_and_replaced_documents_leave_nothing_behind),
        (ScoresInnerProductsOfSigns, contract.both_arms_find_the_same_chunks_as_the_reference_under_every_filter),
        (ForgetsItsPosition, contract.both_arms_find_the_same_chunks_as_the_reference_under_every_filter),
        (IgnoresAmong, contract.asked_about_some_chunks_it_scores_those_and_no_others),
        (WorstFirst, contract.both_arms_find_the_same_chunks_as_the_reference_under_every_filter),
        (RanksChunksForDocuments, contract.whole_documents_are_ranked_by_all_their_words),
        (TakesAnyWordForAPhrase, contract.phrases_are_found_where_their_words_stand_in_a_row),
        (FoldsNames, contract.definitions_are_found_by_the_name_as_it_is_written),
        (TakesOneVectorForAll, contract.vectors_alone_take_the_place_of_others_or_of_none),
    ],
)
def test_an_engine_with_a_fault_fails(
    kind: type[ReferenceIndex], noticed_by: Callable[[testing.MakeIndex, Path], None], tmp_path: Path
) -> None:
    assert noticed_by in testing.INDEX_CHECKS
    with pytest.raises(AssertionError):
        noticed_by(Remembering(kind), tmp_path)


class TooLong(DeterministicEmbedder):
    def embed(self, texts: Any) -> Float32:
        return super().embed(texts) * 2


class MixesItsBatch(DeterministicEmbedder):
    def embed(self, texts: Any) -> Float32:
        vectors = super().embed(texts)
        mixed = vectors + vectors.mean(axis=0) if len(vectors) else vectors
        unit: Float32 = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)
        return unit


class AllTheSame(DeterministicEmbedder):
    def embed(self, texts: Any) -> Float32:
        return super().embed(["x" for _ in texts])


class SixtyFourBits(DeterministicEmbedder):
    def embed_query(self, text: str) -> Any:
        return super().embed_query(text).astype(np.float64)


class LosesItsPlace(DeterministicEmbedder):
    def token_starts(self, text: str) -> Int64:
        return super().token_starts(text) + 1


class Nameless(DeterministicEmbedder):
    @property
    def fingerprint(self) -> str:
        return ""


@pytest.mark.parametrize("kind", [TooLong, MixesItsBatch, AllTheSame, SixtyFourBits, LosesItsPlace, Nameless])
def test_an_embedder_with_a_fault_fails(kind: type[DeterministicEmbedder]) -> None:
    with pytest.raises(AssertionError):
        testing.check_embedder(kind())


def test_the_tiny_corpus_becomes_a_folder(tmp_path: Path) -> None:
    testing.write_files(tmp_path)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == set(testing.FILES)
