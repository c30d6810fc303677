"""Templates of the settings with plain names: ``{repository}/blob/{commit}``."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import JSON


def filled(template: str, values: Mapping[str, JSON], called: str) -> str:
    """Return ``template`` with ``values`` for its names.

    Raises:
        InvalidSetting: it names something else, or is malformed; the message calls it ``called``.
    """
    try:
        return _Names().vformat(template, (), values)
    except (ValueError, LookupError) as error:
        raise InvalidSetting(
            f"The {called} cannot be used: {error}.",
            hint=f"It may name {', '.join('{' + name + '}' for name in values)}.",
        ) from error


class _Names(string.Formatter):
    """Takes a field as the name of a value, without attributes and items."""

    def get_field(self, field_name: str, _args: Sequence[Any], kwargs: Mapping[str, JSON]) -> tuple[Any, str]:
        return kwargs[field_name], field_name
