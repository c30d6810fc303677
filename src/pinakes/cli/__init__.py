"""The command line. Data goes to stdout, words to stderr; heavy modules are loaded by the commands that need them."""

from __future__ import annotations

import sys

_KEP_SERVER = "http://127.0.0.1:8000"


def main() -> None:
    """Run ``pinakes`` with the arguments of the process, and exit."""
    from pinakes.cli.entry import run

    sys.exit(run(sys.argv[1:]))


def mcp_kep_knowledge() -> None:
    """Run ``mcp-kep-knowledge``: the kep profile over stdio, answered by the server on the same machine."""
    from pinakes.cli.entry import run

    sys.exit(run(["mcp", "--profile", "kep", "--url", _KEP_SERVER, *sys.argv[1:]]))
