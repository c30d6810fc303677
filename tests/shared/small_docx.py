"""Word files small enough to be written here."""

from __future__ import annotations

import io
import zipfile

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def docx(body: str, title: str = "", head: str = "", **more: bytes) -> bytes:
    """Return a Word file with ``body`` and, before it, ``head``; ``more`` are further entries."""
    core = (
        f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{title}</dc:title><dc:creator>Jo Writer</dc:creator>"
        '<dcterms:created xsi:type="dcterms:W3CDTF">2024-01-02T03:04:05Z</dcterms:created></cp:coreProperties>'
    )
    texts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "docProps/core.xml": core,
        "word/document.xml": f'{head}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
    }
    return zipped({name: text.encode() for name, text in texts.items()} | more)


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of a Word file."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def zipped(entries: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a container with these entries, name → content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as container:
        for name, data in entries.items():
            container.writestr(name, data)
    return buffer.getvalue()
