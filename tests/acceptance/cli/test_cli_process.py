"""What only a real process shows: signals, pipes, terminals, full disks, servers."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from forking import PINAKES as PROGRAM
from forking import Forked

DETERMINISTIC = ("--set", "embedding.provider=deterministic")
PINAKES = (str(Path(sys.executable).with_name("pinakes")), *DETERMINISTIC)


@pytest.fixture
def many(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(800):
        (folder / f"{number}.md").write_text(
            f"# Report {number}\n\nThe yield of field {number} was {number * 7} tons.\n"
        )
    return folder


INTERRUPTED = """
import signal, sqlite3, sys
from sqlite3 import dbapi2
from pinakes.cli import main

wanted = int(sys.argv.pop(1))

class Counting(sqlite3.Connection):
    def commit(self):
        global wanted
        super().commit()
        try:
            (committed,) = self.execute("SELECT count(*) FROM documents").fetchone()
        except sqlite3.Error:
            return
        if committed >= wanted:
            wanted = 1_000_000
            signal.raise_signal(signal.SIGALRM)

connect = dbapi2.connect
dbapi2.connect = lambda *words, **options: connect(*words, factory=Counting, **options)
signal.signal(signal.SIGALRM, signal.default_int_handler)
main()
"""
"""Ctrl+C as soon as so many documents have been committed."""


@pytest.mark.parametrize("committed", [1, 300])
def test_ctrl_c_stops_with_what_was_committed_and_the_next_run_goes_on(many, program, committed):
    words = [*DETERMINISTIC, "--set", "ingest.batch_chunks=50", "add", str(many), "--json"]
    with Forked(INTERRUPTED, str(committed), *words, text=True) as stopped:
        out, err = stopped.communicate(timeout=120)
    assert stopped.returncode == 130
    assert "Traceback" not in err
    assert re.fullmatch(
        r"stopped( at .*)?; what was committed stays; run again to resume", err.splitlines()[-1]
    )  # lines before it tell of the progress, every few seconds
    assert json.loads(out)["error"]["code"] == "INTERRUPTED"
    (report,) = program("add", many, "--json").document["reports"]
    assert report["added"] + report["unchanged"] == 800
    assert program("verify").code == 0


IMPATIENT = """
import os, signal, sqlite3, sys
from sqlite3 import dbapi2
from pinakes.cli import main
from pinakes.library import Library

class Closing(sqlite3.Connection):
    def close(self):
        signal.raise_signal(signal.SIGINT)

connect = dbapi2.connect
dbapi2.connect = lambda *words, **options: connect(*words, factory=Closing, **options)
Library.status = lambda *_: signal.raise_signal(signal.SIGINT)
main()
"""
"""Ctrl+C while a command works, and again when it closes the catalogue."""


def test_ctrl_c_twice_ends_in_one_line(pinakes, corpus):
    pinakes("add", corpus)
    with Forked(IMPATIENT, "status", text=True) as stopped:
        _, err = stopped.communicate(timeout=120)
    assert stopped.returncode == 130
    assert err == "stopped at once; what was committed stays; run again to resume\n"


def test_a_closed_pipe_is_no_error(pinakes, corpus):
    pinakes("add", corpus)
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | true', "bash", *PINAKES, "read", "guide.md"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 141)
    assert done.stderr == ""


INTO_A_CLOSED_PIPE = """
import json, os, sys
import rich.markdown, typer.rich_utils
import pinakes.cli.commands, pinakes.cli.entry
from pinakes.cli import main

told = {}
for streams in ("stdout", "both"):
    for words in sys.argv[2:]:
        errors = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        reading, writing = os.pipe()
        os.close(reading)
        if not (child := os.fork()):
            os.dup2(writing, 1)
            os.dup2(writing if streams == "both" else errors, 2)
            sys.argv = ["pinakes", *words.split()]
            main()  # it exits, as the program does
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told[f"{words}, {streams}"] = code, os.pread(errors, 1_000_000, 0).decode()
        os.close(writing)
        os.close(errors)
