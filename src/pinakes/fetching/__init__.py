"""Safe access to URLs from users or documents.

Only http and https, only to the public network and to entries of ``fetch.allow_private``. A host is resolved once, and
the connection uses the resolved address; each redirect is checked again. An exchange has a time limit, and its answer a
size limit, which applies to the unpacked data. Proxies from the environment are not used, since they would resolve
names again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.fetching.urls import MAX_URL_CHARS, check_url, shown
from pinakes.settings import FetchSettings

if TYPE_CHECKING:
    from pinakes.fetching.client import Client

__all__ = ["MAX_URL_CHARS", "check_url", "open_client", "shown"]


def open_client(settings: FetchSettings) -> Client:
    """Return a client with these ``settings``; the caller must close it.

    Raises:
        InvalidSetting: ``fetch.allow_private`` has an entry that is not a host, address or network.
    """
    from pinakes.fetching.client import Client

    return Client(settings)
