"""A small corpus shaped like the KEPs, and servers that answer from it."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from pathlib import Path

import httpx
import uvicorn

from pinakes.api.server import bind, url_of
from pinakes.settings import Settings, load

PROVIDER = "deterministic"

FILES = {
    "keps/README.md": "# Kubernetes Enhancement Proposals\n\nA KEP is a way to propose and coordinate work.\n",
    "keps/sig-auth/1205-bound-tokens/README.md": (
        "# Bound Service Account Tokens\n\n## Summary\n\nWe want authentication tokens that are bound to a pod.\n\n"
        "## Motivation\n\nService account tokens are not audience bound, so authentication can be replayed.\n"
    ),
    "keps/sig-auth/1205-bound-tokens/kep.yaml": (
        "title: Bound Service Account Tokens\nkep-number: 1205\nowning-sig: sig-auth\nstatus: implemented\n"
        "authors:\n  - '@a'\n  - '@b'\ncreation-date: 2019-08-06\n"
    ),
    "keps/prod-readiness/sig-auth/1205.yaml": (
        "kep-number: 1205\nalpha:\n  approver: '@the-approver-of-alpha'\nbeta:\n  approver: '@the-approver-of-beta'\n"
    ),
    "keps/sig-api-machinery/598-crd-conversion/README.md": (
        "# CRD Conversion Webhook\n\n## Summary\n\nCustomResourceDefinition versioning is handled by conversion "
        "webhooks: sig-api-machinery serves one version and converts to the storage version.\n\n"
        "## Design\n\n```go\ntype CustomResourceConversion struct {\n\tStrategy string\n}\n```\n"
    ),
    "keps/sig-api-machinery/598-crd-conversion/kep.yaml": (
        "title: CRD Conversion Webhook\nkep-number: 598\nowning-sig: sig-api-machinery\nstatus: implementable\n"
    ),
    "keps/sig-cluster-lifecycle/kubeadm/2500-join/README.md": (
        "# Kubeadm Join\n\nThe kubeadm join workflow lets more control plane nodes enter, kube-scheduler too.\n"
    ),
    "keps/provider-aws/630-ebs/README.md": "# EBS CSI Driver\n\nA driver that lets pods use block storage.\n",
    "keps/NNNN-kep-template/README.md": "# KEP-NNNN: Your short, descriptive title\n\nThis is the title of your KEP.\n",
    "keps/sig-auth/9-short/README.md": "# Short\n\ntiny\n",
    "keps/sig-auth/1205-bound-tokens/figure.png": "not read: no image is",
}  # fmt: skip

STDIO = """
import sys
from pinakes.api import serve_stdio
from pinakes.settings import load
chosen = {"embedding__provider": "deterministic", "mcp__structured_content": True}
serve_stdio(load(home=sys.argv[1], profile="kep", **chosen), *sys.argv[2:])
"""

SERVE = """
import sys
from pinakes.api import serve
from pinakes.settings import load
chosen = {"embedding__provider": "deterministic", "mcp__structured_content": True}
settings = load(home=sys.argv[1], profile="kep", server__port=0, **chosen)
serve(settings, on_ready=lambda url: print(url, flush=True))
"""


def write_corpus(folder: Path) -> Path:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def settings_for(home: Path, **settings: object) -> Settings:
    return load(
        home=home,
        profile="kep",
        environment={},
        **({"embedding__provider": PROVIDER, "mcp__structured_content": True} | settings),
    )


def configure_folder(home: Path, location: Path | str, kind: str = "folder") -> None:
    """Let the KEPs of ``home`` come from ``location``."""
    home.mkdir(parents=True, exist_ok=True)
    source = f'[[collections.keps.sources]]\nkind = "{kind}"\nlocation = "{location}"\n'
    (home / "config.toml").write_text(source, "utf-8")


class Running:
    """A server in a thread of this process."""

    def __init__(self, app: object, settings: Settings) -> None:
        self._listener = bind(settings.server)
        self.url = url_of(self._listener)
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]})
        self._thread.start()
        self.client = httpx.Client(base_url=self.url, timeout=30)

    def stop(self) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join(10)
        self._listener.close()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])
