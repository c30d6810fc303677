"""OpenDocument files small enough to be written here."""

from __future__ import annotations

from small_docx import zipped

_URN = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = " ".join(
    [f'xmlns:{name}="{_URN}{name}:1.0"' for name in "office text table style presentation chart form".split()]
    + [f'xmlns:draw="{_URN}drawing:1.0" xmlns:fo="{_URN}xsl-fo-compatible:1.0" xmlns:svg="{_URN}svg-compatible:1.0"']
    + ['xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"']
    + [
        f'xmlns:meta="{_URN}meta:1.0" '
        'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
    ]
)
_KINDS = {"text": "text", "sheet": "spreadsheet", "show": "presentation"}


def opendocument(kind: str, body: str, styles: str = "", common: str = "", **more: str) -> bytes:
    """Return a "text", "sheet" or "show" with ``body``; ``styles`` are its own, ``common`` those of styles.xml.

    ``more``: further parts, of which ``_`` in the name is a ``/``.
    """
    name = _KINDS[kind]
    parts = {
        "mimetype": f"application/vnd.oasis.opendocument.{name}",
        "content.xml": f"<office:document-content {NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{name}>{body}</office:{name}></office:body></office:document-content>",
        "styles.xml": f"<office:document-styles {NAMES}>{common}</office:document-styles>",
        **{key.replace("_", "/") + ".xml": f"<x {NAMES}>{part}</x>" for key, part in more.items()},
    }
    return zipped({key: part.encode() for key, part in parts.items()})


def style(name: str, family: str, inner: str) -> str:
    """Return a style whose properties are ``inner``."""
    return f'<style:style style:name="{name}" style:family="{family}">{inner}</style:style>'


def annotation(words: str, who: str = "", made: str = "2024-03-05T06:07:08") -> str:
    """Return a comment."""
    creator = f"<dc:creator>{who}</dc:creator>" if who else ""
    return f"<office:annotation>{creator}<dc:date>{made}</dc:date><text:p>{words}</text:p></office:annotation>"
