"""A caller that is limited to some collections finds no other, whatever it does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from pinakes.catalog import Catalog, collections
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidName, NotFound

ONLY_OPEN = Caller("guest", collections=("open", "new", "Ärger"))


@pytest.fixture
def filled(catalog: Catalog) -> Catalog:
    with catalog.write() as connection:
        for name in ("open", "secret", "Ärger"):
            collections.create(connection, name)
    return catalog


def test_others_are_neither_found_nor_listed_nor_named(filled: Catalog) -> None:
    with filled.read() as connection, calling(ONLY_OPEN):
        assert [one.name for one in collections.list_all(connection)] == ["open", "Ärger"]
        assert collections.find(connection, "secret") is None
        assert collections.beside(connection, "secret") is None
        with pytest.raises(NotFound) as there:
            collections.get(connection, "secret")
        with pytest.raises(NotFound) as nowhere:
            collections.get(connection, "nowhere")
        assert str(there.value).replace("secret", "nowhere") == str(nowhere.value)


def test_a_name_is_the_same_however_its_letters_are_composed(filled: Catalog) -> None:
    with filled.read() as connection, calling(ONLY_OPEN):
        assert collections.get(connection, "A\u0308rger").name == "Ärger"


@pytest.mark.parametrize("make", [collections.create, collections.ensure, collections.free])
def test_others_cannot_be_made_whether_they_are_there_or_not(
    filled: Catalog, make: Callable[[Connection, str], object]
) -> None:
    with filled.write() as connection, calling(ONLY_OPEN):
        for name in ("secret", "nowhere"):
            with pytest.raises(NotFound, match=f"There is no collection '{name}'"):
                make(connection, name)
        assert make(connection, "new")


def test_a_name_out_of_reach_is_not_taken(filled: Catalog) -> None:
    with filled.write() as connection, calling(ONLY_OPEN):
        record = collections.get(connection, "open")
        with pytest.raises(NotFound):
            collections.rename(connection, record, "secret")
        with pytest.raises(InvalidName):
            collections.rename(connection, record, "Ärger")
        assert collections.rename(connection, record, "new").name == "new"


def test_ids_are_those_of_all_so_that_nothing_is_cleaned_away(filled: Catalog) -> None:
    with filled.read() as connection:
        every = collections.ids(connection)
        with calling(ONLY_OPEN):
            assert collections.ids(connection) == every
    assert len(every) == 3
