"""``pinakes worker``: a process that embeds, and reads sources, for the servers of a shared catalogue."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from pinakes.api.scheduling import Scheduling
from pinakes.core.errors import InvalidInput
from pinakes.jobs.queue import Job
from pinakes.jobs.worker import Worker
from pinakes.library import Library
from pinakes.services.cluster import Membership
from pinakes.settings import Settings, SourceSettings
from pinakes.sources import git_urls

QUEUES: Final = ("embed", "parse")

Say = Callable[[str], object]


def run(settings: Settings, *, queues: Collection[str], batch: int, folders: bool, agreed: bool, say: Say) -> None:
    """See ``pinakes.api.serve_worker``."""
    check_queues(queues)
    with Library(settings) as library:
        embedding = library.embedding_worker(
            batch=batch,
            on_batch=lambda one: say(f"{one.collection}: {one.chunks:,} chunks embedded, {one.total:,} in all"),
            say=say,
            agreed=agreed,
        )
        if "embed" in queues:
            embedding.check_models()
        member = library.cluster.membership("worker")
        reading = Worker(library.jobs, [RemoteReading(library, folders=folders, say=say)])
        parts: list[Membership | Worker] = [member, *([reading] if "parse" in queues else [])]
        with _until_signal(say) as ending:
            for part in parts:
                part.start()
            say(f"This worker takes {' and '.join(queues)} from the catalogue (SIGTERM or Ctrl+C ends it).")
            try:
                if "embed" in queues:
                    embedding.run(ending)
                ending.wait()
            finally:
                for part in parts:
                    part.stop()


def check_queues(queues: Collection[str]) -> None:
    """Make sure that these are queues.

    Raises:
        InvalidInput: one is not, or there is none.
    """
    unknown = [name for name in queues if name not in QUEUES]
    if unknown or not queues:
        raise InvalidInput(
            f"There is no queue {unknown[0]!r}." if unknown else "No queue was named.",
            hint=f"Use {', '.join(QUEUES)}, or several with commas between them.",
        )


class RemoteReading(Scheduling):
    """Reading due sources on a machine other than the servers': those that it reaches as they do."""

    drops = False

    def __init__(self, library: Library, *, folders: bool, say: Say) -> None:
        """``folders``: paths mean the same here as at the servers; then those are read that are there."""
        super().__init__(library, say=say)
        self._folders, self._tell = folders, say
        self._left: set[str] = set()

    def accepts(self, job: Job) -> bool:
        """Say whether a source is due and can be reached; of one that is left to a server it is said once."""
        plan = self._plans.get(job.key)
        if plan is None:
            return False
        why = unreached(plan.source, folders=self._folders)
        if why and job.key not in self._left:
            self._left.add(job.key)
            self._tell(f"{plan.name} → {plan.collection} is left to a server: {why}")
        return not why


def unreached(source: SourceSettings, *, folders: bool) -> str:
    """Return why a source is not read on this machine, "" where it is."""
    place = git_urls.local_path(source.location) if git_urls.is_remote(source.location) else Path(source.location)
    if source.kind == "http" or (source.kind == "git" and place is None):
        return ""
    if not folders:
        return "it is a path, which may mean something else on this machine (--folders: it means the same)"
    return "" if place is not None and place.exists() else "the path is not there on this machine"


@contextmanager
def _until_signal(say: Say) -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set; the second of them ends the process as usual."""
    ending = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        for number in signals:
            signal.signal(number, before[number])
        ending.set()
        say("The worker ends: what is under way is stored, the rest is left to others.")

    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        signal.signal(number, on_signal)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
