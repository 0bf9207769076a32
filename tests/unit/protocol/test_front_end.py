"""The ordered checks of one request, and the headers of every answer.

Order: errors.md section 4; situations and texts: section 5; headers: section 1.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from typing import Any
from zlib import crc32

import orjson
import pytest
from botocore.retryhandler import ChecksumError, CRC32Checker

from faradisc.errors import ConditionalCheckFailedException, ResourceNotFoundException, StorageError
from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.protocol import failures, front
from faradisc.protocol.http import HttpResponse

Send = Callable[..., HttpResponse]

KEY = {"TableName": "tbl", "Key": {"a": {"S": "x"}}}
SERVICE = "com.amazon.coral.service#"


def error_of(response: HttpResponse) -> dict[str, Any]:
    assert response.status == 400
    body = orjson.loads(response.body)
    assert type(body) is dict
    return body


def test_a_call_reaches_the_executor(send: Send, executor: Any) -> None:
    executor.outcome = {"Item": orjson.Fragment(b'{"a":{"S":"x"}}')}
    response = send(
        "GetItem", {"TableName": "tbl", "Key": {"a": {"N": "1.0"}}, "ConsistentRead": "true", "Select": None}
    )
    assert (response.status, response.body) == (200, b'{"Item":{"a":{"S":"x"}}}')
    (call,) = executor.calls
    assert call.operation == "GetItem"
    assert call.request == {"TableName": "tbl", "Key": {"a": {"N": "1"}}, "ConsistentRead": True}
    assert call.values_ok is True
    assert (call.region, call.account, call.host) == ("eu-west-1", "000000000000", "localhost:8000")


def test_call_with_invalid_values_is_marked(send: Send, executor: Any) -> None:
    send("GetItem", {"TableName": "tbl", "Key": {"a": {"N": "abc"}}})
    assert executor.calls[0].values_ok is False


def test_region_of_a_scope_that_names_none(send: Send, executor: Any) -> None:
    header = (
        b"AWS4-HMAC-SHA256 Credential=AKID/20261120/../dynamodb/aws4_request, SignedHeaders=h, Signature=0"
    )
    send("GetItem", KEY, headers={b"authorization": header})
    assert executor.calls[0].region == "us-east-1"


@pytest.mark.parametrize("content_type", [b"application/x-amz-json-1.0", b"application/json"])
def test_answers_mirror_the_content_type(send: Send, content_type: bytes) -> None:
    response = send("GetItem", KEY, headers={b"content-type": content_type + b"; charset=utf-8"})
    assert (response.status, response.content_type) == (200, content_type)


def test_every_answer_has_an_id_and_a_checksum(send: Send) -> None:
    for response in (
        send("GetItem", KEY),
        send("GetItem"),
        send("Nothing"),
        send(method="GET", target=b"/x"),
    ):
        assert response.request_id is not None
        assert len(response.request_id) == 52
        assert response.crc32 == crc32(response.body)


# --- 1: not a call -------------------------------------------------------------------------------


def test_health(send: Send, executor: Any) -> None:
    response = send(None, b"", method="GET", headers={b"content-type": None, b"authorization": None})
    assert (response.status, response.body) == (200, b"healthy: dynamodb.us-east-1.amazonaws.com ")
    assert (len(response.body), response.crc32) == (42, 3128867991)
    head = send(None, b"", method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert executor.calls == []


@pytest.mark.parametrize(
    ("method", "target", "content_type"),
    [
        ("GET", b"/other", None),
        ("PUT", b"/", b"application/json"),
        ("DELETE", b"/", None),
        ("POST", b"/", None),
        ("POST", b"/", b""),
        ("POST", b"/", b"text/plain"),
        ("POST", b"/", b"application/x-amz-json-1.1"),
        ("POST", b"/", b"\xff"),
    ],
)
def test_other_methods_and_content_types(
    send: Send, executor: Any, method: str, target: bytes, content_type: bytes | None
) -> None:
    response = send("GetItem", KEY, method=method, target=target, headers={b"content-type": content_type})
    assert (response.status, response.body) == (404, b"<UnknownOperationException/>\n")
    assert response.crc32 == 3552371480
    assert executor.calls == []


def test_preflight(send: Send) -> None:
    response = send(
        None,
        b"",
        method="OPTIONS",
        headers={
            b"origin": b"http://localhost",
            b"access-control-request-headers": b"x-amz-target,authorization",
            b"access-control-request-method": b"POST",
        },
    )
    assert (response.status, response.body) == (200, b"")
    assert response.extra == (
        (b"Access-Control-Allow-Origin", b"*"),
        (
            b"Access-Control-Expose-Headers",
            b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,x-amz-crc32,Date",
        ),
        (b"Access-Control-Allow-Headers", b"x-amz-target,authorization"),
        (b"Access-Control-Allow-Methods", b"POST"),
        (b"Access-Control-Max-Age", b"172800"),
    )


def test_preflight_never_repeats_what_could_break_a_header(send: Send) -> None:
    response = send(
        None,
        b"",
        method="OPTIONS",
        headers={b"origin": b"http://localhost", b"access-control-request-headers": b"a\r\nSet-Cookie: b"},
    )
    assert response.extra
    assert b"Set-Cookie" not in b"".join(name + value for name, value in response.extra)


def test_cors_headers_for_an_origin(send: Send) -> None:
    response = send("GetItem", KEY, headers={b"origin": b"http://localhost"})
    assert dict(response.extra)[b"Access-Control-Allow-Origin"] == b"*"
    assert b"x-amzn-RequestId" in dict(response.extra)[b"Access-Control-Expose-Headers"]
    assert send("GetItem", KEY).extra == ()
    assert send(None, b"", method="OPTIONS").extra == ()


# --- 2 to 4: body, target, credentials -----------------------------------------------------------


def test_oversized_body(send: Send) -> None:
    largest = b" " * (REQUEST_BODY_BYTES_MAX - 2) + b"{}"
    assert error_of(send("GetItem", largest))["__type"].endswith("ValidationException")
    for response in (
        send("GetItem", b" " + largest),
        send("GetItem", gzip.compress(b" " + largest), headers={b"content-encoding": b"gzip"}),
        send("GetItem", b" " + largest, headers={b"content-type": b"text/plain"}),
    ):
        assert (response.status, response.body, response.crc32) == (413, b"", None)


def test_gzip_body(send: Send, executor: Any) -> None:
    response = send("GetItem", gzip.compress(orjson.dumps(KEY)), headers={b"content-encoding": b"gzip"})
    assert response.status == 200
    assert executor.calls[0].request == KEY


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_bad_json_comes_before_the_target(send: Send, body: bytes) -> None:
    assert error_of(send("Nothing", body)) == {"__type": SERVICE + "SerializationException"}


def test_the_target_comes_before_the_credentials(send: Send) -> None:
    for target in (b"DynamoDB_20120810.Nothing", b"", None):
        response = send(None, headers={b"x-amz-target": target, b"authorization": None})
        assert error_of(response) == {"__type": SERVICE + "UnknownOperationException"}


def test_credentials_come_before_json_types(send: Send) -> None:
    assert error_of(send("GetItem", {"TableName": 1}, headers={b"authorization": None})) == {
        "__type": SERVICE + "MissingAuthenticationTokenException",
        "message": "Request is missing Authentication Token",
    }


def test_operations_of_the_model_that_are_not_offered(send: Send, executor: Any) -> None:
    executor.unknown = frozenset({"ImportTable"})
    assert error_of(send("ImportTable", {"InputFormat": 1})) == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": "ImportTable is not offered by this version of Faradisc.",
    }


def test_streams_have_their_own_prefix(send: Send, executor: Any) -> None:
    assert send(None, headers={b"x-amz-target": b"DynamoDBStreams_20120810.ListStreams"}).status == 200
    assert executor.calls[0].operation == "ListStreams"


# --- 5 to 7: types, constraints, the operation ---------------------------------------------------


def test_json_types_come_before_constraints(send: Send) -> None:
    assert error_of(send("GetItem", {"TableName": "", "Key": []}))["__type"] == (
        SERVICE + "SerializationException"
    )


def test_constraints_come_before_the_operation(send: Send, executor: Any) -> None:
    assert error_of(send("GetItem", {"TableName": "tbl"})) == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": "1 validation error detected: "
        "Value null at 'key' failed to satisfy constraint: Member must not be null",
    }
    assert executor.calls == []


def test_errors_of_the_operation(send: Send, executor: Any) -> None:
    executor.outcome = ConditionalCheckFailedException(extra={"Item": orjson.Fragment(b'{"a":{"S":"x"}}')})
    assert error_of(send("PutItem", {"TableName": "tbl", "Item": {}})) == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": {"a": {"S": "x"}},
    }
    executor.outcome = ResourceNotFoundException()
    assert error_of(send("GetItem", KEY))["message"] == "Requested resource not found"


@pytest.mark.parametrize("bug", [ZeroDivisionError("secret"), RecursionError()])
def test_other_exceptions_are_logged_and_answered_with_500_without_detail(
    send: Send,
    executor: Any,
    bug: Exception,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(failures, "RAISE_UNEXPECTED", False)
    executor.outcome = bug
    with caplog.at_level(logging.ERROR, logger="faradisc.protocol"):
        response = send("GetItem", KEY)
    assert response.status == 500
    assert orjson.loads(response.body) == {
        "__type": "com.amazonaws.dynamodb.v20120810#InternalServerError",
        "message": "The request processing has failed because of an unknown error, exception or failure.",
    }
    (record,) = caplog.records
    assert response.request_id is not None
    assert response.request_id.decode() in record.getMessage()
    assert record.exc_info is not None


def test_storage_error_is_answered_with_500_and_logged_in_a_line(
    send: Send, executor: Any, caplog: pytest.LogCaptureFixture
) -> None:
    executor.outcome = StorageError("the disk is gone")
    with caplog.at_level(logging.ERROR, logger="faradisc.protocol"):
        response = send("GetItem", KEY)
    assert response.status == 500
    assert orjson.loads(response.body)["__type"].endswith("#InternalServerError")
    (record,) = caplog.records
    assert record.getMessage().endswith("failed: StorageError: the disk is gone")
    assert record.exc_info is None


def test_result_that_is_not_json_is_answered_with_500(
    send: Send, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "RAISE_UNEXPECTED", False)
    executor.outcome = {"Count": object()}
    assert send("GetItem", KEY).status == 500


def test_unexpected_exceptions_are_raised_under_raise_unexpected(
    send: Send, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "RAISE_UNEXPECTED", True)
    executor.outcome = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        send("GetItem", KEY)


# --- gzip and checksum ---------------------------------------------------------------------------

LARGE = {"TableNames": ["x" * 200] * 30}


class _Received:
    """The attributes of a response that botocore's checksum test reads."""

    def __init__(self, response: HttpResponse) -> None:
        self.headers = {"x-amz-crc32": str(response.crc32)}
        self.content = response.body
        self.status_code = response.status


