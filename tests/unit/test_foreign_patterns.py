"""No expression is made of what somebody else wrote, but where this says how it is bounded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from test_structure import files, module_of, tree

MAKERS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_MAKES = re.compile(r"\bre2?\s*\.|\blazy\b")
"""Text without it makes no expression; to look is faster than to walk the tree."""
MATCHERS = {"fnmatch", "glob", "pathspec", "wcmatch"}

MATCHING = {
    "pinakes.core.gitignore": "compiles patterns, linear",
    "pinakes.core.filters": "joins compiled patterns",
    "pinakes.sources.globs": "joins compiled patterns",
}
BOUNDED = {
    "pinakes.chunking.sql_rows": "two constant texts in one pattern",
    "pinakes.text.analysis.compounds": "an escaped stem",
    "pinakes.text.analysis.segmentation": "escaped words of a query",
    "pinakes.metadata.rules": "escaped names; expressions of the operator's own settings, on names and headings",
    "pinakes.core.gitignore": "parts of names in atomic groups",
    "pinakes.parsing.html": "the escaped name of a site",
    "pinakes.settings.metadata": "checks expressions of the operator's own settings",
    "pinakes.settings.sections": "checks patterns of secrets for RE2, which is linear",
    "pinakes.core.regexes": "those of others, which are looked at there",
    "pinakes.sources.forges": "constants of that module",
    "pinakes.sources.git_process": "constants of that module",
    "pinakes.search.query.named_documents": "an escaped word",
    "pinakes.search.query.spelling": "an escaped word",
    "pinakes.metadata.templates": "templates of the operator's own settings, on paths",
    "pinakes.text.markup": "the name of a tag",
    "pinakes.text.secrets": "patterns for RE2, which is linear",
    "pinakes.text.injection": "constants of that module",
    "pinakes.settings.graph_rules": "patterns of the operator's own settings for RE2, which is linear",
    "pinakes.extraction.declared_names": "an escaped key",
    "pinakes.extraction.stated_relations": "escaped words of the operator's own settings",
    "pinakes.extraction.candidate_names": "escaped words of the operator's own settings",
    "pinakes.services.graph_report": "templates of the operator's own settings, on names",
    "pinakes.text.version_numbers": "escaped versions, a few of a title",
}


def made(module: ast.Module) -> Iterator[ast.expr]:
    """Yield what functions make expressions of, where that is more than constants of the module."""
    constants = {
        name.id
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Call) and node.args and makes(node.func):
            names = [one.id for one in ast.walk(node.args[0]) if isinstance(one, ast.Name)]
            if not all(name in constants for name in names):
                yield node.args[0]


def makes(function: ast.expr) -> bool:
    """Say whether a function makes an expression: one of ``re``, or ``regexes.lazy``."""
    if isinstance(function, ast.Name):
        return function.id == "lazy"
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id in ("re", "re2") and function.attr in MAKERS


def test_expressions_are_constants_or_bounded() -> None:
    using = [path for path in files("src/pinakes") if _MAKES.search(path.read_text("utf-8"))]
    found = {module_of(path) for path in using if any(made(tree(path)))}
    assert found == set(BOUNDED)


def test_patterns_of_paths_are_matched_in_one_way() -> None:
    found = set()
    naming = [path for path in files("src/pinakes") if any(one in path.read_text("utf-8") for one in MATCHERS)]
    for path in naming:
        for node in ast.walk(tree(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if any(name.partition(".")[0] in MATCHERS for name in names):
                found.add(module_of(path))
    assert found == set(MATCHING)
