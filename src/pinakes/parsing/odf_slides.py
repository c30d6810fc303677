"""Slides of OpenDocument presentations (ODP) in order, with tables, charts, notes and comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.core.records import ReadingNote
from pinakes.parsing import blocks
from pinakes.parsing.blocks import Block
from pinakes.parsing.odf_blocks import Flow, comments_of
from pinakes.parsing.odf_text import Story
from pinakes.parsing.openxml import line
from pinakes.parsing.slides import hidden_notes, slide_text

_TITLE: Final = "title"
_MARGINS: Final = ("page-number", "date-time", "header", "footer")


def read_slides(body: Element, story: Story) -> tuple[list[str], list[ReadingNote]]:
    """Return the text of each slide, and notes."""
    hidden = 0
    texts = []
    for page in body.iterfind("page"):
        is_hidden = story.styles.of("drawing-page", page.get("style-name", "")).hidden
        hidden += is_hidden
        texts.append(_slide(page, story, is_hidden=is_hidden))
    return texts, hidden_notes(hidden, story.hidden)


def _slide(page: Element, story: Story, *, is_hidden: bool) -> str:
    titles: list[str] = []
    shown: list[Block] = []
    for one in page:
        if one.tag in ("notes", "annotation", "forms") or one.get("class") == "page-number":
            continue
        inner = Flow(story).blocks(_alone(one), 0)
        if one.get("class") == _TITLE:
            titles.append(line(" ".join(block.text.lstrip("# ").removeprefix("- ") for block in inner)))
        else:
            shown += inner
    extras = [*_notes(page, story)]
    if comments := comments_of(story, page):
        extras.append("\n".join(["### Comments\n", *(f"- {one}" for one in comments)]))
    return slide_text(" ".join(filter(None, titles)), [blocks.joined(shown), *extras], is_hidden=is_hidden)


def _notes(page: Element, story: Story) -> Iterator[str]:
    """Yield the speaker notes of a slide."""
    for notes in page.iterfind("notes"):
        found: list[Block] = []
        for one in notes:
            if one.get("class") not in _MARGINS and one.tag not in ("page-thumbnail", "forms"):
                found += Flow(story).blocks(_alone(one), 0)
        if text := blocks.joined(found):
            yield f"### Notes\n\n{text}"


def _alone(shape: Element) -> Element:
    holder = Element("shapes")
    holder.append(shape)
    return holder
