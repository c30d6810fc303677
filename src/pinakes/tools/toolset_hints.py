"""How what a toolset holds is offered: tools, prompts and routes."""

from __future__ import annotations


def how_on(toolset: str) -> str:
    """Return how ``toolset`` is turned on."""
    where = "config.toml in the server's home, or --toolsets where it is started"
    return f"Add {toolset!r} to the setting toolsets ({where}) and restart the server."
