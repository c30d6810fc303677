"""The filter language: parse a caller's filter, check it, and match it against metadata.

============================================  =====================================================
``{"sig_name": "sig-auth"}``                  equals (text without regard to case)
``{"status": ["alpha", "beta"]}``             equals any of these; same as ``in`` and ``any``
``{"status": {"ne": ["draft", "old"]}}``      equals none of these; also if the field is missing
``{"created": {"gte": "2020", "lt": 2024}}``  is in the range: ``gte`` or ``gt``, ``lte`` or ``lt``, one end suffices
``{"path": {"glob": "mm/**/*.c"}}``           matches the pattern, as in .gitignore
``{"path": "mm/*.c"}``                        the same, unless a path has that literal name (``*``, ``?``, ``[``)
``{"path": "docs/"}``                         is in this folder
``{"file_type": ".md"}``                      same as ``md``: with and without the dot
``{"tags": ["draft", "howto"]}``              has any of these tags
============================================  =====================================================

A field that holds a list matches when any of its values does (with ``ne``: when none is equal). Several
operators of one field must all hold. Dashes, spaces and case in field names do not matter: ``owning-sig`` is
``owning_sig``.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pinakes.core.errors import InvalidFilter
from pinakes.core.gitignore import MOST_CHARS, MOST_WILDCARDS, Unclosed, compiled
from pinakes.core.records import JSON, Condition, Filter

if TYPE_CHECKING:
    from pathspec import PathSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

OPERATORS = ("any", "glob", "gt", "gte", "in", "lt", "lte", "ne")
COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
FILE_TYPES: Final = frozenset(("file_type", "file_extension", "extension"))
"""Fields that hold a file extension, some with the dot and some without: a value matches both forms."""

_EXAMPLE = 'Write for example {"status": "beta"}, {"number": {"gte": 100}} or {"path": {"glob": "docs/**"}}.'
_WORD = re.compile(r"\s*([^=<>]*?[^=<>!\s])\s*(!=|>=|<=|==?|>|<)(?![=<>])(.*)", re.DOTALL)
_WORDS = {"=": "in", "==": "in", "!=": "ne", ">=": "gte", ">": "gt", "<=": "lte", "<": "lt"}
_PATTERNS = f"Write it as in .gitignore, at most {MOST_CHARS} characters and {MOST_WILDCARDS} of *, ? and [a-z]."
_ALIKE = 70
_MAGIC = re.compile(r"[*?\[]")
_SHOWN_CHARS = 40
_REFUSED_CHARS = 200
MAX_CONDITIONS = 50
MAX_VALUES = 1000
MAX_PATTERNS = 100
MAX_VALUE_CHARS = 4096
"""Maximum characters of a metadata value for filters; longer ones, such as descriptions, cannot be filtered."""


def parse(filters: Mapping[str, JSON] | None) -> Filter:
    """Return the conditions in ``filters``.

    Raises:
        InvalidFilter: a field name or value is not usable.
    """
    if not filters:
        return ()
    if len(filters) > MAX_CONDITIONS:
        raise InvalidFilter(f"{len(filters)} filters are too many (at most {MAX_CONDITIONS}).", hint="Use fewer.")
    stated = (condition for name, value in filters.items() for condition in _conditions(name, value))
    return tuple(sorted(stated, key=repr))


def parse_words(words: Iterable[str]) -> Filter:
    """Return the conditions in command line words.

    ``name=value``, ``name=a,b``, ``name!=value``, ``name>=1``, ``name>1``, ``name<=9``, ``name<9``.

    Raises:
        InvalidFilter: a word has another form, or values are not usable.
    """
    merged: dict[str, dict[str, JSON]] = {}
    for word in words:
        name, sign, value = _split(word)
        stated = merged.setdefault(name, {})
        if sign in ("in", "ne"):
            stated[sign] = [*stated.get(sign, ()), *(part.strip() for part in value.split(","))]
        elif sign in stated:
            raise InvalidFilter(f"Filter {name!r} has two bounds of one kind.", hint="State the narrower one only.")
        else:
            stated[sign] = value
    return parse(merged)


def match(filter_: Filter, metadata: Mapping[str, JSON]) -> bool:
    """Return whether ``metadata`` meets every condition. The reference for all engines."""
    fields: dict[str, list[JSON]] = {}
    for name, value in flatten(metadata):
        fields.setdefault(name, []).append(value)
    return all(_passes(condition, fields.get(condition.field, ())) for condition in filter_)


def flatten(metadata: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Yield (normalised name, plain value) for every value of ``metadata``; nested names joined by dots."""
    for name, value in metadata.items():
        yield from _flat(normal_name(str(name)), value)


