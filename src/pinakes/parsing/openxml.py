"""Office Open XML packages (DOCX, PPTX, XLSX): their parts as trees, relationships, properties.

Names of elements and attributes have no namespace, since Office uses two sets of them; attributes in the namespace of
relationships keep the prefix ``r:``, since an element may have both ``id`` and ``r:id``.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Final, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pinakes.core.errors import TooLarge, Unreadable
from pinakes.core.records import JSON, ReadingNote
from pinakes.parsing.decode import scrub

_RELATIONSHIPS: Final = "officeDocument/2006/relationships}", "officeDocument/relationships}"
_MOST_TAGS: Final = 6_000_000
"""Maximum tags of one part: a larger tree would exceed the memory of a worker."""
_UNSEEN: Final = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufffc\ufff9-\ufffb]"
)
_REVISION: Final = "}rsid"
"""Part of the names of attributes with revision ids: the most frequent ones, and useless here."""
_SEPARATORS: Final = re.compile("[;,]")
_SHARED: Final = "docProps/core.xml"
_PROGRAM: Final = "docProps/app.xml"


class Relation(NamedTuple):
    """A relationship: the last word of its type, and the name of the target part (or a URL, if ``external``)."""

    kind: str
    target: str
    external: bool = False


class Package:
    """An Office file. Missing parts are empty; ``notes`` lists damaged ones.

    Names of parts are compared without regard to case (ECMA-376 part 2, 6.2.2); some programs part them by backslashes.
    """

    def __init__(self, data: bytes) -> None:
        self._container = zipfile.ZipFile(io.BytesIO(data))
        self._entries = {part_name(entry.filename): entry for entry in self._container.infolist()}
        self._lowered = {name.lower(): name for name in self._entries}
        self.names: Final = self._entries.keys()
        self.notes: Final[list[ReadingNote]] = []
        self._relations: dict[str, dict[str, Relation]] = {}

    def main(self, *usual: str) -> str:
        """Return the name of the main part, or the first of the ``usual`` names that exists.

        Raises:
            Unreadable: there is no such part.
        """
        named = [one.target for one in self.relations("").values() if one.kind == "officeDocument"]
        for name in map(self._actual, (*named, *usual)):
            if name in self.names:
                return name
        raise Unreadable(
            f"The file is damaged or not what its name says: it has no {usual[0]}.",
            hint="Open and save it again, or replace it.",
        )

    def relations(self, part: str) -> dict[str, Relation]:
        """Return id → relationship of ``part``; ``""`` is the package itself."""
        if part in self._relations:
            return self._relations[part]
        folder, _, name = part.rpartition("/")
        found: dict[str, Relation] = {}
        for one in self.tree(f"{folder}/_rels/{name}.rels".lstrip("/")):
            target, external = one.get("Target", ""), one.get("TargetMode") == "External"
            if not external:
                target = self._actual(posixpath.normpath(posixpath.join("/", folder, part_name(target))).lstrip("/"))
            found[one.get("Id", "")] = Relation(one.get("Type", "").rpartition("/")[2], target, external)
        self._relations[part] = found
        return found

    def targets(self, part: str, kind: str) -> list[str]:
        """Return the names of the parts that ``part`` refers to with a relationship of this ``kind``."""
        found = self.relations(part).values()
        return [one.target for one in found if one.kind == kind and not one.external and one.target in self.names]

    def data(self, name: str) -> bytes:
        """Return the bytes of a part."""
        return self._container.read(self._entries[name])

    def tree(self, name: str) -> Element:
        """Return the root element of a part; a nameless element if the part does not exist.

        If the part is damaged, the content before the error is returned.

        Raises:
            TooLarge: the part has more tags than allowed.
        """
        if (name := self._actual(name)) not in self.names:
            return Element("")
        data = self.data(name)
        if data.count(b"<") > _MOST_TAGS:
            raise TooLarge(f"The part {name} has more than {_MOST_TAGS:,} tags.", hint="Split the file, or exclude it.")
        builder = ElementTree.TreeBuilder()
        parser = ElementTree.XMLParser(target=builder)  # noqa: S314 - expat limits what entities may grow to
        try:
            parser.feed(data)
            parser.close()
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            self.damaged(name, error)
        return _plain(builder)

    def events(self, name: str, begun: frozenset[str], ended: frozenset[str]) -> Iterator[Element]:
        """Yield elements of a large part: names in ``begun`` at their start, names in ``ended`` at their end.

        Each is cleared after use, so that memory holds only one at a time.
        """
        if name not in self.names:
            return
        names = LocalNames()
        opened: list[Element] = []
        try:
            with self._container.open(self._entries[name]) as stream:
                for event, element in ElementTree.iterparse(stream, ("start", "end")):  # noqa: S314 - as above
                    tag = element.tag = names[element.tag]
                    if event == "start":
                        opened.append(element)
                        if tag in begun:
                            yield element
                        continue
                    opened.pop()
                    if tag in ended:
                        yield element
                    if opened and (tag in ended or tag in begun):
                        opened[-1].remove(element)
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            self.damaged(name, error)

    def _actual(self, name: str) -> str:
        """Return a part's name as the file spells it."""
        return name if name in self.names else self._lowered.get(name.lower(), name)

    def damaged(self, name: str, error: Exception) -> None:
        """Add a note that a part is damaged and was read up to the error."""
        self.notes.append(
            ReadingNote("damaged-part", f"The part {name} is damaged and was read up to its flaw: {error}.")
        )

    def properties(self) -> dict[str, JSON]:
        """Return the metadata of the file, with the field names of other conversions."""
        core, program = self.tree(_SHARED), self.tree(_PROGRAM)
        values = {one.tag: line("".join(one.itertext())) for one in core}
        found: dict[str, JSON] = {name: values[name] for name in ("title", "subject") if values.get(name)}
        if values.get("creator"):
            found["authors"] = [part.strip() for part in values["creator"].split(";")]
        if values.get("keywords"):
            found["keywords"] = [part.strip() for part in _SEPARATORS.split(values["keywords"])]
        for name, ours in (("created", "created_at"), ("modified", "modified_at")):
            if values.get(name):
                found[ours] = values[name]
        counted = {one.tag: one.text or "" for one in program}
        if (pages := counted.get("Pages", "").strip()).isdecimal() and len(pages) < 7:
            found["page_count"] = int(pages)
        return found


