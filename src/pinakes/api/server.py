"""``pinakes serve``: the HTTP server in the foreground."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Self, TypeAlias

import uvicorn
from fastapi import FastAPI

from pinakes.api import descriptors
from pinakes.api.connections import Connections, http_protocol, network_names, socket_protocol
from pinakes.api.folder_watching import Watching
from pinakes.api.guard import is_unspecified
from pinakes.api.http_app import create_app
from pinakes.api.instance import announced, answering, new_id
from pinakes.api.replicas import Replicas, Role
from pinakes.api.scheduling import Scheduling
from pinakes.api.startup import Startup
from pinakes.api.threads import RequestThreads
from pinakes.core.errors import Busy, PinakesError, Refused
from pinakes.core.loopback import is_loopback
from pinakes.jobs.worker import Worker
from pinakes.library import Library
from pinakes.services.cluster import Membership
from pinakes.services.keys import any_valid
from pinakes.settings import ServerSettings, Settings
from pinakes.sources import git_process

_log = logging.getLogger(__name__)

_BACKLOG = 512
_ANSWERED_SHARE, _CLOSED_SHARE, _LAST_SHARE = 0.5, 0.65, 0.85
"""Of the time that a server has to end: when all callers are told, all connections closed, and the process ended."""

_LAST_WORDS_S = 0.3
_ACCEPT_AGAIN_S = 1.0
_REOPEN_AGAIN_S = 2.0
_LEFT_TO_OTHERS_S, _MANY = 0.0005, 10
"""For each connection that is open so long a process leaves the next one to others, at most as for so many."""

Part: TypeAlias = Startup | Worker | Replicas | Membership
"""What goes on beside the answers of a server: it begins, is asked to end, and stopped."""


def run(settings: Settings, *, reindex: bool, on_ready: Callable[[str], None]) -> None:
    """See ``pinakes.api.serve``."""
    check_exposure(settings.server, lambda: any_valid(settings))
    descriptors.raise_limit()
    with bind(settings.server) as listener:
        library = Library(settings)
        while _serve(library, listener, reindex=reindex, on_ready=on_ready):
            _log.warning("the catalogue is another one now, or of another server: serving begins anew")
            reindex, on_ready, library = False, lambda _: None, _reopened(settings)


def _reopened(settings: Settings) -> Library:
    """Open the library as soon as its catalogue can be reached."""
    while True:
        try:
            return Library(settings)
        except Busy as error:
            _log.warning("%s", error.message)
            time.sleep(_REOPEN_AGAIN_S)


def _serve(library: Library, listener: socket.socket, *, reindex: bool, on_ready: Callable[[str], None]) -> bool:
    """Serve until that is to end; say whether it ended since the catalogue is another one now."""
    settings, url, replaced = library.settings, url_of(listener), threading.Event()
    with TimedExit(settings.server.shutdown_s) as leaving, library:
        instance_id, local_key = new_id(), new_id()
        startup = Startup(library, reindex=reindex, url=url, on_failure=lambda: server.stop())
        scheduling = Scheduling(library, ready=lambda: not startup.reading)
        tasks = [startup, scheduling, Watching(library), library.webhooks(), library.background(), library.graph_job()]
        worker, member = Worker(library.jobs, tasks), library.cluster.membership("server", url)
        parts: list[Part] = [startup, worker, member]
        if settings.server.workers > 1:
            role = Role(settings, instance_id, local_key)
            parts.append(Replicas(role, listener, ready=lambda: not startup.running))
        app, server = serving(library, startup, instance_id, local_key, leaving, parts, lambda: on_ready(url))

        def restart() -> None:
            replaced.set()
            server.stop()

        library.loading.on_replaced(restart)
        with announced(settings, url, instance_id, local_key):
            server.run(sockets=[listener.dup()])  # which it closes
        ended = all([*[part.stop() for part in parts], app.state.workers.close(settings.server.shutdown_s)])
        if startup.failure is not None:
            raise startup.failure
        if not ended:
            leaving.now(library)
    return replaced.is_set() and not server.signalled


def serving(
    library: Library,
    startup: Startup,
    instance_id: str,
    local_key: str,
    leaving: TimedExit,
    parts: Sequence[Part],
    on_ready: Callable[[], object] = lambda: None,
) -> tuple[FastAPI, Server]:
    """Return the application that answers for ``library``, and its server, with which ``parts`` begin and end."""
    settings = library.settings.server
    connections = Connections(settings)
    app = create_app(library, startup=startup, instance_id=instance_id, local_key=local_key, connections=connections)

    def on_started() -> None:
        gc.freeze()  # what is loaded by now stays: the collector need not look at it again and again
        on_ready()
        for part in parts:
            part.start()

    def on_ending() -> None:
        app.state.ending.set()
        for part in parts:
            part.end()

    server = Server(
        configured(app, settings),
        on_started,
        on_ending,
        lambda: leaving.begin(library),
        connections=connections,
        workers=app.state.workers,
    )
    return app, server


def configured(app: FastAPI, server: ServerSettings) -> uvicorn.Config:
    """Return how uvicorn serves ``app``."""
    return uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        ws_max_size=server.max_body_bytes,
        server_header=False,
        proxy_headers=bool(server.trusted_proxies),
        forwarded_allow_ips=network_names(server.trusted_proxies),
    )


class TimedExit:
    """Ends the process in time, also where a thread is inside a library that cannot be interrupted.

    What is committed is there after that; what was answered is committed.
    """

    def __init__(self, within_s: float) -> None:
        self._within_s = within_s * _LAST_SHARE
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let the process go on: all of it ended."""
        if self._timer is not None:
            self._timer.cancel()

    def begin(self, library: Library) -> None:
        """End the process after the time that it has, unless it is done by then."""
        if self._timer is None:
            self._timer = threading.Timer(self._within_s, self.now, (library,))
            self._timer.daemon = True
            self._timer.start()

    def now(self, library: Library) -> None:
        """End the process; what git it started ends with it, and the audit log gets what it can still take."""
        _log.warning("the server ends now, though not all that it does could be ended in server.shutdown_s")
        log = threading.Thread(target=library.audit.close, daemon=True)
        log.start()
        log.join(_LAST_WORDS_S)
        git_process.kill_all()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out that a socket was refused: with an answer of ours, uvicorn takes that for an error."""
    return "without completing handshake" not in record.getMessage()


class Server(uvicorn.Server):
    """Says when it answers, has an eye on its connections, and ends quietly and in time on SIGINT and SIGTERM."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_started: Callable[[], object],
        on_ending: Callable[[], object] = lambda: None,
        on_signal: Callable[[], object] = lambda: None,
        *,
        connections: Connections | None = None,
        workers: RequestThreads | None = None,
    ) -> None:
        """``connections``: None = with the usual limits. ``workers``: what runs there is to end with the server."""
        super().__init__(config)
        self._on_started, self._on_ending, self._on_signal = on_started, on_ending, on_signal
        self._workers = workers
        self._accepting: set[asyncio.Task[Any]] = set()
        self._listening: dict[socket.socket, asyncio.Handle] = {}
        self._connections = connections = connections or Connections(ServerSettings())
        self._within_s = connections.settings.shutdown_s
        self.signalled = False
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        config.load()
        config.http_protocol_class = http_protocol(connections)
        if config.ws_protocol_class is not None:
            config.ws_protocol_class = socket_protocol(config.ws_protocol_class, connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the port, then tell."""
        shared = sockets if sockets and self._connections.settings.workers > 1 else []
        await super().startup([] if shared else sockets)
        for listener in shared:
            listener.setblocking(False)
            self._listen(listener, 0)
        if self.started:
            self._watch = asyncio.create_task(self._connections.watch())
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell that the server ends and have what runs end; then close what is open."""
        self._on_ending()
        for listener, waiting in self._listening.items():
            waiting.cancel()
            asyncio.get_running_loop().remove_reader(listener)
        if self._workers is not None:
            self._workers.end(self._within_s * _ANSWERED_SHARE)
        self.config.timeout_graceful_shutdown = self._within_s * _CLOSED_SHARE  # type: ignore[assignment]
        await super().shutdown(sockets)
        self._watch.cancel()

    def _accept(self, listener: socket.socket) -> None:
        """Take one connection, then leave the next one to the other processes, the longer the more are open here.

        An event loop takes all that wait: of eight clients that came at once one process had none in a quarter of runs.
        """
        loop, wait_s = asyncio.get_running_loop(), _ACCEPT_AGAIN_S
        try:
            connection, _ = listener.accept()
            made = partial(self.config.http_protocol_class, self.config, self.server_state, self.lifespan.state, loop)  # type: ignore[call-arg]
            task = loop.create_task(loop.connect_accepted_socket(made, connection))
            self._accepting.add(task)
            task.add_done_callback(self._accepting.discard)
            wait_s = _LEFT_TO_OTHERS_S * min(_MANY, len(self.server_state.connections) + len(self._accepting))
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another process has it, or it is gone
            return
        except OSError as error:  # as where no more files can be opened
            _log.warning("a connection cannot be accepted: %s", error)
        loop.remove_reader(listener)
        self._listen(listener, wait_s)

    def _listen(self, listener: socket.socket, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._listening[listener] = loop.call_later(wait_s, loop.add_reader, listener, self._accept, listener)

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
            self.signalled = True
            self._on_signal()
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


def address_of_machine() -> str:
    """Return the address by which other machines reach this one, 127.0.0.1 where it has no network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # an address that nobody has: it is routed as any other
        except OSError:
            return "127.0.0.1"
        return str(asked.getsockname()[0])


def _unbound(server: ServerSettings, error: OSError) -> PinakesError:
    place = f"{server.host}:{server.port}"
    if isinstance(error, PermissionError) or "in use" not in os.strerror(error.errno or 0).lower():
        return Refused(f"{place} cannot be opened: {error.strerror}.", hint="Choose another --host or --port.")
    host = "127.0.0.1" if is_unspecified(server.host) else server.host
    url = f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"
    who = f"Another Pinakes answers at {url}." if answering(url) is not None else "Another program uses it."
    return Busy(f"Port {server.port} is taken.", hint=f"{who} Choose another port: --port {server.port + 1}")
