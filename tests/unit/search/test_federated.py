"""Answers of several collections become one: what compares is merged by score, what does not by rank."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from pinakes.catalog.filter_notes import doubt
from pinakes.core.errors import InvalidFilter, InvalidInput, ModelUnavailable, NotFound, PinakesError
from pinakes.core.records import Hit, Results, Scores, Stage, Trace
from pinakes.search.federated import CollectionModels, HitLimits, ask_all, named
from pinakes.search.fitting import SCORE, CollectionAnswer, fit_penalties
from pinakes.search.query.spelling import MissingWord, NearWord, lacked_word
from pinakes.search.query.words import query_words as taken_apart
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.settings import SearchSettings

TEN = taken_apart("apple banana cherry grape lemon mango olive peach plum quince")
"""Words of a question; each counts as much as any other."""

BOTH = {"cosine": 0.5, "bm25": 2.0}
MODEL = "model/8"


def hit(collection: str, number: int, score: float, text: str = "", *, has: float = 0.0, **scores: float | None) -> Hit:
    return Hit(
        chunk_id=f"{collection}_{number}",
        document_id=f"{collection}-{number}",
        collection=collection,
        uri=f"file:///{collection}/{number}",
        path=f"{number}.md",
        title="",
        text=text or f"{collection} {number}",
        chunk_index=0,
        start_line=1,
        end_line=1,
        heading_path=(),
        symbols=(),
        score=score,
        scores=Scores(**(scores or BOTH)),
        matched_by=("keyword",),
        metadata={},
        confidence=score / 2,
        words=frozenset(list(TEN.words)[: round(10 * has)]),
    )


def answer(collection: str, hits: Sequence[Hit], **more: object) -> Results:
    values = {"query": "q", "collection": collection, "mode": "hybrid", "fusion": "weighted", "hits": tuple(hits)}
    trace = Trace((Stage("fuse", 1.0, {"candidates": len(hits)}),), 1.0)
    return Results(**{**values, "total_candidates": 10, "trace": trace, **more})  # type: ignore[arg-type]


def ask(
    *answers: Results | tuple[str, PinakesError],
    most: int = 10,
    models: Mapping[str, str] | None = None,
    min_score: float = 0.0,
    fold: bool = True,
    words: float = 0.0,
    versions: frozenset[str] = frozenset(),
    having: Mapping[str, int] | None = None,
    documents: int = 100,
) -> Results:
    by_name = {one.collection if isinstance(one, Results) else one[0]: one for one in answers}

    def one(name: str) -> Results:
        found = by_name[name]
        if isinstance(found, Results):
            return found
        raise found[1]

    model_of: Callable[[str], str] = (models or dict.fromkeys(by_name, MODEL)).__getitem__
    known = CollectionModels(
        model_of,
        terms=lambda names, _: [
            TermStatistics(TEN, documents, dict.fromkeys(TEN.words, (having or {}).get(name, 10))) for name in names
        ],
    )
    return ask_all(list(by_name), one, known, HitLimits(most, min_score, fold, words, versions))


def ids(results: Results) -> list[str]:
    return [one.chunk_id for one in results.hits]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" b , a ,", ["b", "a"]),
        (["a", "b,c"], ["a", "b", "c"]),
        (["a", "a"], ["a"]),
        ("*", ["x", "y"]),
        ("y,*", ["y", "x"]),
        (
            ["e\N{COMBINING ACUTE ACCENT}", "\N{LATIN SMALL LETTER E WITH ACUTE}"],
            ["\N{LATIN SMALL LETTER E WITH ACUTE}"],
        ),
    ],
)
def test_which_collections_are_meant(wanted: str | list[str], names: list[str]) -> None:
    assert named(wanted, lambda: ["x", "y"]) == names


@pytest.mark.parametrize("wanted", [",", " ", [], ["", " , "]])
def test_no_name_at_all_is_refused(wanted: str | list[str]) -> None:
    with pytest.raises(InvalidInput, match="No collection is named"):
        named(wanted, lambda: ["x"])


def test_very_many_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="1001 collections are named"):
        named(",".join(map(str, range(1001))), list)


def test_the_answer_of_one_collection_stays_as_it_is() -> None:
    one = answer("a", [hit("a", 1, 0.5)], notes=("a note",))
    assert ask(one) is one


def test_hits_of_the_same_kind_are_merged_by_score_and_cut_together() -> None:
    found = ask(
        answer("a", [hit("a", 1, 0.9), hit("a", 2, 0.3)]),
        answer("b", [hit("b", 1, 0.5), hit("b", 2, 0.4)]),
        most=3,
    )
    assert ids(found) == ["a_1", "b_1", "b_2"]
    assert (found.collection, found.several, found.total_candidates) == ("a, b", True, 20)
    assert found.notes == ()
    assert found.degraded is None
    assert [stage.detail.get("collection") for stage in found.trace.stages] == ["a", "b", None]
    assert found.trace.stages[-1].detail == {"collections": 2, "by": "score"}


def test_equal_scores_keep_the_order_of_the_collections() -> None:
    assert ids(ask(answer("b", [hit("b", 1, 0.5)]), answer("a", [hit("a", 1, 0.5)]))) == ["b_1", "a_1"]


def test_scores_by_words_are_relative_to_the_best_of_all() -> None:
    strong = [hit("a", 1, 1.0, bm25=12.0), hit("a", 2, 0.5, bm25=6.0)]
    weak = [hit("b", 1, 1.0, bm25=3.0), hit("b", 2, 0.8, bm25=2.4)]
    found = ask(answer("b", weak, mode="keyword"), answer("a", strong, mode="keyword"))
    assert [(one.chunk_id, round(one.score, 4)) for one in found.hits] == [
        ("a_1", 1.0),
        ("a_2", 0.5),
        ("b_1", 0.25),
        ("b_2", 0.2),
    ]
    assert found.mode == "keyword"
    assert ids(ask(answer("b", weak), answer("a", strong), min_score=0.3)) == ["a_1", "a_2"]


def test_a_least_score_that_leaves_nothing_is_told_with_the_best() -> None:
    found = ask(answer("a", [hit("a", 1, 0.51239)]), answer("b", [hit("b", 1, 0.4)]), min_score=0.6)
    assert found.hits == ()
    assert found.notes == ("the best chunk scores 0.512, less than the least score asked for (0.6)",)


def test_what_words_add_is_relative_to_the_best_of_all() -> None:
    strong = [hit("a", 1, 0.6, cosine=0.5, bm25=10.0), hit("a", 2, 0.5, cosine=0.5, bm25=0.0)]
    weak = [hit("b", 1, 0.7, cosine=0.5, bm25=4.0), hit("b", 2, 0.6, cosine=0.5, bm25=2.0)]
    found = ask(answer("b", weak), answer("a", strong), words=0.25)
    assert [(one.chunk_id, round(one.score, 4)) for one in found.hits] == [
        ("a_1", 0.6),
        ("b_1", 0.55),
        ("b_2", 0.525),
        ("a_2", 0.5),
    ]


def test_a_collection_that_is_farther_from_the_question_loses_half_of_the_difference() -> None:
    near = [hit("a", number, 0.5 - number / 100, cosine=0.6) for number in range(6)]
    far = [hit("b", 1, 0.5, cosine=0.4), hit("b", 2, 0.05, cosine=0.2)]
    found = {one.chunk_id: round(one.score, 4) for one in ask(answer("b", far), answer("a", near)).hits}
    assert found["b_1"] == 0.35
    assert found["b_2"] == 0.0
    assert found["a_0"] == 0.5
    lost = ask(answer("b", far), answer("a", near), min_score=0.36).hits
    assert {one.collection for one in lost} == {"a"}


def test_scores_that_rank_by_rank_are_not_lowered() -> None:
    answers = [
        answer(name, [hit(name, 1, 0.03, cosine=near, bm25=1.0)], fusion="rrf")
        for name, near in (("a", 0.1), ("b", 0.9))
    ]
    assert [one.score for one in ask(*answers).hits] == [0.03, 0.03]


def test_of_several_enough_is_asked_to_see_how_near_they_are() -> None:
    wanted = HitLimits.from_settings(
        SearchSettings(semantic_weight=3, keyword_weight=1, feedback_weight=0.25), "", None, 2, 0.1
    )
    assert (wanted.most, wanted.min_score, wanted.fold, wanted.words) == (2, 0.1, True, 0.2)
    assert [wanted.of_each(count, 50) for count in (1, 2)] == [(2, 0.1), (5, 0.0)]
    assert wanted.of_each(2, 3) == (3, 0.0)
    assert HitLimits(9).of_each(2, 50) == (9, 0.0)


def test_scores_that_do_not_compare_are_merged_by_rank_and_that_is_said() -> None:
    meaning = answer("a", [hit("a", 1, 0.6, has=0.7), hit("a", 2, 0.5, has=0.7)], answerable=0.4 - 0.04 / 0.4)
    by_words = [hit("b", 1, 1.0, has=0.7, bm25=3.0), hit("b", 2, 0.9, has=0.7, bm25=2.0)]
    words = answer("b", by_words, degraded="keyword search only: gone")
    found = ask(meaning, words)
    assert ids(found) == ["b_1", "a_1", "b_2", "a_2"]
    assert [one.score for one in found.hits] == [1.0, 0.6, 0.9, 0.5]
    assert found.degraded == "'b': keyword search only: gone"
    [note] = found.notes
    assert "merged by their ranks" in note
    assert "'a' by words and meaning, 'b' by words" in note
    assert found.trace.stages[-1].detail["by"] == "rank"


def test_scores_of_different_models_do_not_compare() -> None:
    answers = answer("a", [hit("a", 1, 0.9), hit("a", 2, 0.8)]), answer("b", [hit("b", 1, 0.3)])
    found = ask(*answers, models={"a": "one/8", "b": "two/8"})
    assert ids(found) == ["a_1", "b_1", "a_2"]
    assert "their models are not the same" in found.notes[0]
    assert ids(ask(*answers)) == ["a_1", "a_2", "b_1"]


def test_a_collection_whose_chunks_have_fewer_words_of_the_question_is_lower() -> None:
    own = [hit("a", number, 0.8 - number / 100, has=0.9) for number in range(5)]
    other = [hit("b", number, 0.82 - number / 100, has=0.8) for number in range(5)]
    found = ask(answer("a", own), answer("b", other)).hits
    assert [one.collection for one in found] == ["a"] * 5 + ["b"] * 5
    assert found[0].score == 0.8
    assert found[5].score == pytest.approx(0.82 - 2 * 2 / 9 * 0.82)
    assert found[5].score_parts == {"collections": pytest.approx(-2 * 2 / 9 * 0.82)}


def test_a_collection_that_seldom_has_the_words_of_the_question_is_lower() -> None:
    seldom = answer("a", [hit("a", number, 0.82 - number / 100, has=0.8) for number in range(3)])
    often = answer("b", [hit("b", number, 0.8 - number / 100, has=0.8) for number in range(3)])
    found = ask(seldom, often, having={"a": 10, "b": 90}, documents=1000)
    assert ids(found) == ["b_0", "b_1", "b_2", "a_0", "a_1", "a_2"]
    by_words = replace(seldom, hits=tuple(hit("a", n, 1.0, has=0.85, cosine=None, bm25=3.0) for n in range(3)))
    assert ids(ask(by_words, often, having={"a": 10, "b": 90}, documents=1000))[0] == "b_0"


@pytest.mark.parametrize(("documents", "having", "most"), [(1, 1, 0.15), (10, 1, 0.1), (0, 0, 0.1), (2000, 40, 0.0)])
def test_a_few_documents_that_have_the_word_tell_little(documents: int, having: int, most: float) -> None:
    word = taken_apart("snapshot")
    terms = [
        TermStatistics(word, total, dict.fromkeys(word.words, count))
        for total, count in ((2000, 40), (documents, having))
    ]
    large, _ = fit_penalties([CollectionAnswer([set(word.words)], None, by_words=False)] * 2, terms)
    assert SCORE * large <= most


def test_of_two_answers_as_many_chunks_are_compared_as_both_have() -> None:
    own, chunks = answer("a", [hit("a", 1, 0.7, has=0.9)]), (1.0, 0.5, 0.5, 0.5, 0.5)
    many = answer("b", [hit("b", number, 0.8 - number / 100, has=has) for number, has in enumerate(chunks)])
    assert ids(ask(own, many)) == ["b_0", "b_1", "b_2", "b_3", "b_4", "a_1"]
    more = answer("c", [hit("c", number, 0.79, has=0.9) for number in range(5)])
    assert ids(ask(own, many, more))[:5] == [f"c_{number}" for number in range(5)]


def test_scores_do_not_fall_below_nothing_and_keep_their_order() -> None:
    other = [hit("b", number, 0.5 - number / 10, has=0.0) for number in range(3)]
    found = ask(answer("a", [hit("a", 1, 0.6, has=1.0)]), answer("b", other)).hits
    assert [one.chunk_id for one in found] == ["a_1", "b_0", "b_1", "b_2"]
    assert [one.score for one in found] == [0.6, 0.0, 0.0, 0.0]


def test_by_ranks_too_a_collection_that_fits_less_comes_behind() -> None:
    own = answer("a", [hit("a", number, 0.6 - number / 100, has=0.8) for number in range(10)], answerable=0.7)
    words = answer("b", [hit("b", number, 1.0, has=0.7, cosine=None, bm25=3.0) for number in range(10)])
    assert [one.collection for one in ask(own, words).hits] == ["a"] * 10
    better = answer("b", [hit("b", number, 1.0, has=1.0, cosine=None, bm25=3.0) for number in range(10)])
    doubtful = replace(own, answerable=0.1)
    assert [one.collection for one in ask(doubtful, better).hits] == ["b"] * 10


def test_of_two_that_fit_alike_hits_stand_in_turn() -> None:
    one = answer("a", [hit("a", number, 0.6, has=0.8) for number in range(3)])
    two = answer("b", [hit("b", number, 0.5, has=0.8) for number in range(3)])
    found = ask(one, two, models={"a": "one/8", "b": "two/8"}).hits
    assert [hit.collection for hit in found] == ["a", "b", "a", "b", "a", "b"]


def test_a_reranker_is_believed_whatever_words_stand_there() -> None:
    one = answer("a", [hit("a", 1, 0.4, has=1.0, rerank=0.4)])
    two = answer("b", [hit("b", 1, 0.5, has=0.0, rerank=0.5)])
    assert ids(ask(one, two)) == ["b_1", "a_1"]


def test_a_word_that_another_collection_has_is_not_told_as_missing() -> None:
    lacking = MissingWord("frobnicate", (NearWord("fabricate", 2, 3),)).note
    nowhere = [MissingWord("qux").note, MissingWord("qux", (NearWord("quux", 1, 1),)).note]
    found = ask(
        answer("a", [hit("a", 1, 0.5)], notes=(lacking, nowhere[0])),
        answer("b", [hit("b", 1, 0.5)], notes=(nowhere[1], "searched by words: it is an identifier")),
    )
    assert found.notes == (nowhere[0], "'b': searched by words: it is an identifier")


@pytest.mark.parametrize("word", ["it's", 'a"b', "IT", "7", "x"])
def test_a_note_tells_which_word_is_lacking(word: str) -> None:
    assert lacked_word(MissingWord(word).note) == repr(word)


@pytest.mark.parametrize("note", ["no chunk has a word of the query", "searched for 'a' instead of 'b'", ""])
def test_other_notes_tell_of_no_word(note: str) -> None:
    assert lacked_word(note) == ""


def test_a_filter_that_fits_documents_of_another_collection_is_not_doubted() -> None:
    doubt = "no document has a field 'sig': there are 'path'"
    passed, none = answer("a", [hit("a", 1, 0.5)]), answer("b", [], notes=(doubt,), total_candidates=0)
    assert ask(passed, none).notes == ()
    assert ask(replace(none, collection="c"), none).notes == (doubt,)


def test_a_path_of_several_is_doubted_if_no_collection_with_hits_has_it() -> None:
    in_a = "no document has path = 'x.md': did you mean 'xy.md'?"
    in_b = ("no document has path = 'x.md': there are 'b.md'", "no document has path = 'a.md': there are 'b.md'")
    found = ask(answer("a", [hit("a", 1, 0.5)], notes=(in_a,)), answer("b", [hit("b", 1, 0.4)], notes=in_b))
    assert found.notes == (f"'a': {in_a}", f"'b': {in_b[0]}")


def test_of_several_values_those_are_doubted_that_no_collection_with_hits_has() -> None:
    in_a = doubt("path", {"x.md": ["xy.md"], "y.md": []}, ["a.md"])
    in_b = doubt("path", {"y.md": [], "z.md": []}, ["b.md"])
    in_c = doubt("path", {"x.md": [], "y.md": [], "z.md": []}, ["c.md"])
    found = [answer("a", [hit("a", 1, 0.5)], notes=(in_a,)), answer("b", [hit("b", 1, 0.4)], notes=(in_b,))]
    none = replace(answer("c", [], notes=(in_c,)), total_candidates=0)
    assert ask(*found, none).notes == tuple(
        f"'{name}': no document has path = 'y.md': there are '{name}.md'" for name in "abc"
    )
    assert ask(*found, answer("d", [hit("d", 1, 0.3)])).notes == ()


def test_the_model_does_not_matter_where_words_alone_decide() -> None:
    answers = [answer(name, [hit(name, 1, 1.0, bm25=2.0)], mode="keyword") for name in "ab"]
    found = ask(*answers, models={"a": "one/8", "b": "two/8"})
    assert found.notes == ()
    assert found.trace.stages[-1].detail["by"] == "score"


def test_a_collection_without_hits_does_not_keep_the_others_from_being_compared() -> None:
    found = ask(answer("a", []), answer("b", [hit("b", 1, 0.3)]), answer("c", [hit("c", 1, 0.5)]))
    assert ids(found) == ["c_1", "b_1"]
    assert found.notes == ()


def test_one_that_fails_is_told_of_and_the_rest_answers() -> None:
    found = ask(answer("a", [hit("a", 1, 0.5)]), ("b", ModelUnavailable("No model.", hint="Get one.")))
    assert ids(found) == ["a_1"]
    assert found.notes == ("'b' did not answer: No model. Get one.",)
    assert found.degraded == "'b' did not answer"
    assert found.collection == "a, b"


def test_where_all_fail_the_first_error_is_raised() -> None:
    with pytest.raises(NotFound, match="first"):
        ask(("a", NotFound("first")), ("b", ModelUnavailable("second")))


def test_a_question_that_cannot_be_asked_is_refused_at_once() -> None:
    with pytest.raises(InvalidFilter):
        ask(answer("a", [hit("a", 1, 0.5)]), ("b", InvalidFilter("no")))


def test_notes_name_their_collections_unless_all_say_the_same() -> None:
    answers = [answer(name, [], notes=("cut",), degraded="words only") for name in "abcde"]
    assert (ask(*answers).notes, ask(*answers).degraded) == (("cut",), "words only")
    found = ask(*answers, answer("f", [], notes=("odd",)))
    assert found.notes == ("'a', 'b', 'c' and 2 more: cut", "'f': odd")
    assert found.degraded == "'a', 'b', 'c' and 2 more: words only"


def test_the_same_words_in_another_collection_are_told_once_with_both_places() -> None:
    twice = ask(
        answer("a", [hit("a", 1, 0.9, "The same\n words"), hit("a", 2, 0.2)]),
        answer("b", [hit("b", 1, 0.8, "the same words"), hit("b", 2, 0.4)]),
        most=3,
    )
    assert ids(twice) == ["a_1", "b_2", "a_2"]
    [copy] = twice.hits[0].duplicates
    assert (copy.chunk_id, copy.collection, copy.score, copy.place) == ("b_1", "b", 0.8, "b › 1.md:1-1")
    apart = ask(answer("a", [hit("a", 1, 0.9, "same")]), answer("b", [hit("b", 1, 0.8, "same")]), fold=False)
    assert ids(apart) == ["a_1", "b_1"]


LONG = "Download the package of the agent, unpack it with tar into a folder of your own and run the setup as root"


def test_what_says_nearly_the_same_in_another_collection_is_told_once() -> None:
    found = ask(
        answer("a", [hit("a", 1, 0.9, LONG), hit("a", 2, 0.5, "Something else.")]),
        answer(
            "b",
            [hit("b", 1, 0.8, LONG.replace(" own", " OWN,") + "."), hit("b", 2, 0.7, LONG.partition(" and run")[0])],
        ),
    )
    assert ids(found) == ["a_1", "a_2"]
    assert [one.chunk_id for one in found.hits[0].duplicates] == ["b_1", "b_2"]


def test_texts_of_two_collections_that_differ_in_numbers_are_both_told() -> None:
    found = ask(
        answer("a", [hit("a", 1, 0.9, f"{LONG} for 10 EUR")]), answer("b", [hit("b", 1, 0.8, f"{LONG} for 12 EUR")])
    )
    assert ids(found) == ["a_1", "b_1"]


def test_versions_in_paths_are_told_once_over_collections_unless_they_are_named() -> None:
    def version(name: str, number: str, score: float) -> Results:
        return answer(name, [replace(hit(name, 1, score, f"{LONG} of {number}"), path=f"v{number}/install.md")])

    answers = version("a", "1.1", 0.9), version("b", "1.2", 0.8)
    assert ids(ask(*answers)) == ["a_1"]
    assert ids(ask(*answers, versions=frozenset({"1.2"}))) == ["a_1", "b_1"]


def test_many_hits_of_many_collections_are_folded_in_a_moment() -> None:
    texts = {number: f"{LONG} number {number}" for number in range(100)}
    answers = [answer(f"c{one}", [hit(f"c{one}", n, 0.9 - n / 200, texts[n]) for n in texts]) for one in range(20)]
    start = time.process_time()
    found = ask(*answers, most=100)
    assert time.process_time() - start < 20
    assert len(found.hits) == 100
    assert all(len(one.duplicates) == 19 for one in found.hits)


def test_the_same_words_twice_in_one_collection_are_its_own_business() -> None:
    found = ask(answer("a", [hit("a", 1, 0.9, "same"), hit("a", 2, 0.8, "same")]), answer("b", []))
    assert ids(found) == ["a_1", "a_2"]


@pytest.mark.parametrize(("values", "together"), [((0.2, 0.9), 0.9), ((0.2, None), None), ((None, None), None)])
def test_how_probable_an_answer_is_is_known_only_where_all_with_hits_know(
    values: tuple[float | None, ...], together: float | None
) -> None:
    answers = [answer(name, [hit(name, 1, 0.5)], answerable=value) for name, value in zip("ab", values, strict=True)]
    assert ask(*answers, answer("c", [])).answerable == together


def test_collections_with_different_modes_of_their_own_are_hybrid_together() -> None:
    answers = answer("a", [hit("a", 1, 0.5)], mode="vector"), answer("b", [], mode="keyword")
    assert ask(*answers).mode == "hybrid"
