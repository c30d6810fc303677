"""Web links of hits to their lines, for documents from a repository on a forge."""

from __future__ import annotations

import logging
from dataclasses import replace

from pinakes.catalog import Catalog, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidSetting
from pinakes.core.late import changed
from pinakes.core.records import Metadata, Results
from pinakes.search.statistics.collection_cache import CollectionCache

_log = logging.getLogger(__name__)
_REMEMBERED = 64


class LinkMaker:
    """Builds the links of hits. Caches the link templates of sources until a text of the collection changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known = CollectionCache[tuple[()], dict[str, str]](_REMEMBERED)

    def with_links(self, results: Results, collection: CollectionRecord) -> Results:
        """Return ``results`` with links of the hits to their lines, at the commit that was indexed."""
        if not any("repository" in hit.metadata for hit in results.hits):
            return results
        templates = self._known.get(collection, (), lambda: self._by_location(collection.id))
        hits = (
            changed(hit, link=link_of(hit.metadata, hit.path, (hit.start_line, hit.end_line), templates))
            for hit in results.hits
        )
        return replace(results, hits=tuple(hits))

    def link_to(self, collection_id: int, metadata: Metadata, path: str, lines: tuple[int, int]) -> str:
        """Return the link to lines of one document; "" if it has none."""
        return link_of(metadata, path, lines, self._by_location(collection_id)) if "repository" in metadata else ""

    def _by_location(self, collection_id: int) -> dict[str, str]:
        with self._catalog.read_each() as connection:
            known = sources.list_all(connection, collection_id)
        return {one.location: str(one.options.get("link_template") or "") for one in known}


def link_of(metadata: Metadata, path: str, lines: tuple[int, int], templates: dict[str, str]) -> str:
    """Return the link to lines of a document; without lines if they are not lines of the file."""
    repository, commit = metadata.get("repository"), metadata.get("commit")
    if not (isinstance(repository, str) and isinstance(commit, str)):
        return ""
    from pinakes.parsing import keeps_lines
    from pinakes.sources.forges import link

    try:
        return link(repository, commit, path, lines if keeps_lines(path) else None, templates.get(repository, ""))
    except (InvalidSetting, ValueError) as error:
        _log.warning("there is no link to %s: %s", path, error)
        return ""
