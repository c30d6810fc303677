"""Which hosts always mean this machine."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host name or address always means this machine."""
    address = address_of(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that ``host`` is, None where it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
