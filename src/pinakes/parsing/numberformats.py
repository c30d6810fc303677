"""Formats numbers, dates and durations like workbook cells: format codes of ECMA-376, part 1, 18.8.31.

Names of days and months and the separators are English. Codes whose format depends on the country (14 and 22, a date
and a date with time) are written as ISO 8601 dates.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Final, NamedTuple

BUILT_IN: Final = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "yyyy-mm-dd",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "hh:mm:ss",
    22: "yyyy-mm-dd hh:mm:ss",
    27: "yyyy-mm-dd",
    30: "m-d-yy",
    36: "yyyy-mm-dd",
    37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)",
    39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)",
    41: "#,##0;-#,##0;-",
    42: "$#,##0;-$#,##0;-",
    43: "#,##0.00;-#,##0.00;-",
    44: "$#,##0.00;-$#,##0.00;-",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
    50: "yyyy-mm-dd",
    57: "yyyy-mm-dd",
}
"""Number of a built-in format → its code."""

_CONTEXT: Final = Context(prec=400)
"""Precision that suffices for the largest and the smallest number of a cell."""

_LONGEST_CODE: Final = 1000
_MOST_PLACES: Final = 30
"""Maximum decimal places, as in spreadsheet programs."""
_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<blank>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]?'
    r"|(?P<general>general)|(?P<ampm>am/pm|a/p|上午/下午)|(?P<exponent>e[+-])|(?P<date>y+|m+|d+|h+|s+|e+|b+|g+)"
    r"|(?P<digit>[0#?])|(?P<point>\.)|(?P<comma>,)|(?P<percent>%)|(?P<slash>/)|(?P<text>@)|(?P<end>;)|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION: Final = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d{1,15}(?:\.\d{1,15})?)")
_ELAPSED: Final = re.compile("h+|m+|s+", re.IGNORECASE)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_FIRST_DAY: Final = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # noqa: DTZ001 - cells have no zone
_LAST_SERIAL: Final = 2_958_466
_BEFORE_MARCH_1900: Final = 60
"""Spreadsheet programs treat 1900 as a leap year; serial days before 29 February 1900 are off by one."""


class Token(NamedTuple):
    """A token of a format code: its kind and its text."""

    kind: str
    text: str


class FormatSection(NamedTuple):
    """A section of a format code, and its condition on the number, such as ``(">=", 100.0)``."""

    tokens: tuple[Token, ...]
    condition: tuple[str, float] | None
    kind: str
    """"number", "date", "text" or "general"."""


def displayed(value: float | str, code: str, *, since_1904: bool = False) -> str:
    """Return ``value`` formatted by the format ``code``."""
    if code == "General":
        return value if isinstance(value, str) else general(value) if math.isfinite(value) else str(value)
    sections = _sections(code[:_LONGEST_CODE])
    if isinstance(value, str):
        section = next((one for one in reversed(sections) if one.kind == "text"), None)
        return _literals(section.tokens, value) if section else value
    if not math.isfinite(value):
        return str(value)
    section, shown = _chosen(sections, float(value))
    if section is None or section.kind in ("general", "text"):
        own = general(shown)
        return _literals(section.tokens, own).strip() if section else own
    if section.kind == "date":
        return _date(section.tokens, value, since_1904)
    return _number(section.tokens, shown)


def general(value: float) -> str:
    """Return a number in the general format; whole numbers have all their digits."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.10g}" if 1e-4 <= abs(value) < 1e11 else f"{value:.6G}"


@functools.lru_cache(1024)
def _sections(code: str) -> tuple[FormatSection, ...]:
    sections: list[FormatSection] = []
    tokens: list[Token] = []
    condition: tuple[str, float] | None = None
    for match in (*_TOKEN.finditer(code), None):
        kind, text = (match.lastgroup or "", match[match.lastgroup or 0]) if match else ("end", ";")
        if kind == "end":
            sections.append(_section(tokens, condition))
            tokens, condition = [], None
        elif kind == "bracket":
            if found := _CONDITION.fullmatch(text.strip()):
                condition = found[1], float(found[2])
            elif _ELAPSED.fullmatch(text):
                tokens.append(Token("elapsed", text.lower()))
            elif text.startswith("$"):
                tokens.append(Token("literal", text[1:].rpartition("-")[0] if "-" in text else text[1:]))
        elif kind not in ("blank", "fill"):
            tokens.append(Token("literal" if kind in ("quoted", "escaped") else kind, text))
    return tuple(sections[:4])


def _section(tokens: list[Token], condition: tuple[str, float] | None) -> FormatSection:
    kinds = {token.kind for token in tokens}
    if kinds & {"date", "elapsed", "ampm"} and not kinds & {"exponent", "general"}:
        return FormatSection(tuple(_with_minutes(tokens)), condition, "date")
    if "general" in kinds:
        return FormatSection(tuple(tokens), condition, "general")
    if "text" in kinds:
        return FormatSection(tuple(tokens), condition, "text")
    plain = [Token("literal", token.text) if token.kind == "date" else token for token in tokens]
    return FormatSection(tuple(plain), condition, "number")


