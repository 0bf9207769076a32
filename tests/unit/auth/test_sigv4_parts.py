"""The parts of a signature: accepted forms and each error. Texts: errors.md section 5."""

from __future__ import annotations

import pytest

from faradisc.auth import sigv4
from faradisc.auth.sigv4 import Credential, lenient
from faradisc.errors import (
    ApiError,
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from faradisc.protocol.http import HttpRequest

CREDENTIAL = b"Credential=AKID/20261120/eu-west-1/dynamodb/aws4_request"
HEADER = b"AWS4-HMAC-SHA256 " + CREDENTIAL + b", SignedHeaders=host;X-Amz-Date, Signature=abc"
PARSED = Credential("AKID", "20261120", "eu-west-1", "dynamodb", ("host", "x-amz-date"))
DATE = {b"x-amz-date": b"20261120T000000Z"}
QUERY = (
    b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261120%2Feu-west-1%2Fdynamodb%2Faws4_request"
    b"&X-Amz-Date=20261120T000000Z&X-Amz-SignedHeaders=host%3Bx-amz-date&X-Amz-Signature=abc"
)


def signed(headers: dict[bytes, bytes], target: bytes) -> HttpRequest:
    return HttpRequest("POST", target, headers, b"")


@pytest.fixture(autouse=True)
def forget() -> None:
    sigv4.credential_cache.clear()


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        HEADER.replace(b", ", b","),
        HEADER.replace(b", ", b" "),
        b"  " + HEADER + b"  ",
        b"AWS4-HMAC-SHA256 Signature=abc, " + CREDENTIAL + b", SignedHeaders=host;x-amz-date",
    ],
)
def test_header(header: bytes) -> None:
    for _ in range(2):
        assert lenient(signed({b"authorization": header, **DATE}, b"/")) == PARSED
        assert lenient(signed({b"authorization": header, b"date": b"x"}, b"/")) == PARSED


def test_query() -> None:
    assert lenient(signed({}, QUERY)) == PARSED


def test_credential_of_a_repeated_header_is_cached() -> None:
    first = lenient(signed({b"authorization": HEADER, **DATE}, b"/"))
    second = lenient(signed({b"authorization": HEADER[:-3] + b"def", **DATE}, b"/"))
    assert second is first


def test_cached_header_with_missing_parts_is_rejected() -> None:
    lenient(signed({b"authorization": HEADER, **DATE}, b"/"))
    for headers, target in (
        ({b"authorization": HEADER}, b"/"),
        ({b"authorization": HEADER[:-3], **DATE}, b"/"),
        ({b"authorization": HEADER[: HEADER.index(b"Signature")], **DATE}, b"/"),
        ({b"authorization": HEADER, **DATE}, QUERY),
    ):
        with pytest.raises(ApiError):
            lenient(signed(headers, target))


def test_header_that_begins_with_the_signature_is_not_cached() -> None:
    """The part before its signature has no key id: another header with the same beginning may have any."""
    for key_id in ("ONE", "TWO"):
        header = (
            f"AWS4-HMAC-SHA256 Signature=x, Credential={key_id}/1/r/dynamodb/aws4_request, SignedHeaders=host"
        )
        assert lenient(signed({b"authorization": header.encode(), **DATE}, b"/")).access_key_id == key_id


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigv4, "CACHED_HEADERS_MAX", 3)
    for number in range(10):
        header = HEADER.replace(b"AKID", b"AKID%d" % number)
        lenient(signed({b"authorization": header, **DATE}, b"/"))
        assert 1 <= len(sigv4.credential_cache) <= 3
    sigv4.credential_cache.clear()
    lenient(signed({b"authorization": HEADER.replace(b"AKID", b"A" * 1024), **DATE}, b"/"))
    assert sigv4.credential_cache == {}


def test_key_ids_may_have_slashes_and_invalid_regions_are_dropped() -> None:
    def of(credential: str) -> Credential:
        header = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=h, Signature=s"
        return lenient(signed({b"authorization": header.encode(), **DATE}, b"/"))

    assert of("a/b/1/local/dynamodb/aws4_request").access_key_id == "a/b"
    assert of("a/1/local/dynamodb/aws4_request").region == "local"
    for region in ("", "a:b", "é", "x" * 65, ".."):
        assert of(f"a/1/{region}/dynamodb/aws4_request").region == ""


MISSING = (MissingAuthenticationTokenException, "Request is missing Authentication Token")
NO_CREDENTIAL = "Authorization header requires 'Credential' parameter. "
NO_SIGNATURE = "Authorization header requires 'Signature' parameter. "
NO_HEADERS = "Authorization header requires 'SignedHeaders' parameter. "
NO_DATE = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "


@pytest.mark.parametrize(
    ("headers", "target", "error", "text"),
    [
        ({}, b"/", *MISSING),
        ({b"authorization": b""}, b"/", *MISSING),
        ({b"authorization": b"Basic abc"}, b"/", *MISSING),
        ({b"authorization": b"AWS AKID:abc"}, b"/", *MISSING),
        (
            {b"authorization": b"AWS4-"},
            b"/",
            IncompleteSignatureException,
            NO_CREDENTIAL + NO_SIGNATURE + NO_HEADERS + NO_DATE + "Authorization=AWS4-",
        ),
        (
            {b"authorization": b"AWS4-HMAC-SHA256 " + CREDENTIAL, **DATE},
            b"/",
            IncompleteSignatureException,
            NO_SIGNATURE + NO_HEADERS + f"Authorization=AWS4-HMAC-SHA256 {CREDENTIAL.decode()}",
        ),
        (
            {b"authorization": b"AWS4-HMAC-SHA256 Signature=x, SignedHeaders=h", **DATE},
            b"/",
            IncompleteSignatureException,
            NO_CREDENTIAL + "Authorization=AWS4-HMAC-SHA256 Signature=x, SignedHeaders=h",
        ),
        (
            {b"authorization": HEADER},
            b"/",
            IncompleteSignatureException,
            NO_DATE + "Authorization=" + HEADER.decode(),
        ),
        (
            {b"authorization": b"AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=h, Signature=s", **DATE},
            b"/",
            IncompleteSignatureException,
            "Credential must have exactly 5 slash-delimited elements, "
            "e.g. keyid/date/region/service/term, got 'a/b'",
        ),
        (
            {b"authorization": HEADER, **DATE},
            b"/?X-Amz-Algorithm=x",
            InvalidSignatureException,
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        ),
        (
            {},
            b"/?X-Amz-Algorithm=x&X-Amz-Date=d",
            IncompleteSignatureException,
            "AWS query-string parameters must include 'X-Amz-Credential'. "
            "AWS query-string parameters must include 'X-Amz-Signature'. "
            "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
            "Re-examine the query-string parameters.",
        ),
        (
            {},
            b"/?X-Amz-Algorithm=",
            IncompleteSignatureException,
            "AWS query-string parameters must include 'X-Amz-Algorithm'. "
            "AWS query-string parameters must include 'X-Amz-Credential'. "
            "AWS query-string parameters must include 'X-Amz-Signature'. "
            "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
            "AWS query-string parameters must include 'X-Amz-Date'. "
            "Re-examine the query-string parameters.",
        ),
        ({}, b"/?X-Amz-Signature=x", *MISSING),
    ],
)
def test_error_texts_of_incomplete_signatures(
    headers: dict[bytes, bytes], target: bytes, error: type[ApiError], text: str
) -> None:
    with pytest.raises(error) as caught:
        lenient(signed(headers, target))
    assert caught.value.body() == {
        "__type": f"com.amazon.coral.service#{error.__name__}",
        "message": text,
    }
