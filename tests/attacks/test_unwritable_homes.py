"""A home that cannot be written to answers: read-only mount, no rights, full disk, limited file size."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from attacked_home import SETTINGS, run, write_documents
from forking import run_each
from small_disk import small_file_system

_RIGHTS = "-dac_override,-dac_read_search"
_MOST_BYTES = 4096
_NOT_KEPT = "nothing can be added, nor are the audit log and new vectors kept"


@dataclass(frozen=True)
class Shut:
    """A folder of homes that cannot be written to, and how commands are run on them."""

    homes: Path
    through: Sequence[str] = ()
    before: Callable[[], None] | None = None

    def run_each(self, *commands: tuple[str, Sequence[str]]) -> list[subprocess.CompletedProcess[str]]:
        """Run each of ``commands``, which are the name of a home and words, from one start of Python."""
        words = [["--home", str(self.homes / name), *more] for name, more in commands]
        return run_each(words, {**os.environ, **SETTINGS}, self.through, self.before)


Shutting: TypeAlias = Callable[[Path, ExitStack], Shut]


def read_only_mount(homes: Path, _stack: ExitStack) -> Shut:
    mounted = f"mount --bind {homes} {homes} && mount -o remount,ro,bind {homes}"
    through = ["unshare", "--mount", "sh", "-c", f'{mounted} && exec "$@"', "sh"]
    if subprocess.run([*through, "true"], check=False, capture_output=True, timeout=10).returncode:
        pytest.skip("no mount can be made here")
    return Shut(homes, through)


def without_rights(homes: Path, stack: ExitStack) -> Shut:
    every = [homes, *homes.rglob("*")]
    for path in every:
        path.chmod(path.stat().st_mode & ~0o222)
    stack.callback(lambda: [path.chmod(path.stat().st_mode | 0o200) for path in every])
    through = ["setpriv", f"--bounding-set={_RIGHTS}", f"--inh-caps={_RIGHTS}"] if os.geteuid() == 0 else []
    if through and shutil.which("setpriv") is None:
        pytest.skip("root cannot do without its rights here")
    return Shut(homes, through)


def full_disk(homes: Path, stack: ExitStack) -> Shut:
    disk = stack.enter_context(small_file_system(homes.with_name("disk"), 32))
    shutil.copytree(homes, disk / "homes")
    with (disk / "fill").open("wb", buffering=0) as fill:
        try:
            while fill.write(bytes(_MOST_BYTES)):
                pass
        except OSError:
            return Shut(disk / "homes")
    raise AssertionError("it never was full")


def file_size_limit(homes: Path, _stack: ExitStack) -> Shut:
    return Shut(homes, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES)))


def as_it_is(_home: Path, _made: Path) -> None:
    """Leave a home as a command leaves it."""


def behind(home: Path, made: Path) -> None:
    """Put the index back to before the last document."""
    shutil.rmtree(home / "index")
    shutil.copytree(made / "older" / "index", home / "index")


def without_index(home: Path, _made: Path) -> None:
    shutil.rmtree(home / "index")


def with_a_log(home: Path, _made: Path) -> None:
    """Leave what a process leaves that is killed after it wrote: the newest is in the write-ahead log alone."""
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA wal_autocheckpoint=0'); "
        "c.execute(\"UPDATE collections SET description = 'from the log'\"); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(home / "catalog.db")], check=True, timeout=30)
    (home / "catalog.db-shm").unlink()
    assert (home / "catalog.db-wal").stat().st_size


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with documents, and in ``older`` one as it was before the last document."""
    root = tmp_path_factory.mktemp("unwritable")
    documents = write_documents(root / "documents")
    assert run(root / "home", "add", str(documents)).returncode == 0
    shutil.copytree(root / "home", root / "older")
    (documents / "late.md").write_text("# Late\n\nThe zyzzyva came last.\n", "utf-8")
    assert run(root / "home", "sync").returncode == 0
    return root


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.mark.parametrize("shut", [read_only_mount, without_rights, full_disk, file_size_limit])
def test_searches_and_verify_answer(shut: Shutting, made: Path, tmp_path: Path, stack: ExitStack) -> None:
    names = []
    for leave in (as_it_is, behind, without_index, with_a_log):
        names.append(leave.__name__)
        shutil.copytree(made / "home", tmp_path / "homes" / leave.__name__)
        leave(tmp_path / "homes" / leave.__name__, made)
    asked = (["search", "zyzzyva", "--json"], ["verify"], ["status", "--json"])
    done = shut(tmp_path / "homes", stack).run_each(*((name, words) for name in names for words in asked))
    for place, name in enumerate(names):
        found, verified, told = done[place * len(asked) :][: len(asked)]
        assert found.returncode == 0, (name, found.stderr)
        assert json.loads(found.stdout)["hits"][0]["path"] == "late.md", name
        assert _NOT_KEPT in found.stderr, name
        assert verified.returncode == 0, (name, verified.stderr + verified.stdout)
        assert "no difference" in verified.stdout, name
        [collection] = json.loads(told.stdout)["collections"]
        assert collection["documents"] == 4, name
        assert (collection["description"] == "from the log") is (name == with_a_log.__name__), name


@pytest.mark.parametrize("shut", [read_only_mount, without_rights])
def test_what_would_write_is_refused_and_changes_nothing(
    shut: Shutting, made: Path, tmp_path: Path, stack: ExitStack
) -> None:
    shutil.copytree(made / "home", tmp_path / "homes" / "home")
    before = _contents(tmp_path / "homes")
    shutting = shut(tmp_path / "homes", stack)
    writing = (
        ["add", str(made / "documents")],
        ["reindex"],
        ["keys", "create", "x"],
        ["collections", "create", "y"],
    )
    *refused, verified = shutting.run_each(*(("home", words) for words in (*writing, ["verify"])))
    for words, done in zip(writing, refused, strict=True):
        assert done.returncode == 10, (words, done.stdout, done.stderr)
        assert "can only be read" in done.stderr
    assert verified.returncode == 0
    assert _contents(tmp_path / "homes") == before


def test_a_home_is_written_again_once_that_is_possible(made: Path, tmp_path: Path) -> None:
    home = tmp_path / "homes" / "home"
    shutil.copytree(made / "home", home)
    with ExitStack() as stack:
        [found] = without_rights(home.parent, stack).run_each(("home", ["search", "heron"]))
        assert found.returncode == 0
    assert _NOT_KEPT not in run(home, "search", "heron").stderr
    with sqlite3.connect(home / "catalog.db") as connection:
        tools = [tool for (tool,) in connection.execute("SELECT tool FROM audit ORDER BY id")]
    connection.close()
    assert tools.count("search") == 1


def _contents(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}
