"""A Slack export: one document per channel and day, with names instead of ids, and replies under their threads."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import ClassVar, Final

from pinakes.core.errors import PinakesError, Unreadable
from pinakes.core.records import JSON, Item, Skipped
from pinakes.sources.exports import ExportEntry, ExportSource, Tree, front_matter, read

_DAY: Final = re.compile(r"(?P<folder>[^/]+)/(?P<day>\d{4}-\d{2}-\d{2})\.json")
_PEOPLE: Final = ("users.json", "org_users.json")
_LISTS: Final = ("channels.json", "groups.json", "mpims.json", "dms.json")
_MOST_LIST_BYTES: Final = 200_000_000
_UNSAID: Final = frozenset(
    (
        *("channel_join", "channel_leave", "group_join", "group_leave", "bot_add", "bot_remove"),
        *("channel_archive", "channel_unarchive", "pinned_item", "unpinned_item", "tombstone"),
    )
)
"""System messages, which are dropped."""

_CODE: Final = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_REFERENCE: Final = re.compile(r"<([^<>\n]+)>")
_REFERENCE_OR_PIPE: Final = re.compile(r"<[^<>\n]+>|\|")
_BOLD: Final = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_STRUCK: Final = re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])")
_EMOJI: Final = re.compile(r":[\w+-]+:")
_BREAK: Final = re.compile(r"[\W_]+")
_FIRST_WORDS: Final = 60
_MOST_COMPARED: Final = 20_000_000
"""Limit of block lines times text characters: many times what Slack allows in a message."""


@dataclass(frozen=True, slots=True)
class _Workspace:
    """Names of users and channels by id. ``topics``: channel folder → its topic; ``stamp``: of all of these."""

    people: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    stamp: str = ""


_DEEPEST = 10
_INLINE = ("rich_text_section", "rich_text_quote", "rich_text_preformatted")
_MENTIONS = {
    "user": ("<@{}>", "user_id"),
    "usergroup": ("<!subteam^{}>", "usergroup_id"),
    "channel": ("<#{}>", "channel_id"),
    "broadcast": ("<!{}>", "range"),
    "emoji": (":{}:", "name"),
    "color": ("{}", "value"),
}
"""Rich text elements that are references: their text form, and the key of their name."""


class SlackExport(ExportSource):
    """The channels of a Slack export, as a folder or a ZIP archive.

    The document of a day has the metadata ``channel``, ``date_published``, ``participants``, ``topic``. Times are UTC.
    """

    what: ClassVar[str] = "export of Slack"
    version: ClassVar[int] = 1
    _workspace = _Workspace()

    def _items(self, tree: Tree, skipped: list[Skipped]) -> Iterable[Item]:
        entries = tree.entries()
        if not any(name in entries for name in (*_LISTS, *_PEOPLE)):
            raise self._not_an_export()
        self._workspace = _workspace(tree, entries, skipped)
        self._days = lru_cache(maxsize=64)(lambda path: _messages(read(tree, path, self._limit)))
        for path, entry in entries.items():
            if match := _DAY.fullmatch(path):
                name = self._workspace.names.get(match["folder"], match["folder"])
                stamp = f"{entry.stamp} {self._workspace.stamp}"
                document = f"{name}/{match['day']}.md"
                if document in self._places:
                    document = f"{name} {match['folder']}/{match['day']}.md"
                yield self._item(tree, document, ExportEntry(path, entry.size_bytes, stamp))

    def _content(self, tree: Tree, place: str, item: Item) -> bytes:
        del tree, item
        messages = [one for one in self._days(place) if one.get("subtype") not in _UNSAID and _has_content(one)]
        if not messages:
            return b""
        folder, _, day = place.removesuffix(".json").partition("/")
        name = self._workspace.names.get(folder, folder)
        there = {str(one.get("ts")): one for one in messages}
        replies: dict[str, list[JSON]] = {}
        for one in messages:
            thread = str(one.get("thread_ts") or "")
            if thread and thread != str(one.get("ts")):
                replies.setdefault(thread, []).append(one)
        shown: dict[str, str] = {}
        for one in messages:
            ts = str(one.get("ts"))
            thread = str(one.get("thread_ts") or ts)
            if thread == ts:
                shown[ts] = self._thread(one, replies.get(ts, ()))
            elif thread not in there and thread not in shown:
                shown[thread] = self._replies_to_other_day(folder, thread, replies[thread])
        title = f"{name if folder.startswith(('D', 'mpdm-')) and name != folder else f'#{name}'}, {day}"
        known = {
            "title": title,
            "channel": name,
            "date_published": day,
            "participants": list(dict.fromkeys(self._author(one) for one in messages)),
            "topic": self._workspace.topics.get(folder),
            "messages": len(messages),
        }
        text = f"# {title}\n\n" + "\n\n".join(shown.values()) + "\n"
        return front_matter(known, text)

    def _thread(self, message: JSON, replies: Iterable[JSON]) -> str:
        return "\n\n".join([self._message(message), *(_quoted(self._message(one)) for one in replies)])

    def _replies_to_other_day(self, folder: str, thread: str, replies: Iterable[JSON]) -> str:
        """Return the replies to a message of another day."""
        parent = self._parent(folder, thread)
        what = "an earlier message"
        if parent is not None:
            own_text = " ".join(self._text(parent).split())
            short = own_text if len(own_text) <= _FIRST_WORDS else own_text[:_FIRST_WORDS].rstrip() + "…"
            what = f"{self._author(parent)}, {_moment(thread):%Y-%m-%d}: {short}"
        return "\n\n".join([f"In answer to {what}", *(_quoted(self._message(one)) for one in replies)])

    def _parent(self, folder: str, thread: str) -> JSON:
        """Return the first message of a thread; its file has the date of its day in some time zone."""
        moment = _moment(thread)
        for days in (0, -1, 1):
            path = f"{folder}/{moment + timedelta(days=days):%Y-%m-%d}.json"
            try:
                found = next((one for one in self._days(path) if str(one.get("ts")) == thread), None)
            except PinakesError:
                continue
            if found is not None:
                return found
        return None

    def _message(self, message: JSON) -> str:
        edited = " (edited)" if message.get("edited") else ""
        head = f"**{self._author(message)}** {_moment(message.get('ts')):%H:%M}{edited}"
        body = [self._text(message), *self._attached(message)]
        return "\n".join([head, *(part for part in body if part)])

    def _attached(self, message: JSON) -> Iterable[str]:
        for file in _dicts(message.get("files")):
            name, url = str(file.get("title") or file.get("name") or "file"), file.get("permalink")
            yield f"File: [{name}]({url})" if isinstance(url, str) else f"File: {name}"
        for one in _dicts(message.get("attachments")):
            title, url = str(one.get("title") or ""), one.get("title_link") or one.get("from_url")
            fields = (f"{field.get('title') or ''}: {field.get('value') or ''}" for field in _dicts(one.get("fields")))
            own_text = [_content_of(one), *fields]
            if not (title or any(own_text)):
                own_text = [str(one.get("fallback") or "")]
            head = f"[{title or url}]({url})" if isinstance(url, str) else title
            parts = [self._plain(str(one.get("pretext") or "")), head, *map(self._plain, own_text)]
            if any(parts):
                yield _quoted("\n".join(filter(None, parts)))

    def _author(self, message: JSON) -> str:
        user = str(message.get("user") or "")
        if user in self._workspace.people:
            return self._workspace.people[user]
        profile, bot = message.get("user_profile"), message.get("bot_profile")
        name_found = profile.get("real_name") if isinstance(profile, dict) else None
        name_found = name_found or (bot.get("name") if isinstance(bot, dict) else None)
        return str(name_found or message.get("username") or user or message.get("bot_id") or "somebody")

    def _text(self, message: JSON) -> str:
        return self._plain(_content_of(message))

    def _plain(self, text: str) -> str:
        """Return text in Slack's markup as Markdown."""
        parts, end = [], 0
        for code in _CODE.finditer(text):
            parts += [self._marked(text[end : code.start()]), _fenced(code[0])]
            end = code.end()
        return "".join([*parts, self._marked(text[end:])]).strip()

    def _marked(self, text: str) -> str:
        text = _STRUCK.sub(r"~~\1~~", _BOLD.sub(r"**\1**", text))
        return html.unescape(_REFERENCE.sub(lambda match: self._reference(match[1]), text))

    def _reference(self, inside: str) -> str:
        """Return the name of the user, channel or link in ``<…>``."""
        target, _, label = inside.partition("|")
        if target.startswith("@"):
            return f"@{self._workspace.people.get(target[1:], label or target[1:])}"
        if target.startswith("#"):
            return f"#{self._workspace.channels.get(target[1:], label or target[1:])}"
        if target.startswith("!"):
            return label or f"@{target[1:].partition('^')[0]}"
        return f"[{label}]({target})" if label and label != target.removeprefix("mailto:") else target


