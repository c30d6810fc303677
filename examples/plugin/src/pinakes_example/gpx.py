"""GPX, the format in which walks and rides are recorded: names and descriptions of places, routes and tracks."""

from __future__ import annotations

from xml.etree import ElementTree

from pinakes import Document, Empty, Unreadable
from pinakes.parsing.limits import Limits

_KINDS = {"wpt": "Place", "rte": "Route", "trk": "Track"}


class Gpx:
    """Implements ``pinakes.core.ports.Reader``: a section for each place, route and track that has a name."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:
        """Return the names and descriptions as Markdown."""
        try:
            root = ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            raise Unreadable(f"The GPX file is damaged: {error}.", hint="Export it again.") from error
        title = _text(root, "metadata/{*}name") or _text(root, "name")
        sections = [
            f"## {kind} {name}\n\n{_text(part, 'desc') or _text(part, 'cmt')}"
            for tag, kind in _KINDS.items()
            for part in root.iterfind(f"{{*}}{tag}")
            if (name := _text(part, "name"))
        ]
        if not sections:
            raise Empty("No place, route or track in it has a name.")
        parts = [f"# {title}" if title else "", *sections]
        return Document(self._limits.check("\n\n".join(filter(None, parts)) + "\n"), title=title)


def _text(part: ElementTree.Element, tag: str) -> str:
    return " ".join(part.findtext(f"{{*}}{tag}", "").split())
