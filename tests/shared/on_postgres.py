"""``pytest -p on_postgres``: homes whose settings name no catalogue have one each in PostgreSQL, in this process.

So tests that are about other things run on both databases. Programs that a test starts are not reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from databases import databases, postgres

from pinakes.catalog import Catalog
from pinakes.settings import Settings


@pytest.fixture(scope="session", autouse=True)
def _catalogues_in_postgresql() -> Iterator[None]:
    with postgres() as server, databases(server) as make, pytest.MonkeyPatch.context() as patched:
        there, of, is_there = dict[Path, str](), Catalog.of, Catalog.is_there

        def placed(settings: Settings) -> Settings:
            if settings.catalog.url:
                return settings
            if settings.home not in there:
                there[settings.home] = make()
            return settings.model_copy(
                update={"catalog": settings.catalog.model_copy(update={"url": there[settings.home]})}
            )

        def opened(settings: Settings, *words: Any, **named: Any) -> Catalog:
            return of(placed(settings), *words, **named)

        def known(settings: Settings) -> bool:
            return settings.home in there or is_there(settings)

        for name, function in (("of", opened), ("is_there", known)):
            patched.setattr(Catalog, name, staticmethod(function))
        yield
