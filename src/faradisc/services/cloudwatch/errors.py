"""CloudWatch's exceptions, as its model names them, with their names of the query protocol.

Source: the `error` traits in botocore's model; a test compares them.
"""

from __future__ import annotations

from faradisc.protocol.other_services.wire import ServiceError


class InvalidParameterValueException(ServiceError):
    query_code = "InvalidParameterValue"


class InvalidParameterCombinationException(ServiceError):
    query_code = "InvalidParameterCombination"


class MissingRequiredParameterException(ServiceError):
    query_code = "MissingParameter"


class InvalidNextToken(ServiceError):
    default_text = "Invalid NextToken"


class InvalidFormatFault(ServiceError):
    query_code = "InvalidFormat"


class LimitExceededFault(ServiceError):
    query_code = "LimitExceeded"


class ResourceNotFound(ServiceError):
    status = 404


class ResourceNotFoundException(ServiceError):
    """For operations on tags; its model has no text, only the resource."""

    status = 404
