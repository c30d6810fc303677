"""Restricts git for repositories named in documents: only hosts on the public network, as for pages.

The operator's settings and commands may name any repository.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from pinakes.core.errors import Refused
from pinakes.fetching.addresses import Allowed
from pinakes.settings import FetchSettings
from pinakes.sources.git_urls import redact

_PORTS: Final = {"https": 443, "http": 80, "ssh": 22}
_URL: Final = re.compile(
    r"(?P<scheme>https?|ssh)://(?:[\w.+-]+@)?(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?(?:/[^\s\\?#]*)?",
    re.ASCII | re.IGNORECASE,
)
_SCP: Final = re.compile(r"[\w.+-]+@(?P<host>[\w.-]+):(?!//)[^\s\\]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class GitLimits:
    """Options that keep git to the checked addresses; by default there are none.

    ``settings``: git settings by name; ``ssh``: options of ssh; ``protocols``: value of GIT_ALLOW_PROTOCOL.
    """

    protocols: str = "https:http:ssh:git:file"
    settings: Mapping[str, str] = field(default_factory=dict)
    ssh: str = ""


def limits_for(location: str, fetch: FetchSettings) -> GitLimits:
    """Resolve the host of a repository, and return limits that keep git to the resolved addresses.

    Raises:
        Refused: it is a local path, or uses an unsupported protocol; or its host is not on the public network, and
            ``fetch.allow_private`` does not name it.
        SourceError: there is no such host.
    """
    if scp := _SCP.fullmatch(location):
        return _by_ssh(scp["host"], Allowed(fetch.allow_private).reach(scp["host"], _PORTS["ssh"]))
    url = _URL.fullmatch(location)
    if url is None:
        raise Refused(
            f"{redact(location)!r} is not read for a document: it has to be the https, http or ssh address of a host.",
            hint="The operator may name it as a source in the settings.",
        )
    parts = urlsplit(location)
    host, scheme = parts.hostname or "", url["scheme"].lower()
    port = parts.port or _PORTS[scheme]
    addresses = Allowed(fetch.allow_private).reach(host, port)
    if scheme == "ssh":
        return _by_ssh(host, addresses)
    listed = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
    return GitLimits(
        "https:http",
        {
            "http.followRedirects": "false",  # redirects lead to unchecked addresses
            "http.proxy": "",  # a proxy would resolve the name itself
            "http.curloptResolve": f"{host}:{port}:{listed}",  # otherwise the name may resolve differently
        },
    )


def _by_ssh(host: str, addresses: list[str]) -> GitLimits:
    return GitLimits("ssh", ssh=f" -oHostName={addresses[0]} -oHostKeyAlias={host} -oProxyCommand=none")
