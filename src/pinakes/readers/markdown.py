"""Markdown: the text as it is, front matter as metadata."""

from __future__ import annotations

import re
from typing import Final

from pinakes.errors import Empty
from pinakes.readers.decode import decode
from pinakes.readers.limits import Limits
from pinakes.readers.titles import markdown_title
from pinakes.types import Document, Metadata

_FRONT_MATTER: Final = re.compile(
    r"\A(?P<fence>---|\+\+\+)[ \t]*\n(?P<body>.*?^)(?:(?P=fence)|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_KEY_LINE: Final = re.compile(r"^[\"']?[\w.-]+[\"']?\s*[:=]", re.MULTILINE)
_MAX_FRONT_MATTER_CHARS: Final = 100_000


class Markdown:
    """Reads Markdown. Line numbers stay those of the file: front matter gives way to empty lines."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is the front matter's, else the first level-1 heading.

        Front matter that cannot be parsed stays in the text; ``front_matter_error`` in the metadata says why.
        """
        text, metadata, title = split_front_matter(self._limits.check(decode(data)))
        if text.isspace():
            raise Empty("The file holds nothing but front matter.")
        return Document(text=text, title=title or markdown_title(text), kind="markdown", metadata=metadata)


def split_front_matter(text: str) -> tuple[str, Metadata, str]:
    """Return ``text`` with its YAML (``---``) or TOML (``+++``) front matter blanked, and its values and title."""
    match = _FRONT_MATTER.match(text) if text.startswith(("---", "+++")) else None
    if match is None or len(match["body"]) > _MAX_FRONT_MATTER_CHARS:
        return text, {}, ""
    from pinakes.readers import structured

    parse = structured.parse_yaml if match["fence"] == "---" else structured.parse_toml
    try:
        values = parse(match["body"])
    except structured.ParseError as error:
        # Two thematic breaks with prose between them look alike, and are no error.
        return text, {"front_matter_error": str(error)} if _KEY_LINE.search(match["body"]) else {}, ""
    if len(values) != 1 or not isinstance(values[0], dict):
        return (text if match["body"].strip() else _blank(text, match.end())), {}, ""
    return _blank(text, match.end()), structured.metadata_of(values[0]), structured.title_of(values[0])


def _blank(text: str, end: int) -> str:
    return "\n" * text.count("\n", 0, end) + text[end:]
