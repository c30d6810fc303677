"""Extras of a PDF page beside its text: form fields, comments, link addresses."""

from __future__ import annotations

import ctypes
import functools
import html
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pinakes.parsing.decode import scrub
from pinakes.parsing.pdfium import string

_PASSWORD: Final = 1 << 13
_CHECK_BOX, _RADIO_BUTTON, _COMBO_BOX, _LIST_BOX, _TEXT, _SIGNATURE = range(2, 8)
_MAX_OPTIONS: Final = 2000
_WITH_COMMENTS: Final = (
    *("TEXT", "HIGHLIGHT", "UNDERLINE", "SQUIGGLY", "STRIKEOUT", "CARET", "STAMP", "INK"),
    *("SQUARE", "CIRCLE", "LINE", "POLYGON", "POLYLINE", "FILEATTACHMENT"),
)
_DATE: Final = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d))?")
_ADDRESS: Final = ("http", "mailto:")
_MAX_ADDRESS_BYTES: Final = 1 << 16
_MERE_STATES: Final = frozenset(("", "on", "yes", "off", "no", "true", "false", "ja", "oui"))
_MAX_PACKETS: Final = 100
_MAX_PACKET_BYTES: Final = 1 << 26
_LEAF: Final = re.compile(r"<(?:[\w.-]{1,99}:)?(?P<name>[\w.-]{1,99})(?:\s[^<>]*)?>(?P<value>[^<>]+)</")
_FIELDS: Final = "Form fields:"
_COMMENTS: Final = "Comments:"


@dataclass(frozen=True, slots=True)
class Field:
    """A form field: its name, and its value or, for a check box, its state."""

    name: str
    value: str = ""
    checked: bool | None = None

    def __str__(self) -> str:
        """Return the field as a line of text."""
        if self.checked is not None:
            return f"{'☒' if self.checked else '☐'} {self.name}".rstrip()
        return f"{self.name}: {self.value}" if self.name else self.value


@dataclass(slots=True)
class PageExtras:
    """The content of a page beside its text."""

    fields: list[Field] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


@contextmanager
def form_of(library: Any, document: Any) -> Iterator[Any]:
    """Provide the handle of a document's form, None if it has none. Its scripts do not run."""
    if not library.FPDF_GetFormType(document):
        yield None
        return
    info = library.FPDF_FORMFILLINFO(version=2)
    form = library.FPDFDOC_InitFormFillEnvironment(document, ctypes.byref(info))
    try:
        yield form
    finally:
        if form:
            library.FPDFDOC_ExitFormFillEnvironment(form)


