"""What the program says to do can be done: its messages name commands, options and settings that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from docs_blocks import ROOT
from test_docs_completeness import COMMANDS, get_command, program

from pinakes.settings import table

FILES = {"catalog.db"}
SETTINGS = {line.name for line in table()}
SECTIONS = {name.partition(".")[0] for name in SETTINGS if "." in name}
_COMMAND = re.compile(r"\bpinakes ((?:[a-z][a-z-]+ ?){1,2})([^`\n;)]*)")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


@cache
def messages() -> tuple[tuple[str, str], ...]:
    """Return (file, text) of all texts of the program; values in them are ``…``."""
    return tuple(
        (str(file.relative_to(ROOT)), text)
        for file in sorted((ROOT / "src").rglob("*.py"))
        for text in _texts(ast.parse(file.read_text("utf-8")))
    )


def test_commands_that_are_named_are_there_with_their_options() -> None:
    everywhere = {option for one in get_command(program()).params for option in one.opts}
    everywhere |= {"--home", "--profile", "--set", "--json", "--quiet", "-v", "-vv"}
    wrong = []
    for file, text in messages():
        for words, rest in _COMMAND.findall(text):
            two, one = tuple(words.split()[:2]), tuple(words.split()[:1])
            command = COMMANDS.get(two) or COMMANDS.get(one)
            known = everywhere | {name for made in (command.params if command else ()) for name in made.opts}
            if command is None or set(_OPTION.findall(words + rest)) - known:
                wrong.append((file, text))
    assert wrong == []


def test_settings_that_are_named_are_there() -> None:
    wrong = [
        (file, name)
        for file, text in messages()
        if "/catalog/schema/" not in file  # SQL, which names columns so
        for name in re.findall(r"\b[a-z_]+\.[a-z_]+\b", text)
        if " " in text and name.partition(".")[0] in SECTIONS and name not in SETTINGS and name not in FILES
    ]
    assert wrong == []


def _texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that are not docstrings."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value