def _botocore_accepts(response: HttpResponse) -> None:
    checker = CRC32Checker(header="x-amz-crc32")
    checker._check_response(1, (_Received(response), {}))


@pytest.mark.parametrize("accepted", [b"gzip", b"deflate, GZIP;q=0.5", b"gzip, identity"])
def test_large_answers_are_compressed_on_demand(send: Send, executor: Any, accepted: bytes) -> None:
    executor.outcome = LARGE
    response = send("ListTables", headers={b"accept-encoding": accepted})
    assert response.extra == ((b"Content-Encoding", b"gzip"),)
    assert orjson.loads(gzip.decompress(response.body)) == LARGE
    _botocore_accepts(response)


@pytest.mark.parametrize("accepted", [None, b"", b"identity", b"gzip;q=0", b"gzip; q=0.000", b"xgzip"])
def test_other_answers_are_sent_as_they_are(send: Send, executor: Any, accepted: bytes | None) -> None:
    executor.outcome = LARGE
    response = send("ListTables", headers={b"accept-encoding": accepted})
    assert response.extra == ()
    assert orjson.loads(response.body) == LARGE
    _botocore_accepts(response)


def test_small_answers_are_sent_as_they_are(send: Send, executor: Any) -> None:
    executor.outcome = {"TableNames": ["x"]}
    assert send("ListTables", headers={b"accept-encoding": b"gzip"}).extra == ()


