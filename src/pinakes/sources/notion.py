"""A Notion export as Markdown and CSV: pages under their titles, without ids in file names and links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import ClassVar, Final
from urllib.parse import quote, unquote

from pinakes.core.records import JSON, Item, Skipped
from pinakes.sources.exports import HASHED, ExportEntry, ExportSource, Tree, front_matter, read

_READ: Final = (".md", ".csv", ".html")
_FOLDER: Final = re.compile(r"(?P<name>.+?)[ _-](?P<id>[0-9a-f]{32})", re.IGNORECASE)
_LINK: Final = re.compile(r"(?P<open>!?\[[^\[\]\n]*\]\()(?P<target>[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?P<close>\))")
_HREF: Final = re.compile(r"(?P<open>href=\")(?P<target>[^\"]+)(?P<close>\")")
_PROPERTY: Final = re.compile(r"(?P<name>[^\s:#>*|`-][^:\n]{0,60}): (?P<value>\S.*)")
_URL: Final = "https://www.notion.so/"


class NotionExport(ExportSource):
    """The pages and databases of a Notion export, as a folder or a ZIP archive, possibly in parts.

    A page has the metadata ``notion_id``, ``url``, ``parents``, and its properties as a row of a database. If a
    database is exported both whole and as a view, the whole one is read.
    """

    what: ClassVar[str] = "export of Notion"
    version: ClassVar[int] = 1

    def _items(self, tree: Tree, skipped: list[Skipped]) -> Iterable[Item]:
        del skipped
        entries = tree.entries()
        if not any(HASHED.fullmatch(PurePosixPath(path).name) for path in entries):
            raise self._not_an_export()
        self._clean = _clean_paths(entries)
        for path, clean in self._clean.items():
            yield self._item(tree, clean, entries[path], _known_of(path))

    def _content(self, tree: Tree, place: str, item: Item) -> bytes:
        del item
        path, data = place, read(tree, place, self._limit)
        if path.lower().endswith(".csv"):
            return data
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        if path.lower().endswith(".html"):
            return _HREF.sub(lambda match: self._link(match, path), text).encode()
        title, properties, body = _split(text)
        body = _LINK.sub(lambda match: self._link(match, path), body)
        heading = f"# {title}\n\n" if title else ""
        property_lines = "\n".join(f"{name}: {value}" for name, value in properties.items())
        text = heading + (f"{property_lines}\n\n" if property_lines else "") + body
        known = {_field(name): value for name, value in properties.items()}
        return front_matter({**known, "title": title}, text)

    def _link(self, match: re.Match[str], path: str) -> str:
        """Return a link to another page of the export, with its path here."""
        target, hash_, rest = match["target"].partition("#")
        if "://" in target or target.startswith(("mailto:", "/")):
            return match[0]
        parts: list[str] = list(PurePosixPath(path).parent.parts)
        for part in unquote(target).split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in ("", ".", ".."):
                parts.append(part)
        there = "/".join(parts)
        clean = self._clean.get(_database_path(there) if there.lower().endswith(".csv") else there) or self._clean.get(
            there
        )
        if clean is None:
            return match[0]
        return f"{match['open']}{quote(clean)}{hash_}{rest}{match['close']}"


def _clean_paths(entries: Mapping[str, ExportEntry]) -> dict[str, str]:
    """Return path → path without ids; if two would be equal, the later one keeps a part of its id."""
    clean: dict[str, str] = {}
    taken: set[str] = set()
    for path in sorted(entries):
        if not path.lower().endswith(_READ) or _is_view(path, entries):
            continue
        pure = PurePosixPath(path)
        match = HASHED.fullmatch(pure.name)
        name = f"{match['name'].strip() or 'Untitled'}{pure.suffix}" if match else pure.name
        folders = [found["name"] if (found := _FOLDER.fullmatch(part)) else part for part in pure.parent.parts]
        wanted = "/".join([*folders, name])
        if wanted in taken and match:
            wanted = "/".join([*folders, f"{PurePosixPath(name).stem} {match['id'][:8]}{pure.suffix}"])
        while wanted in taken:
            wanted = f"{wanted.removesuffix(pure.suffix)} again{pure.suffix}"
        taken.add(wanted)
        clean[path] = wanted
    return clean


def _is_view(path: str, entries: Mapping[str, ExportEntry]) -> bool:
    return path.lower().endswith(".csv") and _database_path(path) in entries


def _database_path(path: str) -> str:
    """Return the path of the whole database for a view at ``path``."""
    return f"{path[: -len('.csv')]}_all.csv"


def _known_of(path: str) -> dict[str, JSON]:
    pure = PurePosixPath(path)
    folders = [found["name"] if (found := _FOLDER.fullmatch(part)) else part for part in pure.parent.parts]
    known: dict[str, JSON] = {"parents": folders} if folders else {}
    if match := HASHED.fullmatch(pure.name):
        known |= {"notion_id": match["id"].lower(), "url": f"{_URL}{match['id'].lower()}"}
    return known


def _split(text: str) -> tuple[str, dict[str, str], str]:
    """Return title, properties and the rest of a page, which has them in this order."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    title = ""
    if start < len(lines) and lines[start].startswith("# "):
        title = lines[start][2:].strip()
        start += 1
    first = next((number for number in range(start, len(lines)) if lines[number].strip()), len(lines))
    properties: dict[str, str] = {}
    end = first
    while title and end < len(lines) and (match := _PROPERTY.fullmatch(lines[end].rstrip())):
        properties[match["name"].strip()] = match["value"].strip()
        end += 1
    if end < len(lines) and lines[end].strip():  # a paragraph that looks like a property
        return title, {}, "\n".join(lines[start:]).lstrip("\n")
    return title, properties, "\n".join(lines[end:]).lstrip("\n")


def _field(name: str) -> str:
    """Return the name of a property as the name of a metadata field."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_") or "property"
