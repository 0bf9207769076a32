"""Finds the table or stream that a request on tags or policies names by its ARN.

Source: errors.md section 6.10.
"""

from __future__ import annotations

import re

from faradisc.engine.streams.stream import Stream
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException, invalid
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

_ARN = re.compile(r"(arn:[^:]*:dynamodb:[^:]*:[^:]*:table/[A-Za-z0-9_.-]+)(/(?:index|stream)/[^/]+)?")


def named_resource(backend: Backend, call: Call) -> Table | Stream:
    """Returns the table or stream of ResourceArn. Raises ResourceNotFoundException, ValidationException."""
    arn = call.request["ResourceArn"]
    table_arn, child = parse_resource_arn(arn)
    if not child.startswith("/stream/"):
        return backend.tables.for_control(table_arn, call.region, call.account)
    try:
        return backend.catalog.stream(arn)
    except ResourceNotFoundException:
        label, name = child.rpartition("/")[2], table_arn.rpartition("/")[2]
        raise ResourceNotFoundException(
            f"Requested resource not found: Stream: {label} not found for Table: {name}"
        ) from None


def parse_resource_arn(arn: str) -> tuple[str, str]:
    """Returns the ARN of a table, and what follows in that of its stream. Raises ValidationException."""
    if not arn.startswith("arn:"):
        raise invalid(f"ARNs must start with 'arn:': {arn}")
    match = _ARN.fullmatch(arn)
    if match is None:
        raise invalid(f"Provided Arn is not a DynamoDB resource arn: {arn}")
    child = match[2] or ""
    if child.startswith("/index/"):
        raise invalid(
            f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
        )
    return match[1], child
