"""RSS and Atom feeds: Markdown with a section for each entry."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from pinakes.readers.html import to_markdown
from pinakes.readers.limits import Limits
from pinakes.readers.office import iso
from pinakes.readers.titles import cut
from pinakes.readers.trees import Node
from pinakes.types import JSON, Document

_ENTRIES: Final = ("item", "entry")
_CONTENTS: Final = ("content:encoded", "content", "description", "summary")
_DATES: Final = ("pubDate", "published", "dc:date", "updated", "lastBuildDate")
_AUTHORS: Final = ("dc:creator", "author", "managingEditor")
_HEADING: Final = re.compile(r"<(/?)h([1-6])\b", re.IGNORECASE)
_DEEPEST: Final = 6
_OWN_LEVELS: Final = 2
"""Headings of entries stand below that of the feed and that of the entry."""


def feed_of(root: Node, limits: Limits) -> Document | None:
    """Return the document of a feed (RSS 0.9 to 2.0, Atom), None where ``root`` is none."""
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
    said = {"description": about, "link": _link(channel), "author": _author(channel), "modified": _date(channel)}
    metadata |= {name: value for name, value in said.items() if value}
    return Document(text=limits.check(text), title=title, kind="markdown", metadata=metadata)


def _entry(entry: Node) -> str:
    title, link = escape(entry.first("title")) or "…", _link(entry)
    heading = f'<a href="{escape(link)}">{title}</a>' if link else title
    tags = [one.words or one.attributes.get("term", "") for one in entry.of("category")]
    facts = filter(None, (_date(entry)[:10], _author(entry), ", ".join(filter(None, tags))))
    return f"<h2>{heading}</h2><p>{escape(' · '.join(facts))}</p><div>{_content(entry)}</div>"


def _content(entry: Node) -> str:
    """Return what an entry says, as HTML."""
    for name in _CONTENTS:
        for node in entry.of(name):
            if raw := node.raw.strip():
                is_plain = node.attributes.get("type") == "text" or bool(node.children)
                html = f"<p>{escape(raw)}</p>" if is_plain else raw
                return _HEADING.sub(lambda found: f"<{found[1]}h{min(_DEEPEST, int(found[2]) + _OWN_LEVELS)}", html)
    return ""


def _link(node: Node) -> str:
    links = node.of("link")
    usual = [one for one in links if one.attributes.get("rel", "alternate") == "alternate"]
    return next(filter(None, (one.words or one.attributes.get("href", "") for one in usual or links)), "")


def _author(node: Node) -> str:
    for one in node.of(*_AUTHORS):
        if name := one.first("name") or one.words:
            return name
    return ""


def _date(node: Node) -> str:
    return next(filter(None, (iso(node.first(name)) for name in _DATES)), "")
