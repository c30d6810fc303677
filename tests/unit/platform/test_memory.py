"""Threads that come and go leave little of their memory behind."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, sys, threading
from pinakes.platform.memory import share_arenas

if sys.argv[1] == "shared":
    share_arenas()
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
together = threading.Barrier(12)

def work():
    together.wait()
    library.malloc(5000)
    together.wait()

threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
stdout = ctypes.c_void_p.in_dll(library, "stdout")
library.malloc_info(0, stdout)
library.fflush(stdout)
"""


def _heaps(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True)
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep free memory in other ways")
def test_threads_share_two_heaps() -> None:
    assert _heaps("shared") == 2
    assert _heaps("as usual") > 2
