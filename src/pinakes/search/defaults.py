"""Builds a search request: the settings fill what the caller left out."""

from __future__ import annotations

from collections.abc import Mapping

from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidInput
from pinakes.core.filters import parse
from pinakes.core.records import JSON, Filter, SearchMode
from pinakes.search.query.request import Request
from pinakes.search.query.syntax import PhraseUse
from pinakes.search.ranking.duplicates import named_versions
from pinakes.settings import SearchSettings, Settings


def filled(
    settings: Settings,
    query: str,
    mode: SearchMode | None,
    top_k: int | None,
    filters: Mapping[str, JSON] | Filter | None,
    fusion: str | None,
    min_score: float,
    neighbours: int,
    rerank: bool,
    phrases: PhraseUse,
    record: CollectionRecord,
    *,
    min_similarity: float = 0.0,
) -> Request:
    """Return the request, with defaults from the settings and from the collection."""
    defaults, rules = settings.search, settings.of_collection(record.name, record.kept)
    where = filters if isinstance(filters, tuple) else parse(filters)
    if where:
        from pinakes.metadata import typed_filter

        where = typed_filter(where, rules.fields)
    return Request(
        query=query,
        mode=mode or rules.retrieval,
        top_k=allowed(top_k, defaults),
        where=where,
        fusion=fusion or defaults.fusion,
        semantic_weight=defaults.semantic_weight,
        keyword_weight=defaults.keyword_weight,
        min_score=max(min_score, defaults.min_score),
        neighbours=neighbours,
        rerank=rerank,
        phrases=phrases,
        min_similarity=min_similarity,
    )


def versions_named(query: str, filters: Mapping[str, JSON] | Filter | None) -> frozenset[str]:
    """Return the versions and dates that a query or its filters name."""
    return named_versions(query, filters if isinstance(filters, tuple) else parse(filters))


def allowed(top_k: int | None, limits: SearchSettings) -> int:
    """Return the number of hits to return: ``top_k``, or the default of the settings.

    Raises:
        InvalidInput: ``top_k`` is above ``search.max_top_k``.
    """
    if top_k is None:
        return min(limits.top_k, limits.max_top_k)
    if top_k > limits.max_top_k:
        raise InvalidInput(f"top_k cannot be {top_k}.", hint=f"At most {limits.max_top_k}.")
    return top_k
