"""Which hosts and origins are served when signatures are not verified."""

from __future__ import annotations

import pytest

from faradisc.protocol.http import HttpRequest
from faradisc.server.origins import OriginPolicy
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings


def rejected(policy: OriginPolicy, **headers: str) -> bool:
    sent = {name.replace("_", "-").encode(): value.encode("latin-1") for name, value in headers.items()}
    return policy.rejection(HttpRequest("POST", b"/", sent, b"")) is not None


@pytest.mark.parametrize(
    "host",
    ["localhost:8000", "LOCALHOST", "127.0.0.1:8000", "[::1]:8000", "a.localhost", "10.0.0.5", "box:80"],
)
def test_local_hosts_are_served(host: str) -> None:
    policy = OriginPolicy(("box",))
    for _ in range(2):
        assert not rejected(policy, host=host)
    assert not rejected(policy)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.x"])
def test_other_hosts_are_rejected(host: str) -> None:
    policy = OriginPolicy(("box",))
    for _ in range(2):
        assert rejected(policy, host=host)
    assert not rejected(OriginPolicy(None), host=host)


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:80"])
def test_pages_of_local_origins_are_served(origin: str) -> None:
    assert not rejected(OriginPolicy(("box",)), host="localhost:8000", origin=origin)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://localhost.example", "\xff"])
def test_pages_of_other_origins_are_rejected_unless_named(origin: str) -> None:
    assert rejected(OriginPolicy(None), origin=origin)
    assert not rejected(OriginPolicy(None, ["*"]), origin=origin)
    assert rejected(OriginPolicy(None, ["https://app.example"]), origin=origin)


def test_origins_of_the_setting_and_of_the_server_itself_are_served() -> None:
    assert not rejected(OriginPolicy(None, ["https://App.example"]), origin="https://app.example")
    assert not rejected(OriginPolicy(None), host="db.example:8000", origin="http://db.example:8000")


@pytest.mark.parametrize(("site", "expected"), [("cross-site", True), ("same-site", True), ("none", False)])
def test_requests_that_a_browser_marks_as_cross_site_are_rejected(site: str, expected: bool) -> None:
    assert rejected(OriginPolicy(None), sec_fetch_site=site) is expected


def test_an_origin_that_is_none_is_rejected_at_start() -> None:
    ServerSettings(cors="*, https://app.example")
    with pytest.raises(SettingsError, match="is not an origin"):
        ServerSettings(cors="app.example")
