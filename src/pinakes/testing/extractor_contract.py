"""What every extractor must do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pinakes.core.graph_records import ExtractionSubject
from pinakes.core.ports import Extractor
from pinakes.core.records import Document
from pinakes.testing.corpus import equal

_TEXTS = (
    "",
    "# Tools\n\nWe use [Looker](https://looker.com) with BigQuery. It connects to Google.\n\n| Name |\n|--|\n| Ada |\n",
    "a\0b \ud800 half a pair",
    "İstanbul ﬁle ΑΒΓ рус 日本語 שלום",
    "Acme Corp " * 2_000,
)


def subject_of(text: str, path: str = "guide.md") -> ExtractionSubject:
    """Return what an extractor is given of a text without markup."""
    document = Document(text, title="Guide")
    return ExtractionSubject(path, "Guide", document, {"authors": ["Ada"]}, text)


def every_span_is_within_the_text(extractor: Extractor) -> None:
    for text in _TEXTS:
        found = extractor.extract(subject_of(text))
        spans = [(one.start, one.end) for one in found.mentions] + [(one.start, one.end) for one in found.relations]
        for start, end in spans:
            assert 0 <= start <= end <= len(text), f"the span {start}:{end} is outside of the text"


def every_entity_has_a_name_and_every_confidence_is_from_0_to_1(extractor: Extractor) -> None:
    for text in _TEXTS:
        found = extractor.extract(subject_of(text))
        assert all(one.name.strip() for one in found.entities()), "a name is empty"
        shares = [one.confidence for one in found.mentions] + [one.confidence for one in found.relations]
        assert all(0 <= share <= 1 for share in shares), "a confidence is no share"


def equal_subjects_give_equal_findings(extractor: Extractor) -> None:
    for text in _TEXTS:
        first, second = (extractor.extract(subject_of(text)) for _ in range(2))
        equal(list(first.mentions), list(second.mentions), "mentions of the same text")
        equal(list(first.relations), list(second.relations), "relations of the same text")


def it_says_what_it_is(extractor: Extractor) -> None:
    assert extractor.fingerprint, "the fingerprint is empty"
    equal(extractor.fingerprint, extractor.fingerprint, "fingerprint asked for twice")


def threads_may_share_it(extractor: Extractor) -> None:
    expected = list(extractor.extract(subject_of(_TEXTS[1])).mentions)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: extractor.extract(subject_of(_TEXTS[1])), range(8)):
            equal(list(found.mentions), expected, "mentions found by several threads")


EXTRACTOR_CHECKS: tuple[Callable[[Extractor], None], ...] = (
    every_span_is_within_the_text,
    every_entity_has_a_name_and_every_confidence_is_from_0_to_1,
    equal_subjects_give_equal_findings,
    it_says_what_it_is,
    threads_may_share_it,
)


def check_extractor(extractor: Extractor) -> None:
    """Run every check of an extractor.

    Raises:
        AssertionError: it does not do what ``ports.Extractor`` promises.
    """
    for check in EXTRACTOR_CHECKS:
        check(extractor)
