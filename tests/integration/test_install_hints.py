"""What is told to be installed fits the environment that this Pinakes is in: tried in real ones."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

import pinakes
from pinakes.core.installation import NAME, install_command

EXTRAS = ("ocr", "passwords")
"""Those that the tests have. What is told of the others comes from the same line."""
HINT = "from pinakes.core.installation import install_command; print(install_command('ocr'))"


def environment(folder: Path, *, pip: bool) -> Path:
    """Make an environment with this Pinakes in it, by the metadata that its installation wrote; return its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    [site] = (folder / "lib").glob("python*/site-packages")
    metadata = Path(str(distribution(NAME).locate_file("."))) / f"{NAME}-{distribution(NAME).version}.dist-info"
    shutil.copytree(metadata, site / metadata.name)
    (site / "pinakes.pth").write_text(f"{Path(pinakes.__file__).parents[1]}\n")
    if pip:
        shutil.copytree(Path(str(distribution("pip").locate_file("pip"))), site / "pip")
    return python


def told(python: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, "-c", HINT], env=clean, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_runs_and_installs_into_the_environment_that_asks(extra: str) -> None:
    """Here the libraries are there already, so that pip needs no registry to say so."""
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", install_command(extra)], env=offline, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"already satisfied: {shlex.split(install_command(extra))[-1]}" in done.stdout


def test_an_environment_with_pip_is_told_of_its_own_pip(tmp_path: Path) -> None:
    python = environment(tmp_path / "with pip", pip=True)
    assert told(python) == f"{shlex.quote(str(python))} -m pip install 'rapidocr>=3.4'"


def test_an_environment_without_pip_is_told_of_uv(tmp_path: Path) -> None:
    python = environment(tmp_path / "tool", pip=False)
    assert told(python) == f"uv pip install --python {python} 'rapidocr>=3.4'"


def test_an_application_of_pipx_is_told_of_pipx(tmp_path: Path) -> None:
    python = environment(tmp_path / "pinakes", pip=True)
    (tmp_path / "pinakes" / "pipx_metadata.json").write_text("{}")
    assert told(python) == "pipx inject pinakes 'rapidocr>=3.4'"


def test_no_hint_names_pinakes_to_a_registry() -> None:
    source = Path(pinakes.__file__).parent
    named = re.compile(r"(?:pip|pipx|tool) (?:install|inject|run)[^\n\"]*\bpinakes(?!\.)\b")
    assert [str(file) for file in source.rglob("*.py") if named.search(file.read_text("utf-8"))] == []
