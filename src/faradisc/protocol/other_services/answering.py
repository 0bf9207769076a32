"""Answers one request to another AWS service, with the checks in DynamoDB's order (protocol/front.py)."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, Protocol

from faradisc.auth.sigv4 import Authenticator
from faradisc.errors import (
    ApiError,
    InternalServerError,
    SerializationException,
    StorageError,
    UnknownOperationException,
    UnsupportedOperation,
)
from faradisc.limits import REQUEST_BODY_BYTES_MAX
from faradisc.operations.call import Call
from faradisc.protocol import front
from faradisc.protocol.body import BodyTooLarge, unpack
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.other_services.json_wire import JsonWire
from faradisc.protocol.other_services.recognise import ServiceRequest
from faradisc.protocol.other_services.services import Service
from faradisc.protocol.other_services.wire import Headers, Wire, query_code, query_fault
from faradisc.protocol.service_model import Operation, load
from faradisc.protocol.shapes import CheckedShape

log = logging.getLogger("faradisc.protocol")


class OtherService(Protocol):
    """What stands behind one service."""

    def knows(self, operation: str) -> bool:
        """Whether `execute` takes calls of this operation of the service model."""

    async def execute(self, call: Call) -> dict[str, Any]:
        """The answer's members, as JSON holds them. Raises: ApiError."""


async def answer_other_service(
    executor: front.Executor,
    request: HttpRequest,
    authenticate: Authenticator,
    target: ServiceRequest,
    extra: Headers,
) -> HttpResponse:
    """Answer one request to another AWS service. Raises nothing that comes of the request."""
    request_id = executor.request_ids.next()
    service, wire = target.service, _wire_of(target)
    status = 200
    try:
        body = _body_of(request)
        operation, document = _read(target, wire, body)
        credential = authenticate(request, service.signing_name)
        other = executor.other_service(service.name)
        if not other.knows(operation.name):
            raise UnsupportedOperation(f"{operation.name} is not offered by this version of Faradisc.")
        _check(operation, document, len(body))
        region = credential.region or executor.region
        members = await other.execute(Call(operation.name, document, True, region, executor.account))
        written = wire.write(operation, members, request_id.decode())
    except ApiError as error:
        status, written = error.status, wire.refuse(error, request_id.decode())
        extra = (*extra, *_query_error(service, request, error))
    except BodyTooLarge:
        return HttpResponse(413, b"", None, request_id, None, extra)
    except StorageError as error:
        log.error("request %s failed: %s: %s", request_id.decode(), type(error).__name__, error)
        failure = InternalServerError()
        status, written = failure.status, wire.refuse(failure, request_id.decode())
    except Exception:
        if front.RAISE_UNEXPECTED:
            raise
        log.exception("request %s failed", request_id.decode())
        failure = InternalServerError()
        status, written = failure.status, wire.refuse(failure, request_id.decode())
    return HttpResponse(status, written, wire.content_type, request_id, None, (*extra, *wire.headers))


def _wire_of(target: ServiceRequest) -> Wire:
    """Imported when needed: most servers never see CBOR or forms."""
    if target.way == "cbor":
        from faradisc.protocol.other_services.cbor_wire import CborWire  # noqa: PLC0415

        return CborWire()
    if target.way == "query":
        from faradisc.protocol.other_services.query_wire import QueryWire  # noqa: PLC0415

        assert target.service.xml_namespace is not None
        return QueryWire(target.service.xml_namespace, target.service.api_version)
    return JsonWire(target.content_type)


def _body_of(request: HttpRequest) -> bytes:
    """Raises: BodyTooLarge, SerializationException."""
    if len(request.body) > REQUEST_BODY_BYTES_MAX:
        raise BodyTooLarge
    encoding = request.headers.get(b"content-encoding")
    return request.body if encoding is None else unpack(request.body, encoding)


def _read(target: ServiceRequest, wire: Wire, body: bytes) -> tuple[Operation, dict[str, Any]]:
    """The operation and its members, unchecked. Raises: UnknownOperationException, SerializationException."""
    name = target.operation or wire.operation_in(body)
    operation = load(target.service.name).operations.get(name)
    if operation is None:
        text = f"Could not find operation {name} for version {target.service.api_version}"
        raise UnknownOperationException(text if target.service.has_query_codes else None)
    return operation, wire.read(body, operation.input)


def _check(operation: Operation, document: dict[str, Any], size: int) -> None:
    """Raises: SerializationException, ValidationException."""
    try:
        _checked_shape(operation).check_request(document, size)
    except SerializationException as error:
        # The words name DynamoDB's Java package, which is not where these types live.
        text = None if error.message is None else error.message.replace(_JAVA_PACKAGE, "")
        raise SerializationException(text) from None


_JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810."


@cache
def _checked_shape(operation: Operation) -> CheckedShape:
    """Bounded by the model: there are only its operations."""
    return CheckedShape(operation)


def _query_error(service: Service, request: HttpRequest, error: ApiError) -> Headers:
    """The error's name of the query protocol, for clients that ask for it."""
    if not service.has_query_codes or request.headers.get(b"x-amzn-query-mode", b"").lower() != b"true":
        return ()
    return ((b"x-amzn-query-error", f"{query_code(error)};{query_fault(error)}".encode()),)
