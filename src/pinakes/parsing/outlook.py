"""Messages of Outlook (MSG) as converted by kreuzberg: names of attachments, and no names of Exchange directories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pinakes.parsing.decode import scrub
from pinakes.parsing.titles import cut

_MOST_NAMES: Final = 100
_DIRECTORY_NAME: Final = re.compile(r"(?<=\") </o=[^<>\n]*>", re.IGNORECASE)
"""The name of a person in an Exchange directory, after the person's own name."""


def with_head(text: str, attachments: Iterable[object]) -> str:
    """Return a message whose head names its attachments, which are not read, and people only as people call them."""
    head, _, body = text.partition("\n\n")
    head = _DIRECTORY_NAME.sub("", head)
    names = [cut(" ".join(scrub(str(name)).split())) for name in attachments][:_MOST_NAMES]
    if names:
        head += f"\nAttachments: {', '.join(names)}"
    return f"{head}\n\n{body}"
