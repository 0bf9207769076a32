"""DisableKinesisStreamingDestination: stop to capture changes. Captured ones are still delivered.

Checks: ARN -> table exists -> not in use -> this destination is ACTIVE. Source: streams.md section 7.
Assumed: the texts.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.kinesis.destinations import parse_arn, status
from faradisc.engine.tables.state import KinesisDestination, TableState
from faradisc.errors import ResourceNotFoundException, ValidationException
from faradisc.operations.call import Backend, Call


async def disable_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    arn = request["StreamArn"]
    parse_arn(arn)
    table = backend.table_for_control(call)
    now_ns = backend.clock.now_ns()

    def change(state: TableState) -> bool:
        destination = active_destination(
            state, arn, "DISABLE", now_ns=now_ns, transition_ns=backend.catalog.transition_ns
        )
        destination.enabled, destination.changed_ns, destination.updating = False, now_ns, False
        return False

    await backend.catalog.update(table, change)
    return {"TableName": table.name, "StreamArn": arn, "DestinationStatus": "DISABLING"}


def active_destination(
    state: TableState, arn: str, operation: str, *, now_ns: int, transition_ns: int
) -> KinesisDestination:
    """Returns the destination with an ARN. Raises ResourceNotFoundException; ValidationException unless it is
    ACTIVE."""
    for destination in state.kinesis:
        if destination.arn == arn:
            if status(destination, now_ns, transition_ns) != "ACTIVE":
                raise ValidationException(
                    f"Table is not in a valid state to {operation.lower()} Kinesis Streaming Destination: "
                    f"KinesisStreamingDestination must be ACTIVE to perform {operation} operation."
                )
            return destination
    raise ResourceNotFoundException(
        f"Requested resource not found: Table: {state.name} has no Kinesis Streaming Destination: {arn}"
    )
