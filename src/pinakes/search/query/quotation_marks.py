"""Pairs of typographic quotation marks in many languages: which mark opens a pair, and which marks close it.

========================  ======================================================
“a”  „a“  „a”  ”a”        English, German and Polish, Hungarian, Swedish
«a»  »a«  »a»  ‹a›        French and Russian, German and Danish, Finnish
「a」 『a』 《a》 〝a〟 ＂a＂  Chinese, Japanese, Korean
‘a’  ‚a‘                  English and German single marks
========================  ======================================================

An apostrophe (``don’t``, ``users’ choice``, ``’90s``) is not a quotation mark: ``‘`` opens only before a letter at the
start of a word, ``’`` closes only at the end of one. Straight marks (``"``) do not show whether they open or close, so
``syntax`` handles them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

OPEN, CLOSE = "\x02", "\x03"
"""The characters with which ``marked`` replaces the two marks of a pair."""

# fmt: off
_CLOSERS: Mapping[str, str] = {
    "“": '”"', "„": '“”"', "”": "”", "‟": "”", "«": "»", "»": "«»", "‹": "›", "›": "‹", "‘": "’", "‚": "‘’", "＂": "＂",
    "「": "」", "『": "』", "《": "》", "〈": "〉", "｢": "｣", "﹁": "﹂", "﹃": "﹄", "〝": "〟〞",
}
# fmt: on
_EITHER = "”»›‘"
"""Opening marks that also serve as closing marks, so they open only at the start of a word."""

_MARKS = re.compile(f'["{"".join({*_CLOSERS, *"".join(_CLOSERS.values())})}]')


def marked(text: str) -> str:
    """Return ``text``, of the same length, with each typographic pair of marks replaced by ``OPEN`` and ``CLOSE``.

    Unpaired marks, and marks inside a pair, are unchanged. Takes linear time.
    """
    found = list(_MARKS.finditer(text))
    chars, unpaired, at = list(text.replace(OPEN, " ").replace(CLOSE, " ")), set[str](), 0
    while at < len(found):
        start = found[at].start()
        sign, at = text[start], at + 1
        if sign in unpaired or sign not in _CLOSERS or not _opens(text, start):
            continue
        partner = next((one for one in range(at, len(found)) if _closes(text, found[one].start(), sign)), None)
        if partner is None:
            unpaired.add(sign)  # a later mark of this kind has no partner either
            continue
        chars[start], chars[found[partner].start()] = OPEN, CLOSE
        at = partner + 1
    return "".join(chars)


def _opens(text: str, at: int) -> bool:
    """Return whether the mark at index ``at`` can open a pair."""
    sign, after = text[at], text[at + 1 : at + 2]
    if sign not in _EITHER:
        return True
    before = text[at - 1 : at] if at else ""
    return (not before or before.isspace() or before in "([-") and (
        after.isalpha() if sign == "‘" else after.strip() != ""
    )


def _closes(text: str, at: int, opening: str) -> bool:
    """Return whether the mark at index ``at`` closes the pair that ``opening`` opened."""
    sign = text[at]
    if sign not in _CLOSERS[opening]:
        return False
    return sign != "’" or not text[at + 1 : at + 2].isalnum()
