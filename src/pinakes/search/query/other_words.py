"""Words that stand for one that no chunk has: its two parts, or the whole hash that it is the beginning of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pinakes.core.ports import Lexicon
from pinakes.core.regexes import lazy
from pinakes.text.analysis import STOP_WORDS

_SHORTEST_PART = 4
_LONGEST = 24
_ABBREVIATED = lazy(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,39}")
_HASH = lazy("[0-9a-f]{32,64}")


def other_words(lacking: Iterable[str], lexicon: Lexicon) -> dict[str, str]:
    """Return lacking word → the words of the collection to search for as well: ``datacenter`` → ``data center``."""
    words = [word for word in lacking if len(word) <= _LONGEST or _ABBREVIATED.fullmatch(word.lower())]
    splits = {word: _splits(word) for word in words}
    lexicon.prepare("", [part for pairs in splits.values() for pair in pairs for part in pair])
    hashes = [word.lower() for word in words if _ABBREVIATED.fullmatch(word.lower())]
    lexicon.prepare_near((), hashes)
    found: dict[str, str] = {}
    for word, pairs in splits.items():
        both = [pair for pair in pairs if all(map(lexicon.has, pair))]
        if both:
            found[word] = " ".join(max(both, key=lambda pair: min(lexicon.counts(list(pair)))))
        elif word.lower() in hashes and (whole := _whole(word.lower(), lexicon)):
            found[word] = whole
    return found


def is_whole_of(word: str, beginning: str) -> bool:
    """Return whether what stands for a word is a hash that begins with it."""
    return word.startswith(beginning.lower())


def _splits(word: str) -> Sequence[tuple[str, str]]:
    """Return the ways to part a word into two that may stand alone."""
    if not (word.isascii() and word.isalpha()):
        return ()
    lower = word.lower()
    pairs = ((lower[:at], lower[at:]) for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1))
    return [pair for pair in pairs if STOP_WORDS.isdisjoint(pair)]


def _whole(beginning: str, lexicon: Lexicon) -> str:
    """Return the hash that begins so; "" if there are several."""
    whole = [word for word, _ in lexicon.beginning(beginning) if _HASH.fullmatch(word)]
    return whole[0] if len(whole) == 1 else ""
