"""Metadata from paths: ``keps/{sig_name:sig-[^/]+}/{kep_number:\\d+}-{slug}/{file*}``.

``{name}`` matches one part of a path without slashes, ``{name*}`` the rest with slashes, ``{name:regex}`` what the
expression matches. A template may start at any folder of the path; the outermost match wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pinakes.core.errors import InvalidSetting

_PLACE = re.compile(r"\{(\w+)(?:(\*)|:((?:[^{}]|\{\d*,?\d*\})+))?\}")


def fields_of(path: str, templates: Sequence[str]) -> dict[str, str]:
    """Return the fields that the first matching template extracts from ``path``; empty if none matches.

    Raises:
        InvalidSetting: a template has an invalid regular expression.
    """
    for template in templates:
        found = _compiled(template).fullmatch(path)
        if found:
            return found.groupdict()
    return {}


def key_of(values: dict[str, str], template: str) -> str:
    """Return ``template`` filled with ``values``, "" if it is empty or a value is missing.

    Raises:
        InvalidSetting: the template contains more than text and ``{name}``.
    """
    try:
        return template.format_map(values) if template else ""
    except KeyError:
        return ""
    except (ValueError, AttributeError, IndexError, TypeError) as error:
        raise InvalidSetting(f"Document key {template!r} cannot be used: {error}.", hint="Write {name}.") from error


@lru_cache(maxsize=64)
def _compiled(template: str) -> re.Pattern[str]:
    pattern, end = "", 0
    for place in _PLACE.finditer(template):
        name, star, expression = place.groups()
        pattern += re.escape(template[end : place.start()])
        pattern += f"(?P<{name}>{expression or ('.+' if star else '[^/]+?')})"
        end = place.end()
    try:
        return re.compile(f"(?:.*?/)??{pattern}{re.escape(template[end:])}")
    except re.error as error:
        raise InvalidSetting(
            f"Path template {template!r} cannot be used: {error}.", hint="Write {name}, {name*} or {name:regex}."
        ) from error
