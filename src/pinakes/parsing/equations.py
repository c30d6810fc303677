"""Equations of Word documents as LaTeX, converted by kreuzberg."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.word_text import STAND_INS, omml

_OFFICE: Final = "http://schemas.openxmlformats.org/"
_TYPES: Final = (
    f'<Types xmlns="{_OFFICE}package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS: Final = (
    f'<Relationships xmlns="{_OFFICE}package/2006/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)
_NAMES: Final = f'xmlns:w="{_OFFICE}wordprocessingml/2006/main" xmlns:m="{_OFFICE}officeDocument/2006/math"'
_FOUND: Final = re.compile("\ue0f9(\\d+)\ue0fa\\s*(?:\\$\\$(.*?)\\$\\$)?", re.DOTALL)
_PLACE: Final = re.compile("(?P<sign>[\ue0f5\ue0f7])(?P<number>\\d+)\ue0f8")
_DISPLAYED: Final = "\ue0f5"


def written(text: str, equations: Sequence[Element], convert: Callable[[bytes], str]) -> str:
    """Return ``text`` with its numbered placeholders replaced by LaTeX: ``$…$`` inline, ``$$…$$`` displayed.

    ``convert`` converts a Word document to Markdown.
    """
    if not equations:
        return text
    body = "".join(
        f"<w:p><w:r><w:t>\ue0f9{at}\ue0fa</w:t></w:r></w:p><w:p><m:oMathPara>{omml(one)}</m:oMathPara></w:p>"
        for at, one in enumerate(equations)
    )
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "word/document.xml": f"<w:document {_NAMES}><w:body>{body}</w:body></w:document>",
    }
    container = io.BytesIO()
    with zipfile.ZipFile(container, "w") as entries:
        for name, part in parts.items():
            entries.writestr(name, part)
    back = {code: chr(char) for char, code in STAND_INS.items()}
    latex_of = convert(container.getvalue()).translate(back)
    found = {int(one[1]): " ".join((one[2] or "").split()) for one in _FOUND.finditer(latex_of)}

    def placed(match: re.Match[str]) -> str:
        at = int(match["number"])
        latex = found.get(at) or ("".join(equations[at].itertext()).strip() if at < len(equations) else "")
        if not latex:
            return ""
        return f"$${latex}$$" if match["sign"] == _DISPLAYED else f"${latex}$"

    return _PLACE.sub(placed, text)
