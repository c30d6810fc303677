"""Segmentation into words: runs of letters and digits, compounds, names with signs, single characters.

A single character is a word only if it stands alone in prose: ``vitamin C``, ``chapter 7``, ``(K)``; not as part of a
compound, in an expression (``a = b``, ``x[0]``) or as the number of a list item. Signs are part of names such as
``C++``, ``C#``, ``.NET``, ``AT&T``, ``A*``, ``A+`` and ``I/O``. Zero-width marks (soft hyphens, word joiners) are
ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from pinakes.core.records import Span
from pinakes.core.regexes import lazy

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0e4e\u0e50-\u109f\u1780-\u17d3"
)
"""Vowel and tone signs, which belong to a word but are not letters; the blocks from Devanagari on as a whole."""

_COMBINING = f"{_MARKS}\u0816-\u082d\u0859-\u085b\u08d3-\u08ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_MOST_COMBINING = 30
"""Maximum marks per letter (the bound of Unicode's stream-safe text format); further ones are dropped, since ordering
them takes quadratic time."""

IGNORED = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
"""Zero-width characters: soft hyphen, joiners, direction marks, variation selectors."""

_SCRIPTIO = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
UNSPACED = lazy(f"[{_SCRIPTIO}]+")
"""Scripts that are written without spaces between words, and Korean."""

BY_SYLLABLE = lazy("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3]+")
"""Of these, the scripts in which two characters are a fragment of a word: Thai, Lao, Burmese, Khmer."""

_SYLLABLES = 4
"""Minimum run of characters, in a script without spaces, that is more than a fragment of a word."""

Place: TypeAlias = tuple[Span, frozenset[str]]
"""The position of a word in a text, and its terms."""

_IGNORABLE = lazy(f"[{IGNORED}]")
_OVERLOADED = lazy(f"([{_COMBINING}]{{{_MOST_COMBINING}}})[{_COMBINING}]+")

_BEFORE_ALONE = r"(?<![^\s(\"'“‘„«*`|\[/>—–:~#$€£§])(?<!\w[(\[])(?<![=+<^!] )(?<!\w[/:*#`'])"
_AFTER_ALONE = r"(?![^\s.,;:!?)\"'”’»*`|\]/—–…%€°])(?![^\S\n]?[=<>^])(?![:.]\w)"
_NAME_A_OR_I = r"[AI](?![-.'’&]?\w)(?:(?<=\w\s\w)|(?=\s*(?:[|.,;:!?)\]\"”]|$|\n)))"
"""The letters that are words of their own kind in English: names only behind a word, or before a sign or the end."""


_SLASHED = (
    r"(?<![\w/.:@~\\-])(?:[^\W_]/[^\W_]{1,12}|\d++/[^\W_]{1,12}|[\w.-]{1,20}+/(?:[^\W_]|\d{1,12}))"
    r"(?![\w/=]|[.:-]\w)"
)
"""Names with a slash whose parts cannot stand alone: ``I/O``, ``A/B``, ``24/7``, ``OS/2``, ``10.0.0.0/8``."""


class _Words:
    """The patterns of a word in ASCII text and in any text; the first takes less time to compile."""

    def __init__(self, ignored: str, alone: str, *, signs: bool, slashes: bool = False) -> None:
        self._ascii = _pattern("", "", "", alone, signs=signs, slashes=slashes)
        self._any = _pattern(_MARKS, _SCRIPTIO, ignored, alone, signs=signs, slashes=slashes)

    def of(self, text: str) -> re.Pattern[str]:
        """Return the pattern for ``text``."""
        return self._ascii if text.isascii() else self._any


def _pattern(marks: str, scripts: str, ignored: str, alone: str, *, signs: bool, slashes: bool) -> re.Pattern[str]:
    """Return the pattern of a word; ``alone``: the context of a single character that is a word."""
    char = rf"[\w{marks}{ignored}]" if marks else r"\w"
    joint = r"-.'’´ʼ\u2010\u2011" if ignored else "-.'’"
    joined = rf"[{joint}&](?:(?<!&)|(?=[^\W\d_]{{1,12}}(?![\w=;])))" if signs else f"[{joint}]"
    plus = r"(?:\+\+(?![\w+]))?" if signs else ""
    words = [
        rf"{char}{{2,}}(?:{joined}{char}+)*{plus}",
        rf"{char}(?:{joined}{char}+)+",
        *([f"[{scripts}]"] if scripts else []),
    ]
    if slashes:
        words.insert(0, _SLASHED)
    if signs:
        words += [
            r"(?<!\w)[^\W\d_](?:\+\+|[#♯])(?![\w+#])",
            r"(?<![\w*+])[A-Z][*+](?=[\s,.;:)?!\"]|$)",
            r"(?<![^\s(\"'“`/|>\[])\.(?=[^\W\d_])\w{2,}(?![-.'’]?\w)",
        ]
    flags = 0 if marks else re.ASCII
    return lazy(rf"(?=[\w.{marks}{ignored}])(?:{'|'.join([*words, alone] if alone else words)})", flags)


_IN_TEXT = rf"{_BEFORE_ALONE}(?:(?<=[^\n])|(?!\d[.)][^\S\n]))(?![AaIi_])\w{_AFTER_ALONE}|{_BEFORE_ALONE}{_NAME_A_OR_I}"
_IN_QUERY = r"(?<!\w)(?<!°)(?<!° )(?!_)\w(?!\w)"
_PROSE = _Words("", _IN_TEXT, signs=True)
_PROSE_WITH_SLASHES = _Words("", _IN_TEXT, signs=True, slashes=True)
"""Separate from the other pattern: it is slower, and most texts have no slash."""

_QUERY = _Words("", _IN_QUERY, signs=True, slashes=True)
_CODE = _Words("", "", signs=False)
_RAW = _Words(IGNORED, _IN_TEXT, signs=True, slashes=True)
"""The same for text that is not normalised."""

_ESCAPED = lazy(
    r"\\(?:\\|(?:e|033|x1[bB]|u001[bB])\[[\d;]*m|0(?:33)?(?!\d)|[abfnrtv](?=\w)|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\})"
)
"""An escape in a string of code, before a word or of a character, with the digits of that; or an escaped backslash."""

_FENCE = lazy(r"^[ \t>]*(?:```|~~~).*$", re.MULTILINE)
_ENDS = lazy(r"\s*(?:[^\w\s]|$)")

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her here hers "
    "herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on "
    "once only or other our ours ourselves out over own same she should so some such than that the their theirs them "
    "themselves then there these they this those through to too under until up us very was we were what when where "
    "which while who whom why will with would you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
NAMES = frozenset(word.upper() for word in (*STOP_WORDS, "us") if len(word) > 1)
"""Capitalised words that may be names, and are stop words in lower case: IT, WHO, US, OR."""

_QUERIES = 32
"""Number of queries whose words are cached: each is asked for several times."""

_AUXILIARIES = frozenset(("may", "must", "might", "shall", "shan't", "mustn't", "needn't", "don't", "can't", "won't"))
_NUMBERED = frozenset(
    (
        "annex", "appendix", "article", "book", "category", "chapter", "class", "grade", "group", "level", "part",
        "phase", "schedule", "section", "stage", "table", "tier", "title", "type", "unit", "volume", "war",
    )
)  # fmt: skip
"""Words before a number, which may be a Roman one."""

_OPERATORS = frozenset(("AND", "OR", "NOT"))


_APOSTROPHES = str.maketrans(dict.fromkeys("´ʼʹ", "'"))
POWER = "ˆ"
"""Stands for a typed ``^`` within a word, as a letter does."""
_TYPED_POWER = lazy(r"([^\W_])\^(?:(-?\d{1,6})(?!\w)|\{(-?\d{1,6})\})")
_NEGATIVE_POWER = lazy("⁻(?=[¹²³⁰⁴-⁹])")


def normal(text: str) -> str:
    """Return ``text`` in compatibility composition, without zero-width marks, with one form of powers.

    A power is one word, however it is typed, and means the digits behind its base: ``2³²`` and ``2^32`` are 232,
    ``10⁻⁹`` and ``10^-9`` are 10-9, ``m²`` is m2.
    """
    if "^" in text:
        text = _TYPED_POWER.sub(rf"\1{POWER}\2\3", text)
    if text.isascii():
        return text
    if "⁻" in text:
        text = _NEGATIVE_POWER.sub("-", text)
    if _IGNORABLE.search(text):
        text = _IGNORABLE.sub("", text)
    if _OVERLOADED.search(text):
        text = _OVERLOADED.sub(r"\1", text)
    text = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES) if "´" in text or "ʼ" in text else text)
    return text.replace("\u2010", "-").replace("♯", "#").replace("\u2044", "/")


def of_text(text: str, *, code: bool = False) -> list[str]:
    """Return the words of ``text`` as written, in order; for ``code`` without single characters."""
    text = normal(text)
    if code:
        return _of_code(text)
    if "```" not in text and "~~~" not in text:
        return _of_prose(text)
    words: list[str] = []
    end, inside = 0, False
    for fence in _FENCE.finditer(text):
        part = text[end : fence.end()]
        words += _of_code(part) if inside else _of_prose(part)
        end, inside = fence.end(), not inside
    return words + (_of_code(text[end:]) if inside else _of_prose(text[end:]))


def _of_code(text: str) -> list[str]:
    """Return the words of code, with escapes of strings as what they mean; then words that are there without that.

    Of ``"twelve\\nthirteen"`` ``thirteen`` is a word, and, at the end, ``nthirteen``: it might be the name in a path.
    """
    if "\\" not in text:
        return _CODE.of(text).findall(text)
    meant = _ESCAPED.sub(_meant, text)
    words = _CODE.of(meant).findall(meant)
    there = frozenset(words)
    written = " ".join(run for run in text.split() if "\\" in run)
    return [*words, *(word for word in _CODE.of(written).findall(written) if word not in there)]


def _meant(found: re.Match[str]) -> str:
    digits = found[found.lastindex] if found.lastindex else ""
    char = chr(min(int(digits, 16), 0x10FFFF)) if digits else " "
    return char if char.isalnum() else " "


def _of_prose(text: str) -> list[str]:
    words = (_PROSE_WITH_SLASHES if "/" in text else _PROSE).of(text).findall(text)
    if "A" in words or "I" in words:
        return [word for before, word in zip(["", *words], words, strict=False) if _counts(before, word)]
    return words


def _counts(before: str, word: str) -> bool:
    """Return whether a word is one, behind another: an "A" may be the article, an "I" the pronoun or a number."""
    if word in ("I", "i"):
        counted = before[:1].isupper() and before.lower() not in STOP_WORDS | _AUXILIARIES
        return not before or counted or before.lower() in _NUMBERED
    return word != "A" or before.lower() not in STOP_WORDS


def of_query(text: str) -> list[str]:
    """Return the words of a query as written; any single character counts, except articles."""
    return list(_of_query(text))


@lru_cache(_QUERIES)
def _of_query(text: str) -> list[str]:
    text = normal(text)
    found = list(_QUERY.of(text).finditer(text))
    words: list[str] = []
    for match in found:
        word, before = match.group(), words[-1] if words else ""
        if word in ("a", "A", "i", "I") and len(found) > 1:
            named = before and before.lower() not in STOP_WORDS and _counts(before, word)
            if not named or not (word.isupper() or _ENDS.match(text, match.end())):
                continue
        words.append(word)
    return words


def each(text: str) -> list[str]:
    """Return all words of a query, including articles."""
    text = normal(text)
    return _QUERY.of(text).findall(text)


def named(words: list[str]) -> set[str]:
    """Return the stop words in capitals among the ``words`` of a text that also has words in lower case nearby."""
    found = set(NAMES.intersection(words))
    if not found:
        return found
    last = len(words) - 1
    return {
        word
        for at, word in enumerate(words)
        if word in found
        and not ((at == 0 or words[at - 1].isupper()) and (at == last or words[at + 1].isupper()) and last > 0)
    }


def names_in_query(words: list[str]) -> set[str]:
    """Return the stop words in capitals that are names in a query; none if it is all in capitals and says more.

    More is any other word, or one of these twice, as in TO BE OR NOT TO BE.

    AND, OR, NOT and AND NOT between two relevant words are operators of other search engines.
    """
    found = {word for word in words if word in NAMES}
    says_more = len(set(words)) < len(words) or any(word not in NAMES for word in words)
    if not found or (says_more and all(map(_is_capital, words))):
        return set()
    operators: set[str] = set()
    before, waiting = "", set[str]()
    for word in words:
        if word in _OPERATORS:
            waiting.add(word)
            continue
        if before and not {before.lower(), word.lower()} & STOP_WORDS:
            operators |= waiting
        before, waiting = word, set()
    return found - operators


def _is_capital(word: str) -> bool:
    return word == word.upper()


def raw(text: str) -> list[str]:
    """Return the words of a text as it is, including zero-width marks."""
    return _RAW.of(text).findall(text)


def standing_alone(text: str, wanted: set[str]) -> Iterator[tuple[Span, str]]:
    """Yield the positions of these words (single characters, or with signs) in ``text``."""
    before = ""
    for match in _RAW.of(text).finditer(text):
        word = match.group()
        if word in wanted and _counts(before, word):
            yield match.span(), word
        before = word


_GAPS = frozenset(("", *' \n\t/,:;()[]{}"`*=<>|'))
"""The usual separators between words; the other checks are slower."""

_BEFORE = lazy(rf"[\w{_MARKS}{IGNORED}][-.'’\u2010\u2011]?\Z")
_AFTER = lazy(rf"[-.'’\u2010\u2011]?[\w{_MARKS}{IGNORED}]|\+\+(?![\w+])|[#♯](?!\w)")
"""The characters before or after a part of a longer word."""


def places_of(text: str, word: str) -> list[Span]:
    """Return the positions of a word in a text as a separate word, not as a part of a longer one."""
    found: list[Span] = []
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if (text[at - 1 : at] in _GAPS or not _BEFORE.search(text[max(0, at - 2) : at])) and (
            text[end : end + 1] in _GAPS or not _AFTER.match(text, end, end + 3)
        ):
            found.append((at, end))
        at = text.find(word, end)
    return found


def unspaced(text: str) -> bool:
    """Return whether a character of ``text`` is of a script in ``UNSPACED``."""
    return not text.isascii() and UNSPACED.search(text) is not None


def scripts(word: str) -> list[str]:
    """Split a word at the borders of runs in scripts without spaces."""
    return [part for part in re.split(f"({UNSPACED.pattern})", word) if part]


def single_characters(word: str) -> list[str]:
    """Return the single characters of a name with a slash, which may occur alone elsewhere; without articles."""
    return [part for part in word.lower().split("/") if len(part) == 1 and part not in "ai"]


def content_words(words: list[str], names: set[str]) -> list[str]:
    """Return the words without stop words, or all words if they are all stop words."""
    counting = [word for word in words if word in names or word.lower() not in STOP_WORDS or len(word) == 1]
    return counting or words


def places_in_run(part: str, start: int, wanted: frozenset[str], runs: Collection[str]) -> list[Place]:
    """Return what in a run of characters gives ``wanted`` terms.

    In scripts in which two characters are a fragment of a word: only all of a run that the query has, or much of it.
    """
    found: list[Place] = []
    for at, pair in enumerate(pairs(part), start):
        if pair in wanted:
            joined = found and found[-1][0][1] >= at
            (first, _), those = found.pop() if joined else ((at, at), frozenset[str]())
            found.append(((first, at + len(pair)), those | {pair}))
    if BY_SYLLABLE.match(part):
        return [
            ((first, last), those)
            for (first, last), those in found
            if last - first >= _SYLLABLES or part[first - start : last - start] in runs
        ]
    alone = {char for char in part if char in wanted} if len(part) > 1 else set()
    if alone:
        covered = [False] * len(part)
        for (first, last), _ in found:
            covered[first - start : last - start] = [True] * (last - first)
        found += [
            ((start + at, start + at + 1), frozenset([char]))
            for at, char in enumerate(part)
            if char in alone and not covered[at]
        ]
        found.sort(key=itemgetter(0))
    return found


def pairs(run: str) -> list[str]:
    """Return each two characters that follow each other in a run; of one character that."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
