"""The front end: one HTTP request in, one HTTP answer out, with the service's order of checks between.

    1 method, content type   404, not even JSON          5 JSON types        SerializationException
    2 size of the body       413, empty                  6 constraints       ValidationException
    3 JSON                   SerializationException      7 the operation, which checks the rest
    4 X-Amz-Target, then who signed it

Order: errors.md section 4. `answer` awaits nothing but the executor, so whoever holds a coroutine that never
suspends (an embedded store) can drive it with one `send(None)`.

Three borders are here: an `ApiError` becomes an error answer; a `StorageError`, which is the disk's, is
logged in a line and becomes a 500; any other exception, which is a bug of ours, is logged with its request id
and becomes a 500 without detail.
"""

from __future__ import annotations

import gzip
import logging
import re
from typing import TYPE_CHECKING, Any, Final, Protocol
from zlib import crc32

import orjson

from faradisc.auth.sigv4 import Authenticator, lenient
from faradisc.errors import (
    ApiError,
    InternalServerError,
    StorageError,
    UnknownOperationException,
    UnsupportedOperation,
)
from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.operations.call import Call
from faradisc.protocol.body import BodyTooLarge, read_object, unpack
from faradisc.protocol.http import HttpRequest, HttpResponse, RequestIds
from faradisc.protocol.other_services.recognise import service_request_of
from faradisc.protocol.shapes import CheckedShape, Sizes
from faradisc.protocol.target import operation_of

if TYPE_CHECKING:
    from faradisc.protocol.other_services.answering import OtherService

log = logging.getLogger("faradisc.protocol")

RAISE_UNEXPECTED = False
"""Tests set this: an exception that is no ApiError then leaves `answer` instead of becoming a 500."""

GZIP_ANSWER_BYTES_MIN: Final = 4096
"""Answers longer than this are compressed for clients that ask for it (service.md section 1)."""

_CONTENT_TYPES: Final = {
    b"application/x-amz-json-1.0": b"application/x-amz-json-1.0",
    b"application/json": b"application/json",
}
_NOT_FOUND: Final = b"<UnknownOperationException/>\n"

Headers = tuple[tuple[bytes, bytes], ...]


class Executor(Protocol):
    """What stands behind the front end; `database.Database` is one."""

    @property
    def region(self) -> str:
        """Stands in ARNs when a request's credential scope names no region."""

    @property
    def account(self) -> str:
        """Twelve digits."""

    @property
    def request_ids(self) -> RequestIds: ...

    def knows(self, operation: str) -> bool:
        """Whether `execute` takes calls of this operation of the service model."""

    async def execute(self, call: Call) -> dict[str, Any]:
        """The answer's members; may hold `orjson.Fragment`. Raises: ApiError."""

    def other_service(self, service: str) -> OtherService:
        """Who answers for another service on this port, by botocore's name of it."""


async def answer(
    executor: Executor, request: HttpRequest, authenticate: Authenticator = lenient
) -> HttpResponse:
    """Answer one request. Raises nothing that comes of the request; see RAISE_UNEXPECTED."""
    request_id = executor.request_ids.next()
    headers = request.headers
    content_type = _CONTENT_TYPES.get(headers.get(b"content-type", b""))
    if content_type is None:
        content_type = _content_type_of(headers)
    extra = _cors(request) if b"origin" in headers else ()
    if content_type is None or request.method != "POST":
        return await _other_service(executor, request, authenticate, extra) or _no_call(
            executor, request, request_id, extra
        )
    status = 200
    try:
        call = _call_of(executor, request, authenticate)
        body = orjson.dumps(await executor.execute(call))
    except UnknownOperationException as error:
        other = await _other_service(executor, request, authenticate, extra)
        if other is not None:
            return other
        status = error.status
        body = orjson.dumps(error.body())
    except ApiError as error:
        status = error.status
        body = orjson.dumps(error.body())
    except BodyTooLarge:
        return HttpResponse(413, b"", None, request_id, None, extra)
    except StorageError as error:
        # The disk's fault and not ours; what was acknowledged stays true, and an SDK tries again.
        log.error("request %s failed: %s: %s", request_id.decode(), type(error).__name__, error)
        status = InternalServerError.status
        body = orjson.dumps(InternalServerError().body())
    except Exception:
        if RAISE_UNEXPECTED:
            raise
        log.exception("request %s failed", request_id.decode())
        status = InternalServerError.status
        body = orjson.dumps(InternalServerError().body())
    if len(body) > GZIP_ANSWER_BYTES_MIN and _accepts_gzip(headers.get(b"accept-encoding", b"")):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        extra = (*extra, (b"Content-Encoding", b"gzip"))
    return HttpResponse(status, body, content_type, request_id, crc32(body), extra)


