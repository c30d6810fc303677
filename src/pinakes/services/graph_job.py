"""The background job that updates graphs after their documents changed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from pinakes.app import App
from pinakes.catalog.jobs import Job, job_key
from pinakes.core.errors import NotFound, PinakesError
from pinakes.jobs.worker import Running, Task
from pinakes.services.knowledge_graph import KnowledgeGraph


class GraphFollowing(Task):
    """Extracting what waits, and making names canonical, once documents of a collection have changed."""

    kind = "graph"
    look_every_s = 5.0
    pauses = (60.0, 600.0)

    def __init__(self, app: App, graph: KnowledgeGraph) -> None:
        self._app, self._graph = app, graph
        self._done: dict[int, int] = {}

    def due_jobs(self) -> Iterable[Job]:
        """Return a job for each collection whose graph is behind."""
        found = []
        for record in self._app.records():
            if self._done.get(record.id) == record.written:
                continue
            with suppress(PinakesError):  # of lists that cannot be read; whoever asks the graph is told
                if self._graph.is_behind(record.name):
                    found.append(Job(job_key(self.kind, record.name), self.kind, {"collection": record.name}))
                else:
                    self._done[record.id] = record.written
        return found

    def run(self, running: Running) -> None:
        """Have the graph of a collection follow."""
        with suppress(NotFound):
            name = str(running.job.arguments["collection"])
            self._graph.update(name, on_step=lambda done: running.note("graph", done, 0))