def _workspace(tree: Tree, entries: Mapping[str, ExportEntry], skipped: list[Skipped]) -> _Workspace:
    """Return the names in an export; for a damaged list, ids are kept, and it is reported."""
    lists: dict[str, list[JSON]] = {}
    digest = hashlib.sha256()
    for name in (*_PEOPLE, *_LISTS):
        if name in entries:
            digest.update(f"{name} {entries[name].stamp}".encode())
            try:
                lists[name] = _messages(read(tree, name, _MOST_LIST_BYTES))
            except PinakesError as error:
                skipped.append(Skipped(name, str(error)))
    people = {str(user.get("id")): _name_of(user) for name in _PEOPLE for user in lists.get(name, ())}
    channels, names, topics = {}, {}, {}
    for name in _LISTS:
        for channel in lists.get(name, ()):
            number, called = str(channel.get("id") or ""), str(channel.get("name") or "")
            channels[number] = called or number
            topics[called or number] = _about(channel)
            members = [people.get(str(one), str(one)) for one in channel.get("members") or ()]
            if name in ("dms.json", "mpims.json") and members:
                names[called or number] = ", ".join(members).replace("/", "-")
    return _Workspace(people, channels, names, topics, digest.hexdigest()[:16])


def _name_of(user: JSON) -> str:
    profile = user.get("profile") if isinstance(user.get("profile"), dict) else {}
    name_found = profile.get("real_name") or user.get("real_name") or profile.get("display_name") or user.get("name")
    return " ".join(str(name_found or user.get("id")).split())


