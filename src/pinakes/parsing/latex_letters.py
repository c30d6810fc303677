"""Restores the letters and words that commands of LaTeX stand for: accents, ligatures, spaces, split words.

Listings, addresses, mathematics, and commands that a file defines itself, stay as they are. Line numbers do not change.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ACCENTS: Final = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "c": "\u0327",
    "v": "\u030c",
    "u": "\u0306",
    "H": "\u030b",
    "k": "\u0328",
    "r": "\u030a",
    "d": "\u0323",
    "b": "\u0331",
    "h": "\u0309",
}
_LETTERS: Final = {
    "ss": "ß",
    "SS": "ẞ",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "aa": "å",
    "AA": "Å",
    "dh": "ð",
    "DH": "Ð",
    "th": "þ",
    "TH": "Þ",
    "dj": "đ",
    "DJ": "Đ",
    "ng": "ŋ",
    "NG": "Ŋ",
    "euro": "€",
    "texteuro": "€",
    "pounds": "£",
    "textdegree": "°",
    "textmu": "µ",
}
_SHAPES: Final = "textbf|textit|textsl|textsc|texttt|textrm|textsf|textup|textmd|emph|underline"
_LETTER: Final = r"[^\W\d_]"
_LISTINGS: Final = "verbatim|Verbatim|alltt|lstlisting|minted|comment|tabbing"
_EQUATIONS: Final = "math|displaymath|equation|eqnarray|align|alignat|flalign|gather|multline"
_OPTIONS: Final = r"(?:\[[^\]\n]{0,200}\])?+"
_INLINE: Final = rf"(?:verb\*?|lstinline\*?{_OPTIONS}|mintinline{_OPTIONS}\{{[^{{}}\n]{{0,40}}\}})"
_KEPT: Final = (
    rf"\\[\\$]|\\begin[ \t]*\{{(?P<name>{_LISTINGS}|{_EQUATIONS})\*?\}}"
    r"[\s\S]*?(?:\\end\{(?P=name)\*?\}|\Z)"
    rf"|\\{_INLINE}(?P<sign>[^A-Za-z\s*{{])[^\n]{{0,300}}?(?P=sign)"
    rf"|\\(?:url|nolinkurl|href{_OPTIONS}|path|{_INLINE})\{{(?:[^{{}}\n]|\{{[^{{}}\n]{{0,300}}\}}){{0,2000}}+\}}"
    r"|(?P<dollar>\$\$?+)(?:[^$\\\n]|\\.|\\?\n(?![ \t\r]*\n)){0,2000}+(?P=dollar)"
    r"|\\[\[(](?:[^\\]|\\[^\[\]()]){0,2000}+\\[\])]"
)
"""Listings, addresses, mathematics, and texts in which the commands mean something else."""
_BASE: Final = r"(?:\\(?P<dotless{0}>[ij])(?![A-Za-z])[ \t]*|(?P<base{0}>[^\W\d_]))"
_ACCENT: Final = (
    rf"\\(?:(?P<sharp>[\"'`^~=.])[ \t]*(?:\{{[ \t]*{_BASE.format(1)}[ \t]*\}}|{_BASE.format(2)})"
    rf"|(?P<named>[cvuHkrdbh])(?:[ \t]*\{{[ \t]*{_BASE.format(3)}[ \t]*\}}|[ \t]+{_BASE.format(4)}))"
)
_SIGN: Final = (
    rf"\\(?P<letter>{'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z@])(?:\{{\}}|[ \t]+|\\[ ])?"
)
_COMMANDS: Final = re.compile(
    rf"{_KEPT}|(?P<open>(?<!\}})\{{)?(?:{_ACCENT}|{_SIGN})(?P<close>(?(open)[ \t]*\}}))"
    rf"|(?P<space>(?<=[\w.,:;)}}\]])(?:~|\\[,;: ])(?=[\w\\(]))|(?P<soft>\\[-/](?={_LETTER}))|(?P<line>(?<=\w)\\_(?=\w))"
    rf"|(?P<shape>(?:(?<=[^\W\d_])\\(?:{_SHAPES})\{{(?P<end>{_LETTER}{{1,40}})\}}"
    rf"|\\(?:{_SHAPES})\{{(?P<start>{_LETTER}{{1,40}})\}}(?={_LETTER})))"
    rf"|\\lettrine(?:\[[^\]\n]{{0,200}}\])?\{{(?P<initial>{_LETTER}{{1,3}})\}}\{{(?P<rest>[^{{}}\n]{{0,200}})\}}"
    r"|(?P<control>\\[A-Za-z]+)(?=\\[\"'`^~=.])"
    r"|\\(?:[A-Za-z]+\*?|[\"'`^~=.])(?:\[[^\]\n]{0,200}\])?[ \t]*\{"  # whose argument keeps its braces
)
_DEFINED: Final = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator|[egx]?def|let)\*?\s*\{?\\([A-Za-z]+)"
)
_BABEL: Final = re.compile(r"\\usepackage(?:\[([^\[\]\n]{0,300})\]\{babel\}|\{(n?german)\})")
_SHORTHAND: Final = re.compile(
    _KEPT + r"""|(?<!\\)"(?:(?P<umlaut>[aouAOU])|(?P<sharp>[sz])|(?P<break>[-|~=])(?=[^\W\d_]))"""
)
_MOST_NESTED: Final = 3


def with_letters(text: str) -> str:
    """Return LaTeX with letters for the commands that stand for them, and words that formatting split whole."""
    if any("german" in (found[1] or found[2] or "") for found in _BABEL.finditer(text)):
        text = _SHORTHAND.sub(_german, text)
    if "\\" not in text:
        return text
    own = frozenset(_DEFINED.findall(text))
    for _ in range(_MOST_NESTED):
        before, text = text, _COMMANDS.sub(lambda found: _meaning(found, own), text)
        if text == before:
            break
    return text


def _meaning(found: re.Match[str], own: frozenset[str]) -> str:
    if accent := found["sharp"] or found["named"]:
        base = next(filter(None, (found[f"{kind}{at}"] for kind in ("base", "dotless") for at in range(1, 5))))
        char = unicodedata.normalize("NFC", base + _ACCENTS[accent])
        return char if len(char) == 1 and accent not in own else found[0]
    if letter := found["letter"]:
        return found[0] if letter in own else _LETTERS[letter]
    if found["shape"] or found["line"]:
        return found["end"] or found["start"] or "_"
    if initial := found["initial"]:
        return initial + found["rest"]
    if control := found["control"]:
        return f"{control} "  # the letter that follows would become a part of the command
    return " " if found["space"] else "" if found["soft"] else found[0]


def _german(found: re.Match[str]) -> str:
    if umlaut := found["umlaut"]:
        return unicodedata.normalize("NFC", umlaut + _ACCENTS['"'])
    if found["sharp"]:
        return "ß"
    if found["break"]:
        return "-" if found["break"] in "=~" else ""
    return found[0]
