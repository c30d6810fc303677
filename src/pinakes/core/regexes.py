"""Regular expressions that are compiled at their first use: most commands use few of those that they import."""

from __future__ import annotations

import re
from typing import Any, cast


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return ``pattern`` as a compiled pattern that is compiled at its first use; errors are raised only then."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


class _Lazy:
    """Delegates to the compiled pattern; attributes are cached after their first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._of = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._of), name)
        setattr(self, name, found)
        return found
