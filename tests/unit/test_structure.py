"""The shape of the code: which way imports go, how large things may grow, what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import import_graph
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pinakes"

LIGHT = {"core", "settings"}
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
INTERFACES = ("api", "cli", "compat", "tools")
PARTS = {"app", "catalog", "_catalog"}
"""What a library and its services put together; nobody above them takes it from them."""
LEVELS = 12
"""Of the folders and files of the trunk, by what they import."""
REPEATED_NAMES = 41
"""Names that modules of several folders have. No two of them should mean different things."""


def files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_the_contracts_of_imports_are_kept() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("graph", [import_graph.files, import_graph.folders])
def test_nothing_imports_in_a_circle(graph: Callable[[], import_graph.Graph]) -> None:
    import_graph.levels(graph())  # raises CycleError, which names the circle


def test_the_graph_of_imports_has_few_levels() -> None:
    assert len(import_graph.levels(import_graph.trunk())) <= LEVELS


def test_few_modules_share_a_name() -> None:
    names = import_graph.repeated_names()
    assert len(names) <= REPEATED_NAMES, names


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


def test_interfaces_reach_around_no_service() -> None:
    """What they may not import they may not take from a library either: its parts, its catalogue, a transaction."""
    interfaces = [path for folder in INTERFACES for path in files(f"src/pinakes/{folder}")]
    assert len(interfaces) > 50
    reaches = [
        f"{name_of(path)}:{node.lineno}"
        for path in [*interfaces, SOURCE / "library.py"]
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and path in interfaces and node.attr in PARTS and not _of_settings(node))
        or (isinstance(node, ast.With) and any(_begins_transaction(item.context_expr) for item in node.items))
    ]
    assert reaches == []


def _of_settings(node: ast.Attribute) -> bool:
    return ast.unparse(node.value).endswith("settings")


def _begins_transaction(opened: ast.expr) -> bool:
    called = opened.func if isinstance(opened, ast.Call) else opened
    return isinstance(called, ast.Attribute) and called.attr in {"read", "write"}


def test_ports_stay_narrow() -> None:
    ports = [node for node in tree(SOURCE / "core" / "ports.py").body if isinstance(node, ast.ClassDef)]
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
