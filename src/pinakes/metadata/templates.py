"""Metadata from paths: ``keps/{sig_name:sig-[^/]+}/{kep_number:\\d+}-{slug}/{file*}``.

``{name}`` stands for one part of a path without slashes, ``{name*}`` for the rest with slashes,
``{name:regex}`` for what the expression matches. A template may begin at any folder of the path:
the outermost that fits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pinakes.core.errors import InvalidSetting

_PLACE = re.compile(r"\{(\w+)(?:(\*)|:((?:[^{}]|\{\d*,?\d*\})+))?\}")


def fields_of(path: str, templates: Sequence[str]) -> dict[str, str]:
    """Return what the first template that fits reads from ``path``; nothing when none fits.

    Raises:
        InvalidSetting: a template with a wrong regular expression.
    """
    for template in templates:
        found = _compiled(template).fullmatch(path)
        if found:
            return found.groupdict()
    return {}


def key_of(values: dict[str, str], template: str) -> str:
    """Return ``template`` filled with ``values``, "" when it is empty or names something missing.

    Raises:
        InvalidSetting: a template that is more than text and ``{name}``.
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
