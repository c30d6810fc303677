"""``python -m pinakes.api.replica DESCRIPTOR``: one further process that answers; see ``replicas``."""

from __future__ import annotations

import os
import socket
import sys
import threading

from pinakes.api.replicas import Role
from pinakes.api.server import TimedExit, serving
from pinakes.api.startup import Startup
from pinakes.library import Library
from pinakes.platform.memory import share_arenas
from pinakes.platform.permissions import be_private


def main() -> None:
    """Answer until the first process ends or says so."""
    be_private()
    share_arenas()
    role = Role.read(sys.stdin.buffer.readline())
    leaving = TimedExit(role.settings.server.shutdown_s)
    with leaving, socket.socket(fileno=int(sys.argv[1])) as listener, Library(role.settings) as library:
        startup = Startup(library, reads=False, say=lambda _: None, on_failure=lambda: server.stop())
        app, server = serving(library, startup, role.instance_id, role.local_key, leaving, parts=())

        def until_left() -> None:
            """End with the first process: its end of the pipe is closed when it ends, however it does."""
            os.read(0, 1)  # not sys.stdin: its lock would be held when the interpreter ends
            leaving.begin(library)
            server.stop()

        threading.Thread(target=until_left, name="pinakes-lifeline", daemon=True).start()
        startup.start()
        startup.wait()  # until then the others answer
        server.run(sockets=[listener])
        if not all([startup.stop(), app.state.workers.close(role.settings.server.shutdown_s)]):
            leaving.now(library)


if __name__ == "__main__":
    main()
