"""Places in documents as searches show them: ``path:10-40``."""

from __future__ import annotations

import re

from pinakes.core.errors import NotFound
from pinakes.library import Library
from pinakes.services.documents.reading import Text

_PLACE = re.compile(r"(?P<document>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


def read_place(
    library: Library,
    reference: str,
    collection: str | None = None,
    lines: tuple[int, int] | None = None,
    *,
    version: int | None = None,
    as_of: str | None = None,
) -> Text:
    """Read the document called ``reference``; where there is none, that before its colon, at the lines after it.

    ``lines`` (first, last; counted from 1) count for more than those in ``reference``. ``version`` and ``as_of`` as in
    ``Library.read``.

    Raises:
        NotFound: there is no such document, or it has no such lines, or it is not kept what it was.
        InvalidInput: several documents go by that name, or ``as_of`` is no day or time.
    """
    try:
        return library.read(reference, collection, lines, version=version, as_of=as_of)
    except NotFound:
        place = _PLACE.fullmatch(reference)
        if place is None:
            raise
    first = int(place["first"])
    lines = lines or (first, int(place["last"] or first))
    return library.read(place["document"], collection, lines, version=version, as_of=as_of)
