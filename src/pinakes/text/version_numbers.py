"""Versions and dates that distinguish otherwise equal texts: ``v1.10/install.md``, ``2026-03-01.md``."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_DATE = r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_VERSION = r"v?\d{1,3}(?:\.\d{1,3}){1,3}|v\d{1,3}"
_NAMED = re.compile(rf"(?<![A-Za-z0-9.])(?:({_DATE})|({_VERSION}))(?![A-Za-z0-9]|\.\d)", re.I)
_YEAR = re.compile(r"(?:^|/)((?:19|20)\d\d)(?=/)")
_IN_IDENTIFIER = re.compile(r"[A-Z]{2,}-\Z")
_PLACEHOLDER = "§"


@lru_cache(maxsize=4096)
def versions_in(text: str) -> frozenset[str]:
    """Return the versions, without a leading "v", and the dates (2026-03-01) in ``text``.

    A folder named by a year counts as a date. A number after capital letters and a hyphen is part of an identifier
    (``INV-1.2``), not a version.
    """
    found = {
        match[0].lower().removeprefix("v")
        for match in _NAMED.finditer(text)
        if not _IN_IDENTIFIER.search(text[max(0, match.start() - 8) : match.start()])
    }
    return frozenset(found | set(_YEAR.findall(text)))


def without_versions(text: str, versions: Collection[str]) -> str:
    """Return ``text`` with a placeholder for each standalone occurrence of ``versions``."""
    there = [one for one in versions if one in text]  # they have no letters
    if not there:
        return text
    every = "|".join(re.escape(one) for one in sorted(there, key=len, reverse=True))
    return re.sub(rf"(?<![A-Za-z0-9.])v?(?:{every})(?![A-Za-z0-9]|[.-]\d)", _PLACEHOLDER, text, flags=re.I)
