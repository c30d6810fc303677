"""Charts and diagrams of Office files as text: the title and a table of the series, or the lines of a diagram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.grids import markdown
from pinakes.parsing.numberformats import displayed
from pinakes.parsing.openxml import Package, Relation, line, number

_MOST_CELLS: Final = 200_000
"""The maximum cells of a chart's table: far more than a chart can show."""
_LABELS: Final = ("cat", "xVal")
_VALUES: Final = ("val", "yVal")
_SIZES: Final = "bubbleSize"


def drawn(package: Package, relations: Mapping[str, Relation], read: set[str]) -> Iterator[str]:
    """Yield the charts and diagrams among ``relations`` as Markdown; ``read`` collects the parts already read."""
    for relation in relations.values():
        name = relation.target
        if relation.external or name in read or name not in package.names:
            continue
        if relation.kind in ("chart", "chartEx"):
            read.add(name)
            yield from chart(package.tree(name))
        elif relation.kind == "diagramData":
            read.add(name)
            if lines := [f"- {one}" for one in paragraphs(package.tree(name))]:
                yield "\n".join(lines)


def chart(root: Element) -> Iterator[str]:
    """Yield the title and the table of a chart."""
    titles = list(root.iter("title"))
    of_chart = next((one for parent in root.iter("chart") for one in parent.findall("title")), None)
    title = " ".join(paragraphs(of_chart)) if of_chart is not None else ""
    axes = [text for one in titles if one is not of_chart and (text := " ".join(paragraphs(one)))]
    yield from titled(title, axes, _table(root))


def titled(title: str, axes: Sequence[str], table: str) -> Iterator[str]:
    """Yield the title of a chart with its axis titles, and its table, if there are any."""
    if title or axes:
        yield "Chart: " + title + (f" ({', '.join(dict.fromkeys(axes))})" if axes else "")
    if table:
        yield table


def paragraphs(element: Element) -> list[str]:
    """Return the non-empty paragraphs of a DrawingML element."""
    found = []
    for paragraph in element.iter("p"):
        parts = (one.text or "" if one.tag == "t" else " " for one in paragraph.iter() if one.tag in ("t", "br", "tab"))
        if text := line("".join(parts)):
            found.append(text)
    return found


def _table(root: Element) -> str:
    names: list[str] = []
    columns: list[dict[int, str]] = []
    labels: dict[int, str] = {}
    for place, series in enumerate(root.iter("ser"), 1):
        name = series.find("tx")
        named = line(" ".join(_points(name).values()) or "".join(name.itertext())) if name is not None else ""
        names.append(named or f"Series {place}")
        columns.append(next((points for kind in _VALUES if (points := _points(series.find(kind)))), {}))
        if sizes := _points(series.find(_SIZES)):
            names.append(f"{names[-1]}, size")
            columns.append(sizes)
        for kind in _LABELS:
            for at, label in _points(series.find(kind)).items():
                labels.setdefault(at, label)
    if not names:
        for place, data in enumerate(root.iter("data"), 1):  # newer kinds of charts, such as waterfalls
            names.append(f"Series {place}")
            columns.append(_points(data.find("numDim")))
            labels |= _points(data.find("strDim"))
    places = sorted({*labels, *(at for column in columns for at in column)})
    if not places or len(places) * len(names) > _MOST_CELLS:
        return ""
    rows = [[labels.get(at, ""), *(column.get(at, "") for column in columns)] for at in places]
    return markdown([["", *names], *rows])


def _points(data: Element | None) -> dict[int, str]:
    """Return position → value of the data points stored in a chart, as the chart displays them.

    Labels with several levels, such as quarters of years, are joined.
    """
    if data is None:
        return {}
    levels = list(data.iter("lvl"))
    if levels:
        inner, *outer = (dict(_level(level, "")) for level in levels)
        return _joined(inner, outer[::-1])
    code = data.find(".//formatCode")
    return dict(_level(data, (code.text or "") if code is not None else ""))


def _joined(inner: dict[int, str], outer: list[dict[int, str]]) -> dict[int, str]:
    """Return the inner labels, each after the ``outer`` labels in effect at its position."""
    places = sorted({at for level in (inner, *outer) for at in level})
    current = [""] * len(outer)
    found: dict[int, str] = {}
    for at in places:
        current = [level.get(at, before) for level, before in zip(outer, current, strict=True)]
        if at in inner:
            found[at] = " ".join(filter(None, (*current, inner[at])))
    return found


def _level(data: Element, code: str) -> Iterator[tuple[int, str]]:
    for point in data.iter("pt"):
        value = point.find("v")
        text = (value.text if value is not None else point.text) or ""
        if own := point.get("formatCode", code):
            try:
                amount = float(text)
            except ValueError:
                pass
            else:
                text = displayed(amount, own)
        yield number(point.get("idx")), line(text)
