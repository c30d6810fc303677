"""Many patterns searched in one pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

_MEMORY: Final = 256 << 20
_COUNTED: Final = re.compile(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{0,\d+\}\??", re.DOTALL)


def set_of(patterns: Sequence[str], *, counted: bool = True) -> Any:
    """Return all patterns as one, which finds in one pass those that match: most sentences match none.

    Not ``counted``: what a pattern repeats at most n times may be repeated more often there, so a pattern that is found
    need not match; one that matches is found. Counting needs a state of the automaton for each count.
    """
    import re2

    options = re2.Options()
    options.max_mem, options.never_capture = _MEMORY, True
    made = re2.Set.SearchSet(options)
    for one in patterns:
        plain = re.sub(r"\?P<\w+>", "?:", one)
        made.Add(plain if counted else _COUNTED.sub(lambda found: found["kept"] or "*", plain))
    if patterns:
        made.Compile()
    return made
