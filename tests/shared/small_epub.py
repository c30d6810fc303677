"""Books (EPUB) small enough to be written here."""

from __future__ import annotations

from small_docx import zipped

_PAGE = (
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head>'
    "<body>{}</body></html>"
)


def epub(*chapters: str, about: str = "<dc:title>My book</dc:title>", **more: str) -> bytes:
    """Return a book whose chapters have these bodies, behind its menu; ``more``: further parts, ``_`` for ``/``."""
    names = [f"part {at}.xhtml" for at in range(len(chapters))]
    page = 'media-type="application/xhtml+xml"'
    listed = "".join(f'<item id="c{at}" href="{name.replace(" ", "%20")}" {page}/>' for at, name in enumerate(names))
    ordered = "".join(f'<itemref idref="c{at}"/>' for at in reversed(range(len(names))))
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<metadata>{about}</metadata><manifest><item id="n" href="nav.xhtml" properties="nav" {page}/>{listed}'
        f'</manifest><spine><itemref idref="n"/>{ordered}</spine></package>'
    )
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="text/book.opf"/></rootfiles></container>',
        "text/book.opf": book,
        "text/nav.xhtml": _PAGE.format("<nav><ol><li>Menu</li></ol></nav>"),
        **{f"text/{name}": _PAGE.format(body) for name, body in zip(names, chapters, strict=True)},
        **{name.replace("_", "/"): part for name, part in more.items()},
    }
    return zipped({name: part.encode() for name, part in parts.items()})
