"""Arrays that grow at their end without being copied each time."""

from __future__ import annotations

from typing import Any

import numpy as np

_SPARE_SHARE = 8
_SPARE_ROWS = 256


def extended(rows: Any, more: Any) -> Any:
    """Return ``rows`` followed by ``more``, both (n, …); one part in eight more is set aside for what comes next.

    The rows are written behind the old ones where there is room, so only the newest array may be extended. Whoever
    still reads an older one sees nothing of it.
    """
    room, count, total = rows.base, len(rows), len(rows) + len(more)
    begins_room = room is not None and room.ndim == rows.ndim and room.ctypes.data == rows.ctypes.data
    if not begins_room or len(room) < total:
        room = np.empty((with_spare(total), *rows.shape[1:]), rows.dtype)
        room[:count] = rows
    room[count:total] = more
    return room[:total]


def with_spare(rows: int) -> int:
    """Return for how many rows to make room where there are so many."""
    return rows + max(_SPARE_ROWS, rows // _SPARE_SHARE)
