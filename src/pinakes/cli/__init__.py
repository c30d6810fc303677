"""The command line. Data goes to stdout, words to stderr; heavy modules are loaded by the commands that need them."""

from __future__ import annotations

import os
import sys

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
    from pinakes.cli.entry import run

    sys.exit(run(arguments))
