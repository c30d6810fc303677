"""Serving a library: HTTP and MCP. Importing this is cheap; what is needed is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pinakes.settings import Settings

__all__ = ["serve", "serve_mock", "serve_stdio", "serve_worker"]


def serve(settings: Settings, *, reindex: bool = False, on_ready: Callable[[str], None]) -> None:
    """Serve HTTP and MCP until SIGINT or SIGTERM; ``on_ready`` is called with the URL once it answers.

    Configured sources that were never read are read in the background; ``reindex`` reads all sources again
    and builds the indexes anew.

    Raises:
        Busy: the port is taken.
        Refused: an address that other machines reach, without authentication.
        SourceError: a source of a collection that is still empty cannot be reached.
    """
    from pinakes.api.counters import shared_counters

    with shared_counters(settings.server.workers):
        from pinakes.api.server import run

        run(settings, reindex=reindex, on_ready=on_ready)


def serve_mock(settings: Settings, *, on_ready: Callable[[str], None]) -> None:
    """Serve samples from a folder that is gone afterwards, without a model; else as ``serve``."""
    from pinakes.api.mock import run

    run(settings, on_ready=on_ready)


def serve_stdio(settings: Settings, url: str | None = None) -> None:
    """Speak MCP over stdin and stdout until stdin ends.

    ``url`` names a Pinakes whose tools are offered. Without it, a running server of the same home and
    settings answers; where there is none, the home is opened by this process.
    """
    from pinakes.api.stdio import run

    run(settings, url)


def serve_worker(
    settings: Settings,
    *,
    queues: Collection[str],
    batch: int,
    folders: bool,
    agreed: bool,
    say: Callable[[str], object],
) -> None:
    """Take work of the servers of a shared catalogue until SIGINT or SIGTERM; ``say`` is told what is done.

    ``queues``: "embed" and "parse". ``batch``: most chunks that are claimed at once. ``folders``: paths mean the same
    here as at the servers. ``agreed``: to whatever it costs to have a provider embed.

    Raises:
        Refused: the catalogue belongs to one home.
        InvalidInput: there is no such queue.
        ModelMismatch: no collection is embedded by the model of the settings.
        ModelUnavailable: the model cannot be loaded.
    """
    from pinakes.api.worker_process import run

    run(settings, queues=queues, batch=batch, folders=folders, agreed=agreed, say=say)
