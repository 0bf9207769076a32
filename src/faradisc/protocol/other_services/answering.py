"""Answers one request to another AWS service, with the checks in DynamoDB's order (protocol/front.py)."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from faradisc.auth.sigv4 import Authenticator
from faradisc.errors import ApiError, SerializationException, UnknownOperationException
from faradisc.operations.call import Call
from faradisc.protocol.body import BodyTooLarge, read_object, unpacked_body
from faradisc.protocol.executor import Executor, caller_of
from faradisc.protocol.failures import as_api_error, not_offered
from faradisc.protocol.http import Headers, HttpRequest, HttpResponse
from faradisc.protocol.other_services.recognise import ServiceRequest
from faradisc.protocol.other_services.services import Service
from faradisc.protocol.other_services.wire import Wire, query_code, query_error_type
from faradisc.protocol.service_model import ModelOperation, Shape, load
from faradisc.protocol.shapes import CheckedShape


async def answer_other_service(
    executor: Executor,
    request: HttpRequest,
    authenticate: Authenticator,
    target: ServiceRequest,
    extra: Headers,
) -> HttpResponse:
    """Answers one request. Raises nothing that the request causes, except under `RAISE_UNEXPECTED`."""
    request_id = executor.request_ids.next()
    service, wire = target.service, _wire_of(target)
    status = 200
    try:
        credential = authenticate(request, service.signing_name)
        body = unpacked_body(request)
        operation, document = _read(target, wire, body)
        other = executor.other_service(service.name)
        if not other.knows(operation.name):
            raise not_offered(operation.name)
        check_members(operation, document, len(body))
        region = credential.region or executor.region
        call = Call(operation.name, document, True, region, executor.account)
        call.access_key_id = credential.access_key_id
        if credential.identity is not None:
            call.caller = caller_of(credential.identity, request)
            if not service.tests_rights:
                executor.authorize(call, service.name)
        members = await other.execute(call)
        written = wire.write(operation, members, request_id.decode())
    except BodyTooLarge:
        return HttpResponse(413, b"", None, request_id, None, extra)
    except Exception as error:
        rejection = as_api_error(error, request_id)
        status, written = rejection.status, wire.write_error(rejection, request_id.decode())
        if isinstance(error, ApiError):
            extra = (*extra, *_query_error(service, request, error))
    return HttpResponse(status, written, wire.content_type, request_id, None, (*extra, *wire.headers))


def _wire_of(target: ServiceRequest) -> Wire:
    """Returns the reader and writer of a wire format; most servers never import CBOR or XML."""
    if target.wire == "cbor":
        from faradisc.protocol.other_services.cbor_wire import CborWire  # noqa: PLC0415

        return CborWire()
    if target.wire == "query":
        from faradisc.protocol.other_services.query_wire import QueryWire  # noqa: PLC0415

        assert target.service.xml_namespace is not None
        return QueryWire(target.service.xml_namespace, target.service.api_version)
    return JsonWire(target.content_type)


def _read(target: ServiceRequest, wire: Wire, body: bytes) -> tuple[ModelOperation, dict[str, Any]]:
    """Returns the operation and its unchecked members.

    Raises UnknownOperationException, SerializationException.
    """
    name = target.operation or wire.operation_in(body)
    operation = load(target.service.name).operations.get(name)
    if operation is None:
        text = f"Could not find operation {name} for version {target.service.api_version}"
        raise UnknownOperationException(text if target.service.has_query_codes else None)
    return operation, wire.read(body, operation.input)


def check_members(operation: ModelOperation, document: dict[str, Any], size: int) -> None:
    """Raises SerializationException, ValidationException."""
    try:
        _checked_shape(operation).check_request(document, size)
    except SerializationException as error:
        # The text names DynamoDB's Java package, which does not hold these types.
        text = None if error.message is None else error.message.replace(_JAVA_PACKAGE, "")
        raise SerializationException(text) from None


_JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810."


@cache
def _checked_shape(operation: ModelOperation) -> CheckedShape:
    """Returns the shape of an operation; the model bounds the cache."""
    return CheckedShape(operation)


def _query_error(service: Service, request: HttpRequest, error: ApiError) -> Headers:
    """Returns a header with the error's name in the query protocol, where the client asks for it."""
    if not service.has_query_codes or request.headers.get(b"x-amzn-query-mode", b"").lower() != b"true":
        return ()
    return ((b"x-amzn-query-error", f"{query_code(error)};{query_error_type(error)}".encode()),)


class JsonWire:
    """AWS JSON 1.0 and 1.1, DynamoDB's wire format too."""

    headers: Headers = ()

    def __init__(self, content_type: bytes) -> None:
        self.content_type = content_type
        """Of the request; the answer has the same."""

    def operation_in(self, body: bytes) -> str:
        return ""

    def read(self, body: bytes, shape: Shape) -> dict[str, Any]:
        return read_object(body or b"{}")

    def write(self, operation: ModelOperation, members: dict[str, Any], request_id: str) -> bytes:
        return orjson.dumps(members)

    def write_error(self, error: ApiError, request_id: str) -> bytes:
        return orjson.dumps(error.body())
