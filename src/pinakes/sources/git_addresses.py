"""What git may ask for repositories that a document names: hosts of the open network, as pages are fetched from.

The operator's own settings and commands may name any repository.
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
    """How git is to run so that it reaches what was checked and nothing else.

    ``settings`` of git by name; ``ssh``: options of ssh; ``protocols`` as GIT_ALLOW_PROTOCOL has them.
    """

    protocols: str
    settings: Mapping[str, str] = field(default_factory=dict)
    ssh: str = ""


def limits_for(location: str, fetch: FetchSettings) -> GitLimits:
    """Look up the host of a repository, and return what keeps git to the addresses that were found.

    Raises:
        Refused: it is a path of this machine, or of a kind that is not asked for; or it is not on the open network, and
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
            "http.followRedirects": "false",  # they lead where nobody looked
            "http.proxy": "",  # a proxy would look the name up by itself
            "http.curloptResolve": f"{host}:{port}:{listed}",  # else the name could mean another host a moment later
        },
    )


def _by_ssh(host: str, addresses: list[str]) -> GitLimits:
    return GitLimits("ssh", ssh=f" -oHostName={addresses[0]} -oHostKeyAlias={host} -oProxyCommand=none")