def normal_name(name: str) -> str:
    """Return the normal form of a field name, used for comparison."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def normal_text(value: JSON) -> str:
    """Return the normal form of a scalar value, used for tests of equality."""
    return _plain_text(value).casefold()


def number(value: JSON) -> float | None:
    """Return ``value`` as a float if it is a number or the text of one, else None."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found == found and abs(found) != float("inf") else None


def limits(condition: Condition) -> Iterator[tuple[str, float | str]]:
    """Yield the operator (a key of ``COMPARE``) and the bound of each end of a range."""
    if condition.low is not None:
        yield (">" if condition.low_open else ">="), condition.low
    if condition.high is not None:
        yield ("<" if condition.high_open else "<="), condition.high


def nearest(word: str, known: Collection[str], most: int = 3) -> list[str]:
    """Return up to ``most`` of ``known`` for which ``word`` may be a misspelling, the most similar first."""
    from rapidfuzz import fuzz, process

    return [found for found, _, _ in process.extract(word, known, scorer=fuzz.ratio, limit=most, score_cutoff=_ALIKE)]


def in_words(condition: Condition) -> str:
    """Return ``condition`` as written on the command line, with long values cut."""
    if condition.none_of:
        return f"{condition.field} != {listed(_named_values(condition, condition.none_of))}"
    if condition.any_of or condition.glob:
        return f"{condition.field} = {listed(_named_values(condition, condition.any_of or condition.glob))}"
    closed = not (condition.low_open or condition.high_open)
    if isinstance(condition.low, str) and condition.low == condition.high and closed:
        return f"{condition.field} beginning with {listed([condition.low])}"
    return " and ".join(f"{condition.field} {sign} {listed([bound])}" for sign, bound in limits(condition))


def _named_values(condition: Condition, values: Collection[JSON]) -> Collection[JSON]:
    return [one for one in values if not str(one).startswith(".")] if condition.field in FILE_TYPES else values


def listed(values: Collection[JSON], most: int = 5) -> str:
    """Return up to ``most`` of ``values`` in one line, each quoted and cut, since they may come from a document."""
    few = [_quoted(value) for value in list(values)[:most]]
    return ", ".join([*few, "…"] if len(values) > most else few)


