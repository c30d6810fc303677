"""What every index engine must do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pinakes.core import filters
from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import Evidence, Filter, Float32, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.testing.corpus import FILTERS, ODD_QUERIES, Corpus, ReferenceIndex, Select, equal

MakeIndex: TypeAlias = Callable[[Path, int, Select], Index]
"""Opens the engine on a folder (or a name of its own made from it), for vectors of a dimension."""

Change: TypeAlias = tuple[Sequence[int], Sequence[IndexEntry], int, Sequence[VectorEntry]]
"""What ``Index.apply`` takes."""

VECTOR_TOLERANCE = 2e-3
"""How far a stored vector or a cosine may lie from the exact one: half precision, and a little."""

EVIDENCE: tuple[Evidence, ...] = ("chunks", "documents", "phrases")


def an_empty_index_stands_at_zero_and_finds_nothing(make: MakeIndex, folder: Path) -> None:
    corpus = Corpus()
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        equal(index.position(), 0, "position")
        for where in (None, FILTERS[0]):
            equal(len(index.keyword(KeywordQuery("heron", 10, where))[0]), 0, "keyword hits")
            equal(len(index.vector(VectorQuery(corpus.vector(), 10, where))[0]), 0, "vector hits")
        equal(
            len(index.keyword(KeywordQuery("heron", 10, among=np.array([1, 2])))[0]),
            0,
            "keyword hits among unknown ids",
        )
        equal(
            len(index.vector(VectorQuery(corpus.vector(), 10, among=np.array([1, 2])))[0]),
            0,
            "vector hits among unknown ids",
        )
        _same_contents(index, ReferenceIndex(corpus.dimension, corpus.select))


def both_arms_find_the_same_chunks_as_the_reference_under_every_filter(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        for where in (None, *FILTERS):
            queries = ("heron", "krill lotus", "Ember, fjord; GROVE?")
            _same_words(index, reference, *(KeywordQuery(query, 1000, where) for query in queries))
            _same_vectors(index, reference, corpus.vector(), 1000, where, None)


def the_best_are_taken_after_filtering(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        query = corpus.vector()
        farthest = reference.vector(VectorQuery(query, 1000))[0].ids[-1]
        owner = next(entry.document_id for entry in corpus.entries if entry.chunk_id == farthest)
        where = filters.parse({"number": owner})
        _same_vectors(index, reference, query, 1, where, None)
        for limit in (1, 3, 10):
            _same_vectors(index, reference, query, limit, None, None)
            equal(len(index.keyword(KeywordQuery("heron", limit))[0]), limit, "keyword hits up to the limit")


def asked_about_some_chunks_it_scores_those_and_no_others(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        everything = index.keyword(KeywordQuery("heron krill", 1000))[0]
        asked = np.array([1, 5, 9, 20, 10_000], np.int64)
        found = index.keyword(KeywordQuery("heron krill", len(asked), among=asked))[0]
        equal(set(found.ids.tolist()), set(everything.ids.tolist()) & set(asked.tolist()), "chunks among those asked")
        whole = dict(zip(everything.ids.tolist(), everything.scores.tolist(), strict=True))
        for key, score in zip(found.ids.tolist(), found.scores.tolist(), strict=True):
            assert abs(score - whole[key]) < 1e-4, f"chunk {key} scores {score} alone, {whole[key]} among all"
        _same_vectors(index, reference, corpus.vector(), len(asked), None, asked)
        equal(
            len(index.vector(VectorQuery(corpus.vector(), 5, among=np.empty(0, np.int64)))[0]), 0, "hits among nothing"
        )


def whole_documents_are_ranked_by_all_their_words(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        for where in (None, *FILTERS):
            [found] = _same_words(index, reference, KeywordQuery("heron krill", 1000, where, evidence="documents"))
            equal(found.documents.tolist(), found.ids.tolist(), "documents of a ranking of documents")
        asked = np.array([2, 3, 10_000], np.int64)
        found = index.keyword(KeywordQuery("heron krill", 5, among=asked, evidence="documents"))[0]
        assert set(found.ids.tolist()) <= {2, 3}, "documents among those asked"
        index.apply([2], [], 2)
        assert 2 not in index.keyword(KeywordQuery("heron krill", 1000, evidence="documents"))[0].ids, (
            "a removed document is ranked"
        )
        changed = replace(corpus.entries[0], text="zyzzyva")
        index.apply([changed.document_id], [changed], 3)
        found = index.keyword(KeywordQuery("zyzzyva", 5, evidence="documents"))[0]
        equal(found.ids.tolist(), [changed.document_id], "documents with a new word")


def definitions_are_found_by_the_name_as_it_is_written(make: MakeIndex, folder: Path) -> None:
    symbols = [("get_page", "Page"), ("Page",), ("page",), ()] * 100

    def named(corpus: Corpus) -> list[IndexEntry]:
        return [replace(entry, symbols=names) for entry, names in zip(corpus.entries, symbols, strict=False)]

    with _filled(make, folder, named) as (_, index, reference):
        for names in ("Page", "get_page Page", "GET_PAGE", "get", ""):
            for where in (None, FILTERS[0]):
                found = index.keyword(KeywordQuery(names, 1000, where, evidence="definitions"))[0]
                expected = reference.keyword(KeywordQuery(names, 1000, where, evidence="definitions"))[0]
                _ordered(found)
                equal(found.ids.tolist(), expected.ids.tolist(), f"definitions of {names!r} where {where}")
                equal(found.scores.tolist(), expected.scores.tolist(), f"how many of {names!r} are defined")


def phrases_are_found_where_their_words_stand_in_a_row(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        pairs = [" ".join(entry.text.split()[:2]) for entry in corpus.entries[:4]]
        phrases = (*pairs, "Heron", "HERON, krill!", "krill heron lotus", "absent", "?!", "")
        for where in (None, *FILTERS):
            queries = [KeywordQuery(phrase, 1000, where, evidence="phrases") for phrase in phrases]
            for found in _same_words(index, reference, *queries):
                equal(set(found.scores.tolist()) - {1.0}, set(), "scores of phrases other than 1")


def removed_and_replaced_documents_leave_nothing_behind(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        replacement = [corpus.entry(3, 1001), corpus.entry(3, 1002)]
        for side in (index, reference):
            side.apply([1, 2], [], 2)
            side.apply([3, 777], replacement, 3)
        _same_contents(index, reference)
        _same_vectors(index, reference, corpus.vector(), 1000, None, None)
        _same_words(index, reference, KeywordQuery("heron", 1000))


def many_small_changes_lose_nothing(make: MakeIndex, folder: Path) -> None:
    corpus = Corpus()
    reference = ReferenceIndex(corpus.dimension, corpus.select)
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        for position, document in enumerate(corpus.metadata, 1):
            entries = [entry for entry in corpus.entries if entry.document_id == document]
            gone = [document, document // 2] if document % 5 == 0 else [document]
            for side in (index, reference):
                side.apply(gone, entries, position)
        _same_contents(index, reference)
        for text in (*Corpus.WORDS, "heron krill"):
            _same_words(index, reference, *(KeywordQuery(text, 1000, evidence=kind) for kind in EVIDENCE))


def applying_changes_twice_is_harmless(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, reference):
        documents = list(corpus.metadata)
        index.apply(documents, corpus.entries, 1)
        equal(index.position(), 1, "position")
        _same_contents(index, reference)
        index.apply(documents, corpus.entries, 2)
        equal(index.position(), 2, "position")
        _same_contents(index, reference)
        _same_vectors(index, reference, corpus.vector(), 1000, None, None)


def a_chunk_without_a_vector_waits_for_it(make: MakeIndex, folder: Path) -> None:
    corpus = Corpus()
    entry = corpus.entries[0]
    pending = IndexEntry(entry.chunk_id, entry.document_id, "", entry.path, "", entry.text, (), None)
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        index.apply([entry.document_id], [pending], 1)
        equal(
            index.keyword(KeywordQuery(entry.text, 5))[0].ids.tolist(), [entry.chunk_id], "keyword hits while pending"
        )
        equal(len(index.vector(VectorQuery(corpus.vector(), 5))[0]), 0, "vector hits while pending")
        assert np.isnan(index.vectors(np.array([entry.chunk_id])).own).all(), "a pending chunk has a vector"
        index.apply([entry.document_id], [entry], 2)
        equal(index.vector(VectorQuery(corpus.vector(), 5))[0].ids.tolist(), [entry.chunk_id], "vector hits afterwards")


def vectors_alone_take_the_place_of_others_or_of_none(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder, _partly_embedded) as (corpus, index, reference):
        _same_contents(index, reference)
        for position, share in ((2, slice(0, 20)), (3, slice(10, 40, 3)), (4, slice(0, 0))):
            vectors = _vectors(corpus, corpus.entries[share], exact=position != 2)
            for side in (index, reference):
                side.apply((), (), position, vectors)
            equal(index.position(), position, "position")
            _same_contents(index, reference)
            _same_held(index, reference, corpus)
            _same_vectors(index, reference, corpus.vector(), 1000, None, None)


def giving_vectors_twice_is_harmless(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder, _partly_embedded) as (corpus, index, reference):
        vectors = _vectors(corpus, corpus.entries[5:30], exact=True)
        for side in (index, reference):
            side.apply((), (), 2, vectors)
        for position in (2, 3):
            index.apply((), (), position, vectors)
            _same_contents(index, reference)
            _same_held(index, reference, corpus)
            _same_vectors(index, reference, corpus.vector(), 1000, None, None)
        equal(index.position(), 3, "position")


def vectors_alone_leave_keywords_as_they_are(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder, _partly_embedded) as (corpus, index, _):
        before = [index.keyword(KeywordQuery("heron krill", 1000, where))[0] for where in (None, *FILTERS)]
        index.apply((), (), 2, _vectors(corpus, corpus.entries, exact=True))
        for where, expected in zip((None, *FILTERS), before, strict=True):
            found = index.keyword(KeywordQuery("heron krill", 1000, where))[0]
            equal(found.ids.tolist(), expected.ids.tolist(), f"chunks after new vectors where {where}")
            equal(found.scores.tolist(), expected.scores.tolist(), f"scores after new vectors where {where}")
        changed = replace(corpus.entries[0], text="zyzzyva")
        index.apply([changed.document_id], [changed], 3, _vectors(corpus, corpus.entries[9:], exact=False))
        equal(
            index.keyword(KeywordQuery("zyzzyva", 5))[0].ids.tolist(),
            [changed.chunk_id],
            "chunks changed with vectors",
        )


def it_says_which_scores_are_of_exact_vectors(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder, _partly_embedded) as (corpus, index, reference):
        asked = np.array([entry.chunk_id for entry in corpus.entries[::2]] + [10_000], np.int64)
        for position in range(2, 6):
            vectors = _vectors(corpus, corpus.entries[position::7], exact=position < 4)
            for side in (index, reference):
                side.apply((), (), position, vectors)
            for where in (None, *FILTERS):
                for among in (None, asked):
                    _same_vectors(index, reference, corpus.vector(), 1000, where, among)
            _same_vectors(index, reference, corpus.vector(), 5, None, None)
        everything = _vectors(corpus, corpus.entries, exact=True)
        index.apply((), (), 6, everything)
        assert all(_exact(index.vector(VectorQuery(corpus.vector(), 1000))[0]).values()), (
            "an exact vector is called approximate"
        )


def vectors_given_alone_are_there_after_closing(make: MakeIndex, folder: Path) -> None:
    corpus = Corpus()
    reference = ReferenceIndex(corpus.dimension, corpus.select)
    changes = [((), _partly_embedded(corpus), 1, ())] + [
        ((), (), position, _vectors(corpus, corpus.entries[position::5], exact=position % 2 == 0))
        for position in range(2, 6)
    ]
    for change in changes:
        reference.apply(*change)
        with closing(make(folder, corpus.dimension, corpus.select)) as index:
            _catch_up(index, changes[: change[2]])
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        _catch_up(index, changes)
        _same_contents(index, reference)
        _same_held(index, reference, corpus)
        _same_vectors(index, reference, corpus.vector(), 1000, None, None)


def it_gives_back_the_vectors_it_scores_with(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, index, _):
        asked = np.array([entry.chunk_id for entry in reversed(corpus.entries)] + [99_999], np.int64)
        held = index.vectors(asked).own
        equal((held.dtype, held.shape), (np.dtype(np.float32), (len(asked), corpus.dimension)), "vectors")
        assert np.isnan(held[-1]).all(), "an unknown chunk has a vector"
        expected = np.array([entry.vector for entry in reversed(corpus.entries)])
        assert np.abs(held[:-1] - expected).max() <= VECTOR_TOLERANCE, "vectors differ from those given"


def what_was_written_is_there_after_closing(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (corpus, _, reference):
        pass
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        equal(index.position(), 1, "position after opening again")
        _same_contents(index, reference)
        index.apply([1], [], 2)
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        if index.position() < 2:
            index.apply([1], [], 2)
        reference.apply([1], [], 2)
        _same_contents(index, reference)


def two_handles_on_one_folder_agree_once_both_caught_up(make: MakeIndex, folder: Path) -> None:
    with (
        _filled(make, folder) as (corpus, one, reference),
        closing(make(folder, corpus.dimension, corpus.select)) as two,
    ):
        two.apply(list(corpus.metadata), corpus.entries, 1)
        for side in (one, two, reference):
            side.apply([4], [], 2)
        for side in (one, two):
            equal(side.position(), 2, "position")
            _same_contents(side, reference)
            _same_words(side, reference, KeywordQuery("heron", 1000))


def odd_queries_are_answered(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (_, index, _):
        for query in ODD_QUERIES:
            _ordered(index.keyword(KeywordQuery(query, 10))[0])
            _ordered(index.keyword(KeywordQuery(query, 10, FILTERS[0]))[0])
        equal(len(index.keyword(KeywordQuery("", 10))[0]), 0, "hits of an empty query")
        assert len(index.keyword(KeywordQuery("heron " * 2000, 10))[0]), "a long query finds nothing"


def searches_go_on_while_changes_are_applied(make: MakeIndex, folder: Path) -> None:
    problems: list[BaseException] = []
    done = threading.Event()

    def search(index: Index, query: Float32) -> None:
        try:
            while not done.is_set():
                _ordered(index.vector(VectorQuery(query, 20, FILTERS[1]))[0])
                _ordered(index.keyword(KeywordQuery("heron krill", 20))[0])
        except BaseException as error:  # noqa: BLE001 - reported by the thread that checks
            problems.append(error)

    with _filled(make, folder) as (corpus, index, _):
        threads = [threading.Thread(target=search, args=(index, corpus.vector())) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for position in range(2, 6):
                vectors = _vectors(corpus, corpus.entries[-30:], exact=position % 2 == 0)
                index.apply([position], [corpus.entry(position, 5000 + position)], 2 * position, vectors)
                index.apply((), (), 2 * position + 1, vectors)
        finally:
            done.set()
            for thread in threads:
                thread.join()
    assert not problems, f"a search failed while changes were applied: {problems[0]!r}"


def it_describes_itself_in_plain_values(make: MakeIndex, folder: Path) -> None:
    with _filled(make, folder) as (_, index, _):
        about = index.describe()
        assert about.get("engine"), "describe() does not name the engine"
        assert all(isinstance(value, str | int) for value in about.values()), f"describe() is not plain: {about}"


INDEX_CHECKS: tuple[Callable[[MakeIndex, Path], None], ...] = (
    an_empty_index_stands_at_zero_and_finds_nothing,
    both_arms_find_the_same_chunks_as_the_reference_under_every_filter,
    the_best_are_taken_after_filtering,
    asked_about_some_chunks_it_scores_those_and_no_others,
    whole_documents_are_ranked_by_all_their_words,
    definitions_are_found_by_the_name_as_it_is_written,
    phrases_are_found_where_their_words_stand_in_a_row,
    removed_and_replaced_documents_leave_nothing_behind,
    many_small_changes_lose_nothing,
    applying_changes_twice_is_harmless,
    a_chunk_without_a_vector_waits_for_it,
    vectors_alone_take_the_place_of_others_or_of_none,
    giving_vectors_twice_is_harmless,
    vectors_alone_leave_keywords_as_they_are,
    it_says_which_scores_are_of_exact_vectors,
    vectors_given_alone_are_there_after_closing,
    it_gives_back_the_vectors_it_scores_with,
    what_was_written_is_there_after_closing,
    two_handles_on_one_folder_agree_once_both_caught_up,
    odd_queries_are_answered,
    searches_go_on_while_changes_are_applied,
    it_describes_itself_in_plain_values,
)


def check_index(make: MakeIndex, folder: Path) -> None:
    """Run every check of an index engine, each in a folder of its own below ``folder``.

    Raises:
        AssertionError: the engine does not do what ``ports.Index`` promises.
    """
    for check in INDEX_CHECKS:
        place = folder / check.__name__
        place.mkdir(parents=True)
        check(make, place)


@contextmanager
def _filled(
    make: MakeIndex, folder: Path, entries: Callable[[Corpus], Sequence[IndexEntry]] = lambda corpus: corpus.entries
) -> Iterator[tuple[Corpus, Index, ReferenceIndex]]:
    """Give a corpus, and an index of the engine and the reference that hold its ``entries``."""
    corpus = Corpus()
    reference = ReferenceIndex(corpus.dimension, corpus.select)
    with closing(make(folder, corpus.dimension, corpus.select)) as index:
        for side in (index, reference):
            side.apply(list(corpus.metadata), entries(corpus), 1)
            equal(side.position(), 1, "position after a change")
        yield corpus, index, reference


def _partly_embedded(corpus: Corpus) -> list[IndexEntry]:
    """Return the chunks: of each three one exact, one approximate, one without a vector."""
    return [
        replace(entry, vector=entry.vector if entry.chunk_id % 3 else None, exact=entry.chunk_id % 3 != 1)
        for entry in corpus.entries
    ]


def _vectors(corpus: Corpus, entries: Sequence[IndexEntry], exact: bool) -> list[VectorEntry]:
    """Draw a new vector for each of ``entries``."""
    return [VectorEntry(entry.chunk_id, entry.document_id, corpus.vector(), exact) for entry in entries]


def _catch_up(index: Index, changes: Sequence[Change]) -> None:
    """Apply what ``index`` has not seen, as whatever follows the catalogue does."""
    for removed, added, position, vectors in changes[index.position() :]:
        index.apply(removed, added, position, vectors)
    equal(index.position(), changes[-1][2], "position after catching up")


def _exact(ranking: Ranking) -> dict[int, bool]:
    flags = np.ones(len(ranking), np.bool_) if ranking.exact is None else ranking.exact
    return dict(zip(ranking.ids.tolist(), flags.tolist(), strict=True))


def _same_held(index: Index, reference: Index, corpus: Corpus) -> None:
    asked = np.array([entry.chunk_id for entry in corpus.entries], np.int64)
    found, expected = index.vectors(asked).own, reference.vectors(asked).own
    assert np.allclose(found, expected, rtol=0, atol=VECTOR_TOLERANCE, equal_nan=True), (
        "vectors differ from those given"
    )
    owners = np.array([*corpus.metadata, 10_000], np.int64)
    sums, right = index.vectors(owners[:0], owners).sums, reference.vectors(owners[:0], owners).sums
    assert np.allclose(sums, right, rtol=0, atol=4 * VECTOR_TOLERANCE, equal_nan=True), (
        "vectors of documents are not the sum of those of their chunks"
    )


def _same_words(index: Index, reference: Index, *queries: KeywordQuery) -> list[Ranking]:
    """Check that both find the same by words; return what the index found."""
    answers = index.keyword(*queries)
    for query, found, expected in zip(queries, answers, reference.keyword(*queries), strict=True):
        _ordered(found)
        asked = f"{query.evidence} with {query.text!r} where {query.where}"
        equal(set(found.ids.tolist()), set(expected.ids.tolist()), asked)
    return answers


def _same_vectors(
    index: Index, reference: Index, query: Float32, limit: int, where: Filter | None, among: Int64 | None
) -> None:
    asked = VectorQuery(query, limit, where, among)
    [found], [expected] = index.vector(asked), reference.vector(asked)
    _ordered(found)
    equal(set(found.ids.tolist()), set(expected.ids.tolist()), f"nearest {limit} where {where}")
    by_id = dict(zip(expected.ids.tolist(), expected.scores.tolist(), strict=True))
    for key, score in zip(found.ids.tolist(), found.scores.tolist(), strict=True):
        assert abs(score - by_id[key]) <= VECTOR_TOLERANCE, f"chunk {key} scores {score}, its cosine is {by_id[key]}"
    equal(_exact(found), _exact(expected), f"exact scores where {where}")


def _same_contents(index: Index, reference: Index) -> None:
    found, expected = index.contents(), reference.contents()
    for part in ("keyword", "documents", "vector", "exact"):
        equal(found[part].tolist(), expected[part].tolist(), f"{part} contents")


def _ordered(ranking: Ranking) -> None:
    equal((ranking.ids.dtype, ranking.scores.dtype), (np.dtype(np.int64), np.dtype(np.float32)), "dtypes of a ranking")
    equal(ranking.ids.shape, ranking.scores.shape, "shapes of a ranking")
    equal((ranking.documents.dtype, ranking.documents.shape), (ranking.ids.dtype, ranking.ids.shape), "its documents")
    if ranking.exact is not None:
        equal((ranking.exact.dtype, ranking.exact.shape), (np.dtype(np.bool_), ranking.ids.shape), "exact of a ranking")
    assert len(set(ranking.ids.tolist())) == len(ranking), "a chunk is ranked twice"
    assert (np.diff(ranking.scores) <= 0).all(), "a ranking is not best first"
