"""The commands that a server shows, on its pages and where it starts, run as they are printed."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass

import httpx
import pytest
from docs_shell import Shell

TOOLSETS = "retrieve,manage,observe,search,knowledge"
STREAM, NO_MODEL = "curl -sN ", re.compile(r'"code":"(?:NOT_CONFIGURED|AI_NOT_CONFIGURED)"')
_COMMAND = re.compile(r"curl .*")


@dataclass(frozen=True)
class Shown:
    """A server, and what has to be shown to it."""

    shell: Shell
    url: str
    key: str

    def get(self, path: str, *, with_key: bool = True) -> str:
        headers = {"Accept": "text/html"} | ({"Authorization": f"Bearer {self.key}"} if with_key and self.key else {})
        return httpx.get(self.url + path, headers=headers).text

    def run(self, command: str) -> tuple[str, str]:
        """Return the status and the body that ``command`` gets; a stream is listened to for a second."""
        assert command.startswith("curl ")
        listened = "timeout 1 " if command.startswith(STREAM) else ""
        line = f"{listened}curl -w '\\n%{{http_code}}' {command.removeprefix('curl ')}"
        done = self.shell.bash(line)
        body, _, status = done.out.rpartition("\n")
        assert done.code == (124 if listened else 0), f"{line}\n{done.out}{done.err}"
        return status, body


@pytest.fixture(params=[False, True], ids=["open", "with keys"])
def shown(request: pytest.FixtureRequest, shell: Shell) -> Shown:
    assert shell.run("pinakes add documents").code == 0
    key = shell.run("pinakes keys create everything --scope admin").out.strip() if request.param else ""
    needed = " --set server.require_keys=true" if request.param else ""
    shell.environment = {**shell.environment, "PINAKES_KEY": key}
    shell.run(f"pinakes serve --toolsets {TOOLSETS}{needed}")
    assert shell.server is not None
    return Shown(shell, f"http://{shell.server.address}", key)


def commands(page: str) -> list[str]:
    blocks = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    return [line for block in blocks for line in _COMMAND.findall(html.unescape(block))]


def test_the_commands_that_a_server_shows_run_as_printed(shown: Shown) -> None:
    page = shown.get("/docs")
    described = json.loads(shown.get("/openapi.json"))
    assert len(commands(page)) == sum(map(len, described["paths"].values()))
    for command in [*commands(page), *commands(shown.get("/")), *_said(shown)]:
        status, body = shown.run(command)
        if command.startswith(STREAM):
            continue
        assert status == "200" or (status == "503" and NO_MODEL.search(body)), f"{command}\n{status}\n{body}"
        assert '"success":false' not in body or status == "503", f"{command}\n{body}"
        assert not re.search(r'"(?:total_results|total)":0\b|"results":\[\]', body), f"{command}\n{body}"
    refused = commands(shown.get("/stats", with_key=False))
    assert len(refused) == (2 if shown.key else 0)
    assert [command for command in refused if shown.run(command)[0] != "200"] == []
    assert not refused or "<h1>" in (shown.shell.home / "docs.html").read_text("utf-8")


def _said(shown: Shown) -> list[str]:
    """Return the commands that the server named when it began to answer."""
    assert shown.shell.server is not None
    return [found for line in shown.shell.server.said for found in _COMMAND.findall(line)]
