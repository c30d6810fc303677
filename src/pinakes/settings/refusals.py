"""Error messages for refused settings and other values."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pinakes.core.errors import InvalidSetting
from pinakes.settings.removed import REMOVED

_MOST_SHOWN = 100
"""Maximum characters of a refused value in a message."""

_REPR = reprlib.Repr()
"""Shows only the beginning of a value: a line of YAML may expand to more than the memory holds."""
_REPR.maxlevel = 3
_REPR.maxdict = _REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxfrozenset = 10
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 4 * _MOST_SHOWN


def unknown(name: str, known: list[str], origin: str = "") -> InvalidSetting:
    """Return the error for an unknown setting; ``origin``: where it was named."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else "`pinakes config` lists all settings."
    if name in REMOVED:
        hint = f"It was removed: it is always {REMOVED[name]} now."
    return InvalidSetting(f"Unknown setting {name!r}{f' ({origin})' if origin else ''}.", hint=hint)


def refusal(entry: Mapping[str, Any], table_word: str = "a table") -> str:
    """Return why a value was refused, and what it must be: "is missing", "cannot be 0: …".

    ``entry``: one of pydantic's ``ValidationError.errors()``.
    """
    kind = entry["type"]
    if kind == "missing":
        return "is missing"
    if kind in _SAYING:
        return _SAYING[kind].format(**entry["ctx"])
    wanted = _WANTED.get(kind, "{table} of names and values" if kind in _TABLES else "another value")
    words = wanted.format(**{**entry.get("ctx", {}), "table": table_word})
    return f"cannot be {shortened(entry['input'])}: it has to be {words}"


_WANTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    "int_parsing_size": "a smaller number",
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_unicode"), "text"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "path_type": "a path",
    "literal_error": "{expected}",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "string_too_short": "text, {min_length} or more characters long",
    "string_too_long": "text, at most {max_length} characters long",
    "string_pattern_mismatch": "text that matches {pattern}",
}
"""Pydantic's error type → what a value must be, with the limits from the error."""

_SAYING = {
    "told": "{words}",
    "not_a_word": "has a row for {word}, which is no single word of letters and digits: only such words are looked up",
    "word_twice": "has two rows for {word}: capitals make no other word",
    "schedule": "cannot be used: {reason}",
    "source": "{reason}",
}
"""Error type of our own validators → what is wrong."""

_TABLES = {"dict_type", "mapping_type", "model_type", "model_attributes_type"}


def shortened(value: Any) -> str:
    """Return ``value`` shortened for a message."""
    text = _REPR.repr(value if not isinstance(value, date | Path) else str(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
