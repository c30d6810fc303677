"""Damage is found: of index files, of what the catalogue holds, and of the catalogue's file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from attacked_home import SETTINGS, open_library, run, write_documents
from benchmarks import damage
from forking import PINAKES, Forked

from pinakes.cli import entry

_CORRUPT = 8
_EMBEDDING = {"embedding__provider": "deterministic", "embedding__mode": "full"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damage")
    with open_library(root / "home") as library:
        library.add(str(write_documents(root / "documents")))
    return root / "home"


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "home"))


def problems(home: Path, **depth: bool) -> list[tuple[str, str]]:
    with open_library(home) as library:
        return [(one.part, one.problem) for one in library.verify(**depth)["default"]]


@contextmanager
def catalogue(home: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(home / "catalog.db")) as connection, connection:
        yield connection


class TestIndexFiles:
    @pytest.mark.long
    def test_a_changed_bit_is_told_mended_or_harmless(self, tmp_path: Path) -> None:
        """``python -m benchmarks.damage`` does the same 200 times a file."""
        damage.make(tmp_path / "home", tmp_path / "documents", **_EMBEDDING)
        (tmp_path / "work").mkdir()
        found = damage.attack(tmp_path / "home", tmp_path / "work", flips=2, seed=11, **_EMBEDDING)
        assert len(found) > 30
        assert {Path(name).name for name in found} >= {"meta.json", "position.json", "versions.json", "about.json"}
        assert [missed for outcome in found.values() for missed in outcome.missed] == []

    def test_a_file_that_is_lost_or_cut_short_is_told(self, made: Path, tmp_path: Path) -> None:
        names = [name for name in damage.index_files(made) if "/vectors/" not in name]
        for number, name in enumerate(names):
            for size in (0, 1, None):
                home = Path(shutil.copytree(made, tmp_path / f"{number}-{size}"))
                if size is None:
                    (home / name).unlink()
                else:
                    os.truncate(home / name, (made / name).stat().st_size * size // 2)
                if problems(home) == []:
                    # without its position or description it is written again, without its version one of before
                    assert Path(name).name in ("meta.json", "position.json", "versions.json"), name
                    assert size is None
                    with open_library(home) as library:
                        assert library.search("heron", mode="keyword").hits

    def test_verify_names_the_file_and_leaves_it_and_a_search_mends_it(self, home: Path) -> None:
        [file] = (home / "index").rglob("keyword/*.fieldnorm")
        data = bytearray(file.read_bytes())
        data[len(data) // 4] ^= 8
        file.write_bytes(data)
        for _ in range(2):
            told = run(home, "verify")
            assert told.returncode == _CORRUPT
            assert file.name in told.stdout
            assert "pinakes reindex" in told.stderr
        found = run(home, "search", "heron", "--json")
        assert json.loads(found.stdout)["hits"]
        assert "built anew" in found.stderr
        assert run(home, "verify").returncode == 0

    def test_files_that_are_read_before_tantivy_do_not_end_the_process(self, home: Path) -> None:
        """Of some files that were damaged it asks for exabytes of memory, which ends the process."""
        for file in (home / "index").rglob("documents/*.fast"):
            file.write_bytes(b"\xff" * (file.stat().st_size - 101) + file.read_bytes()[-101:])
        assert run(home, "verify").returncode == _CORRUPT
        assert run(home, "search", "heron").returncode == 0

    def test_a_process_that_was_killed_between_writing_and_telling_of_it_left_no_damage(self, home: Path) -> None:
        [file] = (home / "index").rglob("keyword/position.json")
        before = file.read_bytes()
        script = (
            "import os, sys; from pathlib import Path; from attacked_home import open_library\n"
            "from pinakes.indexes.keyword.tantivy_index import KeywordIndex\n"
            "write = KeywordIndex._write\n"
            "def killed(*a):\n    write(*a)\n    os._exit(9)\n"
            "KeywordIndex._write = killed\n"
            "open_library(Path(sys.argv[1])).add(sys.argv[2])\n"
        )
        late = home.parent / "late.md"
        late.write_text("# Late\n\nThe zyzzyva came last.\n", "utf-8")
        here = Path(__file__).parents[1] / "shared"
        with Forked(script, str(home), str(late), environment={**os.environ, "PYTHONPATH": str(here)}) as killed:
            assert killed.wait(60) == 9
        assert file.read_bytes() != before
        with open_library(home) as library:
            assert library.search("zyzzyva", mode="keyword").hits[0].path == "late.md"
        assert problems(home) == []
        assert [path.name for path in (home / "index").glob("*-*")] == ["1-1"]


class TestWhatTheCatalogueHolds:
    def test_text_that_is_not_what_was_read(self, home: Path) -> None:
        with catalogue(home) as connection:
            connection.execute("UPDATE documents SET text = replace(text, 'salmon', 'salmod')")
        assert problems(home) == [("content", "text differs from what was read")]
        told = run(home, "verify")
        assert told.returncode == _CORRUPT
        assert "The catalogue is damaged in default" in told.stderr

    @pytest.mark.parametrize("other", [b"", b"\x00\x3c", None], ids=["none", "one number", "longer"])
    def test_a_vector_that_can_be_none(self, other: bytes | None, home: Path) -> None:
        with catalogue(home) as connection:
            [number, vector] = connection.execute("SELECT id, vector FROM embeddings").fetchone()
            longer = (np.frombuffer(vector, np.float16) * 3).astype(np.float16).tobytes()
            connection.execute(
                "UPDATE embeddings SET vector = ? WHERE id = ?", (longer if other is None else other, number)
            )
        assert ("embeddings", "vector is damaged") in problems(home)

    def test_vectors_of_another_text_are_told_when_they_are_made_again(self, home: Path) -> None:
        with catalogue(home) as connection:
            rows = connection.execute("SELECT id, vector FROM embeddings ORDER BY id").fetchall()
            for (number, _), (_, vector) in zip(rows, rows[1:] + rows[:1], strict=True):
                connection.execute("UPDATE embeddings SET vector = ? WHERE id = ?", (vector, number))
        with open_library(home) as library:
            library.reindex()
        assert problems(home) == []
        [(part, problem)] = problems(home, embeddings=True)
        assert part == "embeddings"
        assert "another vector than the model gives" in problem
        assert run(home, "verify-index", "--check-embeddings").returncode == _CORRUPT

    def test_words_that_the_index_lacks_are_told_when_they_are_looked_for(self, home: Path) -> None:
        with catalogue(home) as connection:
            columns = (
                "SELECT c.id, c.header, d.text, c.start, c.end FROM chunks c JOIN documents d ON d.id = c.document_id"
            )
            [chunk] = [row for row in connection.execute(columns) if "violin" in row[2]]
            text = chunk[2].replace("violin", "cello!")
            embedded = f"{chunk[1]}\n{text[chunk[3] : chunk[4]]}" if chunk[1] else text[chunk[3] : chunk[4]]
            key = hashlib.sha256(embedded.encode()).digest()[:16]
            connection.execute("UPDATE documents SET text = ? WHERE text = ?", (text, chunk[2]))
            old = connection.execute("SELECT embedding_key FROM chunks WHERE id = ?", (chunk[0],)).fetchone()[0]
            connection.execute("UPDATE chunks SET embedding_key = ? WHERE id = ?", (key, chunk[0]))
            connection.execute("UPDATE embeddings SET key = ? WHERE key = ?", (key, old))
        assert problems(home) == []
        assert problems(home, content=True) == [("keyword", "not found by their own words")]
        assert run(home, "verify-index", "--check-content").returncode == _CORRUPT

    def test_nothing_is_told_of_what_is_as_it_was(self, home: Path) -> None:
        assert problems(home, content=True, embeddings=True) == []


COMMANDS = (
    "status",
    "search heron",
    "verify",
    "collections",
    "read birds.md",
    "keys",
    "audit",
    "sources",
    "metadata",
    "events",
    "call list_collections",
    "reindex",
    "sync",
    "backup {home}.zip",
    "add {home}",
    "init --no-model",
    "serve --port 0",
)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def gone(file: Path) -> None:
    file.unlink()


def garbage(file: Path) -> None:
    file.write_bytes(b"not a database " * 1000)


class TestTheCatalogueItself:
    @pytest.mark.parametrize("harm", [empty, gone, garbage])
    def test_every_command_tells(
        self, harm: Callable[[Path], object], home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harm(home / "catalog.db")
        deterministic = ["--set", "embedding.provider=deterministic"]
        for command in COMMANDS:
            words = command.format(home=home).split()
            code = entry.run(["--home", str(home), *words, *deterministic])
            told = capsys.readouterr()
            assert code == _CORRUPT, (command, told)
            assert "The catalogue is" in told.err, command
            assert "no collections" not in told.out + told.err
        assert [path.name for path in (home / "index").glob("*-*")] == ["1-1"]

    def test_the_exit_code_is_that_of_the_process(self, home: Path) -> None:
        empty(home / "catalog.db")
        assert run(home, "status").returncode == _CORRUPT

    def test_agents_are_told(self, home: Path) -> None:
        empty(home / "catalog.db")
        first = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        asked = [
            {"id": 1, "method": "initialize", "params": first},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "list_collections", "arguments": {}}},
        ]
        process = Forked(PINAKES, "--home", str(home), "mcp", environment={**os.environ, **SETTINGS}, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            for message in asked:
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in range(2)]
            process.stdin.close()
        assert answers[1]["result"]["isError"]
        assert "The catalogue is damaged" in answers[1]["result"]["content"][0]["text"]

    def test_a_running_server_tells(self, home: Path) -> None:
        words = ("--home", str(home), "serve", "--port", "0")
        process = Forked(PINAKES, *words, environment={**os.environ, **SETTINGS}, log=home.with_suffix(".log"))
        try:
            url = _url(home)
            until = time.monotonic() + 60
            while (health := httpx.get(f"{url}/health", timeout=60).json())["status"] == "starting":
                assert time.monotonic() < until  # what is found damaged at the start ends the server
                time.sleep(0.05)
            assert health["indexed_documents"] == 3
            with closing(sqlite3.connect(home / "catalog.db", timeout=30)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else all may be read from there
            empty(home / "catalog.db")
            health_then = httpx.get(f"{url}/health", timeout=60)
            for answer in (health_then, httpx.post(f"{url}/search", json={"query": "heron"}, timeout=60)):
                assert answer.status_code == 500
                assert answer.json()["code"] == "CATALOGUE_CORRUPT"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _url(home: Path) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (home / "server.json").exists():
            return str(json.loads((home / "server.json").read_text("utf-8"))["url"])
        time.sleep(0.05)
    raise AssertionError("the server did not start")
