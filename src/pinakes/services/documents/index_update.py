"""The index update after a write: at once where that is quick."""

from __future__ import annotations

import logging

from pinakes.app import App
from pinakes.core import interrupt
from pinakes.core.errors import Busy, StorageFull

_log = logging.getLogger(__name__)


def catch_up(app: App, name: str) -> str:
    """Have the index of a collection follow what was just committed; return why it does not yet, "" where it does.

    What is committed is done, and is to be answered so: whoever asks next has the index follow.
    """
    try:
        interrupt.check()
        app.index(name)
    except (Busy, StorageFull) as error:
        _log.warning("the index of %r follows later: %s", name, error.message)
        return f"It is written, and is found once the index follows. {error.message}"
    return ""
