"""Pairs of quotation marks of many languages: which mark opens, and which closes it.

========================  ======================================================
“a”  „a“  „a”  ”a”        English, German and Polish, Hungarian, Swedish
«a»  »a«  »a»  ‹a›        French and Russian, German and Danish, Finnish
「a」 『a』 《a》 〝a〟 ＂a＂  Chinese, Japanese, Korean
‘a’  ‚a‘                  English and German single marks
========================  ======================================================

An apostrophe (``don’t``, ``users’ choice``, ``’90s``) is no mark: ``‘`` opens only before a letter at the beginning of
a word, ``’`` closes only at the end of one. Straight marks (``"``) are for ``query`` to read: they look alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

OPEN, CLOSE = "\x02", "\x03"
"""What ``marked`` writes for the two marks of a pair."""

# fmt: off
_CLOSERS: Mapping[str, str] = {
    "“": '”"', "„": '“”"', "”": "”", "‟": "”", "«": "»", "»": "«»", "‹": "›", "›": "‹", "‘": "’", "‚": "‘’", "＂": "＂",
    "「": "」", "『": "』", "《": "》", "〈": "〉", "｢": "｣", "﹁": "﹂", "﹃": "﹄", "〝": "〟〞",
}
# fmt: on
_EITHER = "”»›‘"
"""These also close, so they open only at the beginning of a word."""

_MARKS = re.compile(f'["{"".join({*_CLOSERS, *"".join(_CLOSERS.values())})}]')


def marked(text: str) -> str:
    """Return ``text``, as long as before, with ``OPEN`` and ``CLOSE`` for the marks of each typographic pair.

    Marks without a partner, and those within a pair, stay as they are. Takes linear time.
    """
    found = list(_MARKS.finditer(text))
    chars, lonely, at = list(text.replace(OPEN, " ").replace(CLOSE, " ")), set[str](), 0
    while at < len(found):
        start = found[at].start()
        sign, at = text[start], at + 1
        if sign in lonely or sign not in _CLOSERS or not _opens(text, start):
            continue
        partner = next((one for one in range(at, len(found)) if _closes(text, found[one].start(), sign)), None)
        if partner is None:
            lonely.add(sign)  # nor will a later one of its kind find any
            continue
        chars[start], chars[found[partner].start()] = OPEN, CLOSE
        at = partner + 1
    return "".join(chars)


def _opens(text: str, at: int) -> bool:
    """Say whether the mark at ``at`` can open a pair there."""
    sign, after = text[at], text[at + 1 : at + 2]
    if sign not in _EITHER:
        return True
    before = text[at - 1 : at] if at else ""
    return (not before or before.isspace() or before in "([-") and (
        after.isalpha() if sign == "‘" else after.strip() != ""
    )


def _closes(text: str, at: int, opening: str) -> bool:
    """Say whether the mark at ``at`` closes the one that ``opening`` opened."""
    sign = text[at]
    if sign not in _CLOSERS[opening]:
        return False
    return sign != "’" or not text[at + 1 : at + 2].isalnum()
