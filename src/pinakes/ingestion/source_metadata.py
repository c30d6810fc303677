"""Metadata and tags that the settings of a source add to its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from pinakes.core.plain_templates import filled
from pinakes.core.records import JSON, Item, Metadata
from pinakes.metadata import renamed

TAGS = "tags"


def with_source_metadata(own: Metadata, options: Mapping[str, JSON], item: Item) -> dict[str, JSON]:
    """Return the metadata ``own`` of a file, extended by the ``options`` of its source.

    Metadata of the source overrides that of the file; tags are merged.

    Raises:
        InvalidSetting: a template is invalid.
    """
    templates, tags = options.get("metadata") or (), options.get(TAGS) or ()
    if not templates and not tags:
        return dict(own)
    values = _values(item)
    parts = [(name.strip(), template.strip()) for name, _, template in (given.partition("=") for given in templates)]
    metadata = renamed(own, [*(name for name, _ in parts), TAGS])
    for name, template in parts:
        metadata[name] = _filled(template, values)
    if tags:
        given = [str(tag) for template in tags for tag in _each(template, item, values)]
        metadata[TAGS] = list(dict.fromkeys([*_listed(metadata.get(TAGS)), *given]))
    return metadata


def _values(item: Item) -> dict[str, JSON]:
    path = PurePosixPath(item.path)
    suffix = path.suffix.lower()
    return {
        "path": item.path,
        "name": path.name,
        "suffix": suffix,
        "extension": suffix.removeprefix("."),
        "size": item.size_bytes,
    }


def _each(template: str, item: Item, values: Mapping[str, JSON]) -> Iterable[JSON]:
    """Yield the tags of a template: one, one per folder, or none if a value that it names is empty."""
    if "{extension}" in template and not values["extension"]:
        return
    if "{folder}" not in template:
        yield _filled(template, values)
        return
    for folder in PurePosixPath(item.path).parts[:-1]:
        yield _filled(template, {**values, "folder": folder})


def _filled(template: str, values: Mapping[str, JSON]) -> JSON:
    """Return ``template`` filled in; if it is a single name, the value keeps its type."""
    alone = template[1:-1] if template.startswith("{") and template.endswith("}") else ""
    if alone in values:
        return values[alone]
    return filled(template, values, f"template {template!r} of a source")


def _listed(value: JSON) -> list[str]:
    """Return tags as a list; a string is split at commas."""
    if isinstance(value, str):
        return [word for part in value.split(",") if (word := part.strip())]
    return [str(one) for one in value if one not in (None, "")] if isinstance(value, list) else []
