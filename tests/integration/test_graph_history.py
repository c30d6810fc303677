"""A graph that followed each change is the one that is computed anew."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from graph_history import play

from pinakes.catalog import Catalog
from pinakes.settings import Settings


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_that_followed_random_changes_is_that_of_a_rebuild(tmp_path: Path, seed: int) -> None:
    with closing(Catalog.of(Settings(home=tmp_path))) as catalog:
        play(catalog, seed, steps=24, compared_each=6)
