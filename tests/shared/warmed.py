"""Loaded by the process that tests fork from: what each server and command makes for itself is there by then.

It closes what it opens and leaves no thread behind: threads do not survive a fork.
"""

from __future__ import annotations

import gc
import threading
from importlib import import_module
from tempfile import TemporaryDirectory

from forking import PRELOADED, SERVING
from kept_memory import keep_memory


def load() -> None:
    """Load the modules, make an app, analyse a few words; the garbage collector is not to look at that again."""
    for name in (*PRELOADED, *SERVING):
        try:
            import_module(name)
        except ImportError as error:  # the server of forks would go on without it
            raise RuntimeError(f"{name} cannot be loaded") from error
    from pinakes.api.http_app import create_app
    from pinakes.library import Library
    from pinakes.search.query.syntax import parse_query
    from pinakes.text.analysis import Analyzer

    with TemporaryDirectory() as place, Library.open(place, embedding__provider="deterministic") as library:
        create_app(library)
    Analyzer().query(parse_query('"grey herons" near Lake-Constance/2024').text)
    assert threading.active_count() == 1


gc.disable()
keep_memory()
load()
gc.collect()
gc.freeze()
gc.enable()
