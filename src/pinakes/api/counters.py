"""Whether the processes of a server count together for Prometheus."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of the environment by which Prometheus's library learns of it; it looks once, when it is loaded."""


@contextmanager
def shared_counters(processes: int) -> Iterator[None]:
    """Have this process and those it starts count together, where there are several. Before Prometheus is loaded."""
    if processes == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="pinakes-metrics-", ignore_cleanup_errors=True) as folder:
        os.environ[VARIABLE] = folder
        yield
