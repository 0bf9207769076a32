"""EnableKinesisStreamingDestination: deliver every change of a table to a Kinesis stream.

Checks: ARN -> an endpoint is configured -> table exists -> not in use -> no destination is enabled. Source:
streams.md section 7. Assumed: the texts.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.kinesis.destinations import parse_arn
from faradisc.engine.tables.state import UNASSIGNED, KinesisDestination, TableState
from faradisc.errors import ValidationException
from faradisc.operations.call import Backend, Call

_NO_ENDPOINT = "No Kinesis endpoint is configured here; start the server with --kinesis-endpoint-url"


async def enable_kinesis_streaming_destination(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    arn = request["StreamArn"]
    parse_arn(arn)
    if not backend.kinesis.can_deliver:
        raise ValidationException(_NO_ENDPOINT)
    configuration = request.get("EnableKinesisStreamingConfiguration") or {}
    precision = configuration.get("ApproximateCreationDateTimePrecision", "MILLISECOND")
    table = backend.table_for_control(call)
    now_ns = backend.clock.now_ns()

    def change(state: TableState) -> bool:
        if any(each.enabled or each.resource is not None for each in state.kinesis):
            raise ValidationException(
                "Table is not in a valid state to enable Kinesis Streaming Destination: "
                "KinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
            )
        destination = KinesisDestination(arn, precision, True, UNASSIGNED, now_ns)
        others = [each for each in state.kinesis if each.arn != arn]
        state.kinesis = [*others, destination]
        return False

    await backend.catalog.update(table, change)
    return {
        "TableName": table.name,
        "StreamArn": arn,
        "DestinationStatus": "ENABLING",
        "EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": precision},
    }
