"""Why a hit is here, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from pinakes.core.records import Scores
from pinakes.search.query.words import query_words, terms_of
from pinakes.search.results.explanation import Evidence, explained, terms_by_field


def sentence(
    query: str,
    there: Mapping[str, str],
    places: Mapping[str, int] = {},
    *,
    approximate: bool = False,
    **scores: float,
) -> str:
    found = {"keyword": 100, "vector": 100}
    terms = {name: terms_of(text) for name, text in there.items()}
    words = terms_by_field(query_words(query), terms)
    evidence = Evidence(words, Scores(**scores), places, {name: found[name] for name in found}, approximate)
    return explained(evidence, "good")


def test_the_sentence_names_words_places_and_ranks() -> None:
    there = {"title": "Signing keys", "path": "guides/keys.md", "text": "Rotate every key."}
    assert sentence("how to rotate the keys yearly", there, {"keyword": 1, "vector": 22}, cosine=0.615, bm25=8.04) == (
        'Good match: has "rotate" (text), "keys" (title, path, text), lacks "yearly"; '
        "1st of 100 by words (BM25 8.0); 22nd of 100 by meaning (cosine 0.61)."
    )


def test_a_hit_of_meaning_alone_says_that_it_has_no_word() -> None:
    said = sentence("orchard", {"text": "Trees with apples."}, {"vector": 3}, cosine=0.4, bm25=0.0)
    assert said == (
        "Good match: has none of the query's words; not among the 100 best by words (BM25 0.0); "
        "3rd of 100 by meaning (cosine 0.40)."
    )


def test_a_compound_is_there_whole_or_by_all_of_its_parts() -> None:
    query = "CustomResourceDefinition"
    assert 'has "CustomResourceDefinition" (text)' in sentence(query, {"text": "a customresourcedefinition"})
    assert 'has "CustomResourceDefinition" (text)' in sentence(query, {"text": "definitions of custom resources"})
    assert "has none" in sentence(query, {"text": "a resource"})


def test_an_approximate_cosine_is_marked() -> None:
    assert "(cosine ~0.40)" in sentence("pear", {"text": "apple"}, {"vector": 11}, approximate=True, cosine=0.4)
    assert "11th of 100 by meaning" in sentence("pear", {"text": "apple"}, {"vector": 11}, cosine=0.4)


def test_a_long_query_does_not_make_a_long_sentence() -> None:
    query = " ".join(f"word{number}" for number in range(150))
    said = sentence(query, {"text": query[:400]})
    assert len(said) < 500
    assert "more" in said


def test_a_rerank_is_told() -> None:
    assert "; reranked 0.93." in sentence("pear", {"text": "pear"}, rerank=0.931)
