"""Signatures compared with those of botocore's signer."""

from __future__ import annotations

from hashlib import sha256

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from faradisc.auth import signature
from faradisc.auth.sigv4 import lenient
from faradisc.protocol.http import HttpRequest

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BODY = b'{"TableName":"t"}'


def signed(url: str, headers: dict[str, str], *, by_query: bool = False) -> tuple[bytes, dict[bytes, bytes]]:
    """Returns target and headers of a request that botocore signed.

    A presigned request has no body here: botocore would move it into the query.
    """
    request = AWSRequest(method="POST", url=url, data=b"" if by_query else BODY, headers=headers)
    signer = SigV4QueryAuth if by_query else SigV4Auth
    signer(Credentials("AKID", SECRET), "dynamodb", "eu-west-1").add_auth(request)
    target = "/" + request.url.split("/", 3)[3]
    host = request.url.split("/")[2]
    received = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
    return target.encode(), {b"host": host.encode(), **received}


def recomputed(target: bytes, headers: dict[bytes, bytes], timestamp: str, payload: str) -> str:
    credential = lenient(HttpRequest("POST", target, headers, b""))
    canonical = signature.canonical_request("POST", target, headers, credential.signed_headers, payload)
    scope = f"{credential.date}/{credential.region}/{credential.service}/{signature.TERMINATOR}"
    key = signature.signing_key(SECRET, credential.date, credential.region, credential.service)
    return signature.signature_of(key, signature.string_to_sign(timestamp, scope, canonical))


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("http://localhost:8000/", {"X-Amz-Target": "DynamoDB_20120810.GetItem"}),
        ("https://dynamodb.eu-west-1.amazonaws.com/", {"X-Amz-Target": "a  b ", "Content-Type": "x"}),
        ("http://localhost:8000/?b=2&a=1&a=%20x&c", {}),
        ("http://localhost:8000/path/with%20space", {}),
    ],
)
def test_header_signatures(url: str, headers: dict[str, str]) -> None:
    target, received = signed(url, headers)
    given = received[b"authorization"].rpartition(b"Signature=")[2].decode()
    timestamp = received[b"x-amz-date"].decode()
    assert recomputed(target, received, timestamp, sha256(BODY).hexdigest()) == given
    assert recomputed(target, received, timestamp, sha256(BODY + b" ").hexdigest()) != given


def test_query_signatures() -> None:
    target, received = signed("http://localhost:8000/", {}, by_query=True)
    parameters = dict(pair.split("=") for pair in target.decode().partition("?")[2].split("&"))
    assert b"authorization" not in received
    again = recomputed(target, received, parameters["X-Amz-Date"], sha256(b"").hexdigest())
    assert again == parameters["X-Amz-Signature"]


def test_signing_key_of_the_published_example() -> None:
    """The example in AWS's description of Signature Version 4: 20120215, us-east-1, iam."""
    key = signature.signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


def test_signing_many_texts_with_one_key() -> None:
    for key in (b"", b"k", b"k" * 32, b"k" * 64):
        many = signature.Signing(key)
        for text in ("", "a", "a" * 500):
            begun = many.begin(b"begun ")
            for _ in range(2):
                assert many.finish(begun, text.encode()) == signature.signature_of(key, "begun " + text)
