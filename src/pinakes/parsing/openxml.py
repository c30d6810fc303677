"""Packages of Office Open XML (DOCX, PPTX, XLSX): their parts as trees, what these refer to, their properties.

Names of elements and attributes are without their namespace, since Office has two sets of them; attributes of the
namespace of relationships keep ``r:``, since ``id`` and ``r:id`` stand at the same element.
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
"""Of one part: its tree would need more memory than a reader has."""
_UNSEEN: Final = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufffc\ufff9-\ufffb]"
)
_REVISION: Final = "}rsid"
"""Begins attributes that say in which session a run was written: most of all there are, and of no use here."""
_SEPARATORS: Final = re.compile("[;,]")
_SHARED: Final = "docProps/core.xml"
_PROGRAM: Final = "docProps/app.xml"


class Relation(NamedTuple):
    """What a part refers to: the last word of its type, and the name of the part (or an address, if ``external``)."""

    kind: str
    target: str
    external: bool = False


class Package:
    """An Office file. Parts that are missing are empty; ``notes`` names those that are damaged."""

    def __init__(self, data: bytes) -> None:
        self._container = zipfile.ZipFile(io.BytesIO(data))
        self.names: Final = self._container.NameToInfo.keys()
        self.notes: Final[list[ReadingNote]] = []
        self._relations: dict[str, dict[str, Relation]] = {}

    def main(self, *usual: str) -> str:
        """Return the name of the part that the file begins with, the first of the ``usual`` ones that is there.

        Raises:
            Unreadable: there is none.
        """
        named = [one.target for one in self.relations("").values() if one.kind == "officeDocument"]
        for name in (*named, *usual):
            if name in self.names:
                return name
        raise Unreadable(
            f"The file is damaged or not what its name says: it has no {usual[0]}.",
            hint="Open and save it again, or replace it.",
        )

    def relations(self, part: str) -> dict[str, Relation]:
        """Return id → what ``part`` refers to; ``""`` is the file itself."""
        if part in self._relations:
            return self._relations[part]
        folder, _, name = part.rpartition("/")
        found: dict[str, Relation] = {}
        for one in self.tree(f"{folder}/_rels/{name}.rels".lstrip("/")):
            target, external = one.get("Target", ""), one.get("TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[one.get("Id", "")] = Relation(one.get("Type", "").rpartition("/")[2], target, external)
        self._relations[part] = found
        return found

    def targets(self, part: str, kind: str) -> list[str]:
        """Return the names of the parts of one ``kind`` that ``part`` refers to."""
        found = self.relations(part).values()
        return [one.target for one in found if one.kind == kind and not one.external and one.target in self.names]

    def data(self, name: str) -> bytes:
        """Return the bytes of a part."""
        return self._container.read(name)

    def tree(self, name: str) -> Element:
        """Return the root of a part, an element without name where there is none.

        What precedes a flaw in a damaged part is kept.

        Raises:
            TooLarge: it has more tags than a tree can hold.
        """
        if name not in self.names:
            return Element("")
        data = self._container.read(name)
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
        """Yield elements of a large part: those called as in ``begun`` when they begin, as in ``ended`` when they end.

        Each is forgotten after that, so that memory holds no more than one at a time.
        """
        if name not in self.names:
            return
        names = LocalNames()
        opened: list[Element] = []
        try:
            with self._container.open(name) as stream:
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

    def damaged(self, name: str, error: Exception) -> None:
        """Note that a part could be read up to a flaw only."""
        self.notes.append(
            ReadingNote("damaged-part", f"The part {name} is damaged and was read up to its flaw: {error}.")
        )

    def properties(self) -> dict[str, JSON]:
        """Return what the file says of itself, under the names that a conversion gives to it."""
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


def words(element: Element, tag: str = "t") -> str:
    """Return what the elements called ``tag`` in ``element`` say, without spaces at either end."""
    return line("".join(one.text or "" for one in element.iter(tag)))


def on(element: Element | None, absent: bool = False) -> bool:
    """Say whether an element that stands for yes or no says yes; ``absent`` is what is said where there is none."""
    if element is None:
        return absent
    return element.get("val", "1").lower() not in ("0", "false", "off", "none")


def number(text: str | None, otherwise: int = 0) -> int:
    """Return a whole number of a few digits, ``otherwise`` for anything else."""
    value = (text or "").strip()
    return int(value) if value.lstrip("-").isdecimal() and len(value) < 10 else otherwise


def clean(text: str) -> str:
    """Return text without control characters and characters that nobody sees, which would cut words."""
    return scrub(text if text.isascii() else _UNSEEN.sub("", text))


def line(text: str) -> str:
    """Return text that is ``clean``, in one line."""
    return " ".join(clean(text).split())


def with_plain_names(root: Element) -> Element:
    """Return an element whose names, and those of all in it, are without their namespace."""
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
    """Return what was built, with plain names."""
    try:
        root: Element | None = builder.close()
    except (AssertionError, ElementTree.ParseError):
        return Element("")
    if root is None:
        return Element("")
    return with_plain_names(root)


class LocalNames(dict[str, str]):
    """Full name → name without its namespace."""

    def __missing__(self, name: str) -> str:
        self[name] = name if _REVISION in name or name[:1] != "{" else _local(name)
        return self[name]


def _local(name: str) -> str:
    namespace, brace, local = name.rpartition("}")
    return f"r:{local}" if (namespace + brace).endswith(_RELATIONSHIPS) else local
