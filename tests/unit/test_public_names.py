from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import pinakes
from pinakes.core import errors


def test_the_public_names_are_sorted_and_each_is_there_once():
    assert pinakes.__all__ == sorted(set(pinakes.__all__))
    assert dir(pinakes) == pinakes.__all__


@pytest.mark.parametrize("name", pinakes.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(pinakes, name) is not None


def test_what_type_checkers_see_is_what_there_is():
    tree = ast.parse(Path(pinakes.__file__).read_text())
    seen = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pinakes."):
            assert all(alias.asname in (None, alias.name) for alias in node.names)
            seen |= {alias.name: node.module for alias in node.names}
    assert set(seen) | {"__version__"} == set(pinakes.__all__)
    for name, module in seen.items():
        assert getattr(pinakes, name) is getattr(sys.modules[module], name)


def test_every_error_is_public():
    tree = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert tree <= set(pinakes.__all__)


def test_the_version_is_that_of_the_installed_package():
    assert pinakes.__version__ == version("pinakes")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Libary'"):
        pinakes.Libary  # noqa: B018


def test_importing_the_package_and_its_settings_loads_nothing_heavy():
    code = (
        "import sys, pinakes; from pinakes import Settings, load, PinakesError, Hit;"
        "print([n for n in ('numpy', 'sqlalchemy', 'onnx', 'faiss', 'typer', 'yaml') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