def _with_minutes(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a date format, with those for minutes marked as such instead of months."""
    parts = [at for at, token in enumerate(tokens) if token.kind in ("date", "elapsed")]
    found = [Token(token.kind, token.text.lower()) if token.kind == "date" else token for token in tokens]
    for place, at in enumerate(parts):
        if tokens[at].kind == "date" and found[at].text[0] == "m" and len(found[at].text) < 3:
            before = found[parts[place - 1]].text[0] if place else ""
            after = found[parts[place + 1]].text[0] if place + 1 < len(parts) else ""
            if before == "h" or after == "s":
                found[at] = Token("minutes", found[at].text)
    return found


def _chosen(sections: Sequence[FormatSection], value: float) -> tuple[FormatSection | None, float]:
    """Return the section for a number, and the number to format: a section for negative numbers adds their sign."""
    numeric = [one for one in sections if one.kind != "text"] or list(sections)
    if not any(one.condition for one in numeric):
        if value < 0 and len(numeric) > 1:
            return numeric[1], -value
        return numeric[2 if value == 0 and len(numeric) > 2 else 0], value
    compare = {"<": value.__lt__, "<=": value.__le__, ">": value.__gt__, ">=": value.__ge__}
    for one in numeric:
        sign, limit = one.condition or ("", 0.0)
        fits = compare[sign](limit) if sign in compare else (value == limit) == (sign == "=") if sign else True
        if fits:
            return one, abs(value) if value < 0 and one is not numeric[0] else value
    return None, value


def _literals(tokens: Sequence[Token], value: str) -> str:
    return "".join(
        value if token.kind in ("text", "general") else token.text if token.kind in ("literal", "percent") else ""
        for token in tokens
    )


def _number(tokens: Sequence[Token], value: float) -> str:
    kinds = [token.kind for token in tokens]
    if "digit" not in kinds:
        return _literals(tokens, "").strip()
    amount = Decimal(repr(value)) * Decimal(100) ** min(kinds.count("percent"), 3)
    if "exponent" in kinds:
        return _scientific(tokens, amount)
    if "slash" in kinds and _denominator(tokens):
        return _fraction(tokens, amount)
    return _fixed(tokens, amount).strip()


def _fixed(tokens: Sequence[Token], amount: Decimal) -> str:
    """Return a number in decimal digits, with its sign."""
    point = next((at for at, token in enumerate(tokens) if token.kind == "point"), len(tokens))
    last = max((at for at, token in enumerate(tokens[:point]) if token.kind == "digit"), default=-1)
    first = next((at for at, token in enumerate(tokens[:point]) if token.kind == "digit"), point)
    scale = 0
    end = max((at for at, token in enumerate(tokens) if token.kind == "digit"), default=len(tokens))
    for token in tokens[end + 1 :]:
        if token.kind != "comma":
            break
        scale += 1
    grouped = any(token.kind == "comma" for token in tokens[first:last])
    places = min(sum(token.kind == "digit" for token in tokens[point:]), _MOST_PLACES)
    rounded = (abs(amount) / Decimal(1000) ** scale).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _CONTEXT)
    whole, _, part = f"{rounded:f}".partition(".")
    sign = "-" if amount < 0 and rounded else ""
    return sign + _whole(tokens[:point], whole.lstrip("0"), grouped) + _part(tokens[point:], part)


def _whole(tokens: Sequence[Token], digits: str, grouped: bool) -> str:
    """Return the integer digits in their placeholders; the first placeholder takes the remaining ones."""
    first = next((at for at, token in enumerate(tokens) if token.kind == "digit"), -1)
    shown: list[str] = [] if first >= 0 else [digits[::-1]]
    count = 0
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if token.kind == "digit":
            taken = digits if at == first else digits[-1:]
            digits = digits[: len(digits) - len(taken)]
            for digit in reversed(taken or ("0" if token.text == "0" else "")):
                count += 1
                shown.append(f"{digit}," if grouped and count > 3 and count % 3 == 1 else digit)
        elif token.kind in ("literal", "percent"):
            shown.append(token.text)
    return "".join(reversed(shown))


def _part(tokens: Sequence[Token], digits: str) -> str:
    """Return the decimal point and the digits after it; zeros without a placeholder are dropped."""
    places = [at for at, token in enumerate(tokens) if token.kind == "digit"]
    needed = max((place for place, at in enumerate(places, 1) if tokens[at].text == "0"), default=0)
    kept = digits[:needed] + digits[needed:].rstrip("0")
    shown: list[str] = []
    place = 0
    for token in tokens:
        if token.kind == "digit":
            shown.append(kept[place : place + 1])
            place += 1
        elif token.kind == "point" and (kept or needed):
            shown.append(".")
        elif token.kind in ("literal", "percent"):
            shown.append(token.text)
    return "".join(shown)


def _scientific(tokens: Sequence[Token], amount: Decimal) -> str:
    at = next(at for at, token in enumerate(tokens) if token.kind == "exponent")
    point = next((place for place, token in enumerate(tokens[:at]) if token.kind == "point"), at)
    whole = max(1, sum(token.kind == "digit" for token in tokens[:point]))
    power = amount.adjusted() // whole * whole if amount else 0
    if whole == 1:
        power = amount.adjusted() if amount else 0
    places = min(sum(token.kind == "digit" for token in tokens[point:at]), _MOST_PLACES)
    mantissa = amount.scaleb(-power)
    if abs(mantissa).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _CONTEXT) >= Decimal(10) ** whole:
        power, mantissa = power + whole, mantissa.scaleb(-whole)
    digits = sum(token.kind == "digit" for token in tokens[at:])
    sign = "-" if power < 0 else "+" if tokens[at].text[1] == "+" else ""
    return f"{_fixed(tokens[:at], mantissa).strip()}E{sign}{abs(power):0{digits}d}"


def _fraction(tokens: Sequence[Token], amount: Decimal) -> str:
    at = next(at for at, token in enumerate(tokens) if token.kind == "slash")
    below = _denominator(tokens)
    above = [token.kind for token in tokens[:at]]
    mixed = "literal" in above and "digit" in above[: len(above) - above[::-1].index("literal")]
    size = abs(Fraction(amount))
    whole = int(size) if mixed else 0
    rest = size - whole
    fixed = int(below) if below.isdecimal() and int(below) else 0
    part = Fraction(round(rest * fixed), 1) if fixed else rest.limit_denominator(10 ** min(len(below) or 1, 4) - 1)
    above_line, below_line = (int(part), fixed) if fixed else (part.numerator, part.denominator)
    if mixed and above_line == below_line:
        whole, above_line = whole + 1, 0
    shown = f"{above_line}/{below_line}" if above_line or not mixed else ""
    sign = "-" if amount < 0 else ""
    return sign + " ".join(filter(None, (str(whole) if whole or not shown else "", shown)))


def _denominator(tokens: Sequence[Token]) -> str:
    """Return the placeholders or digits after the slash of a fraction."""
    at = next(at for at, token in enumerate(tokens) if token.kind == "slash")
    return "".join(token.text for token in tokens[at + 1 :] if token.kind == "digit" or token.text.isdecimal())


def _date(tokens: Sequence[Token], value: float, since_1904: bool) -> str:
    elapsed = any(token.kind == "elapsed" for token in tokens)
    if not (elapsed or 0 <= value < _LAST_SERIAL):
        return general(value)
    places = _second_places(tokens)
    seconds = (Decimal(repr(abs(value))) * 86_400).quantize(Decimal(1).scaleb(-places), context=_CONTEXT)
    day = int(seconds // 86_400)
    if not since_1904 and day < _BEFORE_MARCH_1900:
        day += 1
    moment = _FIRST_DAY[since_1904] + timedelta(days=min(day, _LAST_SERIAL - 1), seconds=int(seconds % 86_400))
    part = f"{seconds % 1:.{places}f}".partition(".")[2]
    half = any(token.kind == "ampm" for token in tokens)
    units = {"h": 3600, "m": 60, "s": 1}
    shown = ["-"] if elapsed and value < 0 else []
    after_point = False
    for token in tokens:
        if token.kind == "elapsed":
            shown.append(str(int(seconds // units[token.text[0]])).zfill(len(token.text)))
        elif token.kind == "digit":
            shown.append("" if after_point else token.text)
        elif token.kind == "point":
            after_point = bool(places)
            shown.append(f".{part}" if places else ".")
        else:
            shown.append(_date_part(token, moment, half))
    return "".join(shown).strip()


def _second_places(tokens: Sequence[Token]) -> int:
    """Return how many decimal places of seconds are shown."""
    point = next((at for at, token in enumerate(tokens) if token.kind == "point"), len(tokens))
    after = [token.kind for token in tokens[point + 1 : point + 4]]
    return [*after, "end"].index(next((kind for kind in after if kind != "digit"), "end"))


def _date_part(token: Token, moment: datetime, half: bool) -> str:
    """Return one part of a date. ``m`` is a month; the token ``minutes`` was distinguished before."""
    if token.kind == "ampm":
        sign = "AM" if moment.hour < 12 else "PM"
        return sign if len(token.text) > 3 else sign[0]
    if token.kind == "minutes":
        return str(moment.minute).zfill(len(token.text))
    if token.kind != "date":
        return token.text
    letter, length = token.text[0], len(token.text)
    if letter in "ye":
        return str(moment.year) if length > 2 or letter == "e" else f"{moment.year % 100:02d}"
    if letter == "m":
        name = _MONTHS[moment.month - 1]
        return (str(moment.month).zfill(length), name[:3], name, name[0])[min(max(length - 2, 0), 3)]
    if letter == "d":
        name = _DAYS[moment.weekday()]
        return str(moment.day).zfill(length) if length < 3 else name[:3] if length == 3 else name
    if letter == "h":
        return str((moment.hour % 12 or 12) if half else moment.hour).zfill(min(length, 2))
    return str(moment.second).zfill(min(length, 2)) if letter == "s" else ""
