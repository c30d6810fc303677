"""Charts and diagrams of Office files as text: the title and a table of the series, or the lines of a diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element

from pinakes.parsing.grids import markdown
from pinakes.parsing.numberformats import displayed
from pinakes.parsing.openxml import Package, Relation, line, number

MOST_CELLS: Final = 200_000
"""The maximum cells of a chart's table: far more than a chart can show."""
_LABELS: Final = ("cat", "xVal")
_VALUES: Final = ("val", "yVal")
_SIZES: Final = "bubbleSize"

Cells: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the texts of the cells that a formula such as ``Sheet1!$A$2:$A$9`` refers to."""


def _no_cells(formula: str) -> Sequence[str]:  # noqa: ARG001 - the port's signature
    return ()


def drawn(
    package: Package, relations: Mapping[str, Relation], read: set[str], cells: Cells = _no_cells
) -> Iterator[str]:
    """Yield the charts and diagrams among ``relations`` as Markdown; ``read`` collects the parts already read.

    ``cells`` is asked for the values that a chart does not store, as some programs write none.
    """
    for relation in relations.values():
        name = relation.target
        if relation.external or name in read or name not in package.names:
            continue
        if relation.kind in ("chart", "chartEx"):
            read.add(name)
            yield from chart(package.tree(name), cells)
        elif relation.kind == "diagramData":
            read.add(name)
            if lines := [f"- {one}" for one in paragraphs(package.tree(name))]:
                yield "\n".join(lines)


def chart(root: Element, cells: Cells = _no_cells) -> Iterator[str]:
    """Yield the title and the table of a chart."""
    titles = list(root.iter("title"))
    of_chart = next((one for parent in root.iter("chart") for one in parent.findall("title")), None)
    title = " ".join(paragraphs(of_chart)) if of_chart is not None else ""
    axes = [text for one in titles if one is not of_chart and (text := " ".join(paragraphs(one)))]
    yield from titled(title, axes, _table(root, cells))


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


def _table(root: Element, cells: Cells) -> str:
    points = partial(_points, cells=cells)
    names: list[str] = []
    columns: list[dict[int, str]] = []
    labels: dict[int, str] = {}
    for place, series in enumerate(root.iter("ser"), 1):
        name = series.find("tx")
        names.append(_name(name, points(name)) or f"Series {place}")
        columns.append(next((found for kind in _VALUES if (found := points(series.find(kind)))), {}))
        if sizes := points(series.find(_SIZES)):
            names.append(f"{names[-1]}, size")
            columns.append(sizes)
        for kind in _LABELS:
            for at, label in points(series.find(kind)).items():
                labels.setdefault(at, label)
    if not names:
        for place, data in enumerate(root.iter("data"), 1):  # newer kinds of charts, such as waterfalls
            names.append(f"Series {place}")
            columns.append(points(data.find("numDim")))
            labels |= points(data.find("strDim"))
    places = sorted({*labels, *(at for column in columns for at in column)})
    if not places or len(places) * len(names) > MOST_CELLS:
        return ""
    rows = [[labels.get(at, ""), *(column.get(at, "") for column in columns)] for at in places]
    return markdown([["", *names], *rows])


def _name(name: Element | None, points: Mapping[int, str]) -> str:
    """Return the name of a series: the cells that it refers to, or the text that it has instead."""
    if name is None or points or name.find(".//f") is not None:
        return line(" ".join(points.values()))
    return line("".join(name.itertext()))


def _points(data: Element | None, cells: Cells) -> dict[int, str]:
    """Return position → value of the data points of a chart, as the chart displays them.

    Labels with several levels, such as quarters of years, are joined.
    """
    if data is None:
        return {}
    levels = list(data.iter("lvl"))
    if levels:
        inner, *outer = (dict(_level(level, "")) for level in levels)
        return _joined(inner, outer[::-1])
    formula = data.find(".//f")
    if formula is not None and formula.text and data.find(".//pt") is None:
        return {at: text for at, text in enumerate(cells(formula.text)) if text}
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
