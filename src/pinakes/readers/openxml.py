"""Parts of Office files (PPTX, XLSX): their text, and what they refer to."""

from __future__ import annotations

import html
import posixpath
import re
import zipfile
from typing import Final

_RELATION: Final = re.compile(r"<Relationship\s[^<>]*>")
_ATTRIBUTE: Final = re.compile(r'\b(Id|Type|Target)="([^"]*)"')


def relations(container: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return id → kind and name of what a part refers to."""
    folder, _, name = part.rpartition("/")
    found: dict[str, tuple[str, str]] = {}
    for tag in _RELATION.findall(part_text(container, f"{folder}/_rels/{name}.rels")):
        values = dict(_ATTRIBUTE.findall(tag))
        target = posixpath.normpath(posixpath.join("/", folder, html.unescape(values.get("Target", ""))))
        found[values.get("Id", "")] = values.get("Type", "").rpartition("/")[2], target.lstrip("/")
    return found


def part_text(container: zipfile.ZipFile, name: str) -> str:
    """Return the XML of a part, "" where there is none."""
    return container.read(name).decode("utf-8", "replace") if name in container.NameToInfo else ""
