"""Syntax trees of source code, by tree-sitter, in time linear in the length of the code."""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

LANGUAGES = {
    "c": "tree_sitter_c:language",
    "cpp": "tree_sitter_cpp:language",
    "go": "tree_sitter_go:language",
    "java": "tree_sitter_java:language",
    "javascript": "tree_sitter_javascript:language",
    "python": "tree_sitter_python:language",
    "rust": "tree_sitter_rust:language",
    "tsx": "tree_sitter_typescript:language_tsx",
    "typescript": "tree_sitter_typescript:language_typescript",
}
"""``Document.language`` → grammar."""

MAX_LINE = 2000
"""Code with longer lines in the mean, in characters, is minified or generated."""

_STEPS = 10_000
_STEPS_A_BYTE = 0.2
"""Parser progress callbacks per byte of code: real code needs up to 0.02."""
_SLICE = 1 << 16
_READS = 100
_READS_A_SLICE = 40
"""Reads of a slice: real code needs up to 7. What searches the end of a comment again and again reads far more."""

_KEPT_CHARS = 1_000_000
"""The tree of a longer text is not kept: it takes some twenty times its memory."""

_latest = threading.local()


@cache
def grammar(language: str) -> Language:
    """Return the grammar of ``language``.

    Raises:
        KeyError: ``LANGUAGES`` has no grammar for it.
        ImportError: its package is not installed.
    """
    from tree_sitter import Language

    module, function = LANGUAGES[language].split(":")
    return Language(getattr(import_module(module), function)())


def is_minified(text: str, lines: int) -> bool:
    """Say whether code of so many lines is minified or generated: nobody wrote such long lines."""
    return len(text) > MAX_LINE * lines


def encoded(text: str) -> bytes:
    """Return ``text`` as it is parsed, in UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def tree_of(text: str, language: str) -> Tree | None:
    """Return the tree of ``encoded(text)``, None if parsing takes far more steps than for real code.

    Each thread keeps the latest one, until ``forget_tree``, so that chunks and the graph come from one tree.

    Raises:
        KeyError, ImportError: see ``grammar``.
    """
    kept = getattr(_latest, "tree", None)
    if kept is not None and kept[0] is text and kept[1] == language:
        return kept[2]  # type: ignore[no-any-return]
    forget_tree()
    tree = _parsed(encoded(text), grammar(language))
    if len(text) <= _KEPT_CHARS:
        _latest.tree = text, language, tree
    return tree


def forget_tree() -> None:
    """Let the latest tree of this thread go."""
    _latest.tree = None


def _parsed(source: bytes, language: Language) -> Tree | None:
    """Error recovery may take quadratic time.

    The limit counts steps instead of seconds, so that equal texts are always parsed alike.
    """
    from tree_sitter import Parser

    left = _STEPS + int(len(source) * _STEPS_A_BYTE)
    reads_left = _READS + _READS_A_SLICE * (len(source) // _SLICE)

    def read(at: int, _: object) -> bytes:
        nonlocal reads_left
        reads_left -= 1
        return source[at : at + _SLICE]

    def too_many(_offset: int, _has_error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0 or reads_left < 0

    try:
        return Parser(language).parse(read, progress_callback=too_many)
    except ValueError:
        return None
