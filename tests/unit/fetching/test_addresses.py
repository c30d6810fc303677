"""Only addresses of the open network are connected to, and what the settings name besides."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from pinakes.core.errors import InvalidInput, InvalidSetting, Refused, SourceError
from pinakes.fetching import check_url, shown
from pinakes.fetching.addresses import Allowed

CLOSED = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
]


@pytest.mark.parametrize("address", CLOSED)
def test_addresses_off_the_open_network_are_refused(address: str) -> None:
    with pytest.raises(Refused, match="not on the open network") as caught:
        Allowed(()).reach(address, 80)
    assert "fetch.allow_private" in caught.value.hint


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_addresses_of_the_open_network_are_reached(address: str) -> None:
    assert len(Allowed(()).reach(address, 443)) == 1


@pytest.mark.parametrize("name", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
def test_names_and_numbers_that_stand_for_this_machine_are_refused(name: str) -> None:
    with pytest.raises((Refused, SourceError)):
        Allowed(()).reach(name, 80)


@pytest.mark.parametrize("entry", ["127.0.0.1", "127.0.0.0/8", "localhost", "LOCALHOST.", "*.1", "::ffff:127.0.0.1"])
def test_what_the_settings_name_is_reached(entry: str) -> None:
    names = {"localhost": "localhost", "LOCALHOST.": "localhost", "*.1": "127.0.0.1"}
    host = "::ffff:127.0.0.1" if entry.startswith("::") else names.get(entry, "127.0.0.1")
    assert Allowed((entry,)).reach(host, 80)


def test_a_name_among_the_settings_allows_no_other_name() -> None:
    with pytest.raises(Refused):
        Allowed(("intranet.example", "*.corp.example")).reach("localhost", 80)


def test_a_host_is_refused_when_one_of_its_addresses_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 80)) for one in ("93.184.216.34", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(Refused, match=r"10\.0\.0\.1"):
        Allowed(()).reach("two.example", 80)


@pytest.mark.parametrize("entry", ["", "*", "http://x", "10.0.0.0/64", "a b/c", "*.*.example"])
def test_a_setting_that_names_nothing_is_an_error(entry: str) -> None:
    with pytest.raises(InvalidSetting, match="allow_private"):
        Allowed((entry,))


def test_a_host_that_does_not_exist_is_told() -> None:
    with pytest.raises(SourceError, match=r"no host 'no-such-host\.invalid'"):
        Allowed(()).reach("no-such-host.invalid", 80)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("https://Docs.Example/A b?q=1#part", "https://docs.example/A%20b?q=1"),
        ("  http://docs.example  ", "http://docs.example/"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://docs.example:443/x", "https://docs.example/x"),
        ("http://[2606:4700::1111]:8080/x", "http://[2606:4700::1111]:8080/x"),
    ],
)
def test_a_url_is_made_what_is_asked_for(given: str, asked: str) -> None:
    assert check_url(given) == asked


@pytest.mark.parametrize(
    "url",
    [
        "",
        "docs.example/page",
        "ftp://docs.example/x",
        "file:///etc/passwd",
        "gopher://docs.example/x",
        "javascript:alert(1)",
        "http://",
        "http:///x",
        "http://docs.example:0/",
        "http://docs.example:99999/",
        "http://docs.example:x/",
        "http://[::1/",
        "http://docs.example/" + "x" * 5000,
        "http://docs.exa\nmple/",
    ],
)
def test_what_is_no_address_of_a_page_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_url(url)


@pytest.mark.parametrize("url", ["https://me:s3cret@docs.example/x", "https://s3cret@docs.example/x"])
def test_a_login_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidInput, match="login") as caught:
        check_url(url)
    assert "s3cret" not in str(caught.value)


def test_what_is_shown_of_a_url_has_no_query() -> None:
    assert shown("https://a:b@docs.example/x?signature=1#y") == "https://docs.example/x"
