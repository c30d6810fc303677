"""Links between documents: each is a relation of the two, which are named by their paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from pinakes.core.graph_records import (
    DOCUMENT,
    LINKS_TO,
    MAX_NAME_CHARS,
    EntityName,
    ExtractionSubject,
    Findings,
    Mention,
    StatedRelation,
)

OWN_PATH: Final = "documents:path"
"""The extractor of the path of a document itself."""

_LINKED: Final = "links"
_CONFIDENCE: Final = 0.9
_PAGE: Final = re.compile(r"(?:(?:^|/)(?:index|readme)|(?<=[^/]))\.(?:md|markdown|mdx|html?|rst|adoc)$", re.IGNORECASE)
_ABSOLUTE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def document_name(path: str) -> str:
    """Return the name of the document at ``path``: without the ending of a page, and without index or readme."""
    return _PAGE.sub("", path) or path


class DocumentLinks:
    """Finds the links of a text to documents of its collection."""

    def __init__(self, roots: Mapping[str, str]) -> None:
        """``roots``: beginnings of links → the path that they mean; the longest that fits holds."""
        self._roots = sorted(roots.items(), key=lambda each: (-len(each[0]), each[0]))
        self.fingerprint = f"links:1 {self._roots!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the document itself and, for each document that it links to, the first link. Linear time."""
        own = EntityName(DOCUMENT, document_name(subject.path))
        if len(own.name) > MAX_NAME_CHARS:
            return Findings()
        mentions = [Mention(own, 0, 0, 1.0, OWN_PATH)]
        relations: list[StatedRelation] = []
        seen = {own.key}
        for link in subject.links:
            name = EntityName(DOCUMENT, self.meant(subject.path, link.target))
            if not name.name or len(name.name) > MAX_NAME_CHARS or name.key in seen:
                continue
            seen.add(name.key)
            mentions.append(Mention(name, link.start, link.end, _CONFIDENCE, _LINKED))
            relations.append(StatedRelation(own, LINKS_TO, name, link.start, link.end, _CONFIDENCE, _LINKED))
        return Findings(mentions, relations)

    def meant(self, path: str, target: str) -> str:
        """Return the name of the document that a link of the document at ``path`` means; "" for none."""
        plain = unquote(target.partition("#")[0].partition("?")[0])
        for beginning, root in self._roots:
            if plain.startswith(beginning):
                below = posixpath.normpath(posixpath.join("/", root, plain.removeprefix(beginning).lstrip("/")))
                return document_name(below.lstrip("/"))
        if not plain or _ABSOLUTE.match(plain):
            return ""
        joined = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), plain)).lstrip("/")
        return document_name(joined)
