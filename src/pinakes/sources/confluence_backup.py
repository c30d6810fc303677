"""The backup of a Confluence space: ``entities.xml``, in which pages and their texts are separate objects."""

from __future__ import annotations

import hashlib
import html
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final, TypeAlias
from xml.etree import ElementTree

from pinakes.core.errors import SourceError, Unreadable, storing
from pinakes.core.records import JSON
from pinakes.sources.exports import CANNOT_READ, Tree
from pinakes.text.markup import cut

_KINDS: Final = frozenset(("Page", "BlogPost", "Comment", "BodyContent", "Space", "ConfluenceUserImpl", "InternalUser"))
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r")
_STEP_BYTES: Final = 1 << 18
_UNSAFE: Final = re.compile(r"[/\\\x00-\x1f]")
_MOST_ANCESTORS: Final = 50
_TEXTS: Final = "A copy of the texts of the backup among the temporary files"

_Span: TypeAlias = tuple[re.Pattern[str], re.Pattern[str]]
"""The patterns of the start and the end of a span. No pattern for a tag matches beyond the next ``<``, so that a search
takes linear time."""

_CDATA: Final[_Span] = re.compile(r"<!\[CDATA\["), re.compile(r"\]\]\s?>")
_MACRO: Final[_Span] = (
    re.compile(r"<ac:(?:structured-)?macro\b(?=[^<>]*+>)[^<>]*?\bac:name=\"(?:code|noformat)\"[^<>]*+>"),
    re.compile("</ac:(?:structured-)?macro>"),
)
_LANGUAGE: Final = re.compile(r"<ac:parameter ac:name=\"language\">([\w+#-]{1,30})</ac:parameter>")
_PARAMETER: Final[_Span] = re.compile(r"<ac:parameter\b[^<>]*+>"), re.compile("</ac:parameter>")
_LINK: Final[_Span] = re.compile(r"<ac:link\b[^<>]*+>"), re.compile("</ac:link>")
_LINKED: Final = re.compile(r"<ri:(?:page|blog-post)\b[^<>]*?\bri:content-title=\"([^\"<]*)\"")
_USER: Final = re.compile(r"<ri:user\b(?=[^<>]*+>)[^<>]*?\bri:(?:userkey|account-id|username)=\"([^\"<>]*)\"[^<>]*+>")
_TASK_ID: Final[_Span] = re.compile("<ac:task-(?:id|uuid)>"), re.compile("</ac:task-(?:id|uuid)>")
_TASK_STATUS: Final = re.compile(r"<ac:task-status>(\w+)</ac:task-status>")
_OTHER: Final = re.compile(r"</?(?:ac|ri):[\w-]+\b[^<>]*+>")