class Annotations:
    """Reads the annotations of pages in order. A value shared by several fields of one name is returned once.

    ``cut``: number of annotations not read, because the time limit ``seconds`` was reached.
    """

    def __init__(self, library: Any, document: Any, form: Any, seconds: float) -> None:
        self._library = library
        self._document = document
        self._form = form
        self._seconds = seconds
        self.cut = 0
        self._seen: set[tuple[str, str]] = set()
        self._kinds: dict[int, Callable[[Any, Any, PageExtras], None]] = {
            library.FPDF_ANNOT_WIDGET: self._widget,
            library.FPDF_ANNOT_LINK: self._link,
            library.FPDF_ANNOT_FREETEXT: self._free_text,
        }
        self._kinds |= {getattr(library, f"FPDF_ANNOT_{name}"): self._comment for name in _WITH_COMMENTS}

    def of(self, page: Any, textpage: Any) -> PageExtras:
        """Return the extras of a page."""
        library, found = self._library, PageExtras()
        count = library.FPDFPage_GetAnnotCount(page)
        begun = time.monotonic()
        for at in range(count):
            if time.monotonic() - begun > self._seconds:
                self.cut += count - at
                break
            if annotation := library.FPDFPage_GetAnnot(page, at):
                try:
                    read = self._kinds.get(library.FPDFAnnot_GetSubtype(annotation))
                    if read is not None:
                        read(annotation, textpage, found)
                finally:
                    library.FPDFPage_CloseAnnot(annotation)
        self._seconds -= time.monotonic() - begun
        return found

    def _link(self, annotation: Any, textpage: Any, found: PageExtras) -> None:  # noqa: ARG002
        """Collect the address of a link; links to a place in the file have none."""
        library, document = self._library, self._document
        link = library.FPDFAnnot_GetLink(annotation)
        action = library.FPDFLink_GetAction(link) if link else None
        if not action or library.FPDFAction_GetType(action) != library.PDFACTION_URI:
            return
        size = library.FPDFAction_GetURIPath(document, action, None, 0)
        if 1 < size <= _MAX_ADDRESS_BYTES:
            buffer = ctypes.create_string_buffer(size)
            library.FPDFAction_GetURIPath(document, action, buffer, size)
            address = scrub(buffer.value.decode("utf-8", "replace")).strip()
            if address.startswith(_ADDRESS):
                found.links.append(address)

    def _comment(self, annotation: Any, textpage: Any, found: PageExtras) -> None:  # noqa: ARG002
        """Collect a comment, with author and date."""
        words = self._text(annotation, "Contents")
        if not words:
            return
        author = self._text(annotation, "T")
        made = _date(self._text(annotation, "CreationDate") or self._text(annotation, "M"))
        by = ", ".join(part for part in (author, made) if part)
        found.comments.append(f"{by}: {words}" if by else words)

    def _free_text(self, annotation: Any, textpage: Any, found: PageExtras) -> None:
        words = self._text(annotation, "Contents")
        if words and not self._is_in_text(words, annotation, textpage):
            found.texts.append(words)

    def _widget(self, annotation: Any, textpage: Any, found: PageExtras) -> None:
        """Collect the value of a field. Buttons have none; passwords are not read."""
        library, form = self._library, self._form
        kind = library.FPDFAnnot_GetFormFieldType(form, annotation) if form else -1
        if kind in (_CHECK_BOX, _RADIO_BUTTON):
            self._box(annotation, kind, found)
        elif kind in (_TEXT, _COMBO_BOX, _LIST_BOX, _SIGNATURE):
            if kind == _TEXT and library.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
                return
            chosen = self._chosen(annotation) if kind in (_COMBO_BOX, _LIST_BOX) else ""
            value = chosen or self._of_form("Value", annotation)
            name = self._name(annotation)
            if value and (name, value) not in self._seen and not self._is_in_text(value, annotation, textpage):
                self._seen.add((name, value))
                found.fields.append(Field(name, value))

    def _box(self, annotation: Any, kind: int, found: PageExtras) -> None:
        """Collect a check box with its state; of radio buttons, the selected one."""
        state = self._text(annotation, "AS")
        checked = state != "Off" if state else bool(self._library.FPDFAnnot_IsChecked(self._form, annotation))
        name, value = self._name(annotation), self._of_form("ExportValue", annotation)
        value = value or state
        if kind == _CHECK_BOX:
            label = value if value.casefold() not in _MERE_STATES and not value.isdigit() else ""
            found.fields.append(Field(" ".join(filter(None, (name, label and f"({label})"))), checked=checked))
        elif checked and (name, value) not in self._seen:
            self._seen.add((name, value))
            found.fields.append(Field(name, value))

    def _chosen(self, annotation: Any) -> str:
        """Return the labels of the selected options of a list."""
        library, form = self._library, self._form
        count = min(library.FPDFAnnot_GetOptionCount(form, annotation), _MAX_OPTIONS)
        chosen = [at for at in range(count) if library.FPDFAnnot_IsOptionSelected(form, annotation, at)]
        label = library.FPDFAnnot_GetOptionLabel
        labels = [_clean(string(functools.partial(label, form, annotation, at))) for at in chosen]
        return ", ".join(filter(None, labels))

    def _name(self, annotation: Any) -> str:
        return self._of_form("AlternateName", annotation) or self._of_form("Name", annotation)

    def _of_form(self, what: str, annotation: Any) -> str:
        get = getattr(self._library, f"FPDFAnnot_GetFormField{what}")
        return _clean(string(lambda buffer, size: get(self._form, annotation, buffer, size)))

    def _text(self, annotation: Any, key: str) -> str:
        get, name = self._library.FPDFAnnot_GetStringValue, key.encode()
        return _clean(string(lambda buffer, size: get(annotation, name, buffer, size)))

    def _is_in_text(self, value: str, annotation: Any, textpage: Any) -> bool:
        """Return whether the page text already has this value at the place of the annotation."""
        library, area = self._library, self._library.FS_RECTF()
        if not library.FPDFAnnot_GetRect(annotation, ctypes.byref(area)):
            return False
        sides = (area.left - 1, area.top + 1, area.right + 1, area.bottom - 1)
        count = library.FPDFText_GetBoundedText(textpage, *sides, None, 0)
        if count <= 0:
            return False
        buffer = (ctypes.c_ushort * (count + 1))()
        library.FPDFText_GetBoundedText(textpage, *sides, buffer, count)
        there = bytes(buffer)[: count * 2].decode("utf-16-le", "replace")
        return " ".join(value.split()) in " ".join(there.replace("\0", "").split())


def xfa_fields(library: Any, document: Any) -> list[Field]:
    """Return the values of an XML form (XFA) in a document, by element name."""
    if library.FPDF_GetFormType(document) not in (library.FORMTYPE_XFA_FULL, library.FORMTYPE_XFA_FOREGROUND):
        return []
    for at in range(min(library.FPDF_GetXFAPacketCount(document), _MAX_PACKETS)):
        name = ctypes.create_string_buffer(64)
        library.FPDF_GetXFAPacketName(document, at, name, len(name))
        if name.value == b"datasets":
            return [
                Field(one["name"].replace("_", " "), value)
                for one in _LEAF.finditer(_packet(library, document, at))
                if (value := _clean(html.unescape(one["value"])))
            ]
    return []


def _packet(library: Any, document: Any, at: int) -> str:
    size = ctypes.c_ulong()
    library.FPDF_GetXFAPacketContent(document, at, None, 0, ctypes.byref(size))
    if not 0 < size.value <= _MAX_PACKET_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    library.FPDF_GetXFAPacketContent(document, at, buffer, size.value, ctypes.byref(size))
    return buffer.raw.decode("utf-8", "replace")


def written(extras: PageExtras) -> str:
    """Return the extras of a page as Markdown, without links."""
    parts = list(extras.texts)
    for name, lines in ((_FIELDS, map(str, extras.fields)), (_COMMENTS, extras.comments)):
        if shown := [f"- {line}" for line in lines]:
            parts.append("\n".join((name, "", *shown)))
    return "\n\n".join(parts)


def _clean(text: str) -> str:
    """Return a value on one line."""
    return " ".join(scrub(text).split())


def _date(raw: str) -> str:
    """Return a PDF date (``D:20240131120000+01'00'``) to the minute, "" if it is not a date."""
    match = _DATE.match(raw)
    if match is None:
        return ""
    day = "-".join(part for part in match.groups()[:3] if part)
    return f"{day} {match[4]}:{match[5]}" if match[4] else day
