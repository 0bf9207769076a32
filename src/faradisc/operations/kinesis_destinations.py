"""The four operations of Kinesis streaming destinations.

Sources: streams.md section 7; errors.md section 6.10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from faradisc.engine.kinesis.destinations import (
    DEFAULT_PRECISION,
    ENABLE_FAILED_TEXT,
    check_stream,
    status,
)
from faradisc.engine.tables.names import no_table
from faradisc.engine.tables.state import DAY_NS, UNASSIGNED, KinesisDestination, TableState
from faradisc.errors import LimitExceededException, ValidationException
from faradisc.limits import KINESIS_PRECISION_CHANGES_PER_DAY_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

_PRECISION = "ApproximateCreationDateTimePrecision"
_NO_ENDPOINT = "No Kinesis endpoint is configured here; start the server with --kinesis-endpoint-url"


async def enable_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    """Delivers every change of a table to a Kinesis stream from now on.

    Checks: an endpoint is configured -> table exists -> stream -> no destination is enabled.
    """
    request = call.request
    arn = request["StreamArn"]
    if not backend.kinesis.can_deliver:
        raise ValidationException(_NO_ENDPOINT)
    configuration = request.get("EnableKinesisStreamingConfiguration") or {}
    precision = configuration.get(_PRECISION, "")
    table = backend.table_for_control(call)
    if table.state.status == "CREATING":
        raise no_table(table.name)
    check_stream(arn, table.state.region, table.state.account)
    now_ns = backend.clock.now_ns()

    def change(state: TableState) -> bool:
        if any(each.enabled or each.resource is not None for each in state.kinesis):
            raise ValidationException(
                "Table is not in a valid state to enable Kinesis Streaming Destination: "
                "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE "
                "operation."
            )
        destination = KinesisDestination(arn, precision, True, UNASSIGNED, now_ns, asked=False)
        others = [each for each in state.kinesis if each.arn != arn]
        state.kinesis = [*others, destination]
        return False

    await backend.catalog.update(table, change)
    answer: dict[str, Any] = {"TableName": table.name, "StreamArn": arn, "DestinationStatus": "ENABLING"}
    if precision:
        answer["EnableKinesisStreamingConfiguration"] = {_PRECISION: precision}
    return answer


async def disable_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    """Stops to capture changes. Captured ones are still delivered.

    Checks: ARN -> table exists -> not in use -> this destination is ACTIVE.
    """
    now_ns = backend.clock.now_ns()

    def disable(destination: KinesisDestination, state: TableState) -> None:
        destination.enabled, destination.changed_ns, destination.updating = False, now_ns, False

    return await _change_active(backend, call, "DISABLE", now_ns, disable)


async def update_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    """Changes the precision of the time in each record.

    Checks: a precision is given -> ARN -> table exists -> not in use -> this destination is ACTIVE ->
    another precision -> number of changes in 24 hours.
    """
    configuration = call.request.get("UpdateKinesisStreamingConfiguration") or {}
    precision = configuration.get(_PRECISION)
    if precision is None:
        raise ValidationException(
            "Streaming destination cannot be updated with given parameters: "
            "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
        )
    now_ns = backend.clock.now_ns()

    def update(destination: KinesisDestination, state: TableState) -> None:
        if (destination.precision or DEFAULT_PRECISION) == precision:
            raise ValidationException(
                "Invalid Request: Precision is already set to the desired value of "
                f"{precision} for tableId: {state.table_id}, kdsArn: {destination.arn}"
            )
        recent = [at for at in destination.changes_ns if at > now_ns - DAY_NS]
        if len(recent) >= KINESIS_PRECISION_CHANGES_PER_DAY_MAX:
            raise LimitExceededException(
                "Subscriber limit exceeded: The precision of a Kinesis Streaming Destination can be changed "
                f"{KINESIS_PRECISION_CHANGES_PER_DAY_MAX} times in 24 hours"
            )
        destination.precision, destination.changed_ns = precision, now_ns
        destination.updating, destination.changes_ns = True, [*recent, now_ns]

    answer = await _change_active(backend, call, "UPDATE", now_ns, update)
    return {**answer, "UpdateKinesisStreamingConfiguration": {_PRECISION: precision}}


async def _change_active(
    backend: Backend,
    call: Call,
    operation: Literal["DISABLE", "UPDATE"],
    now_ns: int,
    change: Callable[[KinesisDestination, TableState], None],
) -> dict[str, Any]:
    """Changes the destination that the request names; returns the answer.

    Raises ValidationException unless the destination is ACTIVE.
    """
    arn = call.request["StreamArn"]
    table = backend.table_for_control(call)

    def change_state(state: TableState) -> bool:
        destination = next((each for each in state.kinesis if each.arn == arn), None)
        if destination is None or status(destination, now_ns, backend.tables.transition_ns) != "ACTIVE":
            rest = (
                "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
                if operation == "DISABLE"
                else "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
                f"TableName: {state.name}, kdsArn: {arn}"
            )
            raise ValidationException(
                f"Table is not in a valid state to enable Kinesis Streaming Destination: {rest}"
            )
        change(destination, state)
        return False

    await backend.catalog.update(table, change_state)
    becomes = "DISABLING" if operation == "DISABLE" else "UPDATING"
    return {"TableName": table.name, "StreamArn": arn, "DestinationStatus": becomes}


async def describe_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the present and earlier destinations of a table, and their errors."""
    table = backend.table_for_control(call)
    now_ns = backend.clock.now_ns()
    described: list[dict[str, Any]] = []
    for destination in table.state.kinesis:
        shown = {
            "StreamArn": destination.arn,
            "DestinationStatus": status(destination, now_ns, backend.tables.transition_ns),
        }
        if destination.precision:
            shown[_PRECISION] = destination.precision
        trouble = backend.kinesis.error(destination.resource, table.state.slots)
        if destination.failed:
            trouble = ENABLE_FAILED_TEXT
        if trouble:
            shown["DestinationStatusDescription"] = trouble
        described.append(shown)
    return {"TableName": table.name, "KinesisDataStreamDestinations": described}
