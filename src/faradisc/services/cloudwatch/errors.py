"""CloudWatch's exceptions, as its model names them, with their names of the query protocol.

Source: the `error` traits in botocore's model; a test compares them.
"""

from __future__ import annotations

from faradisc.protocol.neighbours.wire import NeighbourError


class InvalidParameterValueException(NeighbourError):
    query_code = "InvalidParameterValue"


class InvalidParameterCombinationException(NeighbourError):
    query_code = "InvalidParameterCombination"


class MissingRequiredParameterException(NeighbourError):
    query_code = "MissingParameter"


class InvalidNextToken(NeighbourError):
    default_text = "Invalid NextToken"


class InvalidFormatFault(NeighbourError):
    query_code = "InvalidFormat"


class LimitExceededFault(NeighbourError):
    query_code = "LimitExceeded"


class ResourceNotFound(NeighbourError):
    status = 404


class ResourceNotFoundException(NeighbourError):
    """Of the operations on tags; its model has no text, only what was not found."""

    status = 404
