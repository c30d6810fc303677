"""The one safe way to addresses that users or documents name.

Only http and https, to the open network and to what ``fetch.allow_private`` names. A host is resolved once, and that
address is connected to; each redirect is looked at anew. An exchange has one time limit, and its answer one size limit,
which holds for what packed data unpacks to. Proxies of the environment are not used: they would resolve names anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.fetching.urls import MAX_URL_CHARS, check_url, shown
from pinakes.settings import FetchSettings

if TYPE_CHECKING:
    from pinakes.fetching.client import Client

__all__ = ["MAX_URL_CHARS", "check_url", "open_client", "shown"]


def open_client(settings: FetchSettings) -> Client:
    """Return a client that keeps to ``settings``; close it when done.

    Raises:
        InvalidSetting: ``fetch.allow_private`` has an entry that is no host, address or network.
    """
    from pinakes.fetching.client import Client

    return Client(settings)
