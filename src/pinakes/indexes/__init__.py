"""Search engines behind the Index port, one file per engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from pinakes.core.ports import Index
from pinakes.core.records import Filter, Int64
from pinakes.platform import plugins
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
    ``TextSettings``. An engine that is a plug-in has a folder of its own in there.

    Raises:
        InvalidSetting: an unknown engine.
        PluginBroken: it is a plug-in that cannot be used.
        IndexCorrupt: what is in ``folder`` cannot be used.
    """
    name = settings.index.engine
    place = folder if name in INDEXES else folder / f"engine-{quote(name.lower(), safe='')}"
    options = {"index": settings.index, "search": settings.search, "languages": languages}
    engine: Index = plugins.build(
        "engines", INDEXES, name, lambda kind: kind(place, dimension, select, label, **options)
    )
    return engine
