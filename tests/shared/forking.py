"""Processes that are forked from one that has loaded Pinakes by then: a start takes milliseconds, not seconds.

For tests of what a command does in a process of its own. What a command loads, or how it is installed, is tested with
the real program.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

PRELOADED = [
    *("faiss", "pinakes.cli.entry", "pinakes.library", "pinakes.models.embedders.bert"),
    *("pinakes.indexes.keyword.tantivy_engine", "pinakes.indexes.vector.faiss_engine"),
    *("pinakes.models.embedders.deterministic", "pinakes.parsing.workers", "pinakes.sources.folder"),
    *("pinakes.services.collections.background", "pinakes.services.collections.management"),
    *("pinakes.services.collections.status", "pinakes.services.collections.verifying"),
    *("pinakes.services.documents.blame", "pinakes.services.documents.editing"),
    *("pinakes.services.graph_search", "pinakes.services.model_change", "pinakes.services.sync.adding"),
    *("pinakes.services.sync.forecasting", "pinakes.services.sync.syncing", "pinakes.search.ranking.rerank"),
]
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(PRELOADED)
"""It loads all that any test needs: a process has one such server, which begins with the first fork."""

_TIMEOUT_S = 120


def run_pinakes(
    words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``pinakes WORDS`` with this environment, of which PYTHONPATH counts, in ``folder``; without input."""
    with TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "err"
        arguments = list(words), dict(environment), str(folder or Path.cwd()), str(out), str(err)
        process = FORKING.Process(target=_run, args=arguments, daemon=True)
        process.start()
        process.join(_TIMEOUT_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), _TIMEOUT_S)
        return subprocess.CompletedProcess(
            list(words), process.exitcode, out.read_text("utf-8"), err.read_text("utf-8")
        )


def _run(words: list[str], environment: Mapping[str, str], folder: str, out: str, err: str) -> NoReturn:
    """Become that command."""
    for number, path, how in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        os.dup2(os.open(path, how | (os.O_CREAT if number else 0)), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()
    sys.argv = ["pinakes", *words]
    from pinakes.cli import main

    main()
    raise AssertionError("main ends the process")


def run_each(
    commands: Sequence[Sequence[str]],
    environment: Mapping[str, str],
    through: Sequence[str] = (),
    before: Callable[[], None] | None = None,
) -> list[subprocess.CompletedProcess[str]]:
    """Run ``pinakes`` with each of these words one after the other, each in a process of its own.

    They are forked from one that is started ``through`` another program, what is ``before`` it done in its process.
    """
    done = subprocess.run(
        [*through, sys.executable, __file__],
        input=json.dumps([list(words) for words in commands]),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=True,
        env=dict(environment),
        preexec_fn=before,
    )
    told = json.loads(done.stdout)
    return [subprocess.CompletedProcess(words, *one) for words, one in zip(commands, told, strict=True)]


def _fork_each() -> None:
    """Run the commands that stdin has, as JSON; print [exit code, stdout, stderr] of each."""
    commands = json.load(sys.stdin)
    for name in PRELOADED:
        importlib.import_module(name)
    told = []
    for words in commands:
        pipes = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            for number, (_, writing) in enumerate(pipes, start=1):
                os.dup2(writing, number)
            os.closerange(3, max(map(max, pipes)) + 1)
            sys.argv = ["pinakes", *words]
            from pinakes.cli import main

            main()
        for _, writing in pipes:
            os.close(writing)
        with ThreadPoolExecutor(2) as reading:
            out, err = reading.map(lambda pipe: os.fdopen(pipe[0], encoding="utf-8").read(), pipes)
        told.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), out, err])
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    _fork_each()
