"""Patterns of ``.gitignore``, matched in time that is at most proportional to pattern length times path length.

``*`` is any run of characters of one name, ``?`` a single one, ``[a-z]`` and ``[!a-z]`` one of a class, ``**`` any
number of folders; a backslash escapes the next character. A pattern without a slash matches names at any depth, others
match from the root; a pattern that matches a folder matches everything in it; with a slash at its end it matches only
folders. ``!`` negates.

Such patterns come from queries, settings and repositories of other people. A plain translation of ``*a*a*a*b`` to a
regular expression backtracks exponentially. Here every part between two stars matches at the leftmost position, which
leaves most room for the parts after it, without backtracking (an atomic group); the same holds for names between two
``**``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

MOST_CHARS, MOST_WILDCARDS = 1000, 32
"""Limits on the characters of a pattern, and on its ``*``, ``?``, ``**`` and classes; above, a pattern is refused."""

_ATOM = re.compile(
    r"(?P<star>\*+)|(?P<one>\?)|\[(?P<sign>[!^]?+)(?P<class>\][^\]]*|[^\]]+)\]|\\?(?P<char>.)", re.DOTALL
)
_FOLDERS, _STAR, _ONE = "**", "*", "[^/]"
_SKIPPED = f"(?:{_ONE}+/)*?"
_BELOW = "(?P<ps_d>/)"
"""The end of a matching folder; pathspec uses the group to tell files in the folder from the folder itself."""


class Unclosed(ValueError):
    """A character class has no closing bracket."""


def compiled(line: str, inside: str = "") -> GitIgnoreSpecPattern:
    """Return a pattern compiled for pathspec; ``inside`` is the folder to which it applies, "" the root.

    Raises:
        ValueError: the pattern matches nothing or is refused; the message gives the reason.
    """
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    text = line if line.endswith("\\ ") else line.rstrip()
    if len(text) > MOST_CHARS:
        raise ValueError(f"it has {len(text)} characters, more than {MOST_CHARS}")
    if text.removeprefix("!") in ("", "/") or text.startswith("#"):
        raise ValueError("it matches nothing")
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise ValueError("nothing is behind the backslash at its end")
    here = re.escape(f"{inside}/") if inside else ""
    try:
        expression = re.compile(f"^{here}{_expression(text.removeprefix('!'))}", re.DOTALL)
    except re.error as error:
        raise ValueError(f"it has a class that is none: {error}") from error
    return GitIgnoreSpecPattern(expression, include=not text.startswith("!"))


def _expression(text: str) -> str:
    """Return the regular expression of a pattern without its ``!``, relative to its folder."""
    names = [[name] if name == _FOLDERS else _atoms(name) for name in text.split("/")]
    wildcards = sum(atom in (_STAR, _FOLDERS) or len(atom) > 2 for name in names for atom in name)
    if wildcards > MOST_WILDCARDS:
        raise ValueError(f"it has {wildcards} wildcards, more than {MOST_WILDCARDS}")
    *before, (any_below, last) = [(deep, list(some)) for deep, some in groupby(_from_top(names), [_FOLDERS].__eq__)]
    found, skipping = "", False
    for deep, some in before:
        if not deep:
            found += f"(?>{_SKIPPED if skipping else ''}{_in_row(some)}(?=/))/"
        skipping = deep
    if not any_below:
        return f"{found}{'(?:.*/)?' if skipping else ''}{_in_row(last)}(?:{_BELOW}|$)"
    if not text.endswith("/"):
        return found
    return found.removesuffix("/") + _BELOW if before else f"{_ONE}*{_BELOW}"


def _from_top(names: Sequence[list[str]]) -> list[list[str]]:
    """Return the names of a pattern from the root, with ``**`` for any folders, also after a slash at the end."""
    if not names[0]:
        names = names[1:]
    elif len(names) == 1 or names[1:] == [[]]:
        names = [[_FOLDERS], *names]
    return [*names[:-1], names[-1] or [_FOLDERS]]


def _atoms(name: str) -> list[str]:
    """Return a regular expression for each character of a name; ``*`` for any run of characters."""
    found = []
    for match in _ATOM.finditer(name):
        if match["star"]:
            found.append(_STAR)
        elif match["one"]:
            found.append(_ONE)
        elif match["class"]:
            members = "".join(char if char == "-" else re.escape(char) for char in match["class"])
            found.append(f"(?!/)[{'^' if match['sign'] else ''}{members}]")
        elif match.group() == "[":
            raise Unclosed("it has a [ without its ]")
        else:
            found.append(re.escape(match["char"]))
    return found


def _in_row(names: Sequence[Sequence[str]]) -> str:
    return "/".join(map(_name, names))


def _name(atoms: Sequence[str]) -> str:
    """Return the regular expression of a name: its parts between stars in order, the last one at the end."""
    if list(atoms) == [_STAR]:
        return f"{_ONE}++"
    parts: list[list[str]] = [[]]
    for atom in atoms:
        if atom == _STAR:
            parts.append([])
        else:
            parts[-1].append(atom)
    first, *inner = parts
    if not inner:
        return "".join(first)
    last = inner.pop()
    between = "".join(f"(?>{_ONE}*?{''.join(part)})" for part in inner)
    at_end = f"(?={_ONE}{{{len(last)}}}){_ONE}*+(?<={''.join(last)})" if last else f"{_ONE}*+"
    return f"{''.join(first)}{between}{at_end}"
