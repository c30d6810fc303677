"""Search engines that implement the ports ``KeywordEngine`` and ``VectorEngine``, one folder per kind."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pinakes.catalog import Catalog, events
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidSetting, PinakesError, storing
from pinakes.core.ports import Index
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.opening import Opening, Select, Selections, kept_elsewhere
from pinakes.platform import plugins
from pinakes.platform.permissions import make_private
from pinakes.settings import Settings

ENGINES = {
    "tantivy": "pinakes.indexes.keyword.tantivy_engine:TantivyEngine",
    "faiss": "pinakes.indexes.vector.faiss_engine:FaissEngine",
    "qdrant": "pinakes.indexes.qdrant.qdrant_engine:QdrantEngine",
    "postgres": "pinakes.indexes.postgres.postgres_engine:PostgresEngine",
}
"""Engine name → callable taking an ``Opening``. One that implements all of ``Index`` can be used for either or both."""

_log = logging.getLogger(__name__)

_NAMED = {"local": "tantivy+faiss"}


def open_index(
    settings: Settings,
    folder: Path,
    dimension: int,
    select: Select,
    label: str = "",
    languages: Sequence[str] = (),
    key: str = "",
    engine: str = "",
    catalog: Catalog | None = None,
) -> Index:
    """Open the configured engines in ``folder``, for vectors of ``dimension``; see ``Opening`` for the arguments.

    ``engine``: another than ``settings.index.engine``. An engine that is a plug-in has a folder of its own in there.

    Raises:
        InvalidSetting: the engine is unknown, or does not implement the search it is configured for.
        IndexCorrupt: the content of ``folder`` cannot be used.
    """
    name = engine or settings.index.engine
    words, _, meaning = _NAMED.get(name, name).partition("+")
    with storing("The search index"):
        make_private(folder)
    if not meaning:
        index: Index = _opened(
            words,
            Opening(folder, dimension, select, settings, label, languages, key, catalog=catalog),
            "keyword",
            "vector",
        )
        return index
    selections = Selections(select)
    opening = Opening(folder, dimension, selections, settings, label, languages, key, catalog=catalog)
    with ThreadPoolExecutor(1, thread_name_prefix="pinakes-open") as beside:  # each reads all its files, to check them
        vectors = beside.submit(_opened, meaning, opening, "vector")
        keywords = _opened(words, opening, "keyword")
    return CombinedIndex(name, keywords, vectors.result(), selections.forget)


def is_elsewhere(engine: str) -> bool:
    """Say whether an index by this ``engine`` is kept outside its folder, as a whole or in part."""
    return bool({"qdrant", "postgres"} & {*_NAMED.get(engine, engine).split("+")})


def index_key(catalog: Catalog, record: CollectionRecord) -> str:
    """Return what tells the index of a generation from all others, also of other installations.

    A home that was restored has other ones: the numbers of changes after the backup are given twice.
    """
    with catalog.read() as connection:
        restored = events.last_skipped(connection)
    made = sha256(f"{record.created_at} {restored} {catalog.home}".encode()).hexdigest()[:8]
    return f"{record.id}-{record.generation}-{made}"


def drop_elsewhere(settings: Settings, folder: Path, catalog: Catalog | None = None) -> None:
    """Delete what an index keeps elsewhere, as its ``folder`` is about to be removed; what cannot be is told of."""
    kept = kept_elsewhere(folder)
    if name := kept.get("qdrant"):
        try:
            import_module("pinakes.indexes.qdrant.qdrant_engine").drop(settings.qdrant, name)
        except PinakesError as error:
            _log.warning("the Qdrant collection %r is not needed any more, and was not deleted: %s", name, error)
    if catalog is not None and (name := kept.get("postgres")):
        try:
            import_module("pinakes.indexes.postgres.postgres_engine").release(catalog, settings.catalog, name)
        except PinakesError as error:
            _log.warning("the index %r in PostgreSQL is not needed any more, and was not dropped: %s", name, error)


def _opened(name: str, opening: Opening, *methods: str) -> Any:
    place = opening.folder if name in ENGINES else opening.folder / f"engine-{quote(name.lower(), safe='')}"
    engine = plugins.build(
        "engines", ENGINES, name, lambda kind: kind(replace(opening, folder=place, parts=frozenset(methods)))
    )
    missing = [method for method in methods if not hasattr(engine, method)]
    if missing:
        raise InvalidSetting(
            f"The index engine {name!r} has no {' and no '.join(missing)} search.",
            hint="index.engine names a keyword and a vector engine: tantivy+faiss",
        )
    return engine
