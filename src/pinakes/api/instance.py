"""``<home>/server.json`` names the running server of a home, so that others find it. It is checked before use."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pinakes.core.installation import outdated, running_version
from pinakes.platform.permissions import PRIVATE_FILE
from pinakes.settings import Settings, dotenv

HEADER = "Pinakes-Instance"
"""The header of every ``/healthz`` answer that says which instance answers."""

COMMANDS = "/api/v1/command/search"
"""Where commands of the same home ask their questions."""

_ASK_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Instance:
    """A running server. ``serves`` is equal for servers with equal settings.

    ``key`` lets in who can read the file, as one who may do everything: whoever can read it can change the home, too.
    ``answers`` is equal for a command that would answer a question as the server does (``answers``). ``version``: of
    Pinakes, "" where that was not written yet.
    """

    url: str
    id: str
    pid: int
    serves: str
    key: str = ""
    answers: str = ""
    version: str = ""


_log = logging.getLogger(__name__)


def new_id() -> str:
    """Return a random id for this run of a server."""
    return secrets.token_hex(16)


def serves(settings: Settings) -> str:
    """Return a hash of all settings that decide what a server answers."""
    relevant = settings.model_dump_json(exclude={"server", "cache", "profile"})
    return hashlib.sha256(f"{relevant}{settings.server.read_only}".encode()).hexdigest()[:16]


def answers(settings: Settings) -> str:
    """Return a hash of all that decides how a command answers a question: the version, the settings, providers' keys.

    Of the keys in the environment only counts which there are.
    """
    relevant = settings.model_dump_json(exclude={"server", "cache", "profile", "mcp", "toolsets"})
    chosen = "collection" in settings.model_fields_set  # the default, when named, leaves the other collections out
    keys = sorted(name for name in dotenv.KEYS if os.environ.get(name))
    words = f"{running_version()}{relevant}{settings.server.read_only}{chosen}{keys}"
    return hashlib.sha256(words.encode()).hexdigest()[:16]


@contextmanager
def announced(settings: Settings, url: str, instance_id: str, key: str = "") -> Iterator[None]:
    """Let others find this server while the body runs, where the home can be written to."""
    file = _file(settings.home)
    temporary = file.with_name(f"{file.name}.{instance_id}")
    instance = Instance(url, instance_id, os.getpid(), serves(settings), key, answers(settings), running_version())
    try:
        temporary.touch(mode=PRIVATE_FILE)
        temporary.write_text(json.dumps(asdict(instance)), "utf-8")
        temporary.replace(file)
    except OSError as error:
        _log.warning("agents that are started beside this server do not find it: %s", error)
    try:
        yield
    finally:
        written = _read(file)
        if written is not None and written.id == instance_id:
            file.unlink(missing_ok=True)


def running(settings: Settings) -> Instance | None:
    """Return the server of this home that runs with these settings, None when there is none.

    The file may be stale and its process id taken by another program: only the server's own answer counts.
    """
    written = _read(_file(settings.home))
    if written is None or written.serves != serves(settings):
        return None
    return written if answering(written.url) == written.id else None


def for_commands(settings: Settings) -> Instance | None:
    """Return the server of this home as its file has it, if it answers as a command of this user would; None else.

    Whether it runs is not known yet.
    """
    file = _file(settings.home)
    with suppress(OSError):
        if not hasattr(os, "geteuid") or file.stat().st_uid == os.geteuid():
            written = _read(file)
            if written is not None and written.key and written.answers == answers(settings):
                return written
    return None


def of_other_version(settings: Settings) -> str:
    """Return that the server of this home runs another version than this program, "" where none does."""
    try:  # a later version may have written more into the file than is known here
        written = json.loads(_file(settings.home).read_text("utf-8"))
        url, of_server = str(written["url"]), str(written.get("version", ""))
        words = outdated(of_server, running_version())
        return words if words and answering(url) == written["id"] else ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ""


def answering(url: str) -> str | None:
    """Return the id of the Pinakes that answers at ``url``, None when none does."""
    import httpx

    try:
        with httpx.Client(timeout=_ASK_TIMEOUT_S, trust_env=False) as client:
            answer: str | None = client.get(f"{url}/healthz").headers.get(HEADER)
            return answer
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


def _file(home: Path) -> Path:
    return home / "server.json"


def _read(file: Path) -> Instance | None:
    try:
        return Instance(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
