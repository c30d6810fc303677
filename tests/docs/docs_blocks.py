"""What stands in the documents: code blocks, commands with the output they promise, links and headings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_VARYING = {"embedding_model"}
"""Fields whose value differs with the embedder that the tests use."""
_MEASURED = re.compile(r"(?:_bytes|executionTime|descriptors\.\w+|\.open|seconds|_ms)$")


@dataclass(frozen=True)
class Command:
    """A line after ``$``, and the lines below it that say what it prints."""

    line: str
    output: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(*names: str) -> str:
    """Return the text of these pages, of all when none is named."""
    pages = [ROOT / name for name in names] or PAGES
    return "\n".join(page.read_text("utf-8") for page in pages)


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in _BLOCK.findall(page.read_text("utf-8")) if found == language]


def without_blocks(page: Path) -> str:
    return _BLOCK.sub("", page.read_text("utf-8"))


def commands(page: Path) -> list[Command]:
    return [command for block in blocks(page, "console") for command in _commands(block)]


def tables(page: Path, first: str) -> list[dict[str, str]]:
    """Return the rows, title → cell, of the tables whose first column is called ``first``."""
    rows: list[dict[str, str]] = []
    titles: list[str] = []
    for line in without_blocks(page).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        if not cells:
            titles = []
        elif not titles:
            titles = cells
        elif titles[0] == first and not set(line) <= set("|-"):
            rows.append(dict(zip(titles, cells, strict=False)))
    return rows


def links(page: Path) -> list[str]:
    return _LINK.findall(without_blocks(page))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as code hosts make them."""
    titles = (re.sub(r"[`*]", "", title).strip().lower() for title in _HEADING.findall(without_blocks(page)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def disagreement(expected: str, printed: str) -> str:
    """Say where ``printed`` is not what a document promises, "" when it is.

    JSON must have the same keys, texts, counts and items; scores, sizes and times may differ. ``…`` stands for
    anything in texts and in other lines, as a line for any lines, at the end of a list or an object for the rest.
    """
    if expected.startswith("{"):
        decode = json.JSONDecoder().raw_decode
        expected = re.sub(r"(?<=[,\[] )…(?=\])|(?<=\[)…(?=\])", '"…"', re.sub(r"…(?=\})", '"…": 0', expected))
        wanted, end = decode(expected)
        found, rest = decode(printed)
        return _different(wanted, found, "") or disagreement(expected[end:].strip(), printed[rest:].strip())
    lines = iter(printed.splitlines())
    for line in expected.splitlines():
        if line.strip() != "…" and not any(_fits(line, other) for other in lines):
            return f"there is no line {line!r}"
    return ""


def _commands(block: str) -> Iterator[Command]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not parts[0].strip(), f"a block begins without a command: {parts[0]!r}"
    for part in parts[1:]:
        match = re.match(r"(?:.*\\\n)*.*", part)
        assert match is not None
        yield Command(match[0], part[match.end() :].strip("\n"))


def _different(wanted: Any, found: Any, place: str) -> str:
    if isinstance(wanted, dict) and isinstance(found, dict):
        if "…" in wanted:
            found = {name: value for name, value in found.items() if name in wanted} | {"…": 0}
        if wanted.keys() != found.keys():
            return f"{place} has the keys {sorted(found)}, not {sorted(wanted)}"
        differences = (_different(wanted[name], found[name], f"{place}.{name}") for name in wanted)
        return next(filter(None, differences), "")
    if isinstance(wanted, list) and isinstance(found, list):
        shown = wanted[:-1] if wanted[-1:] == ["…"] else wanted
        if len(found) < len(shown) or (shown is wanted and len(found) > len(shown)):
            return f"{place} has {len(found)} items, not {len(shown)}"
        items = enumerate(zip(shown, found, strict=False))
        return next(filter(None, (_different(one, other, f"{place}[{at}]") for at, (one, other) in items)), "")
    if isinstance(wanted, str) and isinstance(found, str):
        same = _fits(wanted, found) or place.rpartition(".")[2] in _VARYING
        return "" if same else f"{place} is {found!r}, not {wanted!r}"
    if _varies(place, wanted) and _varies(place, found):
        return ""
    return "" if wanted == found and type(wanted) is type(found) else f"{place} is {found!r}, not {wanted!r}"


def _varies(place: str, value: Any) -> bool:
    """Say whether a number depends on the embedder, the time or the machine: scores, sizes in bytes, durations."""
    return isinstance(value, float) or (isinstance(value, int) and _MEASURED.search(place) is not None)


def _fits(pattern: str, text: str) -> bool:
    expression = ".*".join(re.escape(part) for part in pattern.rstrip().split("…"))
    return re.fullmatch(expression, text.rstrip(), re.DOTALL) is not None
