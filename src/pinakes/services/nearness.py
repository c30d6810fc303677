"""Which collections are unrelated to a question, by the nearest vectors and the words of each.

To ask a collection takes about ten times as long as to see how near its nearest chunks are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import PinakesError
from pinakes.core.ports import Lexicon, VectorQuery, lexicon_of
from pinakes.search import Request
from pinakes.search.federated import CollectionModels
from pinakes.search.query.request import cleaned
from pinakes.search.query.syntax import parse_query
from pinakes.search.query.words import query_words as taken_apart
from pinakes.search.retrieval.term_statistics import TermStatistics

FAR: Final = 0.1
"""A collection is far where both its nearest chunk and its nearest five, on the mean, have a cosine so much lower than
in the collection where that is highest. Of 1,159 questions asked beside four collections about other fields, the own
one was so far for three: the sets of docs/measurements.md."""

_NEAREST = 5
_FEWEST_COLLECTIONS = 3
"""Fewer are all asked."""

_NAME_WORDS = 2
"""So many words may be a name, of which a vector says little. A far collection is searched for it if at least as large
a share of its documents has it as of any near one."""

_RARE = 2
"""A far collection is searched for a word that no near one has, if at most so many far ones have it. A word that more
of them have is a common one."""

_MOST_WORDS = 20
"""Of a longer question no word matters much: it is a text."""

_FIELD = re.compile(r"\w:\S")
"""What may be a filter."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A collection: its ``model``, the cosine of its ``nearest`` chunk, the ``mean`` of the nearest, its words."""

    model: str
    nearest: float
    mean: float
    lexicon: Lexicon

    def share(self, words: Sequence[str]) -> float:
        """Return the largest share of documents that may have all of ``words``, 0 where any is in none."""
        self.lexicon.prepare(" ".join(words))
        return min(self.lexicon.counts(words)) / self.lexicon.documents() if all(map(self.lexicon.has, words)) else 0.0


def known_of(app: App, asked: Callable[[CollectionRecord], Request], *, now: bool = True) -> CollectionModels:
    """Return what is known of collections beside their answers to what is ``asked``; not ``now``: as they were."""
    far = partial(far_from, app, asked) if now else lambda _: ()
    return CollectionModels(lambda name: app.record(name).fingerprint, far, partial(terms_in, app))


def terms_in(app: App, names: Sequence[str], query: str) -> list[TermStatistics | None]:
    """Return for each of these collections how many of its documents have the words of ``query``; None if unknown."""

    def of_one(name: str) -> TermStatistics | None:
        with suppress(PinakesError):  # it was deleted meanwhile, or cannot be read
            return TermStatistics.from_query(query, app.index(name, wait=False)[1])
        return None

    return [of_one(name) for name in names]


def far_from(app: App, asked: Callable[[CollectionRecord], Request], names: Sequence[str]) -> list[str]:
    """Return those of the collections ``names`` that are far from what is ``asked``: none where that cannot be told.

    It is told of collections of one model that are asked by meaning and have vectors of all their chunks, and of
    plain text: not of filters, quoted phrases and words to leave out. One that has rare words of it or what may be a
    name, unless it is asked by meaning alone, or a document that it names, is not far.
    """
    if len(names) < _FEWEST_COLLECTIONS:
        return []
    looks = {name: look for name in names if (look := _look(app, asked, name)) is not None}
    far = {name: one for name, one in looks.items() if _is_far(one, looks.values())}
    if not far:
        return []
    near = [one for name, one in looks.items() if name not in far]
    with suppress(PinakesError):  # to be told when they are asked
        requests = {name: asked(app.record(name)) for name in far}
        by_words = {name: one for name, one in far.items() if requests[name].mode != "vector"}
        having = _with_words(by_words, near, list(taken_apart(next(iter(requests.values())).query).words))
        return [name for name in far if name not in having]
    return []


def _with_words(far: Mapping[str, _Look], near: Sequence[_Look], words: Sequence[str]) -> set[str]:
    """Return those of the ``far`` collections that have rare words which no near one has, or what may be a name."""
    if not 0 < len(words) <= _MOST_WORDS:
        return set()
    unknown = list(words)
    for one in near:
        one.lexicon.prepare(" ".join(unknown))
        unknown = [word for word in unknown if not one.lexicon.has(word)]
    found = set[str]()
    for word in unknown:
        having = [name for name, one in far.items() if one.lexicon.has(word)]
        found.update(having if len(having) <= _RARE else ())
    if len(words) <= _NAME_WORDS:
        usual = max((one.share(words) for one in near), default=0.0)
        found.update(name for name, one in far.items() if 0 < one.share(words) >= usual)
    return found


def _is_far(look: _Look, every: Iterable[_Look]) -> bool:
    alike = [one for one in every if one.model == look.model]
    nearest, mean = max(one.nearest for one in alike), max(one.mean for one in alike)
    return look.nearest < nearest - FAR and look.mean < mean - FAR


def _look(app: App, asked: Callable[[CollectionRecord], Request], name: str) -> _Look | None:
    """Look at a collection; None where it has to be asked."""
    try:
        record, index = app.index(name, wait=False)
        request, vectors = asked(record), app.query_vectors_of(record)
        text = _plain_text(request, app.settings.search.max_query_chars)
        if not text or vectors.fingerprint != record.fingerprint:
            return None
        lexicon = lexicon_of(index)
        if lexicon is None or not app.statistics.is_embedded(record, index) or _names(app, record, text):
            return None
        [nearest] = index.vector(VectorQuery(vectors.vector_of(text), _NEAREST))
    except PinakesError:  # to be told when it is asked
        return None
    if len(nearest) < _NEAREST:
        return None
    return _Look(record.fingerprint, float(nearest.scores[0]), float(nearest.scores.mean()), lexicon)


def _names(app: App, record: CollectionRecord, query: str) -> bool:
    """Return whether ``query`` names a document of the collection."""
    from pinakes.search.query.named_documents import may_name, named_documents

    if not may_name(query):
        return False
    with app.catalog.read_each() as connection:
        return bool(named_documents(connection, record, query))


def _plain_text(request: Request, most: int) -> str:
    """Return the text that is embedded for a question in plain text, as the search embeds it; "" for any other."""
    narrowed = request.where or request.phrases != "auto" or request.min_similarity > 0
    return "" if narrowed or request.mode == "keyword" else _text_of(request.query, most)


@lru_cache(maxsize=16)  # every collection gets the same query
def _text_of(query: str, most: int) -> str:
    found = parse_query(cleaned(query, most, []))
    return found.text if found.is_plain and not _FIELD.search(query) else ""
