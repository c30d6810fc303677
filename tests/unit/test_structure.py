"""The shape of the code: which way imports go, how large things may grow, what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pinakes"

LAYERS = (
    (
        "foundation",
        {
            "errors",
            "installation",
            "patterns",
            "permissions",
            "ports",
            "profiles",
            "regexes",
            "schedules",
            "settings",
            "types",
        },
    ),
    (
        "pure",
        {
            "analysis",
            "approximation",
            "calls",
            "content_types",
            "fetching",
            "filters",
            "fusion",
            "machine",
            "models",
            "templates",
            "text",
            "wording",
        },
    ),
    ("question", {"chat", "expansion", "posting", "query", "quotes", "routing", "spelling"}),
    (
        "shelf",
        {
            "catalog",
            "chunking",
            "embedders",
            "extractors",
            "indexes",
            "readers",
            "rerankers",
            "sources",
            "summarizers",
            "testing",
        },
    ),
    (
        "flow",
        {
            "audit",
            "evaluation",
            "follow",
            "graph",
            "ingest",
            "metadata",
            "refine",
            "rerank",
            "search",
            "verification",
        },
    ),
    (
        "root",
        {
            "answering",
            "asking",
            "blame",
            "cutting",
            "documents",
            "embedding",
            "exchange",
            "generations",
            "home",
            "library",
            "naming",
            "nearness",
            "rebuilding",
            "shelves",
            "staged",
            "stock",
            "summarizing",
            "upkeep",
        },
    ),
    ("tool", {"tools"}),
    ("interface", {"__init__", "__main__", "cli", "serve", "web"}),
)
"""Lowest first. A part may use what stands below it; within a layer see ``APART``."""

APART = {"pure", "shelf"}
"""Layers whose parts do not know each other."""

LIGHT = {"errors", "ports", "settings", "types"}
HEAVY = {
    "alembic",
    "faiss",
    "fastapi",
    "fastmcp",
    "kreuzberg",
    "numpy",
    "onnx",
    "onnxruntime",
    "pydantic",
    "sqlalchemy",
    "tantivy",
    "tokenizers",
    "tree_sitter",
}

SOURCE_LINES = 500
TEST_LINES = 800
FUNCTION_LINES = 60
FACADE_LINES = 10
PORT_METHODS = 8


def files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def part(module: str) -> str:
    """Return the file or folder of the trunk that a dotted module belongs to."""
    _, _, rest = module.partition(".")
    return rest.partition(".")[0] or "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, *, only_at_import: bool = False) -> Iterator[str]:
    """Yield the dotted names of our modules that a file imports, also inside functions."""
    nodes = _at_import(tree(path).body) if only_at_import else ast.walk(tree(path))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "pinakes")
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(path)} has a relative import"
            if node.module and node.module.split(".")[0] == "pinakes":
                yield from (_resolved(node.module, alias.name) for alias in node.names)


def _at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from _at_import([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])


def _resolved(module: str, name: str) -> str:
    place = SOURCE.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if place.is_dir() or place.with_suffix(".py").is_file() else module


def layer(module: str) -> int:
    return next(number for number, (_, parts) in enumerate(LAYERS) if part(module) in parts)


def test_every_part_has_a_layer() -> None:
    parts = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    known = set().union(*(parts for _, parts in LAYERS))
    assert parts <= known, "give it a row in LAYERS"


def test_imports_go_downwards() -> None:
    wrong = []
    for path in files("src/pinakes"):
        module = module_of(path)
        for other in imports(path):
            if part(module) == part(other):
                continue
            mine, theirs = layer(module), layer(other)
            if theirs > mine or (theirs == mine and LAYERS[mine][0] in APART):
                wrong.append(f"{module} imports {other}")
    assert not wrong


def test_nothing_imports_in_a_circle() -> None:
    graph = {module_of(path): set(imports(path, only_at_import=True)) for path in files("src/pinakes")}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " → ".join((*above[above.index(module) :], module))
        if module not in done:
            for other in graph.get(module, set()) - {module}:
                visit(other, (*above, module))
            done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize(("folder", "most"), [("src/pinakes", SOURCE_LINES), ("tests", TEST_LINES)])
def test_files_stay_short(folder: str, most: int) -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in files(folder)}
    assert {name: length for name, length in lengths.items() if length > most} == {}


def test_functions_stay_short() -> None:
    long = {
        f"{name_of(path)}:{node.name}": length
        for path in files("src/pinakes")
        if path.parent.name != "versions"  # a migration is a list of statements
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}


def test_methods_of_the_facade_only_delegate() -> None:
    path = SOURCE / "library.py"
    lines = path.read_text("utf-8").splitlines()
    facade = next(node for node in tree(path).body if isinstance(node, ast.ClassDef) and node.name == "Library")
    long = {}
    for method in facade.body:
        if isinstance(method, ast.FunctionDef):
            body = method.body[1:] if ast.get_docstring(method) else method.body
            spans = [range(statement.lineno - 1, statement.end_lineno or 0) for statement in body]
            length = sum(bool(lines[row].strip()) for span in spans for row in span)
            if length > FACADE_LINES:
                long[method.name] = length
    assert long == {}


def test_ports_stay_narrow() -> None:
    ports = [node for node in tree(SOURCE / "ports.py").body if isinstance(node, ast.ClassDef)]
    methods = {
        port.name: sum(isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) for member in port.body)
        for port in ports
    }
    assert len(methods) >= 4
    assert {name: count for name, count in methods.items() if count > PORT_METHODS} == {}


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import pinakes") & (HEAVY | {"yaml", "httpx"}) == set()


def test_the_records_and_errors_are_light() -> None:
    assert loaded_by("from pinakes import Hit, NotFound") & HEAVY == set()


def test_opening_a_library_loads_no_model_and_no_index(tmp_path: Path) -> None:
    opened = loaded_by(f"from pinakes import Library\nwith Library.open({str(tmp_path)!r}): pass")
    lazily = HEAVY - {"numpy", "pydantic", "sqlalchemy", "alembic"}
    assert opened & lazily == set()


def test_every_module_says_what_it_is() -> None:
    silent = [name_of(path) for path in files("src/pinakes") if not ast.get_docstring(tree(path))]
    assert silent == []


def test_every_class_and_function_for_others_has_a_docstring() -> None:
    silent = [
        f"{name_of(path)}:{node.name}"
        for path in files("src/pinakes")
        if "migrations" not in path.parts and "testing" not in path.parts
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


MACHINE_PATH = re.compile(r"""(?<![\w.:/~$}])/(?:work|tmp|root|home/\w+|Users/\w+|mnt|private)/\w""")


def test_no_path_of_one_machine_is_written_down() -> None:
    found = [
        f"{name_of(path)}:{number}"
        for folder in ("src", "tests", "benchmarks", "examples", "docs")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".toml", ".md", ".yaml", ".yml", ".json", ".html", ".js"} and path != Path(__file__)
        if ROOT / "benchmarks" / "results" not in path.parents
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_nothing_is_unpickled_and_no_pickle_is_loaded() -> None:
    wrong = [
        name_of(path)
        for path in files("src/pinakes")
        if re.search(
            r"import pickle|pickle\.load|allow_pickle=True|yaml\.load\(|\beval\(|\bexec\(", path.read_text("utf-8")
        )
    ]
    assert wrong == []
