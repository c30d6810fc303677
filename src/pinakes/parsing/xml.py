"""XML: data as lines of readable ``Key: value`` text; documents (JATS, patents, DocBook) and feeds as Markdown."""

from __future__ import annotations

import re
from html import escape, unescape
from html.entities import html5
from typing import Any, Final

from pinakes.core.errors import Empty, TooLarge
from pinakes.core.records import JSON, Document
from pinakes.parsing.articles import article, is_article, local
from pinakes.parsing.decode import declared_charset, decode, scrub
from pinakes.parsing.html import to_markdown
from pinakes.parsing.limits import LimitedReader, Limits
from pinakes.parsing.office import iso
from pinakes.parsing.structured import ParseError, lines_of, metadata_of, title_of
from pinakes.parsing.titles import cut
from pinakes.parsing.trees import Node

_MAX_DEPTH: Final = 100
_MAX_NODES: Final = 1_000_000
_MAX_GROWTH: Final = 20
"""Maximum length of the text relative to its source: entities can expand kilobytes into terabytes."""
_TOO_LONG: Final = "Its entities would make it far longer than it is."


_NOISE: Final = re.compile(
    r"^(?:xmlns|xlink|xsi|xml):?|^(?:xmlns|class|style|width|height|href|src|rel|target|align|valign|colspan|rowspan|x|y)$"
    r"|(?:^|[-_.:])(?:id|idref|idrefs|ref|rid|uid|guid|uuid|guidref)$|[a-z](?:Id|ID|Ref|Guid|UUID)$"
)
"""Names of attributes for ids, references and layout."""
_MACHINE_MADE: Final = re.compile(r"#\S*|\{?[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,}\}?|[0-9a-fA-F]{32,}")
_ENTRIES: Final = ("item", "entry")
_CONTENTS: Final = ("encoded", "content", "body", "description", "summary", "subtitle")
_DATES: Final = ("pubDate", "published", "date", "updated", "lastBuildDate")
_AUTHORS: Final = ("creator", "author", "managingEditor")
_TAGS: Final = ("category", "subject", "keywords")
_MEDIA: Final = ("media:group", "media:content")
"""Elements whose children describe the entry: a video, for example."""
_HEADING: Final = re.compile(r"<(/?)h([1-6])\b", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
_TAG: Final = re.compile(r"<[/!]?[a-zA-Z-][^<>]*>")
_DEEPEST: Final = 6
_OWN_LEVELS: Final = 2
"""Headings inside of entries are lowered by this many levels, below those of the feed and the entry."""

_ENTITY: Final = re.compile(r"<!ENTITY\s+([^\s%]\S*)\s+[\"']")
"""An entity that is declared with its text, not with a file that has it."""
_REFERENCE: Final = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    r"|&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-fA-F]+);)(?:([^\W\d][\w.-]{0,80});)?",
    re.DOTALL,
)
"""A reference, or an ampersand that begins none, outside of character data and comments."""


class _GrowthError(ParseError):
    """Entities would expand too much."""


class Xml(LimitedReader):
    """Reads XML. External entities are never fetched."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``. If it cannot be parsed, it is read unchanged, and ``parse_error`` in the metadata says why.

        Raises:
            Empty: no element has any text.
            TooLarge: entities would expand it too much.
        """
        source = self._limits.check(decode(data, charset=declared_charset(data)))
        try:
            root = parse(source)
            if feed := feed_of(root, self._limits):
                return feed
            if is_article(root):
                return self._article(root)
            value = value_of(root)
            text = lines_of({root.name: value}, len(source))
        except _GrowthError as error:
            raise TooLarge(str(error), hint="Exclude the file.") from error
        except ParseError as error:
            return Document(text=source, kind="text", language="xml", metadata={"parse_error": str(error)})
        if value in ("", {}, []):
            raise Empty("The file has no text in its elements.")
        fields = value if isinstance(value, dict) else {}
        return Document(
            text=self._limits.check(scrub(text)) + "\n",
            title=title_of(fields),
            kind="text",
            language="xml",
            metadata=metadata_of(fields),
        )

    def _article(self, root: Node) -> Document:
        text, title, metadata = article(root)
        if not text.strip():
            raise Empty("The file has no text in its elements.")
        return Document(text=self._limits.check(scrub(text)) + "\n", title=title, kind="markdown", metadata=metadata)


def parse(source: str) -> Node:
    """Return the root element of ``source``.

    Raises:
        ParseError: it is not XML, nests too deeply, or would expand too much.
    """
    from xml.parsers import expat

    builder = _Builder(len(source) * _MAX_GROWTH + 10_000)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(_with_entities(source).encode(), True)
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH]:
            raise _GrowthError(_TOO_LONG) from error
        raise ParseError(cut(str(error))) from error
    return builder.root


def _with_entities(source: str) -> str:
    """Return ``source`` with the characters of HTML for references that it does not declare, others as they stand.

    They are declared elsewhere, which is not fetched, or nowhere. The library would drop the former without a word.
    """
    if "&" not in source:
        return source
    declared = set(_ENTITY.findall(source))

    def written(match: re.Match[str]) -> str:
        if match[0].startswith("<") or match[1] in declared:
            return match[0]
        return escape(html5.get(f"{match[1]};", match[0]))

    return _REFERENCE.sub(written, source)


