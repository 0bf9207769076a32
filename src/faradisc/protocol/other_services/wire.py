"""What every wire format offers, and the names of errors in the query protocol."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

from faradisc.errors import ApiError
from faradisc.protocol.http import Headers
from faradisc.protocol.service_model import ModelOperation, Shape


class Wire(Protocol):
    content_type: bytes
    headers: Headers
    """Headers of every answer, besides the usual ones."""

    def operation_in(self, body: bytes) -> str:
        """Returns the operation that the body names; "" where the body names none.

        Raises SerializationException.
        """

    def read(self, body: bytes, shape: Shape) -> dict[str, Any]:
        """Returns the members of a request in their JSON form (numbers for timestamps).

        Raises SerializationException.
        """

    def write(self, operation: ModelOperation, members: dict[str, Any], request_id: str) -> bytes:
        """Returns the body of a successful answer; `members` are in their JSON form."""

    def write_error(self, error: ApiError, request_id: str) -> bytes:
        """Returns the body of an error answer."""


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
    "ThrottlingException": "Throttling",
    "InternalServerError": "InternalFailure",
}
"""The front end's errors in the query protocol (the service's list of common errors)."""


def query_code(error: ApiError) -> str:
    """Returns an error's name in the query protocol."""
    if isinstance(error, ServiceError) and error.query_code is not None:
        return error.query_code
    return QUERY_CODES.get(error.wire_name(), error.wire_name())


def query_error_type(error: ApiError) -> str:
    """Returns the query protocol's word for the side that caused an error."""
    return "Sender" if error.status < 500 else "Receiver"
