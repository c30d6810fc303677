"""Characters that Word documents write as references, kept from being lost.

kreuzberg 4 leaves out what stands as ``&amp;`` or ``&#8220;`` in the text of DOCX: "R&D" would become "RD". So they are
replaced by characters before it sees them; those that XML needs for itself by others that stand for them.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Final

_REFERENCE: Final = re.compile(
    rb"&(?:#(?P<decimal>\d{1,7})|#x(?P<hex>[0-9a-fA-F]{1,6})|(?P<name>amp|lt|gt|quot|apos));"
)
_NAMES: Final = {b"amp": "&", b"lt": "<", b"gt": ">", b"quot": '"', b"apos": "'"}
_STANDS_FOR: Final = {char: chr(0xE0F2 + at) for at, char in enumerate(_NAMES.values())}
_BACK: Final = str.maketrans({stands: char for char, stands in _STANDS_FOR.items()})
_PARTS: Final = re.compile(r"word/(?!.*rels/).*\.xml")
_UNREAD: Final = ("word/media/", "word/embeddings/", "word/fonts/")
_LAST_CHARACTER: Final = 0x10FFFF


def spelled_out(data: bytes) -> bytes:
    """Return a DOCX without references in its texts, as it is where it has none; pictures are emptied."""
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        entries = container.infolist()
        texts = {one.filename: container.read(one) for one in entries if _PARTS.fullmatch(one.filename)}
        if not any(_REFERENCE.search(text) for text in texts.values()):
            return data
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w") as written:
            for one in entries:
                if one.filename in texts:
                    content = _REFERENCE.sub(_character, texts[one.filename])
                else:
                    content = b"" if one.filename.startswith(_UNREAD) else container.read(one)
                written.writestr(one.filename, content)
    return copy.getvalue()


def restored(text: str) -> str:
    """Return text of a document that was spelled out with the characters that others stood for."""
    return text.translate(_BACK)


def _character(match: re.Match[bytes]) -> bytes:
    if name := match["name"]:
        char = _NAMES[name]
    else:
        code = int(match["hex"], 16) if match["hex"] else int(match["decimal"])
        char = chr(code) if code <= _LAST_CHARACTER else ""
    return _STANDS_FOR.get(char, char).encode("utf-8", "ignore")
