"""Decodes escapes in quoted values of YAML, TOML and property files in place; line numbers do not change."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pinakes.parsing.decode import scrub

_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(\r?\n)|([^\n]))", re.DOTALL)
_SURROGATES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NAMED: Final = {"N": " ", "_": "\u00a0", "L": " ", "P": " ", **dict.fromkeys("0abtnvfre", " ")}
_TOML_STRING: Final = re.compile(
    r"""\#[^\n]*+|'''(?:(?!''')[\s\S])*+'''(?:'')?|'[^'\n]*+'"""
    r'''|"{3}(?:[^"\\]++|\\[\s\S]|"(?!""))*+"{3,5}|"(?:[^"\\\n]++|\\.)*+"'''
)
_COLOUR: Final = re.compile(r"(?<!\\)\\(?:u001[bB]|x1[bB]|e)\[[0-9;]{0,20}[A-Za-z]")
_STRING_OF_PO: Final = re.compile(r'^(?:msg[^"\n]{1,20})?"[^\n]*', re.MULTILINE)
_PROPERTY_ESCAPE: Final = re.compile(
    r"(?P<path>(?:(?<=[=,;\"'(\[])|(?<=[=:][ \t]))[A-Za-z]:(?:\\(?!\\|u[0-9A-Fa-f]{4}|[ntrf][A-Z])[^\\\s]*+)++(?!\\))"
    r"|\\(?:u(?P<code>[0-9A-Fa-f]{4})|[ntrf]|(?P<backslash>\\))"
)
"""A path of Windows that its writer did not escape, or an escape."""
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_MOST_TRIED: Final = 3
"""Braces of a line that may begin an object."""
_JSON: Final = json.JSONDecoder(strict=False)


def without_colours(source: str) -> str:
    """Return JSON, or a quoted value of YAML or TOML, without the colours of a terminal: ``\\u001b[31m``."""
    return _COLOUR.sub("", source) if "[" in source and "\\" in source else source


def unescaped_yaml(source: str) -> str:
    """Return valid YAML with the escapes in double-quoted scalars decoded: ``\\u00e9`` is é, ``\\n`` a space."""
    if "\\" not in source:
        return source
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parts: list[str] = []
    position = 0
    event: Any
    for event in yaml.parse(source, Loader=loader):
        if getattr(event, "style", None) != '"':
            continue
        assert event.start_mark is not None
        assert event.end_mark is not None
        start, end = event.start_mark.index, event.end_mark.index
        if start >= position and "\\" in source[start:end]:
            parts += [source[position:start], _decoded(source[start:end])]
            position = end
    return scrub("".join([*parts, source[position:]]))


def unescaped_toml(source: str) -> str:
    """Return valid TOML with the escapes in its basic strings decoded."""
    if "\\" not in source:
        return source
    return scrub(_TOML_STRING.sub(lambda found: _decoded(found[0]) if found[0][0] == '"' else found[0], source))


def unescaped_properties(source: str) -> str:
    """Return a Java property file with its escapes decoded: ``\\u00e9`` is é, ``\\n`` a space."""
    if "\\" not in source:
        return source
    return scrub(_paired(_PROPERTY_ESCAPE.sub(_meaning_of_property, source)))


def _meaning_of_property(found: re.Match[str]) -> str:
    return found["path"] or found["backslash"] or _letter(found["code"] or "0")


def unescaped_log(source: str) -> str:
    """Return text with the escapes in the JSON objects of its lines decoded."""
    if "\\" not in source or "{" not in source:
        return source
    return scrub("\n".join(_unescaped_line(line) if "\\" in line else line for line in source.split("\n")))


def _unescaped_line(line: str) -> str:
    start = line.find("{")
    for _ in range(_MOST_TRIED):
        if start < 0:
            break
        try:
            _, end = _JSON.raw_decode(line, start)
        except (ValueError, RecursionError):
            start = line.find("{", start + 1)
            continue
        return line[:start] + _JSON_STRING.sub(lambda found: _decoded(found[0]), line[start:end]) + line[end:]
    return line


def unescaped_po(source: str) -> str:
    """Return a catalogue of translations with the escapes in its strings decoded."""
    return scrub(_STRING_OF_PO.sub(lambda found: _decoded(found[0]), source)) if "\\" in source else source


def _decoded(quoted: str) -> str:
    return _paired(_ESCAPE.sub(_meaning, without_colours(quoted))) if "\\" in quoted else quoted


def _meaning(found: re.Match[str]) -> str:
    number = found[1] or found[2] or found[3]
    if number:
        return _letter(number)
    return found[4] or _NAMED.get(found[5], found[5])


def _letter(number: str) -> str:
    """Return the character of a code point; a space for invalid ones and those that would begin another line."""
    code = int(number, 16)
    return " " if code < 0x20 or code in (0x7F, 0x85, 0x2028, 0x2029) or code > 0x10FFFF else chr(code)


def _paired(text: str) -> str:
    """Return ``text`` with each surrogate pair as one character."""
    return _SURROGATES.sub(lambda found: found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)
