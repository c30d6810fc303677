"""Search engines behind the Index port, one file per engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from pinakes.core.errors import InvalidSetting
from pinakes.core.ports import Index
from pinakes.core.records import Filter, Int64
from pinakes.settings import Settings

INDEXES = {
    "local": "pinakes.indexes.local:LocalIndex",
}


def open_index(
    settings: Settings,
    folder: Path,
    dimension: int,
    select: Callable[[Filter], Int64],
    label: str = "",
    languages: Sequence[str] = (),
) -> Index:
    """Open the configured engine in ``folder``, for vectors of ``dimension``.

    ``select`` gives the sorted ids of the documents that pass a filter, for engines that cannot filter
    by themselves. ``label`` says which vectors these are: what was saved under another is not used. ``languages``: as
    ``TextSettings``.

    Raises:
        InvalidSetting: an unknown engine.
        IndexCorrupt: what is in ``folder`` cannot be used.
    """
    try:
        module, _, name = INDEXES[settings.index.engine].partition(":")
    except KeyError:
        raise InvalidSetting(
            f"There is no index engine {settings.index.engine!r}.", hint=f"Known: {', '.join(INDEXES)}."
        ) from None
    engine: Index = getattr(import_module(module), name)(
        folder, dimension, select, label, index=settings.index, search=settings.search, languages=languages
    )
    return engine
