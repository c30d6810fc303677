"""Fields of RTF with a form control (check box, drop-down list), which often have no text as their result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pinakes.parsing.text_runs import Piece

_BOX, _CHOICE, _BY_DEFAULT = 1, 2, 25
FORM: Final = ("fftype", "ffres", "ffdefres")


@dataclass(slots=True)
class _Field:
    depth: int
    control: Piece | None = None
    has_result: bool = False


class Fields:
    """The open fields, with the depths of their groups."""

    def __init__(self) -> None:
        self._open: list[_Field] = []

    def begin(self, depth: int) -> None:
        """Open a field."""
        self._open.append(_Field(depth))

    def controlled(self, control: Piece) -> None:
        """Set what the innermost field shows until it has a result."""
        if self._open:
            self._open[-1].control = control

    def have_result(self) -> Iterator[Piece]:
        """Note that the open fields have a result; yield the controls that it stands for."""
        for one in reversed(self._open):
            if one.has_result:  # and so have those around it
                break
            one.has_result = True
            if one.control:
                yield one.control

    def end(self, depth: int) -> None:
        """Close the fields in groups deeper than ``depth``."""
        while self._open and self._open[-1].depth > depth:
            self._open.pop()


def control_of(form: Mapping[str, int], entries: Sequence[str]) -> str:
    """Return the displayed value of a form field without text."""
    kind, value = form.get("fftype"), form.get("ffres", _BY_DEFAULT)
    chosen = form.get("ffdefres", 0) if value == _BY_DEFAULT else value
    if kind == _BOX:
        return "☒" if chosen else "☐"
    return entries[chosen] if kind == _CHOICE and 0 <= chosen < len(entries) else ""
