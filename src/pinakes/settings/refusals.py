"""Why a setting or another value was refused, in words."""

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
"""Characters of a refused value that a message shows."""

_REPR = reprlib.Repr()
"""Looks at the beginning of a value only: YAML can say in a line what would fill the memory when it is written out."""
_REPR.maxlevel = 3
_REPR.maxdict = _REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxfrozenset = 10
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 4 * _MOST_SHOWN


def unknown(name: str, known: list[str], origin: str = "") -> InvalidSetting:
    """Return the error for a setting that does not exist; ``origin`` says where it was named."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else "`pinakes config` lists all settings."
    if name in REMOVED:
        hint = f"It was removed: it is always {REMOVED[name]} now."
    return InvalidSetting(f"Unknown setting {name!r}{f' ({origin})' if origin else ''}.", hint=hint)


def refusal(entry: Mapping[str, Any], table_word: str = "a table") -> str:
    """Say in words why a model refused a value, and what it has to be: "is missing", "cannot be 0: …".

    ``entry`` is one of pydantic's ``ValidationError.errors()``.
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
"""What a value has to be, by pydantic's name of the error, with the limits that come with it."""

_SAYING = {
    "told": "{words}",
    "not_a_word": "has a row for {word}, which is no single word of letters and digits: only such words are looked up",
    "word_twice": "has two rows for {word}: capitals make no other word",
    "schedule": "cannot be used: {reason}",
    "source": "{reason}",
}
"""What is wrong with a part of a value, by the names that our own validators give."""

_TABLES = {"dict_type", "mapping_type", "model_type", "model_attributes_type"}


def shortened(value: Any) -> str:
    """Return ``value`` as a message shows it."""
    text = _REPR.repr(value if not isinstance(value, date | Path) else str(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
