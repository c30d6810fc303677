"""Removed settings: they are ignored, with a warning that gives the value now in use."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from pinakes.core.records import JSON

_log = logging.getLogger(__name__)

REMOVED: Mapping[str, JSON] = {
    "search.keyword_document_share": 0.5,
    "search.metadata_boost": 0.1,
    "search.context_lines": 5,
    "search.diversity_share": 0.3,
    "search.diversity_depth": 5,
    "search.mmr_lambda": 1,
    "boosts.stem_match": 0,
    "boosts.path_match": 0,
    "boosts.symbol_definition": 0,
    "boosts.generated_penalty": 0,
    "boosts.vendored_penalty": 0,
    "boosts.legacy_penalty": 0,
    "boosts.example_penalty": 0,
    "boosts.test_names": ["test", "tests", "testing", "testdata", "selftest", "selftests", "fixtures", "e2e"],
    "boosts.generated_names": ["generated", "autogen", "zz", "pb", "pb2"],
    "boosts.vendored_names": ["vendor", "vendored", "third_party", "thirdparty", "node_modules"],
    "boosts.legacy_names": ["legacy", "deprecated", "obsolete", "attic"],
    "boosts.example_names": ["example", "examples", "sample", "samples", "demo", "demos"],
    "rerank.remembered": 256,
    "rerank.pool_min": 10,
    "rerank.pool_max": 30,
    "rerank.few_words": 5,
    "rerank.many_words": 10,
    "rerank.low_cosine": 0.7,
    "rerank.low_pool": 15,
    "rerank.high_cosine": 0.9,
    "rerank.high_pool": 25,
    "expansion.weight": 0.2,
    "spelling.min_chars": 5,
    "spelling.min_documents": 3,
    "spelling.dominance": 10,
    "fetch.max_redirects": 5,
    "fetch.at_once": 2,
    "watch.rescan_s": 300,
}
"""Dotted name → the fixed value now in use; as JSON, since recorded evaluations contain the names, too."""


def without_removed(layer: Mapping[str, Any], origin: str, prefix: str = "") -> dict[str, Any]:
    """Return a layer of settings without removed ones, with a warning for each; ``origin``: where the layer is from."""
    kept: dict[str, Any] = {}
    for name, value in layer.items():
        dotted = f"{prefix}{name}"  # YAML keys may be numbers
        if dotted in REMOVED:
            _log.warning("Setting %r (%s) was removed: it is always %s now.", dotted, origin, REMOVED[dotted])
        else:
            is_section = isinstance(value, Mapping) and not prefix
            kept[name] = without_removed(value, origin, f"{dotted}.") if is_section else value
    return kept