def _about(channel: JSON) -> str:
    for name in ("topic", "purpose"):
        value = channel.get(name)
        if isinstance(value, dict) and value.get("value"):
            return html.unescape(str(value["value"]))
    return ""


def _messages(data: bytes) -> list[JSON]:
    """Return the objects in a JSON list.

    Raises:
        Unreadable: the file is not a JSON list.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"The file is no JSON: {error}.", hint="Export it again.") from error
    if not isinstance(found, list):
        raise Unreadable("The file is no list of messages.", hint="Export it again.")
    return _dicts(found)


def _dicts(found: JSON) -> list[JSON]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _has_content(message: JSON) -> bool:
    return any(message.get(name) for name in ("text", "files", "attachments", "blocks"))


def _content_of(message: JSON) -> str:
    """Return the content of a message's text and blocks without repetitions, in Slack's markup.

    Usually both have the same content, or the text is shorter; some messages have text that no block has.
    """
    text = str(message.get("text") or "")
    pieces = [piece for block in _dicts(message.get("blocks")) for piece in _pieces(block)]
    text_words, whole = _words(text), "\n".join(pieces)
    if text and len(pieces) * len(text_words) > _MOST_COMPARED:
        return f"{text}\n{whole}"
    more = [piece for piece in pieces if _words(piece) not in text_words]
    if not text or (more and text_words in _words(whole)):
        return whole
    return "\n".join([text, *more])


def _pieces(block: JSON) -> Iterable[str]:
    """Yield the lines of a block; code and tables are one piece."""
    for one in _dicts(block.get("elements")) if block.get("type") == "rich_text" else [block]:
        own_text = _of_block(one, 0)
        yield from [own_text] if "```" in own_text or one.get("type") == "table" else filter(None, own_text.split("\n"))


def _words(text: str) -> str:
    """Return the words of a text, each between spaces; mentions are replaced by their ids or addresses."""
    bare = html.unescape(_REFERENCE.sub(lambda match: match[1].partition("|")[0], text))
    return " ".join(["", *_BREAK.sub(" ", _EMOJI.sub(" ", bare)).casefold().split(), ""])


def _of_blocks(found: JSON, apart: str = "\n", depth: int = 0) -> str:
    """Return the text of blocks in Slack's markup, separated by ``apart``."""
    return apart.join(filter(None, (_of_block(one, depth) for one in _dicts(found)))) if depth < _DEEPEST else ""


def _of_block(block: JSON, depth: int) -> str:
    kind, text = block.get("type"), block.get("text")
    if kind in _MENTIONS:
        mark, name = _MENTIONS[kind]
        return mark.format(block.get(name) or "")
    own_text = _string(text)
    if kind == "date":
        return f"<!date^{block.get('timestamp') or ''}^{block.get('format') or ''}|{block.get('fallback') or ''}>"
    if kind == "table":
        return _table(block, depth)
    if kind in ("image", "video"):
        labels = dict.fromkeys(_string(block.get(name)) for name in ("title", "description", "alt_text"))
        return "\n".join(filter(None, labels))
    if kind == "link":
        return f"<{block.get('url') or ''}|{own_text}>" if own_text else f"<{block.get('url') or ''}>"
    inner = _of_blocks(block.get("elements"), "" if kind in _INLINE else "\n", depth + 1)
    if kind == "rich_text_preformatted":
        inner = f"```{inner}```"
    beside = [one for one in _dicts([block.get("accessory")]) if one.get("type") == "image"]
    parts = (_of_blocks(one, depth=depth + 1) for one in (block.get("fields"), beside))
    return "\n".join(filter(None, (own_text, *parts, inner)))


def _string(found: JSON) -> str:
    """Return a text that is a string, or an object with one."""
    return str((found.get("text") if isinstance(found, dict) else found) or "")


def _table(block: JSON, depth: int) -> str:
    """Return a table as Markdown, with blank lines around it."""
    found = block.get("rows")
    lists = [row for row in found if isinstance(row, list)] if isinstance(found, list) else []
    rows = [[_cell(_of_blocks([one], depth=depth + 1)) for one in row] for row in lists]
    ruled = [*rows[:1], ["---"] * len(rows[0]), *rows[1:]] if rows else []
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in ruled) if rows else ""


def _cell(text: str) -> str:
    return _REFERENCE_OR_PIPE.sub(lambda match: match[0] if len(match[0]) > 1 else r"\|", " ".join(text.split()))


def _moment(ts: JSON) -> datetime:
    try:
        return datetime.fromtimestamp(float(ts), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _fenced(code: str) -> str:
    """Return code in Markdown; a block has its fences on separate lines."""
    code = html.unescape(code)
    if not code.startswith("```"):
        return code
    return "\n```\n" + code[3:-3].strip("\n") + "\n```\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