@dataclass(slots=True)
class _Object:
    """An object of the backup: its values, and the place of its text if it is that of a page."""

    kind: str
    id: str = ""
    values: dict[str, str] = field(default_factory=dict)
    place: tuple[int, int] = (0, 0)
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the backup: its file name, the size of its text, and its metadata."""

    id: str
    path: str
    size_bytes: int
    stamp: str
    metadata: dict[str, JSON]


class Backup:
    """The pages of a backup. Their texts are kept in a temporary file until it is closed."""

    def __init__(self) -> None:
        with storing(_TEXTS):
            self._texts: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the backup
        self._objects: dict[str, dict[str, _Object]] = {kind: {} for kind in _KINDS}
        self._bodies: dict[str, list[_Object]] = {}
        self._comments: dict[str, list[_Object]] = {}

    @classmethod
    def read(cls, tree: Tree, path: str) -> Backup:
        """Read all objects of the file at ``path``.

        Raises:
            SourceError: the file is damaged; a partial result would look as if the rest had been deleted.
            StorageFull: there is not enough disk space for its texts.
        """
        backup = cls()
        try:
            backup._read(tree, path)
        except BaseException:
            backup.close()
            raise
        return backup

    def _read(self, tree: Tree, path: str) -> None:
        parser = ElementTree.XMLParser(target=_Objects(self._take))  # noqa: S314 - entities are refused
        try:
            with tree.open(path) as file:
                while part := file.read(_STEP_BYTES):
                    parser.feed(part.translate(None, _CONTROLS))
            parser.close()
        except (ElementTree.ParseError, Unreadable, *CANNOT_READ) as error:
            raise SourceError(
                f"{path!r} of the backup is damaged: {error}.", hint="Nothing was removed. Export the space again."
            ) from error
        with storing(_TEXTS):
            self._texts.flush()

    def pages(self) -> Iterator[Page]:
        """Yield the current pages and blog posts, with paths made of the titles of the pages above them."""
        taken: set[str] = set()
        for one in [*self._objects["Page"].values(), *self._objects["BlogPost"].values()]:
            if not _is_current(one):
                continue
            space = self._objects["Space"].get(one.values.get("space", ""))
            key = space.values.get("key", "") if space else ""
            parents = self._parents(one)
            folders = [key or "space", *(["blog"] if one.kind == "BlogPost" else []), *parents]
            path = "/".join(_name(part) for part in (*folders, self._title(one))) + ".html"
            if path in taken:
                path = f"{path.removesuffix('.html')} {one.id}.html"
            taken.add(path)
            bodies = [*self._bodies.get(one.id, ()), *self._comment_bodies(one.id)]
            stamp = hashlib.sha256("\0".join([path, *(body.digest for body in bodies)]).encode()).hexdigest()[:32]
            size = sum(body.place[1] for body in bodies)
            yield Page(one.id, path, size, stamp, self._known(one, space, parents))

    def page(self, number: str) -> bytes:
        """Return a page as HTML.

        Raises:
            Unreadable: there is no such page.
        """
        one = self._objects["Page"].get(number) or self._objects["BlogPost"].get(number)
        if one is None:
            raise Unreadable(f"The backup has no page {number}.")
        title = html.escape(self._title(one))
        parts = [self._html(body) for body in self._bodies.get(number, ())]
        comments_html = [self._html(body) for body in self._comment_bodies(number)]
        if comments_html:
            parts += ["<h2>Comments</h2>", *(f"<blockquote>{text}</blockquote>" for text in comments_html)]
        body = "\n".join(parts)
        return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>\n{body}</body></html>".encode()

    def close(self) -> None:
        """Remove the temporary file of the texts."""
        with suppress(OSError):  # on a full disk, flushing fails
            self._texts.close()

    def _take(self, one: _Object) -> None:
        if one.kind == "BodyContent":
            text = one.values.pop("body", "").encode("utf-8", "replace")
            one.digest = hashlib.sha256(text).hexdigest()
            with storing(_TEXTS):
                one.place = (self._texts.seek(0, 2), len(text))
                self._texts.write(text)
            self._bodies.setdefault(one.values.get("content", ""), []).append(one)
        elif one.kind == "Comment":
            of = one.values.get("containerContent") or one.values.get("owner") or ""
            self._comments.setdefault(of, []).append(one)
        self._objects[one.kind][one.id] = one

    def _comment_bodies(self, number: str) -> Iterator[_Object]:
        for comment in self._comments.get(number, ()):
            if _is_current(comment):
                yield from self._bodies.get(comment.id, ())

    def _title(self, one: _Object) -> str:
        return one.values.get("title", "").strip() or f"Page {one.id}"

    def _parents(self, one: _Object) -> list[str]:
        titles: list[str] = []
        above = self._objects["Page"].get(one.values.get("parent", ""))
        while above is not None and len(titles) < _MOST_ANCESTORS:
            titles.append(self._title(above))
            above = self._objects["Page"].get(above.values.get("parent", ""))
        return titles[::-1]

    def _known(self, one: _Object, space: _Object | None, parents: list[str]) -> dict[str, JSON]:
        known: dict[str, JSON] = {
            "page_id": one.id,
            "space": space.values.get("name") or space.values.get("key") if space else "",
            "parents": parents,
            "author": self._person(one.values.get("creator", "")),
            "date": _day(one.values.get("creationDate", "")),
            "modified": _day(one.values.get("lastModificationDate", "")),
            "version": int(one.values["version"]) if one.values.get("version", "").isdecimal() else None,
        }
        return {name: value for name, value in known.items() if value}

    def _person(self, key: str) -> str:
        user = self._objects["ConfluenceUserImpl"].get(key) or self._objects["InternalUser"].get(key)
        return (user.values.get("displayName") or user.values.get("name") or key) if user else ""

    def _html(self, body: _Object) -> str:
        start, size = body.place
        self._texts.seek(start)
        text = self._texts.read(size).decode("utf-8", "replace")
        text = _exchanged(text, _MACRO, _code)
        text = _exchanged(text, _PARAMETER, lambda _: "")
        text = _USER.sub(lambda match: html.escape(f"@{self._person(match[1]) or match[1]}"), text)
        text = _exchanged(text, _LINK, _linked)
        text = _exchanged(text, _CDATA, html.escape)
        text = _exchanged(text, _TASK_ID, lambda _: "")
        text = _TASK_STATUS.sub(lambda match: {"complete": "[x] ", "incomplete": "[ ] "}.get(match[1], ""), text)
        text = text.replace("<ac:task-list>", "<ul>").replace("</ac:task-list>", "</ul>")
        text = text.replace("<ac:task>", "<li>").replace("</ac:task>", "</li>")
        return _OTHER.sub("", text)


class _Objects:
    """Extracts objects from the XML while it is parsed, without building a tree."""

    def __init__(self, take: Any) -> None:
        self._take = take
        self._path: list[str] = []
        self._object: _Object | None = None
        self._property = ""
        self._text: list[str] = []

    def doctype(self, *_: str | None) -> None:
        raise Unreadable("it declares a document type")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        depth = len(self._path)
        if depth == 2 and tag == "object" and attributes.get("class") in _KINDS:
            self._object = _Object(attributes["class"])
        elif depth == 3:
            self._property = attributes.get("name", "") if tag == "property" else ""
        if tag in ("property", "id"):
            self._text = []

    def data(self, text: str) -> None:
        if self._object is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        one, depth = self._object, len(self._path)
        if one is not None:
            text = "".join(self._text)
            if depth == 3 and tag == "id":
                one.id = text.strip()
            elif depth == 4 and tag == "id" and self._property:
                one.values[self._property] = text.strip()
            elif depth == 3 and tag == "property" and self._property not in one.values:
                one.values[self._property] = text
            elif depth == 2:
                self._take(one)
                self._object = None
        self._path.pop()


def _is_current(one: _Object) -> bool:
    status = one.values.get("contentStatus", "current").strip()
    return status == "current" and not one.values.get("originalVersion", "").strip()


def _name(title: str) -> str:
    name = _UNSAFE.sub("-", " ".join(title.split()))[:120].strip()
    return f"_{name}" if name in ("", ".", "..") else name


def _day(moment: str) -> str:
    return moment.strip()[:19].replace(" ", "T")


def _parts(text: str, span: _Span) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, content) of the spans of a text."""
    opening, closing = span
    at = 0
    while begin := opening.search(text, at):
        at = begin.end()
        inside = ""
        if not begin[0].endswith("/>"):
            end = closing.search(text, at)
            if end is None:  # later spans have no end either
                return
            inside, at = text[at : end.start()], end.end()
        yield begin.start(), at, inside


def _exchanged(text: str, span: _Span, instead: Callable[[str], str]) -> str:
    """Return ``text`` with each span replaced by what ``instead`` returns for its content."""
    return cut(text, (0, len(text)), [(start, end, instead(inside)) for start, end, inside in _parts(text, span)])


def _code(inside: str) -> str:
    language = _LANGUAGE.search(inside)
    text = "".join(html.escape(part) for _, _, part in _parts(inside, _CDATA))
    kind = f' class="language-{language[1]}"' if language else ""
    return f"<pre><code{kind}>{text}</code></pre>"


def _linked(inside: str) -> str:
    """Return the text of a link within the space, or the title of its target page."""
    words = _OTHER.sub("", _exchanged(inside, _CDATA, html.escape)).strip()
    title = _LINKED.search(inside)
    return words or (title[1] if title else "")
