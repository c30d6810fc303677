"""The check of addresses before a connection: public ones are allowed, and those in the settings."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Final, TypeAlias

from pinakes.core.errors import InvalidSetting, Refused, SourceError

Address: TypeAlias = IPv4Address | IPv6Address

_METADATA: Final = frozenset((IPv4Address("168.63.129.16"),))
"""Public addresses of cloud metadata services; all others are link-local or private."""

_CLOSED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
            *("2001::/23", "2001:db8::/32", "3fff::/20"),
        ),
    )
)
"""Networks in the registries of special addresses (RFC 6890), independent of the Python version."""

_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""The allocated part of IPv6; everything else is local, special or unassigned."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


class Allowed:
    """Private hosts and networks to which connections are allowed.

    An entry is a host name (``intranet.example``), all names below one (``*.intranet.example``), an address, or a
    network (``10.0.0.0/8``).

    Raises:
        InvalidSetting: an entry has another form.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self._networks = []
        self._names: set[str] = set()
        self._endings: list[str] = []
        for entry in entries:
            text = entry.strip().lower().strip("[]").rstrip(".")
            try:
                self._networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                self._add_name(text, entry)

    def _add_name(self, text: str, entry: str) -> None:
        name = text.removeprefix("*.")
        if not name or "*" in name or "/" in name or ":" in name:
            raise InvalidSetting(
                f"fetch.allow_private cannot use {entry!r}.",
                hint="Name a host, *.host, an address or a network such as 10.0.0.0/8.",
            )
        if name == text:
            self._names.add(name)
        else:
            self._endings.append(f".{name}")

    def reach(self, host: str, port: int) -> list[str]:
        """Resolve ``host`` once and return its addresses, all of them allowed.

        Raises:
            SourceError: the host does not exist.
            Refused: one of its addresses is not public, and the settings do not allow it.
        """
        found = list(dict.fromkeys(_resolved(host, port)))
        if not self._names_host(host):
            for address in found:
                self._check(host, address)
        return [str(address) for address in found]

    def _names_host(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        return name in self._names or any(name.endswith(ending) for ending in self._endings)

    def _check(self, host: str, address: Address) -> None:
        meant = list(_embedded_addresses(address))
        if all(map(_is_open, meant)) or any(
            one in network for network in self._networks for one in meant if one.version == network.version
        ):
            return
        shown = host if host == str(address) else f"{host} ({address})"
        raise Refused(
            f"{shown!r} is not on the open network, so nothing is fetched from it or sent to it.",
            hint="If that is what you want, name the host or its network in fetch.allow_private.",
        )


def _resolved(host: str, port: int) -> Iterator[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the name cannot be looked up"
        raise SourceError(f"There is no host {host!r}: {reason}.", hint="Check the name and the network.") from error
    for _, _, _, _, place in found:
        yield ipaddress.ip_address(str(place[0]).partition("%")[0])


def _embedded_addresses(address: Address) -> Iterator[Address]:
    """Yield ``address``, and the IPv4 addresses that it embeds or is translated to."""
    yield address
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in _NAT64 or address in _COMPATIBLE:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _is_open(address: Address) -> bool:
    if address in _METADATA:
        return False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return True  # the embedded address is checked separately
        if address in _LOCAL_NAT64 or address in _COMPATIBLE or not (address in _UNICAST or address in _NAT64):
            return False
    if any(address in network for network in _CLOSED if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or (address.is_reserved and address not in _NAT64))
