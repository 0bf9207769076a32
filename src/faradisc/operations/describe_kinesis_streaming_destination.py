"""DescribeKinesisStreamingDestination: the present and earlier destinations of a table, and their errors."""

from __future__ import annotations

from typing import Any

from faradisc.engine.kinesis.destinations import status
from faradisc.operations.call import Backend, Call


async def describe_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    table = backend.table_for_control(call)
    now_ns = backend.clock.now_ns()
    described: list[dict[str, Any]] = []
    for destination in table.state.kinesis:
        shown = {
            "StreamArn": destination.arn,
            "DestinationStatus": status(destination, now_ns, backend.catalog.transition_ns),
            "ApproximateCreationDateTimePrecision": destination.precision,
        }
        trouble = backend.kinesis.error(destination.resource, table.state.slots)
        if trouble:
            shown["DestinationStatusDescription"] = trouble
        described.append(shown)
    return {"TableName": table.name, "KinesisDataStreamDestinations": described}
