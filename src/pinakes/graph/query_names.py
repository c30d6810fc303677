"""Entity linking in queries: which entities a question names, by name or alias, also slightly misspelt."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import Levenshtein

from pinakes.catalog.graph_lookups import NamedEntity
from pinakes.core.graph_records import folded

MOST_WORDS: Final = 64
"""So many words of a question are looked at."""

MOST_LINKED: Final = 8
"""So many entities of a question are followed, the longest names first."""

_NAME_WORDS = 6
_LEAST_SIMILAR_CHARS = 5
_LEAST_SHORT_CHARS = 3
_SIMILARITY = 0.85
_MOST_OF_BLOCK = 200
_WORD = re.compile(r"\S+")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Linked:
    """An entity that a question names. ``words``: as the question has it; ``similar``: it is misspelt there."""

    entity: NamedEntity
    words: str
    similar: bool = False


class SimilarNames:
    """Names that may be misspelt, in blocks that begin or end alike, so that few are compared."""

    def __init__(self, names: Iterable[NamedEntity]) -> None:
        self._blocks: dict[str, list[NamedEntity]] = defaultdict(list)
        for one in names:
            if len(one.folded) >= _LEAST_SIMILAR_CHARS:
                for block in _blocks(one.folded):
                    if len(self._blocks[block]) < _MOST_OF_BLOCK:
                        self._blocks[block].append(one)

    def like(self, name: str) -> NamedEntity | None:
        """Return the entity whose name differs least from ``name``, within bounds; None where none is near."""
        best, found = _SIMILARITY, None
        for block in _blocks(name):
            for one in self._blocks.get(block, ()):
                alike = Levenshtein.normalized_similarity(name, one.folded, score_cutoff=best)
                if alike >= best and _DIGITS.findall(name) == _DIGITS.findall(one.folded) and alike < 1:
                    best, found = alike, one
        return found


def _blocks(name: str) -> tuple[str, str]:
    return f"^{name[:3]}", f"{name[-3:]}$"


def linked(
    query: str,
    called: Callable[[Collection[str]], Sequence[NamedEntity]],
    similar: Callable[[], SimilarNames],
    is_word: Callable[[str], bool] = lambda _: False,
) -> list[Linked]:
    """Return the entities that ``query`` names: the longest names first, without those inside a longer one.

    ``called`` gives the entities of folded names, in one call. ``similar`` is asked for only where words remain that
    no name has; a misspelling is taken only of words that ``is_word`` does not know. Linear in the query.
    """
    words = [word for one in _WORD.findall(query)[:MOST_WORDS] for word in folded(_bare(one)).split()][:MOST_WORDS]
    spans = {
        (start, end): " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(start + _NAME_WORDS, len(words)) + 1)
    }
    if not spans:
        return []
    known: dict[str, list[NamedEntity]] = defaultdict(list)
    for one in called(set(spans.values())):
        known[one.folded].append(one)
    used: set[int] = set()
    found: list[Linked] = []
    longest = sorted(spans, key=lambda span: (span[0] - span[1], span[0]))
    for span in longest:
        if used.isdisjoint(range(*span)) and len(spans[span]) >= _LEAST_SHORT_CHARS and known.get(spans[span]):
            used.update(range(*span))
            found += [Linked(one, spans[span]) for one in known[spans[span]]]
    found += _misspelt(longest, spans, used, similar, is_word)
    return list({one.entity.id: one for one in reversed(found)}.values())[::-1][:MOST_LINKED]


def _misspelt(
    longest: Sequence[tuple[int, int]],
    spans: Mapping[tuple[int, int], str],
    used: set[int],
    similar: Callable[[], SimilarNames],
    is_word: Callable[[str], bool],
) -> Iterable[Linked]:
    for span in longest:
        name = spans[span]
        if len(name) < _LEAST_SIMILAR_CHARS or not used.isdisjoint(range(*span)):
            continue
        if all(is_word(word) for word in name.split()):
            continue
        one = similar().like(name)
        if one is not None:
            used.update(range(*span))
            yield Linked(one, name, similar=True)


def _bare(word: str) -> str:
    """Return a word without punctuation around it, and without a possessive ending."""
    return re.sub(r"['’]s$", "", word.strip("\"'“”‘’()[]{}<>,.;:!?…"))
