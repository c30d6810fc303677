"""The text of paragraphs of slides (PPTX): runs, links, fields, equations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.openxml import Relation, clean, number
from pinakes.parsing.text_runs import Piece, joined
from pinakes.parsing.word_styles import PLAIN, Look
from pinakes.parsing.word_text import placeholder

_RUNS: Final = ("r", "fld")
_WITHOUT_WORDS: Final = ("pPr", "endParaRPr", *_RUNS)
_EQUATIONS: Final = ("oMath", "oMathPara")


class SlideText:
    """Reads the paragraphs of one part; ``equations`` collects the equations of the presentation, by number."""

    def __init__(self, relations: Mapping[str, Relation], equations: list[Element]) -> None:
        self._relations = relations
        self._equations = equations

    def paragraph(self, paragraph: Element, *, linked: bool = True) -> str:
        """Return the text of a paragraph, with runs that differ only in looks joined."""
        pieces: list[Piece] = []
        for one in paragraph:
            if one.tag == "br":
                pieces.append(Piece("\n", PLAIN))
            elif one.tag in _RUNS and one.get("type") != "slidenum":
                pieces.append(self._run(one, linked=linked))
            elif one.tag not in _WITHOUT_WORDS:
                pieces += self._equation(one)
        text, _ = joined(pieces, marked=False)
        return clean(text).replace("\v", "\n").replace("\t", " ")

    def _run(self, run: Element, *, linked: bool) -> Piece:
        text = "".join(part.text or "" if part.tag == "t" else " " for part in run if part.tag in ("t", "tab"))
        properties = run.find("rPr")
        if properties is None:
            return Piece(text, PLAIN)
        shift = number(properties.get("baseline"))
        look = Look(script="super" if shift > 0 else "sub") if shift else PLAIN
        click = properties.find("hlinkClick") if linked else None
        to = self._relations.get(click.get("r:id", "")) if click is not None else None
        return Piece(clean(text) if shift else text, look, to.target if to and to.external else "")

    def _equation(self, element: Element) -> list[Piece]:
        """Return the equations in an element, else the words in it."""
        found = [one for one in element.iter("oMath") if len(one)]
        if not found:
            return [Piece("".join(part.text or "" for part in element.iter("t")), PLAIN)]
        whole = any(True for _ in element.iter("oMathPara"))
        return [Piece(placeholder(one, self._equations, displayed=whole), PLAIN) for one in found]
