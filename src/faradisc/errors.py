"""Every error a client can see, and the errors of the layers below.

    ApiError                        the client's contract: `__type`, text, HTTP status, extra members
    ├── CoralError                  raised by the service's front end, before the operation runs
    └── ModelledError               exceptions of the service model, named as there
    StorageError                    raised by engines (faradisc.storage.api), never shown to a client

The class is the kind of the error; the text is for users, and no code depends on it. A text of one rule is
beside that rule; texts of several rules are here.

Source of names, namespaces and statuses: errors.md sections 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

MODELLED = "com.amazonaws.dynamodb.v20120810#"
VALIDATE = "com.amazon.coral.validate#"
SERVICE = "com.amazon.coral.service#"
AVAILABILITY = "com.amazon.coral.availability#"


class ApiError(Exception):
    """An answer that rejects a request.

    `message` may be None: some errors of the service have no text.
    `extra` holds further members of the body (`Item`, `CancellationReasons`, ...).
    """

    namespace: ClassVar[str] = MODELLED
    code: ClassVar[str | None] = None
    """Name on the wire where it differs from the class's name."""
    status: ClassVar[int] = 400
    text_member: ClassVar[str] = "message"
    default_text: ClassVar[str | None] = None

    def __init__(self, message: str | None = None, *, extra: Mapping[str, Any] | None = None) -> None:
        self.message = message if message is not None else self.default_text
        self.extra = dict(extra) if extra else {}
        super().__init__(self.message)

    @classmethod
    def wire_name(cls) -> str:
        """Returns the name after `#` in `__type`, as clients see it."""
        return cls.code or cls.__name__

    def body(self) -> dict[str, Any]:
        """Returns the JSON object of the answer, members in the service's order."""
        body: dict[str, Any] = {"__type": self.namespace + self.wire_name()}
        if self.message is not None:
            body[self.text_member] = self.message
        body.update(self.extra)
        return body


# --- The front end -------------------------------------------------------------------------------


class CoralError(ApiError):
    namespace = SERVICE


class ValidationException(ApiError):
    """Any invalid parameter, expression, type or size."""

    namespace = VALIDATE


def invalid(text: str) -> ValidationException:
    """Returns the error with the opening that most texts of parameter values have."""
    return ValidationException("One or more parameter values were invalid: " + text)


INVALID_START = "The provided starting key is invalid"
ONLY_OLD_VALUES = "ReturnValues can only be ALL_OLD or NONE"
"""Of PutItem and DeleteItem."""
EMPTY_NAME = "Empty attribute name"
SELECTIONS = ("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
"""The values of Select, in the order of messages."""


class RequestRuleError(ValidationException):
    """A ValidationException that PutItem, UpdateItem and DeleteItem prefix with "1 validation error
    detected: ": of values, expression syntax, unused and mixed parameters.

    Source: errors.md section 3, "Two layers in 2026".
    """

    code = "ValidationException"

    def enveloped(self) -> ValidationException:
        """Returns the same error with the prefix."""
        return ValidationException(f"1 validation error detected: {self.message}")


class SerializationException(CoralError):
    """The body is not JSON, or a member has the wrong JSON type."""

    text_member = "Message"


class UnknownOperationException(CoralError):
    pass


class IncompleteSignatureException(CoralError):
    pass


class InvalidSignatureException(CoralError):
    pass


class MissingAuthenticationTokenException(CoralError):
    default_text = "Request is missing Authentication Token"


class UnrecognizedClientException(CoralError):
    default_text = "The security token included in the request is invalid."


class ExpiredTokenException(CoralError):
    pass


class AccessDeniedException(CoralError):
    pass


# --- Exceptions of the service model -------------------------------------------------------------


class ModelledError(ApiError):
    pass


class InternalServerError(ModelledError):
    status = 500
    default_text = "The request processing has failed because of an unknown error, exception or failure."


class ReplicatedWriteConflictException(ModelledError):
    default_text = (
        "The request was rejected because one or more items in the request are being modified by a request "
        "in another Region."
    )


class ResourceNotFoundException(ModelledError):
    default_text = "Requested resource not found"


class ResourceInUseException(ModelledError):
    pass


class LimitExceededException(ModelledError):
    pass


class ConditionalCheckFailedException(ModelledError):
    default_text = "The conditional request failed"


class ItemCollectionSizeLimitExceededException(ModelledError):
    default_text = "Collection size exceeded."


class TransactionConflictException(ModelledError):
    default_text = "Transaction is ongoing for the item"


class TransactionCanceledException(ModelledError):
    """A transaction with an action that failed; `reasons` are in request order."""

    text_member = "Message"

    def __init__(self, reasons: Sequence[Mapping[str, Any]]) -> None:
        codes = ", ".join(reason["Code"] for reason in reasons)
        super().__init__(
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
            extra={"CancellationReasons": list(reasons)},
        )


class TransactionInProgressException(ModelledError):
    text_member = "Message"
    default_text = "Transaction with the given client token is in progress."


class IdempotentParameterMismatchException(ModelledError):
    text_member = "Message"
    default_text = (
        "The provided client token was already used with other parameters within the idempotency window."
    )


class ExpiredIteratorException(ModelledError):
    default_text = "The provided iterator exceeds the maximum age allowed."


class TrimmedDataAccessException(ModelledError):
    default_text = "The data you are trying to access has been trimmed."


class DuplicateItemException(ModelledError):
    default_text = "Duplicate primary key exists in table"


class ExportConflictException(ModelledError):
    default_text = "Export conflict: Duplicate request detected with conflicting parameters"


class ExportNotFoundException(ModelledError):
    pass


class InvalidExportTimeException(ModelledError):
    pass


class ImportConflictException(ModelledError):
    default_text = "The client token was already used for an import with other parameters."


class ImportNotFoundException(ModelledError):
    pass


class TableNotFoundException(ModelledError):
    """ResourceNotFoundException of backups, restores and exports."""


class TableAlreadyExistsException(ModelledError):
    pass


class TableInUseException(ModelledError):
    pass


class BackupNotFoundException(ModelledError):
    pass


class BackupInUseException(ModelledError):
    pass


class ContinuousBackupsUnavailableException(ModelledError):
    pass


class PointInTimeRecoveryUnavailableException(ModelledError):
    pass


class InvalidRestoreTimeException(ModelledError):
    pass


class PolicyNotFoundException(ModelledError):
    default_text = "The operation tried to access a nonexistent resource-based policy."


class GlobalTableNotFoundException(ModelledError):
    pass


class ProvisionedThroughputExceededException(ModelledError):
    pass


class ThrottlingException(ModelledError):
    pass


class RequestLimitExceeded(ModelledError):
    pass


class UnsupportedOperation(ValidationException):
    """An operation of the service that this version does not offer (docs/differences.md)."""

    code = "ValidationException"


# --- Below the operations ------------------------------------------------------------------------


class StorageError(Exception):
    """An engine could not do what was asked. Translated into an ApiError at one border only."""


# --- Of the tools, which are clients --------------------------------------------------------------


class RequestRejected(Exception):
    """A database answered a request with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class Unreachable(Exception):
    """An address does not answer, or not like DynamoDB; the text is one sentence."""
