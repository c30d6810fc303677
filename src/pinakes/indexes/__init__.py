"""Search engines behind the ports ``KeywordEngine`` and ``VectorEngine``, one folder per kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pinakes.core.errors import InvalidSetting, storing
from pinakes.core.ports import Index
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.opening import Opening, Select, Selections
from pinakes.platform.permissions import make_private
from pinakes.settings import Settings

ENGINES = {
    "tantivy": "pinakes.indexes.keyword.tantivy_engine:TantivyEngine",
    "faiss": "pinakes.indexes.vector.faiss_engine:FaissEngine",
}
"""Engines by name: each takes an ``Opening``. One that is a whole ``Index`` can be named alone, or as either half."""

LOCAL = "local"
_NAMED = {LOCAL: "tantivy+faiss"}


def open_index(
    settings: Settings,
    folder: Path,
    dimension: int,
    select: Select,
    label: str = "",
    languages: Sequence[str] = (),
) -> Index:
    """Open the configured engines in ``folder``, for vectors of ``dimension``; the arguments are those of ``Opening``.

    Raises:
        InvalidSetting: an unknown engine.
        IndexCorrupt: what is in ``folder`` cannot be used.
    """
    name = settings.index.engine
    kinds = [_engine(one, name) for one in _NAMED.get(name, name).split("+", 1)]
    with storing("The search index"):
        make_private(folder)
    if len(kinds) == 1:
        index: Index = kinds[0](Opening(folder, dimension, select, settings, label, languages))
        return index
    selections = Selections(select)
    opening = Opening(folder, dimension, selections, settings, label, languages)
    words, meaning = (kind(opening) for kind in kinds)
    return CombinedIndex(name, words, meaning, selections.forget)


def _engine(name: str, setting: str) -> Callable[[Opening], Any]:
    if name not in ENGINES:
        known = f"{LOCAL}, or a keyword and a vector engine of {', '.join(ENGINES)} joined by +: tantivy+faiss"
        raise InvalidSetting(f"There is no index engine {setting!r}.", hint=f"Known: {known}.")
    module, _, kind = ENGINES[name].partition(":")
    engine: Callable[[Opening], Any] = getattr(import_module(module), kind)
    return engine
