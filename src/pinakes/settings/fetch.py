"""The settings of fetching from addresses that users and documents name."""

from __future__ import annotations

from pydantic import Field

from pinakes.settings.base import Section


class FetchSettings(Section):
    """How pages are fetched and webhooks are sent."""

    allow_private: tuple[str, ...] = Field(
        (), description="Private hosts that may be reached: names, `*.names`, addresses, networks."
    )
    timeout_s: float = Field(30, gt=0, description="Time limit of a request including redirects and body, in seconds.")
    user_agent: str = Field(
        "", pattern=r"^[\x20-\x7e]*$", description="User agent of requests; empty = Pinakes and its version."
    )
    robots: bool = Field(True, description="Request only what a host's robots.txt allows.")
    delay_s: float = Field(0.5, ge=0, description="Time between two requests to one host, in seconds.")
    max_pages: int = Field(10_000, ge=1, description="Maximum pages from the sitemaps of one source.")
