"""Markdown: the unchanged text, with front matter as metadata.

Front matter is the mapping between two fences at the start of a text; similar text is told apart from it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pinakes.core.errors import Empty
from pinakes.core.records import JSON, Document, Metadata, ReadingNote
from pinakes.parsing.decode import decode
from pinakes.parsing.joined_words import joined
from pinakes.parsing.limits import LimitedReader
from pinakes.parsing.titles import markdown_title

_FENCED: Final = re.compile(
    r"\A(?P<fence>---|\+\+\+)[ \t]*\n(?P<body>.*?^)(?:(?P=fence)|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_MAX_CHARS: Final = 100_000
_KEY: Final = re.compile(r"[\w@$][\w.@/$-]*(?: [\w.@/$-]+){0,3}")
_MAX_KEY_CHARS: Final = 60
_KEY_LINE: Final = re.compile(r"^(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s#\-\"'{\[][^:\n]*?)[ \t]*:(?=[ \t\n]|\Z)", re.MULTILINE)
_USUAL_LINE: Final = re.compile(r"\s*[\"']?[a-z_][\w.-]*[\"']?\s*[:=]")
_SENTENCE_ENDS: Final = (".", "!", "?", "…", ":", ";", ",")
_QUOTES: Final = "'\"”’») "
_USUAL_KEYS: Final = frozenset(
    [
        "abstract",
        "aliases",
        "archived",
        "author",
        "authors",
        "categories",
        "category",
        "classification",
        "cover",
        "created",
        "creation-date",
        "creator",
        "cssclass",
        "date",
        "deprecated",
        "description",
        "doc_type",
        "draft",
        "expires",
        "format",
        "id",
        "image",
        "keywords",
        "kind",
        "lang",
        "language",
        "last-updated",
        "lastmod",
        "layout",
        "license",
        "linktitle",
        "menu",
        "modified",
        "name",
        "order",
        "output",
        "owner",
        "owners",
        "parent",
        "parents",
        "permalink",
        "position",
        "priority",
        "product",
        "published",
        "pubdate",
        "publishdate",
        "redirect_from",
        "reviewed",
        "reviewers",
        "sidebar_label",
        "sidebar_position",
        "slug",
        "source",
        "status",
        "subtitle",
        "summary",
        "tag",
        "tags",
        "template",
        "title",
        "toc",
        "topic",
        "type",
        "uid",
        "updated",
        "url",
        "version",
        "visibility",
        "weight",
    ]
)
"""Keys that only occur in metadata, in lower case."""


class Markdown(LimitedReader):
    """Reads Markdown. Line numbers are those of the file: front matter is replaced by blank lines."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of the front matter, else the first level-1 heading.

        Front matter that cannot be parsed stays in the text, with a note.
        """
        text, metadata, title, notes = split_front_matter(self._limits.check(decode(data)))
        if text.isspace():
            raise Empty("The file holds nothing but front matter.")
        text = joined(text)
        title = title or markdown_title(text)
        return Document(text=text, title=title, kind="markdown", metadata=metadata, notes=notes)


class FrontMatter(NamedTuple):
    """A text with its front matter replaced by blank lines, the metadata and title, and notes on problems."""

    text: str
    metadata: Metadata
    title: str
    notes: tuple[ReadingNote, ...] = ()


def split_front_matter(text: str) -> FrontMatter:
    """Split the front matter from ``text``: a YAML (``---``) or TOML (``+++``) mapping between fences at its start.

    What cannot be parsed as a mapping stays in the text, and so does a mapping that is prose, a dialogue or a note
    between two rules. Front matter with a value too long for metadata also stays in the text.
    """
    match = _FENCED.match(text) if text.startswith(("---", "+++")) else None
    if match is None or len(match["body"]) > _MAX_CHARS:
        return FrontMatter(text, {}, "")
    from pinakes.parsing import structured

    body = match["body"]
    is_yaml = match["fence"] == "---"
    try:
        values = structured.parse_yaml(body) if is_yaml else structured.parse_toml(body)
    except structured.ParseError as error:
        if not _USUAL_LINE.match(body):
            return FrontMatter(text, {}, "")
        note = ReadingNote("front-matter", f"The front matter cannot be parsed and was read as text: {error}.", 1)
        return FrontMatter(text, {"front_matter_error": str(error)}, "", (note,))
    if not body.strip():
        return FrontMatter(_blank(text, match.end()), {}, "")
    if len(values) != 1 or not isinstance(values[0], dict) or (is_yaml and _is_prose(body, values[0])):
        return FrontMatter(text, {}, "")
    metadata, title = structured.metadata_of(values[0]), structured.title_of(values[0])
    is_whole = all(str(key) in metadata for key, value in values[0].items() if value not in (None, "", [], {}))
    notes = structured.too_long_note(values[0], metadata)
    return FrontMatter(_blank(text, match.end()) if is_whole and not notes else text, metadata, title, notes)


def _is_prose(body: str, values: dict[str, JSON]) -> bool:
    """Return whether a mapping is text that happens to have colons: sentences as keys, speakers, notes."""
    keys = [str(key) for key in values]
    if not all(len(key) <= _MAX_KEY_CHARS and _KEY.fullmatch(key) for key in keys):
        return True
    if any(key.lower() in _USUAL_KEYS for key in keys):
        return False
    if not body[: body.index("\n")].strip() or len(_KEY_LINE.findall(body)) > len(keys):
        return True
    texts = [str(value) for value in values.values() if isinstance(value, str)]
    if len(texts) < len(keys):
        return False
    return all(map(_is_sentence, texts)) or (
        all(key[0].isupper() for key in keys) and any(len(value.split()) > 1 for value in texts)
    )


def _is_sentence(value: str) -> bool:
    return len(value.split(maxsplit=2)) > 2 and value.rstrip(_QUOTES).endswith(_SENTENCE_ENDS)


def _blank(text: str, end: int) -> str:
    return "\n" * text.count("\n", 0, end) + text[end:]
