"""What kreuzberg 4 leaves out of presentations (PPTX): the order in which slides are shown, speaker's notes, charts.

Bars in cells of tables would end the cells: another character stands for them until the tables are made.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Final

from pinakes.readers.containers import rewritten
from pinakes.readers.decode import line_of
from pinakes.readers.openxml import part_text, relations

_PRESENTATION: Final = "ppt/presentation.xml"
_SLIDE_FILE: Final = re.compile(r"ppt/slides/slide(\d+)\.xml")
_SHOWN: Final = re.compile(r'<p:sldId\b[^<>]*?\br:id="([^"]*)"')
_MEDIA: Final = "ppt/media/"
_TABLE: Final = re.compile(rb"<a:tbl>(?:(?!<a:tbl>).)*?</a:tbl>", re.DOTALL)
_CELL_WORDS: Final = re.compile(rb"<a:t(?:\s[^<>]*)?>[^<]*")
_BAR: Final = re.compile(rb"\||&#124;|&#x7[cC];")
_STANDS_FOR_BAR: Final = "\ue0fd"
_SHAPE: Final = re.compile(r"<p:sp>")
_BODY: Final = re.compile(r'<p:ph\b[^<>]*\btype="body"')
_PARAGRAPH: Final = re.compile(r"</a:p>")
_WORDS: Final = re.compile(r"<a:(?:t(?:\s[^<>]*)?>([^<]*)<|(?:br|tab)\b)")
_SERIES: Final = re.compile(r"<c:ser>")
_PARTS: Final = re.compile(r"<c:(tx|cat|xVal|val|yVal)>")
_POINT: Final = re.compile(r'<c:pt idx="(\d{1,9})"[^<>]*><c:v>([^<]*)<')
_VALUE: Final = re.compile(r"<c:v>([^<]*)<")
_MOST_CELLS: Final = 200_000
"""Of the table of a chart: far more than one can show."""


def prepared(data: bytes) -> tuple[bytes, list[tuple[int, str]]]:
    """Return a presentation from which tables are converted whole, and its slides as they are ``shown``.

    Where nothing has to be written otherwise it is the same presentation; else its pictures are emptied.
    """

    def without_bars(words: re.Match[bytes]) -> bytes:
        return _BAR.sub(_STANDS_FOR_BAR.encode(), words[0])

    with zipfile.ZipFile(io.BytesIO(data)) as container:
        names = container.namelist()
        before = {name: container.read(name) for name in names if _SLIDE_FILE.fullmatch(name)}
        after = {
            name: _TABLE.sub(lambda table: _CELL_WORDS.sub(without_bars, table[0]), part)
            for name, part in before.items()
        }
        slides = _shown(container)
        if after == before:
            return data, slides
        unread = dict.fromkeys((name for name in names if name.startswith(_MEDIA)), b"")
        return rewritten(container, unread | after), slides


def restored(text: str) -> str:
    """Return text of a presentation that was ``prepared`` with the bars in its tables."""
    return text.replace(_STANDS_FOR_BAR, "\\|")


def _shown(container: zipfile.ZipFile) -> list[tuple[int, str]]:
    """Return where each slide is among the files, from 0, and its charts and notes as Markdown, as they are shown.

    Where the presentation does not say that of files that are there, the list is empty.
    """
    names = set(container.namelist())
    numbers = {name: int(match[1]) for name in names if (match := _SLIDE_FILE.fullmatch(name))}
    if _PRESENTATION not in names:
        return []
    parts = relations(container, _PRESENTATION)
    found = _SHOWN.findall(part_text(container, _PRESENTATION))
    shown_as = dict.fromkeys(parts.get(one, ("", ""))[1] for one in found)
    files = {name: at for at, name in enumerate(sorted(numbers, key=numbers.__getitem__))}
    if not shown_as.keys() <= files.keys():
        return []
    read = set[str]()
    return [(files[name], "\n\n".join(_besides(container, name, read))) for name in shown_as]


def _besides(container: zipfile.ZipFile, slide: str, read: set[str]) -> Iterator[str]:
    """Yield the charts of a slide, then what is said to it; what another slide has was ``read`` there."""
    parts = relations(container, slide).values()
    there = {target: kind for kind, target in parts if target in container.NameToInfo and target not in read}
    read.update(there)
    for target in (target for target, kind in there.items() if kind == "chart"):
        yield from _chart(part_text(container, target))
    for target in (target for target, kind in there.items() if kind == "notesSlide"):
        shapes = (shape for shape in _SHAPE.split(part_text(container, target)) if _BODY.search(shape))
        if said := "\n\n".join(line for shape in shapes for line in _lines(shape)):
            yield f"### Notes\n\n{said}"


def _chart(chart: str) -> Iterator[str]:
    """Yield title and numbers of a chart, as a table of its series."""
    title = " ".join(_lines(chart.partition("<c:title>")[2].partition("</c:title>")[0]))
    names: list[str] = []
    columns: list[Mapping[str, str]] = []
    labels: dict[str, str] = {}
    for number, series in enumerate(_SERIES.split(chart)[1:], 1):
        _, *found = _PARTS.split(series.partition("</c:ser>")[0])
        parts = {kind: body.partition(f"</c:{kind}>")[0] for kind, body in zip(found[::2], found[1::2], strict=True)}
        named = _VALUE.search(parts.get("tx", ""))
        names.append(_cell(named[1]) if named else f"Series {number}")
        columns.append(dict(_POINT.findall(parts.get("val", parts.get("yVal", "")))))
        for at, label in _POINT.findall(parts.get("cat", parts.get("xVal", ""))):
            labels.setdefault(at, _cell(label))
    if title:
        yield f"Chart: {title}"
    places = sorted({*labels, *(at for column in columns for at in column)}, key=int)
    if places and len(places) * len(names) <= _MOST_CELLS:
        rows = [["", *names], ["---"] * (len(names) + 1)]
        rows += [[labels.get(at, ""), *(_cell(column.get(at, "")) for column in columns)] for at in places]
        yield "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _lines(part: str) -> Iterator[str]:
    """Yield the paragraphs that have words."""
    for paragraph in _PARAGRAPH.split(part):
        words = "".join(match[1] if match[1] is not None else " " for match in _WORDS.finditer(paragraph))
        if line := line_of(words):
            yield line


def _cell(text: str) -> str:
    return line_of(text).replace("|", "\\|")
