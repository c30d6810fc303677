"""Installs packages with plug-ins into a folder, as pip does: their modules and a ``.dist-info`` beside them."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


def install_example(site: Path, version: str = "") -> None:
    """Install ``examples/plugin`` as its pyproject.toml has it, or as if it were of another version."""
    shutil.copytree(EXAMPLE / "src", site, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    install_example_metadata(site, version)


def install_example_metadata(site: Path, version: str = "") -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    write_metadata(site, project["name"], version or project["version"], project["entry-points"])


def install(
    site: Path, name: str, group: str, entries: Mapping[str, str], code: str = "", version: str = "1.0"
) -> None:
    """Install a package ``name`` of one module, which has ``code``, with the plug-ins ``entries`` (name → place)."""
    site.mkdir(parents=True, exist_ok=True)
    (site / f"{name.replace('-', '_')}.py").write_text(code, "utf-8")
    write_metadata(site, name, version, {f"pinakes.{group}": entries})


def write_metadata(site: Path, name: str, version: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    uninstall(site, name)
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{key} = {place}" for key, place in entries.items()), "")
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines), "utf-8")


def uninstall(site: Path, name: str) -> None:
    for folder in site.glob(f"{name.replace('-', '_')}-*.dist-info"):
        shutil.rmtree(folder)
