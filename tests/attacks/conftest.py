"""A small home that is attacked, each time as a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pinakes.library import Library
from pinakes.settings import load


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked")
    docs = folder / "docs"
    docs.mkdir()
    for number in range(20):
        (docs / f"bird{number}.md").write_text(f"# Bird {number}\n\nHerons wait at pond {number}.\n", "utf-8")
    with Library(load(home=folder / "home", environment={}, embedding__provider="deterministic")) as library:
        library.add(str(docs))
    return folder / "home"


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """A home with twenty documents."""
    place = tmp_path / "home"
    shutil.copytree(made, place)
    return place
