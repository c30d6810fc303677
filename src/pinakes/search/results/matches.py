"""The words of a query that a whole document has, and their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalog.full_documents import DocumentTerms
from pinakes.search.query.words import QueryWords
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.text.analysis import english
from pinakes.text.file_lines import FileLines

_MOST_LINES = 10
_ANALYZER = english()


@dataclass(frozen=True, slots=True)
class Match:
    """A word of the query that a document has. ``fields``: title, heading, path, symbol, summary, text.

    ``lines``: the first lines of the file with the word; ``count``: its frequency in the text. ``weight``: its IDF as a
    share of the sum over the query, None if unknown. ``parts``: those parts of a compound that the document has, if it
    has neither the whole nor all parts; it does not count as a match then.
    """

    word: str
    fields: tuple[str, ...]
    lines: tuple[int, ...]
    count: int
    weight: float | None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matches:
    """``there``: the words that a document has, rarest first; ``partly``: compounds of which it has some parts;
    ``missing``: all other words. ``terms``: field → its terms, at least those of the query.
    """

    there: tuple[Match, ...]
    partly: tuple[Match, ...]
    missing: tuple[str, ...]
    terms: Mapping[str, frozenset[str]]


def matched(
    query: QueryWords,
    statistics: TermStatistics | None,
    title: str,
    path: str,
    wording: DocumentTerms | None,
    summary: str = "",
) -> Matches:
    """Find the words of ``query`` in the fields of one document."""
    lines = _Lines(wording.text if wording else "", wording.numbers if wording else (), query)
    terms = _terms(title, path, wording, summary, lines) if wording else {}
    total = sum(statistics.idf.values()) if statistics else 0.0
    matches, partly, missing = [], [], []
    for word, (whole, *pieces) in query.words.items():
        weight = round(statistics.idf[word] / total, 4) if statistics and total else None
        there = [name for name, those in terms.items() if whole in those or (pieces and those.issuperset(pieces))]
        some = [piece for piece in pieces if any(piece in those for those in terms.values())]
        if there:
            matches.append(Match(word, tuple(there), *lines.lines_with(whole, pieces), weight))
            continue
        missing.append(word)
        if some:
            fields = tuple(name for name, those in terms.items() if not those.isdisjoint(some))
            partly.append(Match(word, fields, *lines.lines_with(whole, some), weight, tuple(some)))
    matches.sort(key=lambda match: -(match.weight or 0))
    return Matches(tuple(matches), tuple(partly), tuple(missing), terms)


def _terms(title: str, path: str, wording: DocumentTerms, summary: str, lines: _Lines) -> dict[str, frozenset[str]]:
    beside = {
        "title": title,
        "heading": " ".join(one for one in wording.headings if one != title),
        "path": path,
        "symbol": " ".join(wording.symbols),
        "summary": summary,
    }
    terms = {name: _ANALYZER.all_terms(text) for name, text in beside.items() if text}
    return {**terms, "text": lines.terms}


class _Lines:
    """The places of a query's words in a text."""

    def __init__(self, text: str, numbers: Sequence[int], words: QueryWords) -> None:
        self._places = _ANALYZER.places(text, words.terms, words.others, words.words)
        self._lines = FileLines(text, numbers) if self._places else FileLines("")

    @property
    def terms(self) -> frozenset[str]:
        return frozenset[str]().union(*(terms for _, terms in self._places))

    def lines_with(self, whole: str, pieces: Sequence[str]) -> tuple[tuple[int, ...], int]:
        """Return the first lines with a word, and its frequency; if the whole is absent, those of its ``pieces``."""
        having = [span for span, terms in self._places if whole in terms]
        if not having:
            having = [span for span, terms in self._places if not terms.isdisjoint(pieces)]
        lines = dict.fromkeys(self._lines.number_at(first) for first, _ in having)
        return tuple(lines)[:_MOST_LINES], len(having)
