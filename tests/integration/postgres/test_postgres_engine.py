"""The engine ``postgres``: what every engine promises, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pinakes import testing
from pinakes.catalog import Catalog
from pinakes.indexes import open_index
from pinakes.settings import CatalogSettings, IndexSettings, PostgresSettings, Settings


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    from databases import databases, postgres

    with postgres() as server, databases(server) as make:
        yield make()


@pytest.fixture
def opened(url: str, tmp_path: Path) -> Iterator[Callable[..., testing.MakeIndex]]:
    """Gives what opens indexes by an engine."""
    catalogues: list[Catalog] = []

    def opener(engine: str, **postgres: int) -> testing.MakeIndex:
        settings = Settings(
            home=tmp_path / "home",
            catalog=CatalogSettings(url=url),
            index=IndexSettings(engine=engine),
            postgres=PostgresSettings(**postgres),
        )
        catalogues.append(catalog := Catalog.of(settings))
        return lambda folder, dimension, select: open_index(settings, folder, dimension, select, catalog=catalog)

    yield opener
    for catalog in catalogues:
        catalog.close()


@pytest.mark.parametrize("engine", ["postgres", "tantivy+postgres", "postgres+faiss"])
@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_it_does_what_every_engine_promises(
    check: Callable[[testing.MakeIndex, Path], None],
    engine: str,
    opened: Callable[..., testing.MakeIndex],
    tmp_path: Path,
) -> None:
    folder = tmp_path / f"{engine}-{check.__name__}"
    folder.mkdir()
    check(opened(engine), folder)
