"""A library in a fresh home, with the deterministic embedder, and a folder of its own to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pinakes.library import Library
from pinakes.testing import write_files

OpenLibrary: TypeAlias = Callable[..., Library]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def open_library(home: Path, tmp_path: Path) -> Iterator[OpenLibrary]:
    """Open the home; opening again closes what was open."""
    opened: list[Library] = []

    def open_(**settings: Any) -> Library:
        while opened:
            opened.pop().close()
        chosen = {"embedding__provider": "deterministic", "cache": str(tmp_path / "cache")} | settings
        opened.append(Library.open(home, **chosen))
        return opened[-1]

    yield open_
    for library in opened:
        library.close()


@pytest.fixture
def library(open_library: OpenLibrary) -> Library:
    return open_library()


@pytest.fixture
def read_pages(docs: Path, open_library: OpenLibrary) -> Callable[..., Library]:
    """Return what writes pages, given as name → text, and reads them, with settings of the library."""

    def read(pages: Mapping[str, str], **settings: Any) -> Library:
        write_files(docs, pages)
        library = open_library(**settings)
        library.add(str(docs))
        return library

    return read
