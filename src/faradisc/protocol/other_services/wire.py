"""What every way to write requests and answers has to offer, and the names of errors."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

from faradisc.errors import ApiError
from faradisc.protocol.service_model import Operation, Shape

Headers = tuple[tuple[bytes, bytes], ...]


class Wire(Protocol):
    content_type: bytes
    headers: Headers
    """Of every answer, beside the usual ones."""

    def operation_in(self, body: bytes) -> str:
        """The operation that the body names; "" where it is named outside, or not at all.

        Raises: SerializationException.
        """

    def read(self, body: bytes, shape: Shape) -> dict[str, Any]:
        """The members of a request as JSON would hold them (numbers for timestamps).

        Raises: SerializationException.
        """

    def write(self, operation: Operation, members: dict[str, Any], request_id: str) -> bytes:
        """A successful answer. `members` are as JSON would hold them; handlers know no other form."""

    def refuse(self, error: ApiError, request_id: str) -> bytes: ...


class ServiceError(ApiError):
    """An exception of another AWS service's model."""

    namespace = ""
    query_code: ClassVar[str | None] = None
    """Its name in the query protocol, where it differs."""


QUERY_CODES: Final = {
    "ValidationException": "ValidationError",
    "SerializationException": "MalformedInput",
    "UnknownOperationException": "InvalidAction",
    "MissingAuthenticationTokenException": "MissingAuthenticationToken",
    "IncompleteSignatureException": "IncompleteSignature",
    "InvalidSignatureException": "SignatureDoesNotMatch",
    "UnrecognizedClientException": "InvalidClientTokenId",
    "ExpiredTokenException": "ExpiredToken",
    "AccessDeniedException": "AccessDenied",
    "InternalServerError": "InternalFailure",
}
"""Errors of the front end as the query protocol calls them (the service's list of common errors)."""


def query_code(error: ApiError) -> str:
    if isinstance(error, ServiceError) and error.query_code is not None:
        return error.query_code
    return QUERY_CODES.get(error.wire_name(), error.wire_name())


def query_fault(error: ApiError) -> str:
    """Whose fault it is, in the query protocol's words."""
    return "Sender" if error.status < 500 else "Receiver"