def _plain_text(value: JSON) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _quoted(value: JSON) -> str:
    text = _plain_text(value)
    return repr(text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…")


def glob_matches(patterns: Sequence[str], value: str) -> bool:
    """Return whether ``value`` matches or equals one of the .gitignore style ``patterns``, case-insensitively."""
    folded, value = tuple(map(_folded, patterns)), _folded(value)
    return value in folded or _spec(tuple(("", one) for one in folded)).match_file(value)


def paths_meant(patterns: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return those of ``paths`` that ``patterns`` select; a file or folder with the literal name precedes matches.

    Existing folders at the beginning of a pattern are taken literally: in ``app/[id]/*.tsx`` ``[id]`` is not a class.
    """
    folded = [_folded(path) for path in paths]
    places, meant, others = _Places(folded), set[str](), list[tuple[str, str]]()
    for pattern in dict.fromkeys(map(_folded, patterns)):
        found = places.at(pattern.removeprefix("./").strip("/"))
        meant.update(found)
        if not found:
            others.append(places.parted(pattern))
    spec = _spec(tuple(others))
    return [path for path, name in zip(paths, folded, strict=True) if name in meant or spec.match_file(name)]


class _Places:
    """Looks up files among ``paths`` by name and by folder."""

    def __init__(self, paths: Collection[str]) -> None:
        self._sorted = sorted(paths)
        self._called: dict[str, list[str]] | None = None

    def at(self, place: str) -> list[str]:
        """Return the file at path ``place`` or with that name, and all files in a folder of that path."""
        if not place:
            return []
        found = self._paths_in(place)
        at = bisect_left(self._sorted, place)
        found += [place] if self._sorted[at : at + 1] == [place] else []
        return found if "/" in place else [*found, *self._names().get(place, ())]

    def parted(self, pattern: str) -> tuple[str, str]:
        """Return the longest existing folder at the beginning of ``pattern``, if it has wildcards, and the rest."""
        longest = ""
        for end in (end for end, char in enumerate(pattern) if char == "/" and end):
            folder = pattern[:end].lstrip("/")
            if not self._is_folder(folder):
                break
            longest = pattern[:end]
        return (longest.lstrip("/"), pattern[len(longest) :]) if _MAGIC.search(longest) else ("", pattern)

    def _is_folder(self, place: str) -> bool:
        at = bisect_left(self._sorted, f"{place}/")
        return at < len(self._sorted) and self._sorted[at].startswith(f"{place}/")

    def _paths_in(self, folder: str) -> list[str]:
        first = bisect_left(self._sorted, f"{folder}/")
        return self._sorted[first : bisect_left(self._sorted, f"{folder}0")]  # "0" is the next character after "/"

    def _names(self) -> dict[str, list[str]]:
        if self._called is None:
            self._called = {}
            for path in self._sorted:
                self._called.setdefault(path.rpartition("/")[2], []).append(path)
        return self._called


def _folded(text: str) -> str:
    """Return the normal form of a path for comparison: case-folded, and composed (NFC)."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


@lru_cache(maxsize=256)
def _spec(patterns: tuple[tuple[str, str], ...]) -> PathSpec[GitIgnoreSpecPattern]:
    """Return a matcher for any of these patterns, each with the folder to which it applies."""
    from pathspec import PathSpec

    return PathSpec([_compiled(pattern, inside) for inside, pattern in patterns], backend="simple")


def _compiled(pattern: str, inside: str = "") -> GitIgnoreSpecPattern:
    """Return a compiled pattern; if a ``[`` lacks its ``]``, take each ``[`` literally, since people copy paths.

    A ``#`` begins no comment.
    """
    pattern = f"\\{pattern}" if pattern.startswith("#") else pattern
    try:
        return compiled(pattern, inside)
    except Unclosed:
        return compiled(pattern.replace("[", "\\["), inside)


def _conditions(name: str, value: JSON) -> Iterator[Condition]:
    if not isinstance(name, str) or not name.strip():
        raise InvalidFilter(f"A filter needs a field name, not {name!r}.", hint=_EXAMPLE)
    field = normal_name(name)
    if not isinstance(value, Mapping):
        yield _equals(field, value)
        return
    for unknown in set(value) - set(OPERATORS):
        near = nearest(str(unknown), OPERATORS)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise InvalidFilter(
            f"Filter {field!r} has no operator {unknown!r}.", hint=f"{hint}Operators: {', '.join(OPERATORS)}."
        )
    bounds = {sign: bound for sign, bound in value.items() if sign in ("gte", "gt", "lte", "lt")}
    if not value or {"gte", "gt"} <= set(bounds) or {"lte", "lt"} <= set(bounds) or {"any", "in"} <= set(value):
        raise _unusable(field, value)
    if bounds:
        yield _between(field, bounds)
    for sign in value:
        if sign == "glob":
            yield _like(field, value[sign])
        elif sign == "ne":
            yield _differs(field, value[sign])
        elif sign not in bounds:
            yield _equals(field, value[sign])


def _differs(field: str, value: JSON) -> Condition:
    texts = _texts(field, value)
    if field == "path" and any(set("*?") & set(text) for text in texts):
        raise InvalidFilter("A filter cannot leave out a pattern of paths.", hint="Name whole paths.")
    return Condition(field, none_of=_places(texts) if field == "path" else _either(field, texts))


def _equals(field: str, value: JSON) -> Condition:
    texts = _texts(field, value)
    if field != "path":
        return Condition(field, any_of=_either(field, texts))
    if any(_MAGIC.search(text) or text.endswith("/") for text in texts):
        return _like(field, [str(one) for one in _listed(value)])
    return Condition(field, any_of=_places(texts))


def _either(field: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return extensions with and without their dots, other values as they are."""
    if field not in FILE_TYPES:
        return tuple(texts)
    bare = dict.fromkeys(text.lstrip(".") for text in texts)
    return tuple(form for text in bare for form in ((text, f".{text}") if text else (text,)))


def _places(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the forms that paths may have in documents: without ``./``, in NFC and NFD."""
    paths = [text.removeprefix("./") for text in texts]
    forms = [path if path.isascii() else unicodedata.normalize(form, path) for path in paths for form in ("NFC", "NFD")]
    return tuple(dict.fromkeys(forms))


def _texts(field: str, value: JSON) -> tuple[str, ...]:
    values = _listed(value)
    if not values or len(values) > MAX_VALUES or not all(isinstance(one, (str, int, float)) for one in values):
        raise _unusable(field, value)
    return tuple(normal_text(one) for one in values)


def _listed(value: JSON) -> tuple[JSON, ...]:
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)


def _like(field: str, value: JSON) -> Condition:
    patterns = _listed(value)
    if not 0 < len(patterns) <= MAX_PATTERNS or not all(isinstance(one, str) and one for one in patterns):
        raise _unusable(field, {"glob": value})
    for one in patterns:
        try:
            _compiled(_folded(str(one)))
        except ValueError as error:
            raise InvalidFilter(f"Filter {field!r} has the pattern {_quoted(one)}: {error}.", hint=_PATTERNS) from error
    return Condition(field, glob=patterns)


def _between(field: str, bounds: Mapping[str, JSON]) -> Condition:
    if not all(isinstance(bound, (str, int, float)) for bound in bounds.values()):
        raise _unusable(field, bounds)
    return Condition(
        field,
        low=_bound_of(bounds.get("gte", bounds.get("gt"))),
        high=_bound_of(bounds.get("lte", bounds.get("lt"))),
        low_open="gt" in bounds,
        high_open="lt" in bounds,
    )


def _unusable(field: str, value: JSON) -> InvalidFilter:
    most = f" At most {MAX_VALUES} values, {MAX_PATTERNS} patterns."
    shown = repr(value)
    if len(shown) > _REFUSED_CHARS:
        return InvalidFilter(f"Filter {field!r} cannot be {shown[:_REFUSED_CHARS]}….", hint=_EXAMPLE + most)
    return InvalidFilter(f"Filter {field!r} cannot be {shown}.", hint=_EXAMPLE)


def _bound_of(value: JSON) -> float | str | None:
    if value is None:
        return None
    as_number = number(value)
    return normal_text(value) if as_number is None else as_number


def _passes(condition: Condition, values: Sequence[JSON]) -> bool:
    if condition.none_of:
        return not any(normal_text(value) in condition.none_of for value in values)
    return any(_holds(condition, value) for value in values)


def _holds(condition: Condition, value: JSON) -> bool:
    if condition.any_of:
        return normal_text(value) in condition.any_of
    if condition.glob:
        return glob_matches(condition.glob, str(value))
    return all(_compares(value, sign, bound) for sign, bound in limits(condition))


def _compares(value: JSON, sign: str, bound: float | str) -> bool:
    """Compare numbers as numbers and other values as text; a year as a bound stands for all dates in that year."""
    as_number = number(value)
    if as_number is not None and not isinstance(bound, str):
        return bool(COMPARE[sign](as_number, bound))
    text, end = normal_text(value), normal_text(bound)
    if not isinstance(bound, str) and not text[:1].isdigit():
        return False
    return bool(COMPARE[sign](text[: len(end)] if sign in ("<=", ">") else text, end))


def _flat(name: str, value: JSON) -> Iterator[tuple[str, JSON]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{normal_name(str(key))}", inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _flat(name, inner)
    elif value is not None and len(str(value)) <= MAX_VALUE_CHARS:
        yield name, value


def _split(word: str) -> tuple[str, str, str]:
    if found := _WORD.fullmatch(word):
        name, sign, value = found.groups()
        return name, _WORDS[sign], value.strip()
    raise InvalidFilter(
        f"Filter {word!r} is not of the form name=value.",
        hint="Or name!=value, name>=value, name>value, name<=value, name<value.",
    )