_checked_shapes: dict[bytes, CheckedShape] = {}


def _call_of(executor: Executor, request: HttpRequest, authenticate: Authenticator) -> Call:
    """Checks 2 to 6.

    Raises: BodyTooLarge, ApiError.
    """
    headers = request.headers
    body = request.body
    if len(body) > REQUEST_BODY_BYTES_MAX:
        raise BodyTooLarge
    encoding = headers.get(b"content-encoding")
    if encoding is not None:
        body = unpack(body, encoding)
    document = read_object(body)
    target = headers.get(b"x-amz-target")
    shape = _checked_shapes.get(target)  # type: ignore[arg-type]  # None finds nothing
    if shape is None:
        shape = _compile(target)
    credential = authenticate(request)
    name = shape.operation.name
    if not executor.knows(name):
        raise UnsupportedOperation(f"{name} is not offered by this version of Faradisc.")
    sizes: Sizes = {}
    values_ok = shape.check_request(document, len(body), body, sizes)
    region = credential.region or executor.region
    host = headers.get(b"host")
    return Call(
        name,
        document,
        values_ok,
        region,
        executor.account,
        None if host is None else host.decode("latin-1"),
        body_bytes=len(body),
        item_sizes=sizes,
    )


def _compile(target: bytes | None) -> CheckedShape:
    """Only targets of the model are kept, so a client cannot fill the memory with others."""
    operation = operation_of(target)
    shape = _checked_shapes[operation.target] = CheckedShape(operation)
    return shape


async def _other_service(
    executor: Executor, request: HttpRequest, authenticate: Authenticator, extra: Headers
) -> HttpResponse | None:
    """The answer to a request for another service; None when it is for none."""
    target = service_request_of(request)
    if target is None:
        return None
    from faradisc.protocol.other_services.answering import answer_other_service  # noqa: PLC0415 - few servers see one

    return await answer_other_service(executor, request, authenticate, target, extra)


# --- Requests that are no calls ------------------------------------------------------------------


def _content_type_of(headers: dict[bytes, bytes]) -> bytes | None:
    """The content type without parameters, if it is one of the service's."""
    return _CONTENT_TYPES.get(headers.get(b"content-type", b"").split(b";")[0].strip().lower())


def _no_call(executor: Executor, request: HttpRequest, request_id: bytes, extra: Headers) -> HttpResponse:
    if request.method == "OPTIONS":
        return HttpResponse(200, b"", None, request_id, None, _cors(request))
    if len(request.body) > REQUEST_BODY_BYTES_MAX:
        return HttpResponse(413, b"", None, request_id, None, extra)
    status, content_type, body = 404, None, _NOT_FOUND
    if request.method in ("GET", "HEAD") and request.target.partition(b"?")[0] == b"/":
        status, content_type = 200, b"text/plain"
        body = f"healthy: dynamodb.{executor.region}.amazonaws.com ".encode()
    checksum = crc32(body)
    if request.method == "HEAD":
        body = b""
    return HttpResponse(status, body, content_type, request_id, checksum, extra)


# --- Headers -------------------------------------------------------------------------------------

_HEADER_NAMES: Final = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,4096}")


def _cors(request: HttpRequest) -> Headers:
    """The service answers any origin; a preflight is told that everything it asks for is allowed."""
    headers = request.headers
    cors = [(b"Access-Control-Allow-Origin", b"*")]
    if request.method != "OPTIONS":
        exposed = b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,x-amz-crc32,Date"
        return (*cors, (b"Access-Control-Expose-Headers", exposed))
    for asked, told in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
        (b"access-control-request-method", b"Access-Control-Allow-Methods"),
    ):
        value = headers.get(asked)
        if value is not None and _HEADER_NAMES.fullmatch(value):
            cors.append((told, value))
    cors.append((b"Access-Control-Max-Age", b"172800"))
    return tuple(cors)


def _accepts_gzip(accepted: bytes) -> bool:
    """Whether an Accept-Encoding names gzip, and not to forbid it."""
    for entry in accepted.lower().split(b","):
        name, _, weight = entry.partition(b";")
        if name.strip() == b"gzip":
            return re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", weight) is None
    return False
