"""Presentations small enough to be written here."""

from __future__ import annotations

from collections.abc import Sequence

from small_docx import zipped

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TABLE = "http://schemas.openxmlformats.org/drawingml/2006/table"
_NAMES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:r="{_OFFICE}"'
)


def pptx(
    titles: Sequence[str],
    shown: Sequence[int],
    besides: dict[int, dict[str, str]] | None = None,
    tables: dict[int, str] | None = None,
) -> bytes:
    """Return a presentation with a file for each title, of which those at ``shown`` are slides, in that order.

    ``besides``: of a file, kind → content of what it refers to, such as its ``notesSlide``.
    ``tables``: of a file, a table.
    """
    entries = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
        "_rels/.rels": relations({"r1": ("officeDocument", "ppt/presentation.xml")}),
        "ppt/presentation.xml": f"<p:presentation {_NAMES}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{256 + at}" r:id="r{at}"/>' for at in shown)
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            {f"r{at}": ("slide", f"slides/slide{at + 1}.xml") for at in range(len(titles))}
        ),
    }
    for at, title in enumerate(titles):
        shape = f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="T"/><p:cNvSpPr/><p:nvPr>{holder("title")}</p:nvPr></p:nvSpPr>'
        shape += f"<p:txBody>{line(title)}</p:txBody></p:sp>"
        if table := (tables or {}).get(at):
            data = f'<a:graphicData uri="{_TABLE}">{table}</a:graphicData>'
            shape += f"<p:graphicFrame><a:graphic>{data}</a:graphic></p:graphicFrame>"
        entries[f"ppt/slides/slide{at + 1}.xml"] = (
            f"<p:sld {_NAMES}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>"
        )
        kinds = (besides or {}).get(at, {})
        entries[f"ppt/slides/_rels/slide{at + 1}.xml.rels"] = relations(
            {kind: (kind, f"../{kind}s/{kind}{at + 1}.xml") for kind in kinds}
        )
        entries |= {f"ppt/{kind}s/{kind}{at + 1}.xml": content for kind, content in kinds.items()}
    return zipped({name: text.encode() for name, text in entries.items()})


def notes(*lines: str) -> str:
    """Return the notes of a slide, with the number of the slide that stands on their page."""
    body = "".join(map(line, lines))
    shapes = f"<p:sp>{holder('body')}<p:txBody>{body}</p:txBody></p:sp><p:sp>{holder('sldNum')}{line('7')}</p:sp>"
    return f"<p:notes {_NAMES}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:notes>"


def chart(title: str, labels: Sequence[str], **series: Sequence[float]) -> str:
    """Return a chart of columns."""
    of_labels = _points(labels)
    columns = "".join(
        f"<c:ser><c:tx><c:strRef>{_points([name])}</c:strRef></c:tx><c:cat><c:strRef>{of_labels}</c:strRef></c:cat>"
        f"<c:val><c:numRef>{_points(values)}</c:numRef></c:val></c:ser>"
        for name, values in series.items()
    )
    head = f"<c:title><c:tx><c:rich>{line(title)}</c:rich></c:tx></c:title>" if title else ""
    return f"<c:chartSpace {_NAMES}><c:chart>{head}<c:plotArea>{columns}</c:plotArea></c:chart></c:chartSpace>"


def line(text: str) -> str:
    """Return a paragraph."""
    return f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"


def holder(kind: str) -> str:
    """Return what says what a shape is for."""
    return f'<p:ph type="{kind}"/>'


def relations(targets: dict[str, tuple[str, str]]) -> str:
    """Return a part's references: id → kind and target."""
    rows = (
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(rows)}</Relationships>'


def _points(values: Sequence[object]) -> str:
    points = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
    return f'<c:strCache><c:ptCount val="{len(values)}"/>{points}</c:strCache>'
