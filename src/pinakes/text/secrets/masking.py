"""Treatment of credentials in documents by the settings: masked, only reported, or ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Protocol

from pinakes.core.records import Document, ReadingNote
from pinakes.text.secrets import Detector, FoundSecret, lines_of, masked

CODE: Final = "secret"
_MOST_NOTES: Final = 20
"""Maximum findings of a document reported one by one; further ones are counted by kind."""


@dataclass(frozen=True)
class Masking:
    """Masks credentials, or only reports them (``masks`` False); without a ``detector`` it does neither."""

    detector: Detector | None
    masks: bool = True

    def document(self, document: Document) -> Document:
        """Return ``document`` with secrets in text, title and metadata masked, and with notes about them."""
        if self.detector is None:
            return document
        found = self.detector.find(document.text)
        notes = self._notes(document, found)
        if not self.masks:
            return replace(document, notes=(*document.notes, *notes)) if notes else document
        title, metadata = self.value((document.title, document.metadata))
        if (title, metadata) != (document.title, document.metadata):
            notes.append(ReadingNote(CODE, "a credential in title or metadata was masked"))
        if not notes:
            return document
        text = masked(document.text, found)
        return replace(document, text=text, title=title, metadata=metadata, notes=(*document.notes, *notes))

    def text(self, text: str) -> str:
        """Return ``text`` with secrets masked."""
        return self.detector.mask(text) if self.detector is not None and self.masks else text

    def value(self, value: Any) -> Any:
        """Return metadata with secrets masked."""
        return self.detector.masked_value(value) if self.detector is not None and self.masks else value

    def _notes(self, document: Document, found: Sequence[FoundSecret]) -> list[ReadingNote]:
        done = "was masked" if self.masks else "is stored as it is"
        lines = [document.lines[line - 1] if document.lines else line for line in lines_of(document.text, found)]
        notes = [
            ReadingNote(CODE, f"{one.kind} {done}", line) for one, line in zip(found[:_MOST_NOTES], lines, strict=False)
        ]
        rest = Counter(one.kind for one in found[_MOST_NOTES:])
        first: dict[str, int] = {}
        for one, line in zip(found[_MOST_NOTES:], lines[_MOST_NOTES:], strict=True):
            first.setdefault(one.kind, line)
        return [*notes, *(ReadingNote(CODE, f"{kind} {done}", first[kind], count) for kind, count in rest.items())]


NOTHING_MASKED: Final = Masking(None)


class MaskingSettings(Protocol):
    """The settings for masking: ``ingest.secrets`` and ``ingest.secrets_allowed``."""

    @property
    def secrets(self) -> str: ...

    @property
    def secrets_allowed(self) -> tuple[str, ...]: ...


def masking_of(settings: MaskingSettings) -> Masking:
    """Return the masking according to ``settings``."""
    return _masking(settings.secrets, settings.secrets_allowed)


@lru_cache(maxsize=16)
def _masking(mode: str, allowed: tuple[str, ...]) -> Masking:
    return Masking(None if mode == "off" else Detector(allowed), mode == "mask")
