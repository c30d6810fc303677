"""What a server was doing when it was killed is done by the next one, whatever it was: once, or again without harm."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from forking import Forked, run_pinakes
from sqlalchemy import delete
from stuck_embedder import SAID, STUCK
from waiting import until
from working import jobs_of

from pinakes.catalog import events
from pinakes.catalog.schema import embeddings
from pinakes.library import Library
from pinakes.testing import write_files

LONG_S = 60.0
SERVE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2] / "shared")!r})
from pinakes.models.embedders import EMBEDDERS
from pinakes.api import serve
from pinakes.settings import load
EMBEDDERS["stuck"] = "stuck_embedder:StuckEmbedder"
chosen = dict(embedding__provider=sys.argv[2], ingest__processes=0, server__port=0)
serve(load(home=sys.argv[1], environment={{}}, **chosen), on_ready=lambda url: print(url, flush=True))
"""
HOW = {"first read": "", "sync": 'schedule = "@every 1s"', "watch": "watch = true", "background": ""}


def prepare(home: Path, notes: Path, kind: str) -> None:
    """Leave something for a job of this kind to do, at which a stuck embedder stays."""
    config = f'[[sources]]\nlocation = "{notes}"\n{HOW[kind]}\n[sync]\njitter_s = 0\n'
    write_files(home, {"config.toml": config})
    tea, oolong = {"tea.md": "# Tea\n\ngreen tea\n"}, {"oolong.md": f"# Oolong\n\nHalf green, {STUCK}.\n"}
    write_files(notes, tea | (oolong if kind == "background" else {}))
    if kind != "first read":
        with opened(home) as library:
            library.sync()
            if kind == "background":
                with library.app.catalog.write() as connection:
                    connection.execute(delete(embeddings))
    write_files(notes, oolong)


def status(home: Path) -> dict[str, Any]:
    """Return what ``pinakes status --json`` says."""
    environment = {**os.environ, "PINAKES_EMBEDDING__PROVIDER": "deterministic"}
    done = run_pinakes(["--home", str(home), "status", "--json"], environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def opened(home: Path) -> Library:
    return Library.open(home, embedding__provider="deterministic", ingest__processes=0)


@pytest.mark.long
@pytest.mark.parametrize("kind", HOW)
def test_what_a_killed_server_was_doing_is_done_by_the_next_one(
    tmp_path: Path, process: Callable[..., Forked], kind: str
) -> None:
    home, notes = tmp_path / "home", tmp_path / "notes"
    prepare(home, notes, kind)
    server = process(SERVE, home, "stuck")
    assert server.stderr is not None
    until(lambda: server.stderr is not None and server.stderr.readline().decode().strip() == SAID)
    with opened(home) as library:
        assert [job.state for job in jobs_of(library, kind)] == ["running"]
        server.send_signal(signal.SIGKILL)
        server.wait()
        assert [job.state for job in jobs_of(library, kind)] == ["waiting"]
        assert (kind, "waiting") in [(job["kind"], job["state"]) for job in status(home)["jobs"]]
        again = process(SERVE, home, "deterministic")
        until(lambda: [(one.documents, one.pending) for one in library.status()] == [(2, 0)])
        assert [hit.path for hit in library.search("oolong", mode="keyword").hits] == ["oolong.md"]
        until(lambda: {job.kind for job in jobs_of(library)} <= {"watch"})
        if kind == "watch":
            assert again.stdout is not None
            health = httpx.get(f"{again.stdout.readline().decode().strip()}/health").json()
            assert health["components"]["jobs"] == {"running": 1}
        with library.app.catalog.read() as connection:
            told = [event.title for event in events.after(connection, 0, 50, ("indexed", "updated"))]
        assert sorted(filter(None, told)) == ["Oolong", "Tea"], "each document was committed once"
        assert library.verify() == {"default": []}
        again.send_signal(signal.SIGTERM)
        assert again.wait(30) == 0
        assert jobs_of(library, "watch") == []
