"""Strict authentication of requests that botocore signed: accepted requests and each error.

Situations and texts: errors.md section 5. The clock stands still unless a test moves it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import botocore.auth
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from faradisc.auth.keys import AccessKey, FixedKeyring
from faradisc.auth.strict import MISMATCH, TOKEN_EXPIRED, StrictAuthenticator
from faradisc.clock import ManualClock
from faradisc.errors import (
    ApiError,
    ExpiredTokenException,
    IncompleteSignatureException,
    InvalidSignatureException,
    UnrecognizedClientException,
)
from faradisc.protocol.http import HttpRequest

NOW_S = 1_795_176_000  # 2026-11-20T12:00:00Z
KEY = AccessKey("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
TEMPORARY = AccessKey("ASIDEXAMPLE", "a-secret-of-some-hours", "token/of+some=hours", NOW_S + 3600)
BODY = b'{"TableName":"t","Key":{"a":{"S":"x"}}}'
TARGET = "DynamoDB_20120810.GetItem"


class FixedKeys(FixedKeyring):
    """Keys that a test can replace."""

    def put(self, *keys: AccessKey) -> None:
        self._keys = {key.key_id: key for key in keys}
        self.generation += 1


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_S)


@pytest.fixture
def keys() -> FixedKeys:
    return FixedKeys((KEY, TEMPORARY))


@pytest.fixture
def strict(keys: FixedKeys, clock: ManualClock) -> StrictAuthenticator:
    return StrictAuthenticator(keys, clock, region="eu-west-1")


def signed(
    monkeypatch: pytest.MonkeyPatch,
    *,
    key: AccessKey = KEY,
    at_s: int = NOW_S,
    body: bytes = BODY,
    region: str = "eu-west-1",
    service: str = "dynamodb",
    target: str = TARGET,
    url: str = "http://localhost:8000/",
    query_expires: int | None = None,
    headers: dict[str, str] | None = None,
) -> HttpRequest:
    """Returns a request signed by botocore at that second, in the form the server receives."""
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: datetime.fromtimestamp(at_s, UTC))
    sent = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0", **(headers or {})}
    request = AWSRequest(method="POST", url=url, data=b"" if query_expires else body, headers=sent)
    credentials = Credentials(key.key_id, key.secret, key.token)
    if query_expires is None:
        SigV4Auth(credentials, service, region).add_auth(request)
    else:
        SigV4QueryAuth(credentials, service, region, expires=query_expires).add_auth(request)
    received = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
    path = "/" + request.url.split("/", 3)[3]
    return HttpRequest(
        "POST",
        path.encode(),
        {b"host": request.url.split("/")[2].encode(), **received},
        b"" if query_expires else body,
    )


def replaced(request: HttpRequest, old: bytes, new: bytes) -> HttpRequest:
    header = request.headers[b"authorization"]
    assert old in header
    headers = {**request.headers, b"authorization": header.replace(old, new)}
    return HttpRequest(request.method, request.target, headers, request.body)


def refuse(strict: StrictAuthenticator, request: HttpRequest, error: type[ApiError], text: str) -> None:
    """Checks the error twice: a rejected request must not be cached as verified."""
    for _ in range(2):
        with pytest.raises(error) as caught:
            strict(request)
        assert caught.value.message == text


# --- What passes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"body": b""},
        {"key": TEMPORARY},
        {"query_expires": 60},
        {"query_expires": 60, "key": TEMPORARY},
        {"url": "http://localhost:8000/?b=2&a=%20x"},
        {"headers": {"X-Amz-Meta": "two  spaces"}},
        {"headers": {"X-Amz-Content-Sha256": sha256(BODY).hexdigest()}},
    ],
    ids=str,
)
def test_right_signature_is_accepted(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    request = signed(monkeypatch, **options)
    for _ in range(3):  # the second and third time from memory
        credential = strict(request)
        assert credential.access_key_id == options.get("key", KEY).key_id
        assert credential.region == "eu-west-1"


def test_signed_unsigned_payload_is_refused(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch, headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    refuse(strict, request, InvalidSignatureException, MISMATCH)


def test_unsigned_payload_header_without_signature_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch)
    strict(request)
    headers = {**request.headers, b"x-amz-content-sha256": b"UNSIGNED-PAYLOAD"}
    refuse(strict, HttpRequest("POST", b"/", headers, b"{}"), InvalidSignatureException, MISMATCH)


def test_date_header_replaces_a_missing_amz_date(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch)
    timestamp = request.headers.pop(b"x-amz-date")
    for date in (b"Fri, 20 Nov 2026 12:00:00 GMT", b"Fri, 20 Nov 2026 13:00:00 +0100", timestamp):
        headers = {**request.headers, b"date": date}
        with pytest.raises(InvalidSignatureException, match="does not match"):
            # Read as a date, and then the missing header changes what was signed.
            strict(HttpRequest("POST", b"/", headers, BODY))


def test_any_region_is_accepted_without_a_fixed_region(
    keys: FixedKeys, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = StrictAuthenticator(keys, clock)
    for region in ("us-east-1", "ap-south-1", "local"):
        assert strict(signed(monkeypatch, region=region)).region == region


# --- Changed on the way ----------------------------------------------------------------------------


@pytest.mark.parametrize("known", [False, True], ids=["first", "from memory"])
def test_change_of_any_signed_part_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    request = signed(monkeypatch)
    if known:
        strict(request)
    headers = request.headers
    for changed in (
        HttpRequest("POST", b"/", headers, BODY + b" "),
        HttpRequest("POST", b"/", headers, BODY.replace(b"x", b"y")),
        HttpRequest("POST", b"/", {**headers, b"x-amz-target": b"DynamoDB_20120810.DeleteItem"}, BODY),
        HttpRequest("POST", b"/", {**headers, b"host": b"elsewhere"}, BODY),
        HttpRequest("POST", b"/", {**headers, b"x-amz-date": b"20261120T120001Z"}, BODY),
        HttpRequest("POST", b"/a", headers, BODY),
        HttpRequest("POST", b"/?a=b", headers, BODY),
        HttpRequest("PUT", b"/", headers, BODY),
    ):
        refuse(strict, changed, InvalidSignatureException, MISMATCH)


def test_flipped_bits_and_truncations_of_a_signature_are_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch)
    strict(request)
    header = request.headers[b"authorization"]
    begin, _, signature = header.rpartition(b"Signature=")
    wrong = [signature[:cut] for cut in range(1, 64)]
    wrong += [signature.upper(), signature + b"0", b"\xff" * 64, b"0" * 64]
    wrong += [
        signature[:at] + bytes([signature[at] ^ 1 << bit]) + signature[at + 1 :]
        for at in range(64)
        for bit in range(8)
    ]
    for each in wrong:
        if each in (signature, signature.lower()) or each.strip(b" ,") == signature:
            continue
        headers = {**request.headers, b"authorization": begin + b"Signature=" + each}
        with pytest.raises((InvalidSignatureException, IncompleteSignatureException)):
            strict(HttpRequest("POST", b"/", headers, BODY))


def test_signature_of_another_key_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = AccessKey(KEY.key_id, "a secret that was guessed")
    refuse(strict, signed(monkeypatch, key=forged), InvalidSignatureException, MISMATCH)


def test_cached_header_with_another_signature_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict(signed(monkeypatch))
    other = signed(monkeypatch, body=b"{}")
    stolen = HttpRequest("POST", b"/", other.headers, BODY)
    refuse(strict, stolen, InvalidSignatureException, MISMATCH)
    assert strict(other).access_key_id == KEY.key_id


# --- Clock -----------------------------------------------------------------------------------------


def test_clock_skew_of_fifteen_minutes_is_accepted(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at_s in (NOW_S - 900, NOW_S, NOW_S + 900):
        for _ in range(2):
            strict(signed(monkeypatch, at_s=at_s))


@pytest.mark.parametrize("known", [False, True], ids=["first", "from memory"])
def test_replay_after_fifteen_minutes_is_rejected(
    strict: StrictAuthenticator, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    request = signed(monkeypatch)
    if known:
        strict(request)
    clock.advance(901)
    refuse(
        strict,
        request,
        InvalidSignatureException,
        "Signature expired: 20261120T120000Z is now earlier than 20261120T120001Z "
        "(20261120T121501Z - 15 min.)",
    )


def test_signature_of_the_future_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(
        strict,
        signed(monkeypatch, at_s=NOW_S + 901),
        InvalidSignatureException,
        "Signature not yet current: 20261120T121501Z is still later than 20261120T121500Z "
        "(20261120T120000Z + 15 min.)",
    )


def test_presigned_request_is_valid_for_its_lifetime(
    strict: StrictAuthenticator, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = signed(monkeypatch, query_expires=60), signed(monkeypatch, query_expires=3600)
    clock.advance(60)
    strict(short)
    clock.advance(1)
    refuse(
        strict,
        short,
        InvalidSignatureException,
        "Signature expired: 20261120T120101Z is now later than 20261120T120100Z (20261120T120000Z + 60 s.)",
    )
    clock.advance(3000)
    strict(long)
    clock.advance(3000)
    with pytest.raises(InvalidSignatureException):
        strict(long)


@pytest.mark.parametrize("text", [b"0", b"604801", b"-1", b"x", b"1" * 9, b"%C2%B2"])
def test_presigned_lifetime_out_of_range_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    request = signed(monkeypatch, query_expires=60)
    request.target = request.target.replace(b"X-Amz-Expires=60", b"X-Amz-Expires=" + text)
    with pytest.raises(IncompleteSignatureException, match="X-Amz-Expires must be a number between 1 and"):
        strict(request)


@pytest.mark.parametrize(
    "date",
    [
        *("", " ", "yesterday", "20261120", "20261120T120000", "20261320T120000Z", "20261120T250000Z"),
        *("20261120T126000Z", "2026112OT120000Z", "00000000T000000Z", "Mon, 99 Nov 2026 99:99:99 GMT"),
        *("Mon, 20 Nov 99999 12:00:00 GMT", "\u00b2" * 16, "a" * 5000),
    ],
)
def test_invalid_date_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch, date: str
) -> None:
    request = signed(monkeypatch)
    strict(request)
    request.headers[b"x-amz-date"] = date.encode("latin-1")
    with pytest.raises((IncompleteSignatureException, InvalidSignatureException)):
        strict(request)


def test_error_text_of_an_invalid_date(strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch) -> None:
    request = signed(monkeypatch)
    request.headers[b"x-amz-date"] = b"noon"
    refuse(
        strict,
        request,
        IncompleteSignatureException,
        "Date must be in ISO-8601 'basic format'. Got 'noon'. See http://en.wikipedia.org/wiki/ISO_8601",
    )


# --- Scope -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (
            b"20261120/us-east-1/dynamodb/aws4_request",
            "Credential should be scoped to a valid region, not 'us-east-1'. ",
        ),
        (
            b"20261120/eu-west-1/s3/aws4_request",
            "Credential should be scoped to correct service: 'dynamodb'. ",
        ),
        (
            b"20261120/eu-west-1/dynamodb/aws5",
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5'. ",
        ),
        (
            b"20261119/eu-west-1/dynamodb/aws4_request",
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            "'20261119' != '20261120', from '20261120T120000Z'. ",
        ),
        (
            b"1/../s3/x",
            "Credential should be scoped to a valid region, not '..'. "
            "Credential should be scoped to correct service: 'dynamodb'. "
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'x'. "
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            "'1' != '20261120', from '20261120T120000Z'. ",
        ),
    ],
    ids=["region", "service", "terminator", "date", "all"],
)
def test_wrong_scope_is_rejected_before_the_signature(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch, scope: bytes, text: str
) -> None:
    request = signed(monkeypatch)
    strict(request)
    wrong = replaced(request, b"20261120/eu-west-1/dynamodb/aws4_request", scope)
    refuse(strict, wrong, InvalidSignatureException, text)


def test_right_signature_for_another_service_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(
        strict,
        signed(monkeypatch, service="s3"),
        InvalidSignatureException,
        "Credential should be scoped to correct service: 'dynamodb'. ",
    )


@pytest.mark.parametrize(
    ("signed_headers", "text"),
    [
        (b"x-amz-date;x-amz-target", "'Host' must be a 'SignedHeader' in the AWS Authorization."),
        (b"host;x-amz-date", "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."),
        (b"x", "'Host' must be a 'SignedHeader' in the AWS Authorization."),
    ],
)
def test_host_and_target_must_be_signed(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch, signed_headers: bytes, text: str
) -> None:
    request = signed(monkeypatch)
    wrong = replaced(request, b"content-type;host;x-amz-date;x-amz-target", signed_headers)
    refuse(strict, wrong, InvalidSignatureException, text)


def test_other_algorithms_are_rejected(strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(
        strict,
        replaced(signed(monkeypatch), b"AWS4-HMAC-SHA256", b"AWS4-ECDSA-P256-SHA256"),
        IncompleteSignatureException,
        "Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256'.",
    )


# --- Keys ------------------------------------------------------------------------------------------

UNKNOWN = "The security token included in the request is invalid."


def test_unknown_key_is_rejected(strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = AccessKey("AKIDUNKNOWN", KEY.secret)
    refuse(strict, signed(monkeypatch, key=unknown), UnrecognizedClientException, UNKNOWN)


def test_revoked_key_is_rejected_at_once(
    strict: StrictAuthenticator, keys: FixedKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch)
    strict(request)
    keys.put(TEMPORARY)
    refuse(strict, request, UnrecognizedClientException, UNKNOWN)
    keys.put(AccessKey(KEY.key_id, "another secret"))
    refuse(strict, request, InvalidSignatureException, MISMATCH)


def test_session_token_of_another_key_is_rejected(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch, key=TEMPORARY)
    strict(request)
    for token in (b"", b"wrong", b"\xff"):
        request.headers[b"x-amz-security-token"] = token
        refuse(strict, request, UnrecognizedClientException, UNKNOWN)
    without = AccessKey(TEMPORARY.key_id, TEMPORARY.secret)
    refuse(strict, signed(monkeypatch, key=without), UnrecognizedClientException, UNKNOWN)
    with_one = AccessKey(KEY.key_id, KEY.secret, "token")
    refuse(strict, signed(monkeypatch, key=with_one), UnrecognizedClientException, UNKNOWN)


def test_expired_temporary_key_is_rejected(
    strict: StrictAuthenticator, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict(signed(monkeypatch, key=TEMPORARY))
    clock.advance(3599)
    strict(signed(monkeypatch, key=TEMPORARY, at_s=NOW_S + 3599))
    clock.advance(1)
    request = signed(monkeypatch, key=TEMPORARY, at_s=NOW_S + 3600)
    refuse(strict, request, ExpiredTokenException, TOKEN_EXPIRED)


def test_keyring_is_refreshed_once_a_second(
    strict: StrictAuthenticator, keys: FixedKeys, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(keys, "refresh", lambda: asked.append(clock.now_ns()))
    request = signed(monkeypatch)
    for _ in range(4):
        strict(request)
        strict(request)
        clock.advance(0.5)
    assert [at - asked[0] for at in asked] == [0, 1_000_000_000]


# --- Incomplete, as lenient says it ------------------------------------------------------------------


def test_incomplete_signature_has_the_errors_of_lenient_mode(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = signed(monkeypatch)
    strict(request)
    header = request.headers[b"authorization"]
    cut = header.index(b", Signature=")
    for beginning in (header[:cut], header[: cut + 2], header[:-64], header[: cut + 11]):
        headers = {**request.headers, b"authorization": beginning}
        with pytest.raises(IncompleteSignatureException, match="requires 'Signature' parameter"):
            strict(HttpRequest("POST", b"/", headers, BODY))


def test_only_verified_headers_are_cached_and_the_cache_is_bounded(
    strict: StrictAuthenticator, keys: FixedKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faradisc.auth.strict.CACHED_HEADERS_MAX", 2)
    for number in range(6):
        strict(signed(monkeypatch, headers={f"X-Amz-H{number}": "a"}))
        assert 1 <= strict.cached_headers <= 2
    before = strict.cached_headers
    for number in range(6):
        with pytest.raises(InvalidSignatureException):
            strict(replaced(signed(monkeypatch), b"Signature=", b"Signature=%d" % number))
    assert strict.cached_headers == before


def test_secrets_stay_out_of_representations() -> None:
    assert KEY.secret not in repr(KEY)
    assert TEMPORARY.token is not None
    assert TEMPORARY.token not in repr(TEMPORARY)


def test_each_service_accepts_only_its_own_signatures(
    strict: StrictAuthenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accepted by its own service, rejected by others, even when its header is cached."""
    request = signed(monkeypatch, service="monitoring")
    for _ in range(2):
        assert strict(request, "monitoring").service == "monitoring"
        with pytest.raises(InvalidSignatureException, match="scoped to correct service: 'dynamodb'"):
            strict(request)
    with pytest.raises(InvalidSignatureException, match="scoped to correct service: 'monitoring'"):
        strict(signed(monkeypatch), "monitoring")
