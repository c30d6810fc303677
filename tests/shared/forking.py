"""Processes that are forked from one that has loaded Pinakes by then: a start takes milliseconds, not seconds.

For tests of what a command or a server does in a process of its own. What it loads, or how it is installed, is tested
with the real program.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NoReturn, Self

PRELOADED = [
    *("faiss", "pinakes.cli.entry", "pinakes.library", "pinakes.models.embedders.bert"),
    *("pinakes.indexes.keyword.tantivy_engine", "pinakes.indexes.vector.faiss_engine"),
    *("pinakes.models.embedders.deterministic", "pinakes.parsing.workers", "pinakes.sources.folder"),
    *("pinakes.services.collections.background", "pinakes.services.collections.management"),
    *("pinakes.services.collections.status", "pinakes.services.collections.verifying"),
    *("pinakes.services.documents.blame", "pinakes.services.documents.editing"),
    *("numpy.ma", "numpy.random", "pydantic.dataclasses", "pyromark", "rich.progress", "tokenizers"),
    *("pinakes.answering", "pinakes.schemas.hits", "pinakes.services.collections.completeness"),
    *("pinakes.ingestion.head_refinement", "pinakes.ingestion.progressive", "pinakes.ingestion.reindexing"),
    *("pinakes.cli.adding", "pinakes.cli.forecasting", "pinakes.cli.models", "pinakes.cli.managing"),
    *("pinakes.cli.relaying", "pinakes.cli.searching", "pinakes.cli.spending"),
    *("pinakes.chunking.markdown", "pinakes.parsing.markdown", "pinakes.models.embedders.endpoint"),
    *("pinakes.services.graph_search", "pinakes.services.model_change", "pinakes.services.sync.adding"),
    *("pinakes.services.sync.forecasting", "pinakes.services.sync.syncing", "pinakes.search.ranking.rerank"),
]
SERVING = [
    *("pinakes.api.server", "pinakes.api.http_app", "pinakes.api.folder_watching", "pinakes.api.mcp"),
    *("pinakes.jobs.queue", "pinakes.jobs.worker", "key_value.aio.stores.memory.store"),
    *("alembic.command", "pinakes.services.collections.upgrading", "psycopg"),
    *("anyio._backends._asyncio", "fastapi.telemetry._runtime", "fastmcp.server.middleware.dereference"),
    *("fastmcp.server.transforms.catalog", "importlib.resources.readers", "key_value.aio.adapters.pydantic"),
    *("key_value.aio.adapters.raise_on_missing", "pinakes.chunking.code", "pinakes.cli.changing"),
    *("pinakes.cli.serving", "pinakes.compat.platform.routes", "pinakes.parsing.text", "pinakes.services.graph_job"),
    *("pinakes.services.spending", "pinakes.services.sync.staleness", "rich.markdown", "tree_sitter_python"),
    *("typer._adapters", "typer.rich_utils", "uvicorn.lifespan.on", "uvicorn.loops.uvloop"),
    *("uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto"),
]
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["warmed"])
"""It loads all that any test needs: a process has one such server, which begins with the first fork."""

PINAKES = "from pinakes.cli import main; main()"
"""The program of a command, for ``Forked``."""

_TIMEOUT_S = 120
_HERE = str(Path(__file__).parent)


def forked(target: Callable[..., object], *arguments: object) -> ForkServerProcess:
    """Return a process that has begun with ``target``."""
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_HERE, path)))  # the server finds there what it loads
    try:
        forkserver.ensure_running()
    finally:
        if path is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = path
    process = FORKING.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def run_pinakes(
    words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``pinakes WORDS`` with this environment, of which PYTHONPATH counts, in ``folder``; without input."""
    with TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "err"
        arguments = list(words), dict(environment), str(folder or Path.cwd()), str(out), str(err)
        process = forked(_run, *arguments)
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
    os.chdir(folder)
    _prepare(words, environment)
    from pinakes.cli import main

    main()
    raise AssertionError("main ends the process")


def _prepare(words: list[str], environment: Mapping[str, str]) -> None:
    """Let this process have those arguments and that environment, and streams as Python would make them."""
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()
    sys.argv = ["pinakes", *words]
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - the streams are the process's own
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115


class Forked:
    """A process that runs a program of Python; it is used as a ``subprocess.Popen`` is.

    ``program``: its source. It writes to the file ``log``, or where there is none, it has three pipes; they carry text
    where ``text`` says so, else bytes. It runs in ``folder``, if one is given. ``descriptors``: as many files may it
    have open, where that is not 0. ``streams``: descriptors that it has as stdin, stdout and stderr instead.
    """

    def __init__(
        self,
        program: str,
        *words: str,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        folder: Path | None = None,
        text: bool = False,
        descriptors: int = 0,
        streams: Sequence[int] = (),
    ) -> None:
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        self._nothing: Any = "" if text else b""
        theirs: list[Connection] = []
        if streams:
            theirs = [Connection(os.dup(end)) for end in streams]
        elif log is None:
            (reading, into), (out, writing), (err, complaining) = (FORKING.Pipe(duplex=False) for _ in range(3))
            theirs = [reading, writing, complaining]
            kind = "" if text else "b"
            self.stdin, self.stdout, self.stderr = (
                _taken(end, f"{how}{kind}") for end, how in ((into, "w"), (out, "r"), (err, "r"))
            )
        else:
            log.write_bytes(b"")  # it can be read at once
        chosen = dict(os.environ if environment is None else environment)
        arguments = program, list(words), chosen, str(folder or ""), str(log or ""), theirs, descriptors
        self._process = forked(_become, *arguments)
        for pipe in theirs:
            pipe.close()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self._output: tuple[Any, Any] | None = None

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, sent: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Close its input after ``sent``; return what it wrote, and what it complained of, once it has ended.

        Asked again, return the same.
        """
        if self._output is not None:
            return self._output
        assert self.stdin is not None
        assert self.stdout is not None
        assert self.stderr is not None
        with ThreadPoolExecutor(2) as reading:
            out, err = reading.submit(self.stdout.read), reading.submit(self.stderr.read)
            try:
                if not self.stdin.closed:
                    self.stdin.write(sent or self._nothing)
                self.stdin.close()
            except BrokenPipeError:
                pass
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            self._output = out.result(), err.result()
        self._close()
        return self._output

    def _close(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self.wait()


def _taken(end: Connection, mode: str) -> IO[Any]:
    """Return a file of this end of a pipe."""
    descriptor = os.dup(end.fileno())
    end.close()
    return os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8")


def _become(
    program: str,
    words: list[str],
    environment: Mapping[str, str],
    folder: str,
    log: str,
    pipes: Sequence[Connection],
    descriptors: int,
) -> None:
    """Run that program in this process."""
    if log:
        writing = os.open(log, os.O_WRONLY)
        ends = [os.open(os.devnull, os.O_RDONLY), writing, writing]
    else:
        ends = [pipe.fileno() for pipe in pipes]
    for number, end in enumerate(ends):
        os.dup2(end, number)
    for pipe in pipes:
        pipe.close()
    if descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    if folder:
        os.chdir(folder)
    _prepare(words, environment)
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})


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