print(json.dumps(told))
"""
"""Runs each command with its output, and then with all it says, into a pipe that nobody reads."""


def test_whatever_is_written_into_a_closed_pipe_ends_quietly(tmp_path, monkeypatch):
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path))
    commands = {
        **dict.fromkeys(["--help", "status --help", "graph alias --help", "--version", "read --json x"], 141),
        "status": 3,
        "no-such-command": 2,  # they tell of it in words
    }
    done = subprocess.run(
        [sys.executable, "-c", INTO_A_CLOSED_PIPE, str(tmp_path / "errors"), *commands],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    expected = {f"{words}, stdout": code for words, code in commands.items()}
    expected |= {f"{words}, both": 141 for words in commands}
    assert {name: code for name, (code, _) in told.items()} == expected
    assert [(name, err) for name, (_, err) in told.items() if "Traceback" in err or "Exception" in err] == []


def test_a_full_disk_under_stdout_is_an_error_in_words():
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("no /dev/full on this system")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for words, more in (
        (["config"], "hint: Free some space and run again; what was committed stays.\n"),
        (["config", "--json"], ""),
    ):
        with device.open("w") as full:
            done = subprocess.run(
                [*PINAKES, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=buffered
            )
        assert (done.returncode, done.stderr) == (10, f"error: The disk is full.\n{more}")


def test_a_file_that_may_not_grow_is_an_error_in_words(tmp_path):
    command = shlex.join([*PINAKES, "config"])
    limited = ["sh", "-c", f"ulimit -f 0; exec {command} > {shlex.quote(str(tmp_path / 'out'))}"]
    done = subprocess.run(limited, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 10
    assert done.stderr.startswith("error: The disk is full.\nhint: ")


def on_terminal(*words: str | Path) -> str:
    """Run the program on a terminal; return all that appeared there."""
    ours, theirs = pty.openpty()
    process = Forked(PROGRAM, *DETERMINISTIC, *map(str, words), streams=[theirs] * 3)
    os.close(theirs)
    seen = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # the way Linux says that the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(ours)
    process.wait(60)
    return seen.decode()


def test_a_terminal_gets_a_bar_and_marked_words(many, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert re.search(r"━.* of 800 files read, [\d,]+ chunks embedded", on_terminal("add", many))
    assert re.search(r"\x1b\[1;33myield\x1b\[0m", on_terminal("search", "yields"))


def test_no_color_is_respected(corpus, monkeypatch, pinakes):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    pinakes("add", corpus)
    assert "\x1b[1;33m" not in on_terminal("search", "tree")


def test_a_document_cannot_steer_the_terminal_but_a_file_gets_it_whole(pinakes, program, corpus):
    (corpus / "evil.txt").write_text("before \x1b]0;owned\x07 and \u202edenwo after\n")
    pinakes("add", corpus)
    for shown in (on_terminal("read", "evil.txt"), program("search", "before after").out):
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "\u202edenwo" in program("read", "evil.txt").out


def test_stdout_that_is_not_utf8_gets_readable_text_and_valid_json(pinakes, program, corpus, monkeypatch):
    (corpus / "café.md").write_text("# Café\n\nEspresso for pickers ☕.\n")
    pinakes("add", corpus)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert program("search", "espresso", "-k", "1", "--json").document["hits"][0]["path"] == "café.md"
    assert program("search", "espresso", "-k", "1").code == 0


def test_log_level_comes_from_the_flag_or_the_environment(pinakes, program, corpus, monkeypatch):
    pinakes("add", corpus)
    assert "Traceback" not in program("search", "tree", "-vv").err
    monkeypatch.setenv("PINAKES_LOG", "debug")
    assert program("search", "tree").code == 0


def test_a_taken_port_is_an_error_with_a_way_out(pinakes, program, corpus):
    pinakes("add", corpus)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = program("serve", "--port", str(taken.getsockname()[1]), "--json")
    assert done.code == 9
    assert done.document["error"]["code"] == "BUSY"
    assert "--port" in done.document["error"]["hint"]


def test_an_open_address_is_refused_without_authentication(program):
    assert program("serve", "--host", "0.0.0.0", "--port", "0", "--json").code == 4


def test_serve_says_how_to_connect_and_stops_on_ctrl_c(pinakes, corpus):
    import signal
    import urllib.request

    pinakes("add", corpus)
    server = Forked(PROGRAM, *DETERMINISTIC, "serve", "--port", "0", text=True)
    assert server.stderr is not None
    try:
        said = ""
        while '"mcpServers"' not in said:
            line = server.stderr.readline()
            assert line, said
            said += line
        url = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert url is not None
        assert "curl " in said
        with urllib.request.urlopen(f"{url[0]}/healthz") as answer:
            assert answer.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out) == (0, "")
    assert "Traceback" not in err


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize(
    ("words", "name"),
    [([*PINAKES, "mcp"], "pinakes"), ([str(Path(sys.executable).with_name("mcp-kep-knowledge"))], "kep-knowledge")],
    ids=["pinakes mcp", "mcp-kep-knowledge"],
)
def test_mcp_answers_initialize_with_nothing_but_protocol(words, name):
    done = subprocess.run(
        words, input=json.dumps(INITIALIZE) + "\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    (answer,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert answer["result"]["serverInfo"]["name"] == name


HELLO = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n'


@pytest.mark.parametrize(
    ("words", "redirection"),
    [
        ("status", "2>&-"),
        ("status", "2>/dev/full"),
        ("mcp", "2>&-"),
        ("mcp", "2>/dev/full"),
        ("mcp", "2> >(exec true)"),
    ],
)
def test_a_stderr_that_takes_nothing_stops_nobody(tmp_path, words, redirection):
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    home = tmp_path / "home"
    subprocess.run([*PINAKES, "init", "--home", str(home)], check=True, capture_output=True)
    done = subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", *PINAKES, words, "--home", str(home)],
        input=HELLO, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert ("serverInfo" if words == "mcp" else str(home)) in done.stdout


@pytest.mark.parametrize("redirection", [">&-", "<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_never_given_to_a_file(tmp_path, redirection):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "bees.md").write_text("Bees make honey.\n")
    home = str(tmp_path / "home")
    words = ["add", str(folder), "--home", home, *DETERMINISTIC]
    added = subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", *PINAKES, *words],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (added.returncode, "Traceback" in added.stderr) == (0, False)
    verified = subprocess.run([*PINAKES, "verify", "--home", home, *DETERMINISTIC], check=False, capture_output=True)
    assert verified.returncode == 0
