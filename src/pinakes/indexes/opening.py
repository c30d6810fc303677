"""The parameters that an engine is opened with, and a cache of filtered document ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeAlias, runtime_checkable

from pinakes.catalog import Catalog
from pinakes.core.errors import storing
from pinakes.core.lru_cache import LruCache
from pinakes.core.records import Filter, Int64
from pinakes.platform.permissions import make_private
from pinakes.settings import IndexSettings, SearchSettings, Settings

_REMEMBERED_FILTERS = 32

ELSEWHERE = "elsewhere.json"
"""A file in the folder of an index that says what engines keep elsewhere for it: {engine: name there}."""

Select: TypeAlias = Callable[[Filter], Int64]


@dataclass(frozen=True, slots=True)
class Opening:
    """The parameters of an engine; an engine is a callable that takes one of these.

    ``folder``: for the files of the index. ``dimension`` is that of its vectors, and ``label`` says which vectors these
    are: what was saved under another is not used. ``select`` returns the sorted ids of the documents that pass a
    filter, for engines that cannot filter by themselves. ``languages``: as ``TextSettings``. ``key`` tells the index
    from all others of this and other installations, for engines that keep it elsewhere. ``parts``: what is asked of the
    engine, "keyword", "vector" or both. ``catalog``: the catalogue, for an engine that keeps the index in its database.
    """

    folder: Path
    dimension: int
    select: Select
    settings: Settings
    label: str = ""
    languages: Sequence[str] = ()
    key: str = ""
    parts: frozenset[str] = frozenset(("keyword", "vector"))
    catalog: Catalog | None = None

    def documents(self, where: Filter | None) -> Int64 | None:
        """Return the sorted ids of documents that pass ``where``; None means all."""
        return self.select(where) if where else None


def kept_elsewhere(folder: Path) -> dict[str, str]:
    """Return what engines keep elsewhere for the index in ``folder``: engine → its name there."""
    try:
        kept: dict[str, str] = json.loads((folder / ELSEWHERE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept


def note_elsewhere(folder: Path, engine: str, name: str) -> None:
    """Note that an engine keeps the index in ``folder`` elsewhere, so that it is dropped with the folder.

    Raises:
        StorageFull: the note cannot be written.
    """
    with storing("The search index"):
        make_private(folder)
        (folder / ELSEWHERE).write_text(json.dumps({**kept_elsewhere(folder), engine: name}), "utf-8")


def is_empty(ids: Int64 | None) -> bool:
    """Return whether a restriction to these ids lets nothing pass; None restricts nothing."""
    return ids is not None and not len(ids)


class Selections:
    """Caches the documents that pass each filter until documents change. Thread-safe."""

    def __init__(self, select: Select) -> None:
        self._select = select
        self._changes = 0
        self._selected = LruCache[tuple[Filter, int], Int64](_REMEMBERED_FILTERS)

    def __call__(self, where: Filter) -> Int64:
        """Return the sorted ids of the documents that pass ``where``."""
        return self._selected.get_or_make((where, self._changes), lambda: self._select(where))

    def forget(self) -> None:
        """Clear the cache, after documents changed."""
        self._changes += 1


@runtime_checkable
class Tunable(Protocol):
    """Implemented by engines that can try other settings without rebuilding the index."""

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> Self:
        """Return an engine with other search settings that shares this one's data, valid while this one is open.

        It is read-only: no changes may be applied, and whatever the settings need is built in memory.
        """
        ...
