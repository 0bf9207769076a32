"""The front end: answers one HTTP request, with the checks in the service's order.

    1 method, content type   404, not even JSON          5 JSON types        SerializationException
    2 size of the body       413, empty                  6 constraints       ValidationException
    3 JSON                   SerializationException      7 the operation, which checks the rest
    4 X-Amz-Target, then who signed it

Order: errors.md section 4. `answer` awaits nothing but the executor, so over a store that never suspends
(an embedded one) a single `send(None)` runs the coroutine to its end. A large or compressed body is the
exception: its signature is verified first, over the bytes as sent, and then the executor's `run_large` reads
and checks it, in a server on another thread and one at a time. `failures.py` turns exceptions into
answers.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

import orjson

from faradisc.auth.sigv4 import Authenticator, Credential, lenient
from faradisc.errors import UnknownOperationException
from faradisc.limits import KB, MB, REQUEST_BODY_BYTES_MAX
from faradisc.model.values.java_order import NUMBER_SET, with_hashed_number_sets
from faradisc.operations.call import Call
from faradisc.protocol.body import (
    GZIP_WINDOW,
    ITEM_TOKENS_MAX,
    BodyTooLarge,
    dismantle,
    read_large_object,
    read_object,
    unpacked_body,
)
from faradisc.protocol.executor import Executor, Overloaded, caller_of
from faradisc.protocol.failures import as_api_error, not_offered
from faradisc.protocol.http import BUSY, CLOSED, WITHHELD, Headers, HttpRequest, HttpResponse
from faradisc.protocol.other_services.recognise import service_request_of
from faradisc.protocol.service_model import operation_of
from faradisc.protocol.shapes import CheckedShape, Sizes

LARGE_BODY_BYTES_MIN: Final = 128 * KB
"""Larger bodies are read and checked apart from other requests."""

LARGE_ANSWER_BYTES_MIN: Final = 512 * KB
"""A longer answer is compressed and summed up in pieces of this size, with other requests in between."""

GZIP_ANSWER_BYTES_MIN: Final = 4096
"""Longer answers are compressed for clients that accept it (service.md section 1)."""

_CONTENT_TYPES: Final = {
    b"application/x-amz-json-1.0": b"application/x-amz-json-1.0",
    b"application/json": b"application/json",
}
_WITHOUT_OUTPUT: Final = frozenset(("TagResource", "UntagResource"))
"""Operations for which the service model has no output; the body of the answer is empty."""
_HASHED_NUMBER_SETS: Final = frozenset(
    (
        *("Scan", "TransactGetItems", "TransactWriteItems", "GetRecords"),
        *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
    )
)
"""Operations whose answers and errors list number sets in hash order; others list them by value (errors.md
section 11)."""
_NOT_FOUND: Final = b"<UnknownOperationException/>\n"


async def answer(
    executor: Executor, request: HttpRequest, authenticate: Authenticator = lenient
) -> HttpResponse:
    """Answers one request. Raises nothing that the request causes, except under `RAISE_UNEXPECTED`."""
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
    status, name = 200, None
    try:
        if len(request.body) > LARGE_BODY_BYTES_MIN or b"content-encoding" in headers:
            call = await _large_call_of(executor, request, authenticate)
        else:
            call = _call_of(executor, request, request.body, read_object, authenticate)
        name = call.operation
        result = await executor.execute(call)
        if call.lost:
            return CLOSED if call.lost == "closed" else WITHHELD
        body = orjson.dumps(result) if result or call.operation not in _WITHOUT_OUTPUT else b""
        del result  # which holds a long answer once more
    except BodyTooLarge:
        return HttpResponse(413, b"", None, request_id, None, extra)
    except Overloaded:
        return BUSY
    except Exception as error:
        if isinstance(error, UnknownOperationException):
            other = await _other_service(executor, request, authenticate, extra)
            if other is not None:
                return other
        rejection = as_api_error(error, request_id)
        status = rejection.status
        body = orjson.dumps(rejection.body())
    if name in _HASHED_NUMBER_SETS and NUMBER_SET in body:
        body = with_hashed_number_sets(body)
    if len(body) > GZIP_ANSWER_BYTES_MIN and _accepts_gzip(headers.get(b"accept-encoding", b"")):
        extra = (*extra, (b"Content-Encoding", b"gzip"))
        if len(body) <= LARGE_ANSWER_BYTES_MIN:
            body = gzip.compress(body, compresslevel=1, mtime=0)
        else:
            body = await _compressed(executor, body)
    checksum = crc32(body) if len(body) <= LARGE_ANSWER_BYTES_MIN else await _checksum(executor, body)
    return HttpResponse(status, body, content_type, request_id, checksum, extra)


async def _compressed(executor: Executor, body: bytes) -> bytes:
    """Returns a long answer in gzip."""
    packer = zlib.compressobj(1, wbits=GZIP_WINDOW)
    packed = []
    for start in range(0, len(body), LARGE_ANSWER_BYTES_MIN):
        await executor.yield_control()
        packed.append(packer.compress(body[start : start + LARGE_ANSWER_BYTES_MIN]))
    return b"".join((*packed, packer.flush()))


async def _checksum(executor: Executor, body: bytes) -> int:
    """Returns the CRC-32 of a long answer."""
    checksum, view = 0, memoryview(body)
    for start in range(0, len(body), 2 * MB):
        await executor.yield_control()
        checksum = crc32(view[start : start + 2 * MB], checksum)
    return checksum


_BATCHES: Final = (
    b".BatchWriteItem",
    b".TransactWriteItems",
    b".BatchExecuteStatement",
    b".ExecuteTransaction",
)
"""Targets whose requests may hold several items."""
_checked_shapes: dict[bytes, CheckedShape] = {}


async def _large_call_of(executor: Executor, request: HttpRequest, authenticate: Authenticator) -> Call:
    """Returns the call after checks 2 to 6. Raises BodyTooLarge, ApiError."""
    if len(request.body) > REQUEST_BODY_BYTES_MAX:
        raise BodyTooLarge
    credential = authenticate(request)

    def read() -> Call:
        documents = []

        def parse(body: bytes) -> dict[str, Any]:
            is_batch = request.headers.get(b"x-amz-target", b"").endswith(_BATCHES)
            documents.append(read_large_object(body, REQUEST_BODY_BYTES_MAX if is_batch else ITEM_TOKENS_MAX))
            return documents[0]

        try:
            return _call_of(executor, request, unpacked_body(request), parse, lambda _: credential)
        except BaseException:
            dismantle(documents)
            raise

    return await executor.run_large(read, request)


def _call_of(
    executor: Executor,
    request: HttpRequest,
    body: bytes,
    read: Callable[[bytes], dict[str, Any]],
    authenticate: Callable[[HttpRequest], Credential],
) -> Call:
    """Returns the call after checks 3 to 6. Raises ApiError."""
    headers = request.headers
    document = read(body)
    target = headers.get(b"x-amz-target")
    shape = _checked_shapes.get(target)  # type: ignore[arg-type]  # None finds nothing
    if shape is None:
        shape = _compile(target)
    credential = authenticate(request)
    name = shape.operation.name
    if not executor.knows(name):
        raise not_offered(name)
    sizes: Sizes = {}
    checked = shape.check_request(document, len(body), body, sizes)
    region = credential.region or executor.region
    host = headers.get(b"host")
    identity = credential.identity
    return Call(
        name,
        document,
        checked.values_ok,
        region,
        executor.account if identity is None else identity.principal.account,
        None if host is None else host.decode("latin-1"),
        body_bytes=len(body),
        item_sizes=sizes,
        older=checked.older,
        caller=None if identity is None else caller_of(identity, request),
        body=body if name == "ExecuteStatement" else None,
    )


def _compile(target: bytes | None) -> CheckedShape:
    """Returns the shape of a target, and caches it: the model bounds how many targets there are."""
    operation = operation_of(target)
    shape = _checked_shapes[operation.target] = CheckedShape(operation)
    return shape


async def _other_service(
    executor: Executor, request: HttpRequest, authenticate: Authenticator, extra: Headers
) -> HttpResponse | None:
    """Returns the answer to a request for another AWS service; None when it is for none."""
    target = service_request_of(request)
    if target is None:
        return None
    from faradisc.protocol.other_services.answering import answer_other_service  # noqa: PLC0415 - seldom needed

    return await answer_other_service(executor, request, authenticate, target, extra)


# --- Requests that call no operation -------------------------------------------------------------


def _content_type_of(headers: dict[bytes, bytes]) -> bytes | None:
    """Returns the content type without parameters, if it is one of the service's."""
    return _CONTENT_TYPES.get(headers.get(b"content-type", b"").split(b";")[0].strip().lower())


def _no_call(executor: Executor, request: HttpRequest, request_id: bytes, extra: Headers) -> HttpResponse:
    if request.method == "OPTIONS":
        return HttpResponse(200, b"", None, request_id, None, extra)
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
    """Returns the CORS headers: any origin is allowed, and a preflight's headers and method are."""
    headers = request.headers
    exposed = b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,x-amz-crc32,Date"
    cors = [(b"Access-Control-Allow-Origin", b"*"), (b"Access-Control-Expose-Headers", exposed)]
    if request.method != "OPTIONS":
        return tuple(cors)
    for requested, allowed in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
        (b"access-control-request-method", b"Access-Control-Allow-Methods"),
    ):
        value = headers.get(requested)
        if value is not None and _HEADER_NAMES.fullmatch(value):
            cors.append((allowed, value))
    cors.append((b"Access-Control-Max-Age", b"172800"))
    return tuple(cors)


def _accepts_gzip(accepted: bytes) -> bool:
    """Whether an Accept-Encoding names gzip, with another weight than 0."""
    for entry in accepted.lower().split(b","):
        name, _, weight = entry.partition(b";")
        if name.strip() == b"gzip":
            return re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", weight) is None
    return False
