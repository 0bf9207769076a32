"""UpdateKinesisStreamingDestination: change the precision of the time in each record.

Checks: a precision is given -> ARN -> table exists -> not in use -> this destination is ACTIVE -> another
precision -> number of changes in 24 hours. Source: streams.md section 7. Assumed: the texts.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.kinesis.destinations import parse_arn
from faradisc.engine.tables.state import DAY_NS, TableState
from faradisc.errors import LimitExceededException, ValidationException
from faradisc.limits import KINESIS_PRECISION_CHANGES_PER_DAY_MAX
from faradisc.operations.call import Backend, Call
from faradisc.operations.disable_kinesis_streaming_destination import active_destination


async def update_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    configuration = request.get("UpdateKinesisStreamingConfiguration") or {}
    precision = configuration.get("ApproximateCreationDateTimePrecision")
    if precision is None:
        raise ValidationException("Streaming destination cannot be updated with given parameters")
    arn = request["StreamArn"]
    parse_arn(arn)
    table = backend.table_for_control(call)
    now_ns = backend.clock.now_ns()

    def change(state: TableState) -> bool:
        destination = active_destination(
            state, arn, "UPDATE", now_ns=now_ns, transition_ns=backend.catalog.transition_ns
        )
        if destination.precision == precision:
            raise ValidationException(
                "Invalid Request: Precision is already set to the desired value of "
                f"{precision} for tableId: {state.table_id}"
            )
        recent = [at for at in destination.changes_ns if at > now_ns - DAY_NS]
        if len(recent) >= KINESIS_PRECISION_CHANGES_PER_DAY_MAX:
            raise LimitExceededException(
                "Subscriber limit exceeded: The precision of a Kinesis Streaming Destination can be changed "
                f"{KINESIS_PRECISION_CHANGES_PER_DAY_MAX} times in 24 hours"
            )
        destination.precision, destination.changed_ns = precision, now_ns
        destination.updating, destination.changes_ns = True, [*recent, now_ns]
        return False

    await backend.catalog.update(table, change)
    return {
        "TableName": table.name,
        "StreamArn": arn,
        "DestinationStatus": "UPDATING",
        "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": precision},
    }
