"""Arrays with spare capacity, to append without copying."""

from __future__ import annotations

from typing import Any

import numpy as np

_SPARE_SHARE = 8
_SPARE_ROWS = 256


def extended(rows: Any, more: Any) -> Any:
    """Return ``rows`` followed by ``more``, both (n, …); a copy reserves one eighth for later appends.

    The new rows are written behind the old ones if there is room, so only the latest array may be extended. Readers of
    older arrays do not see them.
    """
    room, count, total = rows.base, len(rows), len(rows) + len(more)
    begins_room = room is not None and room.ndim == rows.ndim and room.ctypes.data == rows.ctypes.data
    if not begins_room or len(room) < total:
        room = np.empty((with_spare(total), *rows.shape[1:]), rows.dtype)
        room[:count] = rows
    room[count:total] = more
    return room[:total]


def with_spare(rows: int) -> int:
    """Return the capacity to allocate for this number of rows."""
    return rows + max(_SPARE_ROWS, rows // _SPARE_SHARE)
