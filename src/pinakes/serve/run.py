"""``pinakes serve``: the HTTP server in the foreground."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType

import uvicorn

from pinakes.catalog import Catalog, keys
from pinakes.errors import Busy, PinakesError, Refused
from pinakes.library import Library
from pinakes.serve.app import create_app
from pinakes.serve.background import Background
from pinakes.serve.guard import is_loopback, is_unspecified
from pinakes.serve.instance import announced, answering, new_id
from pinakes.serve.scheduling import Scheduling
from pinakes.serve.startup import Startup
from pinakes.serve.watching import Watching
from pinakes.serve.webhooks import Webhooks
from pinakes.settings import ServerSettings, Settings

_BACKLOG = 512
_GRACE_S = 5


def run(settings: Settings, *, reindex: bool, on_ready: Callable[[str], None]) -> None:
    """See ``pinakes.serve.serve``."""
    check_exposure(settings.server, lambda: _has_keys(settings))
    listener = bind(settings.server)
    url = url_of(listener)
    with listener, Library(settings) as library:
        instance_id, local_key = new_id(), new_id()
        background, watching, hooks = Background(library), Watching(library), Webhooks(library)
        startup = Startup(library, reindex=reindex, url=url, on_failure=lambda: server.stop())
        scheduling = Scheduling(library, ready=lambda: not startup.reading)
        app = create_app(library, startup=startup, instance_id=instance_id, local_key=local_key)
        config = uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            timeout_graceful_shutdown=_GRACE_S,
            ws_max_size=settings.server.max_body_bytes,
            server_header=False,
        )

        def on_started() -> None:
            gc.freeze()  # what is loaded by now stays: the collector need not look at it again and again
            on_ready(url)
            startup.start()
            background.start()
            watching.start()
            scheduling.start()
            hooks.start()

        server = Server(config, on_started, app.state.ending.set)
        with announced(settings, url, instance_id, local_key):
            server.run(sockets=[listener])
        background.end()
        watching.end()
        scheduling.end()
        stopped = [one.stop() for one in (startup, background, watching, scheduling)]
        ended = all([*stopped, app.state.workers.close(_GRACE_S)])
        if startup.failure is not None:
            raise startup.failure
        if not ended:
            library.audit.close()
            _leave()


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out that a socket was refused: with an answer of ours, uvicorn takes that for an error."""
    return "without completing handshake" not in record.getMessage()


class Server(uvicorn.Server):
    """Says when it answers, and ends quietly on SIGINT and SIGTERM."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_started: Callable[[], object],
        on_ending: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._on_ending = on_ending
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the port, then tell."""
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell that the server ends, then close what is open."""
        self._on_ending()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """End the server; may be called from any thread."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals for as long as the server runs; uvicorn would raise them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(number: int, frame: FrameType | None) -> None:
            self.handle_exit(number, frame)

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def check_exposure(server: ServerSettings, has_keys: Callable[[], bool] = lambda: False) -> None:
    """Let a server bind where others reach it only with keys, or when that was asked for in words.

    Raises:
        Refused: nobody has a valid key, and it was not.
    """
    if not is_loopback(server.host) and not server.no_auth and not has_keys():
        raise Refused(
            f"{server.host or 'Every address'} can be reached from other machines, and there is no authentication.",
            hint="Make a key (pinakes keys create NAME), bind 127.0.0.1, or allow it: --no-auth.",
        )


def _has_keys(settings: Settings) -> bool:
    if not (settings.home / "catalog.db").exists():
        return False
    with closing(Catalog.at(settings.home)) as catalog, catalog.read() as connection:
        return keys.any_valid(connection)


def bind(server: ServerSettings) -> socket.socket:
    """Open the port.

    Raises:
        Busy: it is taken.
        Refused: the address is not one of this machine, or the port needs rights.
    """
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    # asyncio turns Nagle's delay off only where the protocol is named; with it every answer would wait 40 ms
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((server.host, server.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _unbound(server, error) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL at which this machine reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    if is_unspecified(host):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _unbound(server: ServerSettings, error: OSError) -> PinakesError:
    place = f"{server.host}:{server.port}"
    if isinstance(error, PermissionError) or "in use" not in os.strerror(error.errno or 0).lower():
        return Refused(f"{place} cannot be opened: {error.strerror}.", hint="Choose another --host or --port.")
    host = "127.0.0.1" if is_unspecified(server.host) else server.host
    url = f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"
    who = f"Another Pinakes answers at {url}." if answering(url) is not None else "Another program uses it."
    return Busy(f"Port {server.port} is taken.", hint=f"{who} Choose another port: --port {server.port + 1}")


def _leave() -> None:
    """End the process at once: a thread is inside a library that cannot be interrupted, and all is committed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
