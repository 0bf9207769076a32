"""Rate limits: token buckets of addresses and principals."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.auth.identity import Identity
from faradisc.auth.policy.model import Policies, Principal
from faradisc.auth.session_tokens import RoleSession
from faradisc.auth.sigv4 import Credential
from faradisc.clock import ManualClock
from faradisc.errors import InvalidSignatureException, ThrottlingException
from faradisc.protocol.http import HttpRequest, Peer
from faradisc.server import rate_limits
from faradisc.server.rate_limits import Buckets, LimitedAuthenticator
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings


def request(address: str = "192.0.2.1", key: str = "A") -> HttpRequest:
    return HttpRequest("POST", b"/", {b"key": key.encode()}, b"", Peer(address))


def principal(name: str) -> Identity:
    return Identity(Principal(f"arn:aws:iam::1:user/{name}", "1", "user", name), Policies())


def authenticate(asked: Any, service: str = "dynamodb", /) -> Credential:
    key = asked.headers[b"key"].decode()
    if key == "wrong":
        raise InvalidSignatureException("wrong")
    identity = principal("alice") if key.startswith("alice") else None
    return Credential(key, "", "us-east-1", service, (), identity)


def passed(limited: LimitedAuthenticator, *requests: HttpRequest) -> list[bool]:
    results = []
    for each in requests:
        try:
            limited(each)
            results.append(True)
        except ThrottlingException as error:
            assert error.message == "Rate exceeded"
            results.append(False)
    return results


def test_bucket_holds_a_second_and_refills() -> None:
    clock = ManualClock()
    buckets = Buckets(4, clock)

    def taken() -> int:
        count = 0
        while True:
            try:
                buckets.take("a")
            except ThrottlingException:
                return count
            count += 1

    assert taken() == 4
    clock.advance(0.5)
    assert taken() == 2
    clock.advance(100)
    assert taken() == 4


def test_rate_below_one_lets_single_requests_pass() -> None:
    clock = ManualClock()
    buckets = Buckets(0.1, clock)
    buckets.take("a")
    clock.advance(9.9)
    with pytest.raises(ThrottlingException):
        buckets.take("a")
    clock.advance(0.1)
    buckets.take("a")


def test_principals_are_limited_whatever_their_keys_and_addresses() -> None:
    limited = LimitedAuthenticator(authenticate, ManualClock(), principal=2, address=0)
    asked = [
        request("192.0.2.1", "alice-1"),
        request("192.0.2.2", "alice-2"),
        request("192.0.2.3", "alice-1"),
    ]
    assert passed(limited, *asked) == [True, True, False]
    assert passed(limited, request(key="B"), request(key="B"), request(key="B")) == [True, True, False]


def test_addresses_are_limited_before_signatures_are_verified() -> None:
    limited = LimitedAuthenticator(authenticate, ManualClock(), principal=0, address=2)
    for _ in range(2):
        with pytest.raises(InvalidSignatureException):
            limited(request(key="wrong"))
    with pytest.raises(ThrottlingException):
        limited(request(key="wrong"))
    assert passed(limited, request("192.0.2.2")) == [True]


def test_rejected_request_takes_nothing_from_its_principal() -> None:
    clock = ManualClock()
    limited = LimitedAuthenticator(authenticate, clock, principal=2, address=1)
    assert passed(limited, request(), request(), request()) == [True, False, False]
    assert passed(limited, request("192.0.2.2"), request("192.0.2.3")) == [True, False]


def test_number_of_buckets_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "BUCKETS_MAX", 3)
    buckets = Buckets(1, ManualClock())
    for name in "abcd":
        buckets.take(name)
    assert list(buckets._buckets) == ["b", "c", "d"]


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_invalid_rates_are_rejected(rate: float) -> None:
    with pytest.raises(SettingsError):
        ServerSettings(rate_limit=rate)
    with pytest.raises(SettingsError):
        ServerSettings(rate_limit_address=rate)


def test_sessions_of_one_principal_have_the_rate_of_one_together() -> None:
    def by_session(asked: Any, service: str = "dynamodb", /) -> Credential:
        key = asked.headers[b"key"].decode()
        origin = "arn:aws:iam::1:user/alice" if key.startswith("a") else "arn:aws:iam::1:user/bob"
        session = RoleSession("secret", "role", 0, 1, name=key, origin=origin)
        own = Principal(f"arn:aws:sts::1:assumed-role/r/{key}", "1", "session", key)
        return Credential(key, "", "us-east-1", service, (), Identity(own, Policies(), session))

    limited = LimitedAuthenticator(by_session, ManualClock(), principal=3, address=0)
    assert passed(limited, *(request(key=f"a{number}") for number in range(5))) == [True] * 3 + [False] * 2
    assert passed(limited, request(key="b0")) == [True]
