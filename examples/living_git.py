"""A git repository is changed, renamed in and deleted from while a server runs, and searches follow.

``python examples/living_git.py`` makes a repository and a home in a temporary folder, starts ``pinakes serve`` with the
repository as a source that is read every second, and then does what people do to repositories. After each step it asks
the server until the answer is the new one, and prints how long that took. Needs git, and nothing from the network once
the model is there; ``PINAKES_EMBEDDING__PROVIDER=deterministic`` does without one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

PINAKES = str(Path(sys.executable).with_name("pinakes"))
START_S, FOLLOW_S, STEP_S = 120.0, 60.0, 0.05

SETTINGS = """\
[[sources]]
name = "wildlife"
kind = "git"
location = "{repository}"
collection = "wildlife"
include = ["*.md"]
schedule = "@every 1s"
"""


def main() -> None:
    """Run the demonstration; ends with an error when a search does not follow."""
    with tempfile.TemporaryDirectory(prefix="living-git-") as folder:
        repository, home = Path(folder) / "repository", Path(folder) / "home"
        write(repository, "animals/otter.md", "# Otter\n\nOtters juggle stones.\n")
        write(repository, "animals/badger.md", "# Badger\n\nBadgers dig setts.\n")
        git(repository, "init", "--quiet", "--initial-branch=main")
        commit(repository, "Two animals")
        home.mkdir()
        (home / "config.toml").write_text(SETTINGS.format(repository=repository.as_uri()), "utf-8")
        with serving(home) as server:
            demonstrate(repository, home, server)


def demonstrate(repository: Path, home: Path, server: str) -> None:
    """Change the repository, step by step, and wait for the searches."""
    step("the repository is read", lambda: found(server, "juggle stones") == ["animals/otter.md"])

    write(repository, "animals/otter.md", "# Otter\n\nOtters sleep holding hands.\n")
    commit(repository, "What otters really do")
    step("a file is changed", lambda: found(server, "holding hands") == ["animals/otter.md"])
    step("… and its old words are gone", lambda: found(server, "juggle stones") == [])

    write(repository, "animals/newt.md", "# Newt\n\nNewts grow new legs.\n")
    commit(repository, "A newt")
    step("a file is added", lambda: found(server, "new legs") == ["animals/newt.md"])

    (repository / "mammals").mkdir()
    git(repository, "mv", "animals/badger.md", "mammals/badger.md")
    commit(repository, "Badgers are mammals")
    step("a file is renamed", lambda: found(server, "dig setts") == ["mammals/badger.md"])

    git(repository, "rm", "--quiet", "animals/newt.md")
    commit(repository, "No newt after all")
    step("a file is deleted", lambda: found(server, "new legs") == [])

    newest = git(repository, "rev-parse", "HEAD")
    step("the source stands at the newest commit", lambda: source(server)["commit"] == newest)
    print(f"\n$ pinakes sources\n{pinakes(home, 'sources')}")


def step(what: str, done: Callable[[], bool]) -> None:
    """Wait until something is so; say how long that took."""
    began = time.monotonic()
    while not done():
        if time.monotonic() - began > FOLLOW_S:
            raise SystemExit(f"{what}: the search did not follow within {FOLLOW_S:.0f} s")
        time.sleep(STEP_S)
    print(f"{what + ':':<42} {time.monotonic() - began:4.1f} s", flush=True)


def found(server: str, words: str) -> list[str]:
    """Return the paths of the documents that have these words in a row."""
    body = {"query": f'"{words}"', "search_type": "keyword", "collection": "wildlife"}
    try:
        results = asked(server, "/search", body)["results"]
    except urllib.error.HTTPError as error:
        if error.code in (404, 503):  # it is being read for the first time
            return []
        raise
    return [result["metadata"]["file_path"] for result in results if words in result["text"]]


def source(server: str) -> dict[str, Any]:
    """Return how the source stands."""
    [one] = asked(server, "/api/v1/sources")["data"]["sources"]
    return dict(one)


def asked(server: str, path: str, body: Any = None) -> dict[str, Any]:
    """Ask the server; return its answer."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return dict(json.load(answer))


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """Start a server on a free port and give its address; it ends with the block."""
    command = [PINAKES, "--home", str(home), "serve", "--port", "0"]
    said: list[str] = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        listener = Thread(target=lambda lines: said.extend(lines), args=(process.stderr,), daemon=True)
        listener.start()
        try:
            began = time.monotonic()
            while not (address := re.search(r" at (http://\S+)", "".join(said))):
                if process.poll() is not None or time.monotonic() - began > START_S:
                    raise SystemExit("the server did not start:\n" + "".join(said))
                time.sleep(STEP_S)
            yield address[1]
        finally:
            process.terminate()
            process.wait()
            listener.join()


def pinakes(home: Path, *words: str) -> str:
    """Run a command of pinakes; return what it prints."""
    command = [PINAKES, "--home", str(home), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def git(repository: Path, *words: str) -> str:
    """Run git in the repository, as nobody in particular; return what it prints."""
    who = {f"GIT_{role}_{what}": "demo@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *words], cwd=repository, env=os.environ | who, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit(repository: Path, message: str) -> None:
    """Commit all there is."""
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", message)


def write(repository: Path, path: str, text: str) -> None:
    """Write a file of the repository."""
    place = repository / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