def part_name(entry: str) -> str:
    """Return the name of a part from that of its ZIP entry or from a reference."""
    return entry.replace("\\", "/").removeprefix("./")


def words(element: Element, tag: str = "t") -> str:
    """Return the stripped text of all elements called ``tag`` in ``element``."""
    return line("".join(one.text or "" for one in element.iter(tag)))


def on(element: Element | None, absent: bool = False) -> bool:
    """Return the value of a boolean element; ``absent`` is the value if it is missing."""
    if element is None:
        return absent
    return element.get("val", "1").lower() not in ("0", "false", "off", "none")


def number(text: str | None, otherwise: int = 0) -> int:
    """Return a whole number of up to nine digits, ``otherwise`` for any other text."""
    value = (text or "").strip()
    return int(value) if value.lstrip("-").isdecimal() and len(value) < 10 else otherwise


def clean(text: str) -> str:
    """Return text without control characters and invisible characters, which would split words."""
    return scrub(text if text.isascii() else _UNSEEN.sub("", text))


def line(text: str) -> str:
    """Return cleaned text on one line."""
    return " ".join(clean(text).split())


def with_plain_names(root: Element) -> Element:
    """Remove the namespaces from the names of an element and its descendants, in place; return the element."""
    names = LocalNames()
    for element in root.iter():
        element.tag = names[element.tag]
        attributes = element.attrib
        if attributes:
            for key in [*attributes]:
                if (name := names[key]) is not key:
                    attributes[name] = attributes.pop(key)
    return root


def _plain(builder: ElementTree.TreeBuilder) -> Element:
    """Return the root that was built, with plain names."""
    try:
        root: Element | None = builder.close()
    except (AssertionError, ElementTree.ParseError):
        return Element("")
    if root is None:
        return Element("")
    return with_plain_names(root)


class LocalNames(dict[str, str]):
    """Cache of qualified name → name without namespace."""

    def __missing__(self, name: str) -> str:
        self[name] = name if _REVISION in name or name[:1] != "{" else _local(name)
        return self[name]


def _local(name: str) -> str:
    namespace, brace, local = name.rpartition("}")
    return f"r:{local}" if (namespace + brace).endswith(_RELATIONSHIPS) else local
