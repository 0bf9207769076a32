"""X-Amz-Target, the name of a request's operation.

`DynamoDB_20120810.<Operation>` and `DynamoDBStreams_20120810.<Operation>`, exactly; the prefixes come from
the service models. Any other value is an UnknownOperationException without text (errors.md section 5).
"""

from __future__ import annotations

from faradisc.errors import UnknownOperationException
from faradisc.protocol.service_model import Operation, operations_by_target


def operation_of(target: bytes | None) -> Operation:
    """Returns the operation of a target. Raises UnknownOperationException if it is missing or unknown."""
    operation = operations_by_target().get(target) if target is not None else None
    if operation is None:
        raise UnknownOperationException
    return operation
