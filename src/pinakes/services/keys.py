"""API keys: made, listed, revoked, and looked up for each request."""

from __future__ import annotations

from contextlib import closing

from pinakes.catalog import Catalog, keys
from pinakes.catalog.keys import BEGINNING, Key, to_be_noted
from pinakes.catalog.transactions import within
from pinakes.settings import Settings

__all__ = ["BEGINNING", "Key", "Keys", "any_valid", "to_be_noted"]


class Keys:
    """The keys of a home: operations of ``catalog.keys``. Safe to share between threads."""

    def __init__(self, catalog: Catalog) -> None:
        self.create = within(catalog.write, keys.create)
        self.list_all = within(catalog.read_each, keys.list_all)
        self.of_secret = within(catalog.read_each, keys.of_secret)
        self.revoke = within(catalog.write, keys.revoke)
        self.used = within(catalog.write, keys.used)


def any_valid(settings: Settings) -> bool:
    """Say whether somebody has a valid key to the home of these settings, before a library of it is open."""
    if not Catalog.is_there(settings):
        return False
    with closing(Catalog.of(settings)) as catalog, catalog.read() as connection:
        return keys.any_valid(connection)
