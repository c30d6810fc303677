"""Other spellings of the words of a query: of names, numbers, units, versions and identifiers.

Texts keep their own spelling in the index; a query is looked up in each of those that mean the same. There are three
kinds: ``spellings`` of one word in one, and ``phrases``, those in several, of which the best in a text counts; and
``other_groups``, where a name or number is several words of the query, so that it is searched for beside these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pinakes.core.regexes import lazy
from pinakes.text.analysis import dates

_ACCOUNT = re.compile(r"[A-Za-z]{2}\d{2}")
_GROUPED = re.compile(r"[A-Za-z]{2}\d{2}(?=[^\W_]*\d)[A-Za-z0-9]{10,30}")
_GROUP = re.compile(r"(?:[A-Za-z0-9]{4}|\d{1,4})")
_WEIGHT_OF_GROUP, _WEIGHT_OF_PART = 0.15, 0.3
_WEIGHT_OF_CODE, _WEIGHT_OF_DATE, _WEIGHT_OF_QUANTITY = 1.5, 2.5, 1.4
_WEIGHT_OF_NAME, _WEIGHT_OF_INITIALS = 0.8, 2.0
_OF_EACH_IN_ACCOUNT, _OF_EACH_IN_TELEPHONE = 0.7, 0.5
_WEIGHT_OF_AMOUNT, _WEIGHT_OF_DECIMALS, _WEIGHT_OF_GUESS = 0.9, 0.5, 0.4
"""Other spellings count less than the words as written. A guess may mean something else: ``1,2``, ``B and C``."""

_LONGEST_GROUPED = 34
"""Characters of the longest number of an account (ISO 13616)."""

_NAME = lazy("(?:o'?(?=[b-df-hj-np-tv-z])|d'?(?=[aeiou]))(?P<name>[a-z]{4,20})")
"""Names such as O'Brien and D'Angelo, which many texts and queries have in one."""

_VERSION = lazy(r"v?(?P<number>\d{1,5}(?:\.\d{1,5}){1,3}(?:[-.][a-z0-9.-]{1,20})?)")
_QUANTITY = lazy(r"\d+(?:\.\d+)?(?=[μu])|(?=[μu])")
_MICRO = lazy("[μu](?=[mslgafvwh]$)")
_UNITS = (
    "(?i:[kmgt]i?b|[kmgt]?hz|[kmμun][msglvaw]|cm|[dc]l|[kmg]wh?|min|dpi|px|[kmg]?ω|[kmg]?bps|mph|rpm|fps|k?cal|m?bar"
    "|psi|lbs?|oz|ft|db|ha|[hkm]?pa|mah|pp[mb]|m?mol|(?:k?m|[kmg]?bit|m?l|[kmμ]?g|k?w)/(?:h|s|min|kg|d?l|m[23]?)|[mglhvw])"
)
_UNIT = lazy(_UNITS)
_MEASURE = lazy(rf"(\d+(?:\.\d+)?)({_UNITS})")
_HEX = lazy("(?=[0-9a-f]*[0-9])[0-9a-f]+")
_ADDRESS, _ERROR, _UUID = 12, 8, 32
_HASHES = (40, 64)
_ABBREVIATED = (7, 8, 9, 10, 11, 12)
"""Digits of a network card, of an error code (``0x80070643``), of a UUID, of hashes, whole and abbreviated."""

_CODE = lazy(r"(?P<letters>[a-z]{2,8})(?P<digits>\d{3,8})")
_LETTER_AND_NUMBER = lazy(r"[B-HJ-Z]\d{1,3}")
"""What is written apart, too: ``B 12``, but not ``A 12``."""

_STANDARDS = frozenset("ansi bcp cve cwe din ecma iec ieee iso kb kep nist pep rfc".split())
"""What is joined with a number in small letters, too: ``kb 5034441``, but not ``go 120``."""

_SIGNED = {"csharp": "c#", "fsharp": "f#", "cpp": "c++", "dotnet": ".net"}

_INITIALS = lazy(r"(?<![\w&])(?:([^\W\d_]{1,3}) & ([^\W\d_]{1,3})|([A-Z]{1,2}) and ([A-Z]))(?![\w&])")
_DECIMAL = lazy(r"(?<![\w.,])(\d{1,9}),(\d{1,2})(?![\w,]|\.\d)")
_THOUSANDS = lazy(r"(?<![\w.,])(\d{1,3}(?:([.,'’])\d{3})(?:\2\d{3}){0,4})([.,]\d{1,2})?(?![\w]|[.,]\d)")
_SPACED = lazy(r"(?<![\w.,'-])\d{1,3}(?: \d{3}){1,4}(?![\w'-]|[.,]\d{3}| \d)")
_AMOUNT = lazy(r"[1-9]\d{0,2}(?:(?P<sign>[.'])\d{3}(?:(?P=sign)\d{3}){0,3})|[1-9]\d{3,11}")
_YEAR = lazy(r"(?:19|20)\d\d")
_IP_ADDRESS = lazy(r"\d{1,3}(?:\.\d{1,3}){3}")
_PLAIN = lazy(r"(?<![\w.,])(\d{1,9})(\d{3}\.\d{1,2})(?![\w]|[.,]\d)")
_TELEPHONE = lazy(r"(?<!\w)\+(\d{1,3}(?:[ ()/.-]{1,2}\d{1,8}){2,6})(?!\w)")


@dataclass(frozen=True, slots=True)
class OtherGroups:
    """A number or name: its ``words``, and ``others`` that stand for it, each of which counts ``weight``."""

    words: Sequence[str]
    others: Sequence[str]
    weight: float


def spellings(word: str) -> tuple[str, ...]:
    """Return other spellings of a lower-cased ``word`` in one word."""
    if word in _SIGNED:
        return (_SIGNED[word],)
    if not any(char.isdigit() for char in word):
        return (*_names(word), *_micro(word))
    found = (
        *_versions(word),
        *_micro(word),
        *_hexadecimal(word),
        *_codes(word),
        *_dates(word),
        *_amount(word, ".'"),
    )
    return tuple(one for one in dict.fromkeys(found) if one != word)


def phrases(word: str) -> tuple[str, ...]:
    """Return other spellings of a lower-cased ``word``, a date or an amount with signs, in several words.

    An amount without signs has none: 12345 is a number of anything, as 12 and 345 are.
    """
    if not word[:1].isdecimal():
        return ()
    if date := dates.date_of(word):
        return tuple(dates.with_name(date))
    return () if word.isdecimal() else tuple(_amount(word, ","))


def other_groups(words: Sequence[str], text: str = "") -> list[OtherGroups]:
    """Return names and numbers in the ``words`` of a query as others write them: in one word, or in several.

    A text with the words as written comes before one with what is joined. Initials alone are parts of anything, so that
    ``R&D`` counts as much as both letters of ``R & D``. ``text``: the query, for what stands between the words.
    """
    accounts = list(_accounts(words))
    used = {word for number in accounts for word in number.words}
    rest = [word if word not in used else "" for word in words]
    return [*accounts, *_pairs(rest), *_parts(rest), *_amounts(text), *_days(text), *_initials(text)]


def _names(word: str) -> Iterator[str]:
    if found := _NAME.fullmatch(word):
        yield f"{word[0]}{found['name']}" if "'" in word else f"{word[0]}'{found['name']}"


def _versions(word: str) -> Iterator[str]:
    if found := _VERSION.fullmatch(word):
        yield found["number"] if word[0] == "v" else f"v{word}"


def _micro(word: str) -> Iterator[str]:
    """Yield the spelling of a unit such as ``μm`` and ``um``, also behind a number."""
    number = _QUANTITY.match(word)
    if number and (unit := _MICRO.match(word, number.end())):
        yield f"{number[0]}{'u' if unit[0] == 'μ' else 'μ'}{word[unit.end() :]}"


def _hexadecimal(word: str) -> Iterator[str]:
    if not _HEX.fullmatch(word):
        return
    if len(word) == _ERROR:
        yield f"0x{word}"
    elif len(word) == _UUID:
        yield "-".join((word[:8], word[8:12], word[12:16], word[16:20], word[20:]))
    elif len(word) in _HASHES:
        yield from (word[:digits] for digits in _ABBREVIATED)


def _codes(word: str) -> Iterator[str]:
    if found := _CODE.fullmatch(word):
        yield f"{found['letters']}-{found['digits']}"


def _dates(word: str) -> Iterator[str]:
    if date := dates.date_of(word):
        yield from dates.in_one_word(date)


def _amount(word: str, signs: str) -> Iterator[str]:
    """Yield the spellings of a whole number with each of ``signs`` between thousands, and without any."""
    if _AMOUNT.fullmatch(word) and not _YEAR.fullmatch(word) and not _IP_ADDRESS.fullmatch(word):
        digits = re.sub(r"\D", "", word)
        yield from (f"{int(digits):,}".replace(",", sign) for sign in signs)
        if "," not in signs:
            yield digits


def _accounts(words: Sequence[str]) -> Iterator[OtherGroups]:
    """Yield numbers of accounts (IBAN): groups of four joined, a joined one in groups."""
    at = 0
    while at < len(words):
        first = words[at]
        end = at + 1
        if _GROUPED.fullmatch(first):
            groups = [first[place : place + 4] for place in range(0, len(first), 4)]
            yield OtherGroups([first], groups, _WEIGHT_OF_GROUP)
        elif _ACCOUNT.fullmatch(first):
            while end < len(words) and _GROUP.fullmatch(words[end]) and (end == at + 1 or len(words[end - 1]) == 4):
                end += 1
            joined = "".join(words[at:end])
            if _GROUPED.fullmatch(joined) and len(joined) <= _LONGEST_GROUPED:
                yield OtherGroups(words[at:end], [joined], _OF_EACH_IN_ACCOUNT * (end - at))
        at = end


def _pairs(words: Sequence[str]) -> Iterator[OtherGroups]:
    """Yield two words that are often one: ``KB 5034441``, ``16 GB``, ``O Brien``."""
    for first, second in pairwise(words):
        joined = f"{first}{second}".lower()
        if second.isdecimal() and _is_prefix(first, second):
            yield OtherGroups([first, second], [joined], _WEIGHT_OF_CODE)
        elif first.replace(".", "").isdecimal() and _UNIT.fullmatch(second):
            weight = _WEIGHT_OF_QUANTITY if len(second) > 1 else _WEIGHT_OF_GUESS  # a letter alone counts half
            yield OtherGroups([first, second], [f"{first}{second}"], weight)
        elif first in ("O", "D", "o", "d") and (name := next(_names(joined), "")):
            yield OtherGroups([first, second], [name], _WEIGHT_OF_NAME)


def _is_prefix(first: str, number: str) -> bool:
    """Return whether a word before a number is often joined with it: ``KB 5034441``, ``kb 5034441``, ``B 12``."""
    if _LETTER_AND_NUMBER.fullmatch(f"{first}{number}"):
        return True
    known = first.isupper() or first.lower() in _STANDARDS
    return known and _CODE.fullmatch(f"{first}{number}".lower()) is not None


def _parts(words: Sequence[str]) -> Iterator[OtherGroups]:
    """Yield the parts of what is often several words: ``ISO27001``, ``10um``, ``001A2B3C4D5E``."""
    for word in words:
        lower = word.lower()
        if found := _CODE.fullmatch(lower) or _MEASURE.fullmatch(lower):
            yield OtherGroups([word], found.groups(), _WEIGHT_OF_PART)
        elif len(word) == _ADDRESS and not word.isdecimal() and _HEX.fullmatch(lower):
            pairs = [lower[at : at + 2] for at in range(0, _ADDRESS, 2)]
            yield OtherGroups([word], pairs, _WEIGHT_OF_GROUP)


def _amounts(text: str) -> Iterator[OtherGroups]:
    """Yield numbers with a decimal point for those with a comma, without the signs between groups, and telephones."""
    if any(map(str.isdecimal, text)):
        for found in _DECIMAL.finditer(text):
            yield OtherGroups(found.groups(), [f"{found[1]}.{found[2]}"], _WEIGHT_OF_GUESS)
        for found in _THOUSANDS.finditer(text):
            if _IP_ADDRESS.fullmatch(found[0]):
                continue
            whole, decimals = found[1].replace(found[2], ""), (found[3] or "")[1:]
            others = [whole, f"{whole}.{decimals}"] if decimals else [whole]
            yield OtherGroups(
                re.findall(r"\w+", found[0]), others, _WEIGHT_OF_DECIMALS if decimals else _WEIGHT_OF_AMOUNT
            )
        for found in _SPACED.finditer(text):
            yield OtherGroups(found[0].split(), [found[0].replace(" ", "")], _WEIGHT_OF_AMOUNT)
        for found in _TELEPHONE.finditer(text):
            groups = re.findall(r"\d+", found[1])
            yield OtherGroups(groups, ["".join(groups)], _OF_EACH_IN_TELEPHONE * len(groups))
        for found in _PLAIN.finditer(text):
            yield OtherGroups([found[0]], [found[2], f"{found[1]}.{found[2][:3]}"], _WEIGHT_OF_DECIMALS)


def _days(text: str) -> Iterator[OtherGroups]:
    """Yield the dates of several words as one: ``5 November 2023`` is ``2023-11-05``."""
    if any(map(str.isdecimal, text)):
        for written, date in dates.dates_in(text):
            yield OtherGroups(re.findall(r"\w+", written), [date.isoformat()], _WEIGHT_OF_DATE)


def _initials(text: str) -> Iterator[OtherGroups]:
    """Yield names of initials with "&" between them: ``R & D``, ``AT and T``."""
    if "&" in text or " and " in text:
        for found in _INITIALS.finditer(text):
            words = [one for one in found.groups() if one]
            yield OtherGroups(words, ["&".join(words)], _WEIGHT_OF_GUESS if found[3] else _WEIGHT_OF_INITIALS)
