"""Resolving and binding addresses, and the error messages."""

from __future__ import annotations

import errno
import socket

import pytest

from faradisc.server import addresses
from faradisc.server.addresses import AddressError, bind, is_loopback, resolve, url_of


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ((socket.AF_INET, "127.0.0.1"), True),
        ((socket.AF_INET, "127.8.8.8"), True),
        ((socket.AF_INET, "0.0.0.0"), False),
        ((socket.AF_INET, "10.0.0.1"), False),
        ((socket.AF_INET6, "::1"), True),
        ((socket.AF_INET6, "::ffff:127.0.0.1"), True),
        ((socket.AF_INET6, "::"), False),
        ((socket.AF_INET6, "fe80::1"), False),
    ],
)
def test_loopback_addresses_are_recognised(address: tuple[int, str], expected: bool) -> None:
    assert is_loopback(address) is expected


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("localhost", "http://localhost:80"),
    ],
)
def test_url_for_clients_on_this_machine(host: str, url: str) -> None:
    assert url_of(host, 80) == url


def test_numeric_hosts_resolve_to_themselves() -> None:
    assert resolve("127.0.0.1") == [(socket.AF_INET, "127.0.0.1")]
    assert resolve("0.0.0.0") == [(socket.AF_INET, "0.0.0.0")]


def test_an_unknown_host_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        AddressError, match=r"'nowhere\.invalid' cannot be found \(Name or service not known\)"
    ):
        resolve("nowhere.invalid")


def test_invalid_host_name_is_explained() -> None:
    with pytest.raises(AddressError, match=r"cannot be found \(not a host name\)"):
        resolve("a" * 300)


def test_a_free_port_is_the_same_for_every_address() -> None:
    both = [(int(socket.AF_INET), "127.0.0.1"), (int(socket.AF_INET), "127.0.0.2")]
    bound = bind("both", both, 0)
    try:
        assert len({each.getsockname()[1] for each in bound}) == 1
        assert bound[0].getsockname()[1] > 0
    finally:
        for each in bound:
            each.close()


def test_an_address_family_turned_off_is_skipped_when_there_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one_of = addresses.bind_one

    def refuse_v6(family: int, numeric: str, port: int, *, shared: bool) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "off")
        return one_of(family, numeric, port)

    monkeypatch.setattr(addresses, "bind_one", refuse_v6)
    six, four = (int(socket.AF_INET6), "::1"), (int(socket.AF_INET), "127.0.0.1")
    (bound,) = bind("localhost", [six, four], 0)
    bound.close()
    with pytest.raises(AddressError, match="is no address of this machine"):
        bind("::1", [six], 0)
    with pytest.raises(AddressError, match="is no address of this machine"):
        bind("name", [six, six], 0)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EADDRINUSE, "Port 80 on 127.0.0.1 is in use by another program"),
        (errno.EACCES, "may not listen on port 80; choose a port above 1023"),
        (errno.EADDRNOTAVAIL, "127.0.0.1 is no address of this machine"),
        (errno.ENOBUFS, "Cannot listen on 127.0.0.1 port 80: as reported"),
    ],
)
def test_failures_are_sentences(monkeypatch: pytest.MonkeyPatch, number: int, sentence: str) -> None:
    def refuse(family: int, numeric: str, port: int, *, shared: bool) -> socket.socket:
        raise OSError(number, "as reported")

    monkeypatch.setattr(addresses, "bind_one", refuse)
    with pytest.raises(AddressError, match=sentence):
        bind("127.0.0.1", [(int(socket.AF_INET), "127.0.0.1")], 80)


def test_a_port_in_use_is_noticed() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(AddressError, match="is in use by another program"):
            bind("127.0.0.1", [(int(socket.AF_INET), "127.0.0.1")], other.getsockname()[1])
