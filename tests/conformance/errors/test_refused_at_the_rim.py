"""What is refused before the request is one: HTTP, target, signature. Source: errors.md section 5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.service_model import SERVICES, load
from fixtures.in_process import AUTHORIZATION
from fixtures.rejections import World

SERVICE = "com.amazon.coral.service#"
HEADERS = {
    b"host": b"localhost",
    b"content-type": b"application/x-amz-json-1.0",
    b"x-amz-date": b"20261120T000000Z",
    b"x-amz-target": b"DynamoDB_20120810.ListTables",
    b"authorization": AUTHORIZATION.encode(),
}
Send = Callable[..., HttpResponse]


@pytest.fixture
def send(world: World) -> Send:
    """send(method, headers to change or, with None, to leave out, body, target)."""

    def send(
        headers: dict[bytes, bytes | None] | None = None,
        body: bytes = b"{}",
        *,
        method: str = "POST",
        target: bytes = b"/",
    ) -> HttpResponse:
        merged = {**HEADERS, **(headers or {})}
        kept = {name: value for name, value in merged.items() if value is not None}
        return world.process.local.answer(HttpRequest(method, target, kept, body))

    return send


def rejection(response: HttpResponse) -> tuple[int, str, str | None]:
    body: dict[str, Any] = orjson.loads(response.body)
    return response.status, body.pop("__type"), body.pop("message", None)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "post", "X"])
@pytest.mark.parametrize("target", [b"/a", b"/?a=b"])
def test_only_posts_are_requests(send: Send, method: str, target: bytes) -> None:
    answer = send(method=method, target=target)
    if (method, target) in (("GET", b"/?a=b"), ("HEAD", b"/?a=b")):
        assert answer.status == 200
        return
    assert answer.status == 404
    assert answer.body == (b"" if method == "HEAD" else b"<UnknownOperationException/>\n")


@pytest.mark.parametrize(
    "content_type",
    [
        *(
            None,
            b"",
            b"text/plain",
            b"application/xml",
            b"application/x-amz-json-1.1",
            b"application/x-amz-json",
        ),
        *(b"application/x-www-form-urlencoded", b"json", b"application/json1", b"multipart/form-data; a=b"),
    ],
)
def test_other_content_types_are_no_requests(send: Send, content_type: bytes | None) -> None:
    answer = send({b"content-type": content_type})
    assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>\n")


@pytest.mark.parametrize(
    "target",
    [
        *(None, b"", b"ListTables", b".ListTables", b"DynamoDB_20120810", b"DynamoDB_20120810."),
        *(b"DynamoDB_20120810.listTables", b"dynamodb_20120810.ListTables", b"DynamoDB_20111205.ListTables"),
        *(
            b"DynamoDB_20120810.ListTables ",
            b"DynamoDB_20120810.ListTables.",
            b"DynamoDB_20120810.DropTables",
        ),
        *(b"DynamoDBStreams_20120810.ListTables", b"DynamoDB_20120810.GetRecords", b"\xff", b"a" * 10_000),
    ],
)
def test_an_unknown_target_is_refused_without_a_text(send: Send, target: bytes | None) -> None:
    assert rejection(send({b"x-amz-target": target})) == (400, SERVICE + "UnknownOperationException", None)


NO_CREDENTIAL = "Authorization header requires 'Credential' parameter. "
NO_SIGNATURE = "Authorization header requires 'Signature' parameter. "
NO_HEADERS = "Authorization header requires 'SignedHeaders' parameter. "
NO_DATE = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
CREDENTIAL = "Credential=AKID/20261120/us-east-1/dynamodb/aws4_request"


@pytest.mark.parametrize(
    ("authorization", "dated", "complaints"),
    [
        ("AWS4-HMAC-SHA256", True, NO_CREDENTIAL + NO_SIGNATURE + NO_HEADERS),
        ("AWS4-HMAC-SHA256 ", False, NO_CREDENTIAL + NO_SIGNATURE + NO_HEADERS + NO_DATE),
        (f"AWS4-HMAC-SHA256 {CREDENTIAL}", True, NO_SIGNATURE + NO_HEADERS),
        (f"AWS4-HMAC-SHA256 {CREDENTIAL}, SignedHeaders=host", True, NO_SIGNATURE),
        (f"AWS4-HMAC-SHA256 {CREDENTIAL}, Signature=a", True, NO_HEADERS),
        ("AWS4-HMAC-SHA256 SignedHeaders=host, Signature=a", True, NO_CREDENTIAL),
        (f"AWS4-HMAC-SHA256 {CREDENTIAL}, SignedHeaders=host, Signature=a", False, NO_DATE),
        (
            f"AWS4-HMAC-SHA256 {CREDENTIAL}, SignedHeaders=, Signature=",
            False,
            NO_SIGNATURE + NO_HEADERS + NO_DATE,
        ),
    ],
)
def test_an_incomplete_signature_says_what_it_lacks(
    send: Send, authorization: str, dated: bool, complaints: str
) -> None:
    headers: dict[bytes, bytes | None] = {b"authorization": authorization.encode()}
    if not dated:
        headers[b"x-amz-date"] = None
    assert rejection(send(headers)) == (
        400,
        SERVICE + "IncompleteSignatureException",
        f"{complaints}Authorization={authorization}",
    )


@pytest.mark.parametrize(
    "authorization", [None, b"", b"Basic YTpi", b"Bearer x", b"AWS AKID:sig", b"aws4-hmac-sha256"]
)
def test_no_signature_is_refused(send: Send, authorization: bytes | None) -> None:
    assert rejection(send({b"authorization": authorization})) == (
        400,
        SERVICE + "MissingAuthenticationTokenException",
        "Request is missing Authentication Token",
    )


QUERY = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": "AKID%2F20261120%2Fus-east-1%2Fdynamodb%2Faws4_request",
    "X-Amz-Signature": "abc",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Date": "20261120T000000Z",
}


@pytest.mark.parametrize("left_out", [{name} for name in list(QUERY)[1:]] + [set(list(QUERY)[1:]), set()])
def test_an_incomplete_presigned_request_says_what_it_lacks(send: Send, left_out: set[str]) -> None:
    query = "&".join(f"{name}={value}" for name, value in QUERY.items() if name not in left_out)
    answer = send({b"authorization": None}, target=b"/?" + query.encode())
    if not left_out:
        assert answer.status == 200
        return
    complaints = "".join(
        f"AWS query-string parameters must include '{name}'. " for name in QUERY if name in left_out
    )
    assert rejection(answer) == (
        400,
        SERVICE + "IncompleteSignatureException",
        complaints + "Re-examine the query-string parameters.",
    )


def test_two_signatures_are_refused(send: Send) -> None:
    assert rejection(send(target=b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256")) == (
        400,
        SERVICE + "InvalidSignatureException",
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    )


def test_a_body_of_more_than_16_mb_is_refused_without_a_body(send: Send) -> None:
    """Source: limits.md section 4."""
    assert send(body=b'"' + b"x" * (16 * 1024 * 1024 - 2) + b'"').status == 400
    answer = send(body=b"x" * (16 * 1024 * 1024 + 1))
    assert (answer.status, answer.body) == (413, b"")


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        # errors.md section 4: content type, body size, JSON, target, authentication, types, constraints
        ("content type, JSON", 404),
        ("size, JSON, target", 413),
        ("JSON, target, authentication", "SerializationException"),
        ("target, authentication, types", "UnknownOperationException"),
        ("authentication, types, constraints", "MissingAuthenticationTokenException"),
        ("types, constraints", "SerializationException"),
        ("constraints", "ValidationException"),
    ],
)
def test_the_first_of_several_mistakes_is_reported(send: Send, wrong: str, answer: int | str) -> None:
    headers: dict[bytes, bytes | None] = {b"x-amz-target": b"DynamoDB_20120810.PutItem"}
    body = b'{"TableName":"a b"}'
    if "content type" in wrong:
        headers[b"content-type"] = b"text/xml"
    if "types" in wrong.split(", "):
        body = b'{"TableName":"a b","Item":1}'
    if "JSON" in wrong:
        body = b"{"
    if "size" in wrong:
        body = b"x" * (16 * 1024 * 1024 + 1)
    if "target" in wrong:
        headers[b"x-amz-target"] = b"nothing"
    if "authentication" in wrong:
        headers[b"authorization"] = None
    response = send(headers, body)
    if isinstance(answer, int):
        assert response.status == answer
    else:
        assert rejection(response)[:2] == (
            400,
            ("com.amazon.coral.validate#" if answer == "ValidationException" else SERVICE) + answer,
        )


def test_every_operation_of_the_model_is_known_or_says_that_it_is_not_offered(
    send: Send, world: World
) -> None:
    """An operation without an implementation is refused by name, never as unknown (docs/differences.md)."""
    for service in SERVICES:
        for operation in load(service).operations.values():
            response = send({b"x-amz-target": operation.target}, b'{"TableName":1}')
            status, kind, text = rejection(response) if response.status != 200 else (200, "", None)
            if text is not None and "not offered" in text:
                assert (status, kind) == (400, "com.amazon.coral.validate#ValidationException")
                assert text == f"{operation.name} is not offered by this version of Faradisc."
            else:
                assert status in (200, 400)
                assert not kind.endswith("UnknownOperationException")
