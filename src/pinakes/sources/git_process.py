"""Runs git in an isolated environment, with a time limit, and translates its error messages.

Only plumbing commands on objects are run: nothing is checked out, so no filter, hook or submodule of a repository ever
runs. Nothing prompts: git, ssh and credential helpers fail instead.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias
from weakref import WeakSet

from pinakes.core.errors import PinakesError, SourceError, StorageFull, TooLarge, Unreadable
from pinakes.sources.git_addresses import GitLimits
from pinakes.sources.git_urls import redact

CREDENTIALS_HINT = (
    "Is the URL right? For a private repository set up a git credential helper (`git config --global "
    "credential.helper`), an SSH key, or GIT_CONFIG_* variables; never put a password into the URL."
)

_CLONE_HINT = "A clone that is on this machine needs no network: pinakes add CLONE"

_HARDENED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "log.showSignature=false",
    "blame.ignoreRevsFile=",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.unpackLimit=1",  # one pack per fetch, never loose objects: they are counted for housekeeping
    "fetch.writeCommitGraph=false",
    "credential.interactive=false",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
)
Secrets: TypeAlias = Callable[[], Mapping[str, str]]
"""Git settings by name, such as ``http.https://host/.extraHeader``."""

_started: WeakSet[subprocess.Popen[bytes]] = WeakSet()
_ASKING = frozenset({"ls-remote", "fetch"})
_READ_BYTES = 1 << 20

# Variables that would redirect git to another repository, or log requests including headers to stderr.
_DROPPED = re.compile(
    "GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|PREFIX|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|"
    "SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|CONFIG|CONFIG_PARAMETERS|CEILING_DIRECTORIES|TRACE.*|CURL_VERBOSE)"
)

_COMPLAINTS = (
    # pattern in the output of git or ssh; our message; our hint
    (
        r"could not read (Username|Password)|terminal prompts disabled|Authentication failed|"
        r"returned error: 40[13]|Permission denied \(|HTTP Basic: Access denied",
        "asks for credentials, or does not exist",
        CREDENTIALS_HINT,
    ),
    (
        r"Host key verification failed",
        "is on a host that SSH does not know",
        "Connect once with `ssh`, or add the host's key to ~/.ssh/known_hosts.",
    ),
    (
        r"Could not resolve (host|hostname|proxy)|Name or service not known|unable to look up",
        "is on a host whose name cannot be resolved",
        f"Check the URL and the network. {_CLONE_HINT}",
    ),
    (
        r"dubious ownership",
        "belongs to another user, so git refuses to read it",
        "Allow it: git config --global --add safe.directory <path>",
    ),
    (
        r"certificate|SSL|TLS|gnutls",
        "cannot be reached securely",
        f"Check the certificate; set http.sslCAInfo in the git configuration for a private authority. {_CLONE_HINT}",
    ),
    (
        r"Failed to connect|Could not connect|Couldn't connect|unable to connect|Connection (refused|reset|timed out|"
        r"closed)|Network is unreachable|No route to host|Operation too slow|timed out|hung up|early EOF",
        "does not answer",
        f"Check the URL and the network, then try again. {_CLONE_HINT}",
    ),
    (
        r"update url base from redirection|returned error: 30[1-8]",
        "leads to another address, which is not followed for a document",
        "Give the address that it leads to in the end.",
    ),
    (
        r"not our ref|unadvertised object",
        "has no such commit, or does not hand out commits by their number",
        "Check it for typing errors, or name a branch or tag that has it.",
    ),
    (
        r"not found|does not appear to be a git repository|does not exist|not a git repository|"
        r"Repository not found|No such file or directory|returned error: 404",
        "is not there, or is not a git repository",
        "Check the location.",
    ),
)


