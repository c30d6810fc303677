"""Several processes write to one index of the engine ``postgres``, and one of them falls silent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pinakes.catalog import Catalog
from pinakes.catalog.index_tables import registry
from pinakes.catalog.index_tables.sessions import Sessions
from pinakes.core.errors import Busy
from pinakes.settings import CatalogSettings, Settings


def test_a_writer_that_falls_silent_gives_way_to_others(new_database: Callable[[], str], tmp_path: Path) -> None:
    """As one does whose machine sleeps: its connection stays open, and says nothing."""
    limits = CatalogSettings(url=new_database(), lock_timeout_s=4)
    with closing(Catalog.of(Settings(home=tmp_path / "home", catalog=limits))) as catalog:
        sessions = Sessions(catalog, limits)
        number, _ = registry.opened(sessions, "index", catalog.home, 0, words=True)

        others = 0

        def fall_silent() -> None:
            nonlocal others
            with sessions.writing() as silent:
                assert registry.locked_head(silent, number)
                with sessions.writing() as other:  # it waits until the server ends the silent one
                    others += registry.locked_head(other, number) is not None
                silent.execute("SELECT 1")

        with pytest.raises(Busy):
            fall_silent()
        assert others == 1
        assert registry.head(sessions, number)