def value_of(node: Node) -> JSON:
    """Return an element as plain values: its text, a dict of attributes and children, or a list in document order."""
    children = node.children
    if not children and not node.attributes:
        return node.words
    own = {name: value for name, value in node.attributes.items() if _is_readable(name, value)}
    if not children:
        return {**own, "text": node.words} if own and node.words else own or node.words
    if node.is_prose:
        return {**own, "text": node.words} if own else node.words
    names = [child.name for child in children]
    if names != sorted(names, key=names.index):  # the order of children matters: a chapter, not a record
        ordered: list[JSON] = [{child.name: value} for child in children if (value := value_of(child))]
        return [own, *ordered] if own else ordered
    grouped: dict[str, list[JSON]] = {}
    for child in children:
        if value := value_of(child):
            grouped.setdefault(child.name, []).append(value)
    return {**own, **{name: values[0] if len(values) == 1 else values for name, values in grouped.items()}}


def _is_readable(name: str, value: str) -> bool:
    """Return whether an attribute is readable: neither an identifier, nor a schema address, nor layout."""
    return bool(value.strip()) and not _NOISE.search(name) and not _MACHINE_MADE.fullmatch(value.strip())


class _Builder:
    """Builds a tree from parser events, up to a maximum number of characters."""

    def __init__(self, max_chars: int) -> None:
        self._open: list[Node] = [Node("", {}, [])]
        self._chars = max_chars
        self._nodes = _MAX_NODES

    @property
    def root(self) -> Node:
        """The root element."""
        return self._open[0].children[0]

    def start(self, name: str, attributes: dict[str, Any]) -> None:
        """Begin an element."""
        self._nodes -= 1
        if len(self._open) > _MAX_DEPTH:
            raise ParseError("The elements nest too deeply.")
        if self._nodes < 0:
            raise ParseError(f"It has more than {_MAX_NODES:,} elements.")
        node = Node(name, attributes, [])
        self._open[-1].parts.append(node)
        self._open.append(node)

    def end(self, _name: str) -> None:
        """End the current element."""
        self._open.pop()

    def text(self, text: str) -> None:
        """Add text to the current element."""
        self._chars -= len(text)
        if self._chars < 0:
            raise _GrowthError(_TOO_LONG)
        self._open[-1].parts.append(text)


def feed_of(root: Node, limits: Limits) -> Document | None:
    """Return the document of a feed (RSS 0.9 to 2.0, Atom), None if ``root`` is not a feed."""
    if root.name not in ("rss", "feed", "rdf:RDF"):
        return None
    channel = next(iter(root.of("channel")), root)
    entries = [*channel.of(*_ENTRIES), *(root.of("item") if channel is not root else ())]
    if not entries:
        return None
    title = cut(channel.first("title"))
    about = channel.first("description", "subtitle")
    page = [f"<h1>{escape(title)}</h1>", f"<p>{escape(about)}</p>", *map(_entry, entries)]
    text = to_markdown("\n".join(page), limits)
    metadata: dict[str, JSON] = {"entries": len(entries)}
    values = {"description": about, "link": _link(channel), "author": _author(channel), "modified": _date(channel)}
    metadata |= {name: value for name, value in values.items() if value}
    return Document(text=limits.check(text), title=title, kind="markdown", metadata=metadata)


def _entry(entry: Node) -> str:
    titles = [*entry.of("title"), *_called(entry, "title")]
    title, link = next(filter(None, map(_entry_title, titles)), "…"), _link(entry)
    heading = f'<a href="{escape(link)}">{title}</a>' if link else title
    tags = (one.words or one.attributes.get("term", "") for name in _TAGS for one in _called(entry, name))
    facts = filter(None, (_date(entry)[:10], _author(entry), ", ".join(dict.fromkeys(filter(None, tags)))))
    return f"<h2>{heading}</h2><p>{escape(' · '.join(facts))}</p><div>{_content(entry)}</div>"


def _entry_title(title: Node) -> str:
    """Return a title as HTML; one that is HTML itself has lost its tags."""
    is_html = title.attributes.get("type") == "html"
    return escape(unescape(_TAG.sub("", title.words)) if is_html else title.words)


def _content(entry: Node) -> str:
    """Return the content of an entry as HTML, after its summary if that has words of its own."""
    parts: list[str] = []
    seen_words: set[str] = set()
    for node in (node for name in _CONTENTS for node in _called(entry, name)):
        raw = node.raw.strip()
        words = set(_WORD.findall(unescape(_TAG.sub(" ", raw))))
        if not raw or (parts and words <= seen_words):
            continue
        is_plain = node.attributes.get("type") == "text" or bool(node.children)
        parts.insert(0, f"<p>{escape(raw)}</p>" if is_plain else f"<div>{raw}</div>")
        seen_words |= words
    return _HEADING.sub(lambda found: f"<{found[1]}h{min(_DEEPEST, int(found[2]) + _OWN_LEVELS)}", "".join(parts))


def _called(node: Node, name: str) -> list[Node]:
    """Return what describes ``node`` and has this local name, under any prefix."""
    described = (one for child in node.children for one in (child.children if child.name in _MEDIA else [child]))
    return [one for one in described if local(one.name) == name]


def _link(node: Node) -> str:
    links = node.of("link")
    usual = [one for one in links if one.attributes.get("rel", "alternate") == "alternate"]
    return next(filter(None, (one.words or one.attributes.get("href", "") for one in usual or links)), "")


def _author(node: Node) -> str:
    for one in (one for name in _AUTHORS for one in _called(node, name)):
        if name := one.first("name") or one.words:
            return name
    return ""


def _date(node: Node) -> str:
    return next(filter(None, (iso(one.words) for name in _DATES for one in _called(node, name))), "")
