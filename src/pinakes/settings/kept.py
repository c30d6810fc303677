"""Settings that the catalogue stores with a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import JSON
from pinakes.settings.refusals import refusal
from pinakes.settings.sections import CollectionSettings

KEPT = ("boosts", "chunking", "label", "retrieval")
"""Settings that a collection may be created with; others belong to sources, which are in settings files."""

OF_PROFILE = (
    *("metadata_rules", "fields", "group_metadata", "path_templates", "document_key", "key_field"),
    *("required", "required_where", "graph", "chunking", "text", "min_text_chars", "profile"),
)
"""Settings that a collection takes over from a profile: what becomes of its files, and of the graph."""

FORGOTTEN = tuple(dict.fromkeys((*KEPT, *OF_PROFILE)))
"""Settings that a collection may give up."""


def kept_settings(settings: Mapping[str, Any], known: Iterable[str] = ()) -> dict[str, JSON]:
    """Return the settings of a collection in the form in which they are stored.

    Raises:
        InvalidSetting: one of them, or one of the names ``known``, cannot be stored, or has an invalid value.
    """
    for name in (*settings, *known):
        if name not in (KEPT if name in settings else FORGOTTEN):
            raise InvalidSetting(
                f"A collection keeps no setting {name!r} of its own.",
                hint=f"It may {'keep' if name in settings else 'give up'} "
                f"{', '.join(KEPT if name in settings else FORGOTTEN)}.",
            )
    plain = {
        name: value.model_dump(mode="json", exclude_unset=True) if isinstance(value, BaseModel) else value
        for name, value in settings.items()
    }
    return _valid(plain)


def kept_graph(rules: Mapping[str, Any]) -> JSON:
    """Return the rules of a graph from elsewhere in the form in which they are stored.

    They name no file of this machine and no plug-in of it.

    Raises:
        InvalidSetting: they have an invalid value.
    """
    own = {name: value for name, value in rules.items() if name not in ("lists", "extractors")}
    return _valid({"graph": own})["graph"]


def _valid(plain: Mapping[str, Any]) -> dict[str, JSON]:
    try:
        valid = CollectionSettings.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidSetting(f"Setting {where!r} {refusal(first)}.", hint="`pinakes config` explains it.") from error
    return valid.model_dump(mode="json", exclude_unset=True)
