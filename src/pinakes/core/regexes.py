"""Regular expressions that are compiled when they are first used: a command uses few of all those that it loads."""

from __future__ import annotations

import re
from typing import Any, cast


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return ``pattern`` compiled, as ``re.compile`` does, but at its first use; one that is wrong fails only then."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


class _Lazy:
    """Becomes the compiled pattern in all that is asked of it; what was asked for once costs nothing more."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._of = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._of), name)
        setattr(self, name, found)
        return found
