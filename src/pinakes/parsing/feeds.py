"""RSS and Atom feeds: Markdown with a section per entry."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Final

from pinakes.core.records import JSON, Document
from pinakes.parsing.html import to_markdown
from pinakes.parsing.limits import Limits
from pinakes.parsing.office import iso
from pinakes.parsing.titles import cut
from pinakes.parsing.trees import Node

_ENTRIES: Final = ("item", "entry")
_CONTENTS: Final = ("content:encoded", "content", "description", "summary")
_DATES: Final = ("pubDate", "published", "dc:date", "updated", "lastBuildDate")
_AUTHORS: Final = ("dc:creator", "author", "managingEditor")
_HEADING: Final = re.compile(r"<(/?)h([1-6])\b", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
_TAG: Final = re.compile(r"<[^<>]*>")
_DEEPEST: Final = 6
_OWN_LEVELS: Final = 2
"""Headings inside of entries are lowered by this many levels, below those of the feed and the entry."""


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
    title, link = escape(entry.first("title")) or "…", _link(entry)
    heading = f'<a href="{escape(link)}">{title}</a>' if link else title
    tags = [one.words or one.attributes.get("term", "") for one in entry.of("category")]
    facts = filter(None, (_date(entry)[:10], _author(entry), ", ".join(filter(None, tags))))
    return f"<h2>{heading}</h2><p>{escape(' · '.join(facts))}</p><div>{_content(entry)}</div>"


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
    """Return the children of ``node`` with this local name, under any prefix if ``name`` has one."""
    prefix, _, local = name.rpartition(":")
    if not prefix:
        return node.of(name)
    return [child for child in node.children if child.name.endswith(f":{local}")]


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
