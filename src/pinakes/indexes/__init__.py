"""Search engines that implement the ports ``KeywordEngine`` and ``VectorEngine``, one folder per kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pinakes.core.errors import InvalidSetting, storing
from pinakes.core.ports import Index
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.opening import Opening, Select, Selections
from pinakes.platform import plugins
from pinakes.platform.permissions import make_private
from pinakes.settings import Settings

ENGINES = {
    "tantivy": "pinakes.indexes.keyword.tantivy_engine:TantivyEngine",
    "faiss": "pinakes.indexes.vector.faiss_engine:FaissEngine",
}
"""Engine name → callable taking an ``Opening``. One that implements all of ``Index`` can be used for either or both."""

_NAMED = {"local": "tantivy+faiss"}


def open_index(
    settings: Settings,
    folder: Path,
    dimension: int,
    select: Select,
    label: str = "",
    languages: Sequence[str] = (),
) -> Index:
    """Open the configured engines in ``folder``, for vectors of ``dimension``; see ``Opening`` for the arguments.

    A plug-in engine has a subfolder of its own.

    Raises:
        InvalidSetting: the engine is unknown, or does not implement the search it is configured for.
        IndexCorrupt: the content of ``folder`` cannot be used.
    """
    name = settings.index.engine
    words, _, meaning = _NAMED.get(name, name).partition("+")
    with storing("The search index"):
        make_private(folder)
    if not meaning:
        index: Index = _opened(
            words, Opening(folder, dimension, select, settings, label, languages), "keyword", "vector"
        )
        return index
    selections = Selections(select)
    opening = Opening(folder, dimension, selections, settings, label, languages)
    engines = _opened(words, opening, "keyword"), _opened(meaning, opening, "vector")
    return CombinedIndex(name, *engines, selections.forget)


def _opened(name: str, opening: Opening, *methods: str) -> Any:
    place = opening.folder if name in ENGINES else opening.folder / f"engine-{quote(name.lower(), safe='')}"
    engine = plugins.build("engines", ENGINES, name, lambda kind: kind(replace(opening, folder=place)))
    missing = [method for method in methods if not hasattr(engine, method)]
    if missing:
        raise InvalidSetting(
            f"The index engine {name!r} has no {' and no '.join(missing)} search.",
            hint="index.engine names a keyword and a vector engine: tantivy+faiss",
        )
    return engine
