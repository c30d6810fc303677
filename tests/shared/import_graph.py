"""The imports between the modules of pinakes, and docs/imports.md, which draws them. To write it anew: ``make graph``.

Imports under TYPE_CHECKING and inside functions count. grimp's cache is not used: it can hold what was there before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeAlias

import grimp

Graph: TypeAlias = Mapping[str, Set[str]]
"""Importer → what it imports; every node is a key."""

PAGE = Path(__file__).parents[2] / "docs" / "imports.md"

INTRODUCTION = """\
# Imports

<!-- Made by `make graph` from src/pinakes. Do not edit. -->

For developers: which folder or file directly below `src/pinakes` imports which. Imports under `TYPE_CHECKING`
and inside functions count. The contracts that hold this are in [pyproject.toml](../pyproject.toml);
[CONTRIBUTING.md](../CONTRIBUTING.md#contracts-of-imports) says what to do when one fails.

{parts} parts are on {levels} levels: a part imports only from levels with lower numbers. In the diagram an arrow is
left out where others lead to the same place; the table names every import.
"""


@cache
def _modules() -> grimp.ImportGraph:
    return grimp.build_graph("pinakes", cache_dir=None)


def files() -> Graph:
    """Return which file imports which."""
    return _grouped(lambda module: module)


def folders() -> Graph:
    """Return which folder imports which, subfolders apart; a file of the trunk is a folder of its own."""
    return _grouped(lambda module: module if module.count(".") < 2 or _is_folder(module) else module.rpartition(".")[0])


def trunk() -> Graph:
    """Return which folder or file directly below ``pinakes`` imports which."""
    return _grouped(lambda module: ".".join(module.split(".")[:2]))


def levels(graph: Graph) -> list[list[str]]:
    """Return the nodes by level: the first import nothing, the others something of the level before.

    Raises:
        graphlib.CycleError: nodes import each other in a circle; its second argument names them.
    """
    sorter, found = TopologicalSorter(graph), []
    sorter.prepare()
    while sorter.is_active():
        ready = sorter.get_ready()
        found.append(sorted(ready))
        sorter.done(*ready)
    return found


def repeated_names() -> dict[str, list[str]]:
    """Return the names that modules of several folders have: name → these modules."""
    by_name = defaultdict(list)
    for module in sorted(_modules().modules):
        by_name[module.rpartition(".")[2]].append(module)
    return {name: modules for name, modules in sorted(by_name.items()) if len(modules) > 1}


def page() -> str:
    """Return docs/imports.md as it should be."""
    graph = trunk()
    highest_first = [*enumerate(levels(graph), start=1)][::-1]
    lines = [INTRODUCTION.format(parts=len(graph), levels=len(highest_first)), "```mermaid", "flowchart TB"]
    for level, nodes in highest_first:
        boxes = (f'    {_id(one)}["{_label(one)}"]' for one in nodes)
        lines += [f"  subgraph level{level} [{level}]", *boxes, "  end"]
    lines += [f"  {_id(one)} --> {_id(other)}" for one in sorted(graph) for other in sorted(_direct(graph, one))]
    lines += ["```", "", "| level | part | imports |", "|---|---|---|"]
    for level, nodes in highest_first:
        lines += [f"| {level} | `{_label(one)}` | {_listed(graph[one])} |" for one in nodes]
    return "\n".join([*lines, ""])


def _grouped(group_of: Callable[[str], str]) -> Graph:
    found: dict[str, set[str]] = {group_of(module): set() for module in _modules().modules}
    for module in _modules().modules:
        others = map(group_of, _modules().find_modules_directly_imported_by(module))
        found[group_of(module)] |= {other for other in others if other != group_of(module)}
    return found


def _is_folder(module: str) -> bool:
    return bool(_modules().find_children(module))


def _direct(graph: Graph, node: str) -> set[str]:
    """Return what ``node`` imports and nothing else that it imports does, however indirectly."""
    return set(graph[node]) - {far for other in graph[node] for far in _reached(graph, other)}


def _reached(graph: Graph, node: str) -> set[str]:
    """Return all that ``node`` imports, directly or not."""
    found: set[str] = set()
    waiting = set(graph[node])
    while waiting:
        found.add(one := waiting.pop())
        waiting |= graph[one] - found
    return found


def _id(node: str) -> str:
    return node.replace(".", "_")


def _label(node: str) -> str:
    name = node.partition(".")[2] or "__init__"
    return f"{name}/" if node != "pinakes" and _is_folder(node) else name


def _listed(nodes: Set[str]) -> str:
    return " ".join(f"`{_label(one)}`" for one in sorted(nodes)) or "–"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"{len(trunk())} parts on {len(levels(trunk()))} levels.")
    print(f"{len(repeated_names())} names are those of modules in several folders: {', '.join(repeated_names())}.")
