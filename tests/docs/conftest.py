"""The documents that the commands of the pages are about."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import export_samples
import pytest
from docs_blocks import ROOT, blocks
from docs_shell import Shell, environment_of
from scanned_page import scanned

from pinakes.testing import write_files

KEYS = "\n".join(
    [
        *("---", "status: beta", "year: 2024", "tags: [howto]", "---", "", "# Signing keys", ""),
        *("Every service signs with a key of its own.", "", "## How to rotate the signing keys", ""),
        *(f"{n}. Step {n} of rotating the signing keys of service {n}." for n in range(1, 81)),
        *("", "## When a key was lost", "", "Revoke it at once, then rotate all keys that it signed.", ""),
    ]
)
DOCUMENTS = {
    "documents/guides/keys.md": KEYS,
    "documents/guides/backup.md": "# Backup\n\nCopies are made at night. Keys are not part of them.\n",
    "documents/code/keys.py": 'def rotate_keys(service: str) -> None:\n    """Rotate the signing keys."""\n',
    "documents/drafts/plan.md": "---\nstatus: alpha\n---\n# Plan\n\nThe sig-api-machinery meeting is on Monday.\n",
    "documents/notes.txt": "The cellar door sticks when it rains.\n",
    "documents/empty.md": "",
}
SIG_AUTH = "enhancements/keps/sig-auth/1205-bound-service-account-tokens"
SIG_API = "enhancements/keps/sig-api-machinery/598-crd-conversion-webhook"
PROPOSALS = {
    f"{SIG_AUTH}/README.md": "# Bound Service Account Tokens\n\n## Summary\n\n"
    "This KEP describes an API that would allow workloads running on Kubernetes to request JSON Web Tokens that are "
    "audience, time and eventually key bound. It introduces bound service account tokens for authentication.\n",
    f"{SIG_AUTH}/kep.yaml": "title: Bound Service Account Tokens\nkep-number: 1205\nowning-sig: sig-auth\n"
    "status: implemented\nstage: stable\ncreation-date: 2019-08-06\n",
    f"{SIG_API}/README.md": "# CustomResourceDefinition Conversion Webhook\n\n## Summary\n\n"
    "This document proposes a detailed plan for adding support for version-conversion of Kubernetes resources defined "
    "via Custom Resource Definitions (CRD). The API Server is extended to call out to a webhook. Some of this is "
    "boilerplate that we expect tools like Kubebuilder will handle for the user; see Custom Resource Definition "
    "Versioning.\n",
    f"{SIG_API}/kep.yaml": "title: CustomResourceDefinition Conversion Webhook\nkep-number: 598\n"
    "owning-sig: sig-api-machinery\nstatus: implemented\nstage: stable\ncreation-date: 2019-04-25\n",
}
"""Two proposals of the real repository (Apache-2.0), shortened."""
KERNEL = {
    "linux/mm/slab.c": "/* Memory is allocated from slabs; an error is handled by the caller. */\n"
    "void *slab_alloc(int size)\n{\n\treturn 0;\n}\n",
    "linux/mm/Kconfig": 'config NUMA\n\tbool "Memory of several nodes"\n',
}

HANDBOOK = {
    "handbook/content/departments/sales/tools/salesforce.md": "# Salesforce\n\nSales uses Salesforce for customers. "
    "To access Salesforce, log in with Okta. Looker integrates with Salesforce and Slack.\n",
    "handbook/content/departments/sales/tools/looker.md": "# Looker\n\nThe contract with Looker ends in May. "
    "Lookback is another tool. The Customer Engineering team uses Looker and Slack.\n",
    "handbook/content/departments/engineering/hosting.md": "# Hosting\n\nWe use Amazon Web Services for hosting. AWS "
    "bills are paid by Finance. Zendesk is located in Europe, and Finance works with Zendesk.\n",
}
"""A small handbook with vendors, teams and a region."""

DECLARED = next(block for block in blocks(ROOT / "docs" / "sync.md", "text") if "apiVersion" in block)
"""The KnowledgeSource document that the page shows and then imports."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A reader's home: documents, a scan, a git repository, some enhancement proposals."""
    project = {"project/README.md": "# Project\n\nA project with a tag.\n"}
    export_samples.zipped(export_samples.slack(tmp_path / "slack"), tmp_path / "slack-export.zip")
    export_samples.zipped(export_samples.notion(tmp_path / "notion"), tmp_path / "Notion-export.zip")
    old_wiki = export_samples.confluence_html(tmp_path / "exports" / "old-wiki")
    export_samples.zipped(old_wiki, tmp_path / "Confluence-space-export.zip")
    (tmp_path / "handbook.yaml").write_text(DECLARED)
    scans = tmp_path / "scans"
    scans.mkdir()
    (scans / "lease.pdf").write_bytes(scanned("The lease of the cellar ends in May."))
    write_files(tmp_path, {**DOCUMENTS, **HANDBOOK, **PROPOSALS, **KERNEL, **project})
    identity = ["-c", "user.name=Reader", "-c", "user.email=reader@example.org"]
    commit = [*identity, "commit", "--quiet", "--message", "First"]
    for words in (["init", "--quiet"], ["add", "."], commit, ["tag", "v1.2"]):
        subprocess.run(["git", *words], cwd=tmp_path / "project", env=environment_of(tmp_path), check=True)
    return tmp_path


@pytest.fixture
def shell(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    for name in os.environ.keys() - environment_of(home).keys():
        monkeypatch.delenv(name)
    for name, value in environment_of(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)
    root, ours = logging.getLogger(), logging.getLogger("pinakes")
    before = root.handlers[:], root.level, ours.level

    def captured() -> tuple[str, str]:
        out, err = capsys.readouterr()
        return out, err

    shell = Shell(home, environment_of(home), captured)
    yield shell
    if shell.server is not None:
        shell.stop()
    root.handlers[:], root.level, ours.level = before
