"""The command line. Data goes to stdout, words to stderr; heavy modules are loaded by the commands that need them."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from contextlib import suppress
from types import FrameType

_KEP_SERVER = "http://127.0.0.1:8000"


def main() -> None:
    """Run ``pinakes`` with the arguments of the process, and exit."""
    _run(sys.argv[1:])


def mcp_kep_knowledge() -> None:
    """Run ``mcp-kep-knowledge``: the kep profile over stdio, answered by the server on the same machine."""
    _run(["mcp", "--profile", "kep", "--url", _KEP_SERVER, *sys.argv[1:]])


def _run(arguments: list[str]) -> None:
    # Pydantic looks for plugins in every installed package, which is a fifth of our start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # The threads of OpenBLAS, of NumPy's copy and of FAISS's, spin 2^26 cycles for work before they sleep: 2^16 here.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    from pinakes.platform.memory import load_uncollected, share_arenas

    load_uncollected()
    from pinakes.cli.entry import run
    from pinakes.cli.session import INTERRUPTED
    from pinakes.cli.standard_streams import open_streams
    from pinakes.platform.permissions import be_private

    open_streams()
    be_private()
    share_arenas()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _stop)
    code = run(arguments)
    gc.freeze()  # all that there is ends now: to look for cycles in it would take a seventh of a short command
    if code == INTERRUPTED:  # all is said and closed; a thread that still waits for a provider would hold us up
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Stop in order; should that take too long, the next signal ends the process where it is, which harms nothing."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _stop:
            signal.signal(number, _stop_at_once)
    raise KeyboardInterrupt


def _stop_at_once(_number: int, _frame: FrameType | None) -> None:
    shown = b"\x1b[?25h" if os.isatty(2) else b""  # the cursor, which a bar may have hidden
    try:
        if select.select([], [2], [], 0)[1]:  # to write into a pipe that is full and not read would wait for a reader
            os.write(2, shown + b"stopped at once; what was committed stays; run again to resume\n")
    finally:
        os._exit(130)
