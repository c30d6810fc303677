"""The likelihood of a text in Chinese, Japanese or Korean, by character frequency."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

ENCODINGS: Final = ("gb18030", "big5", "cp949", "euc_jp", "cp932")
"""Multi-byte encodings."""

_FREQUENT: Final = {
    "gb18030": (
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"
        "用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
    ),
    "big5": (
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡"
        "用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實"
    ),
    "cp949": "이다는에의가을를은로하고기지사한시자도인서리대해어아라일정부나수스그장보전제상",
    "euc_jp": (
        "日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女書先名川水"
        "西電語会社者事業内"
    ),
}
"""Encoding → the most frequent characters of its language, for Japanese without kana."""
_COSTS: Final = {"gb18030": (-5.8, -8.8), "big5": (-5.8, -8.8), "cp949": (-4.6, -8.4), "euc_jp": (-6.7, -9.2)}
"""Log probability of a frequent character, and of any other common one."""
_KANA: Final = -4.5
_HALF_WIDTH_KANA: Final = -3.6
_SIGN: Final = -5.0
_RARE: Final = -14.0
_BROKEN: Final = -6.0
_LEAD_BYTES: Final = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp949": ("euc_kr", 0xB0, 0xC8),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
}
"""The standard that orders characters by use, and the first bytes of those in everyday use."""
_IS_SIGN: Final = re.compile("[\u3000-\u3029\uff01-\uff5e\u2010-\u2026\u00b7]")
_IS_KANA: Final = re.compile("[\u3041-\u3093\u30a1-\u30f6\u30fc]")
_IS_HALF_WIDTH: Final = re.compile("[ｦ-ﾟ]")
_NO_HALF_WIDTH: Final = re.compile("(?<![ｳｶ-ﾄﾊ-ﾎ])ﾞ|(?<![ﾊ-ﾎ])ﾟ|(?<![ｦ-ﾟ])(?:[ｧ-ｰ]|[ｦｱ-ﾝ](?![ｦ-ﾟ]))")
"""Half-width marks and small kana in impossible positions, and isolated kana."""


def score(text: str, encoding: str) -> float:
    """Return the log probability of the non-ASCII characters of ``text`` in the language of ``encoding``."""
    table = "euc_jp" if encoding == "cp932" else encoding
    broken = _BROKEN * len(_NO_HALF_WIDTH.findall(text))
    return broken + sum(_cost(char, table) for char in text if char > "\x7f")


@cache
def _frequent(table: str) -> frozenset[str]:
    return frozenset(_FREQUENT[table])


def _cost(char: str, table: str) -> float:
    if _IS_SIGN.match(char):
        return _SIGN
    if _IS_KANA.match(char):
        return _KANA if table == "euc_jp" else _RARE
    if table == "euc_jp" and _IS_HALF_WIDTH.match(char):
        return _HALF_WIDTH_KANA
    if char in _frequent(table):
        return _COSTS[table][0]
    standard, first, last = _LEAD_BYTES[table]
    lead = char.encode(standard, "ignore")[:1]
    return _COSTS[table][1] if lead and first <= lead[0] <= last else _RARE