def test_botocore_notices_a_wrong_checksum(send: Send) -> None:
    response = send("GetItem", KEY)
    response.body += b" "
    with pytest.raises(ChecksumError):
        _botocore_accepts(response)


# --- Large bodies --------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {b"content-encoding": b"gzip"}])
def test_signature_of_a_large_body_is_checked_before_the_body_is_read(
    send: Send, executor: Any, monkeypatch: pytest.MonkeyPatch, headers: dict[bytes, bytes]
) -> None:
    async def never(work: Callable[[], Any]) -> Any:
        pytest.fail("the body was read")

    monkeypatch.setattr(executor, "run_large", never)
    body = b" " * front.LARGE_BODY_BYTES_MIN + b"{}"
    response = send("GetItem", body, headers={**headers, b"authorization": b"nonsense"})
    assert error_of(response)["__type"].endswith("MissingAuthenticationTokenException")


def test_large_bodies_are_read_by_run_large(
    send: Send, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    async def run_large(work: Callable[[], Any], request: Any) -> Any:
        ran.append(work)
        return work()

    monkeypatch.setattr(executor, "run_large", run_large)
    send("GetItem", orjson.dumps(KEY))
    assert not ran
    send("GetItem", orjson.dumps(KEY) + b" " * front.LARGE_BODY_BYTES_MIN)
    send("GetItem", gzip.compress(orjson.dumps(KEY)), headers={b"content-encoding": b"gzip"})
    assert len(ran) == 2
    assert [call.request for call in executor.calls] == [KEY] * 3