class Git:
    """Runs git commands for one repository ``location`` (checked by ``git_urls.check``), in the folder ``work``.

    ``secrets``: returns git settings for commands that contact the repository; they are hidden from other processes and
    from messages. ``limits``: returns limits that keep these commands to allowed hosts.
    """

    def __init__(
        self,
        location: str,
        work: Path,
        timeout_s: float,
        secrets: Secrets = dict,
        limits: Callable[[], GitLimits] = GitLimits,
    ) -> None:
        self.location = location
        self.timeout_s = timeout_s
        self._work = work
        self._secrets = secrets
        self._limits = limits

    def run(self, *arguments: str, git_dir: Path | None = None, timeout_s: float | None = None) -> bytes:
        """Run a git command and return its output.

        Raises:
            SourceError: git is not installed, takes too long, or fails; the message gives the reason.
            StorageFull: the disk is full.
        """
        limit = self.timeout_s if timeout_s is None else min(timeout_s, self.timeout_s)
        process = self._start(arguments, git_dir, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        with process:
            try:
                out, complaint = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired as error:
                raise SourceError(
                    f"{self.location!r} did not answer: git {arguments[0]} was stopped after {limit:g} s.",
                    hint="Check the network; `ingest.git_timeout_s` sets the limit for large repositories. "
                    + _CLONE_HINT,
                ) from error
            finally:
                _kill(process)
        if process.returncode:
            raise self._explain(arguments[0], complaint.decode("utf-8", "replace"))
        return out

    def words(self, *arguments: str, git_dir: Path) -> Iterator[str]:
        """Run a git command whose output is NUL-separated, and yield its items as they arrive.

        Raises:
            SourceError: git fails, or takes too long.
        """
        process = self._start(arguments, git_dir, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        overdue = threading.Timer(self.timeout_s, _kill, (process,))
        overdue.start()
        assert process.stdout is not None
        rest = b""
        with process:
            try:
                while part := process.stdout.read(_READ_BYTES):
                    *whole, rest = (rest + part).split(b"\0")
                    yield from (word.decode("utf-8", "surrogateescape") for word in whole)
                process.wait()
            finally:
                overdue.cancel()
                _kill(process)
        if process.returncode:
            raise SourceError(
                f"The history of {self.location!r} cannot be read: git {arguments[0]} failed, or was stopped after "
                f"{self.timeout_s:g} s.",
                hint="`ingest.git_timeout_s` sets the limit for large repositories.",
            )

    def succeeds(self, *arguments: str, git_dir: Path) -> bool:
        """Return whether a git lookup command succeeds."""
        try:
            self.run(*arguments, git_dir=git_dir)
        except SourceError:
            return False
        return True

    def blobs(self, git_dir: Path) -> BlobReader:
        """Start a reader of file contents in the repository at ``git_dir``."""
        process = self._start(("cat-file", "--batch"), git_dir, stderr=subprocess.DEVNULL, stdin=subprocess.PIPE)
        return BlobReader(process)

    def _start(
        self, arguments: tuple[str, ...], git_dir: Path | None, *, stdin: int, stderr: int
    ) -> subprocess.Popen[bytes]:
        asks = arguments[0] in _ASKING
        secrets, limits = (self._secrets(), self._limits()) if asks else ({}, GitLimits())
        command = ["git", *(part for setting in _HARDENED for part in ("-c", setting))]
        if git_dir is not None:
            command.append(f"--git-dir={git_dir}")
        try:
            process = subprocess.Popen(
                [*command, *arguments],
                cwd=self._work,
                env=_environment(os.environ, self._work, secrets, limits),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,  # no terminal for prompts, and one process group to kill
            )
            _started.add(process)
            return process
        except FileNotFoundError as error:
            if not self._work.is_dir():
                raise SourceError(f"{str(self._work)!r} vanished.", hint="Try again.") from error
            raise SourceError("git is not installed.", hint="Install git (2.30 or newer), then try again.") from error
        except OSError as error:
            raise SourceError(f"git cannot be started: {error.strerror}.", hint="Check the installation.") from error

    def _explain(self, command: str, complaint: str) -> PinakesError:
        if "No space left on device" in complaint:
            return StorageFull("The disk is full: the repository cannot be fetched.", hint="Free some space.")
        place = repr(self.location)
        for pattern, what, hint in _COMPLAINTS:
            if re.search(pattern, complaint, re.IGNORECASE):
                return SourceError(f"{place} {what}.", hint=hint)
        lines = [line.strip() for line in complaint.splitlines() if line.strip()]
        fatal = next((line for line in lines if line.startswith("fatal:")), lines[-1] if lines else "no reason given")
        return SourceError(f"git {command} failed for {place}: {redact(fatal)}.", hint="Check the location.")


class BlobReader:
    """Reads contents by object id through one long-lived ``git cat-file``. Thread-safe."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()

    def read(self, blob: str, max_bytes: int) -> bytes:
        """Return the content of ``blob``.

        Raises:
            TooLarge: it exceeds ``max_bytes``; it is skipped without being loaded.
            Unreadable: it is not in the clone, or the clone cannot be read.
        """
        with self._lock:
            source, sink = self._process.stdout, self._process.stdin
            assert source is not None
            assert sink is not None
            try:
                sink.write(blob.encode() + b"\n")
                sink.flush()
                header = source.readline().split()
                if len(header) != 3:
                    raise Unreadable(f"Object {blob} is not in the clone.", hint="Sync the source again.")
                size = int(header[2])
                if size > max_bytes:
                    _skip(source, size + 1)
                    raise TooLarge(f"Object {blob} cannot be read: File too large ({size} bytes, max {max_bytes}).")
                data = source.read(size)
                if len(data) != size or len(source.read(1)) != 1:
                    raise Unreadable(f"The clone ended in the middle of {blob}.", hint="Sync the source again.")
            except (OSError, ValueError) as error:
                raise Unreadable(f"The clone cannot be read: {error}.", hint="Sync the source again.") from error
        return data

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        with self._lock, suppress(BrokenPipeError), self._process:
            _kill(self._process)


def _skip(source: IO[bytes], size: int) -> None:
    while size > 0 and (part := source.read(min(size, 1 << 20))):
        size -= len(part)


def kill_all() -> None:
    """Kill every git process that this process started, before exiting."""
    for process in list(_started):
        with suppress(OSError):
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill ``process`` and its children (ssh, upload-pack), if they are running."""
    if process.returncode is None:  # not reaped, so the group id is not reused
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _environment(outer: Mapping[str, str], work: Path, secrets: Mapping[str, str], limits: GitLimits) -> dict[str, str]:
    inner = {name: value for name, value in outer.items() if not _DROPPED.fullmatch(name)}
    inner |= _configured(outer.get("GIT_CONFIG_COUNT", ""), {**secrets, **limits.settings})
    ssh = outer.get("GIT_SSH_COMMAND", "ssh")
    return inner | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        "GIT_SSH_COMMAND": f"{ssh} -oBatchMode=yes -oConnectTimeout=20{limits.ssh}",
        "GIT_ALLOW_PROTOCOL": limits.protocols,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CEILING_DIRECTORIES": os.path.realpath(work.parent),  # ignore a checkout that contains our home
        "LC_ALL": "C",
    }


def _configured(count: str, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return variables that add git settings after the ``count`` that the environment already has.

    They are not in the command line, which every user of the machine can read.
    """
    first = int(count) if count.isdecimal() else 0
    given = {"GIT_CONFIG_COUNT": str(first + len(secrets))} if secrets else {}
    for number, (name, value) in enumerate(secrets.items(), start=first):
        given |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return given
