"""ListStreams: the streams that can be read, those of deleted tables included; at most 100 a page.

A page continues after an ARN, whether its stream still exists or not (streams.md section 1).
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.streams.reading import parse_arn
from faradisc.limits import LIST_STREAMS_PAGE_MAX
from faradisc.operations.call import Backend, Call


async def list_streams(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    start = request.get("ExclusiveStartStreamArn", "")
    if start:
        parse_arn(start)
    found = backend.catalog.streams_of(request.get("TableName"), call.region, call.account)
    rest = [stream for stream in found if stream.arn > start]
    page = rest[: request.get("Limit", LIST_STREAMS_PAGE_MAX)]
    result: dict[str, Any] = {
        "Streams": [
            {
                "StreamArn": stream.arn,
                "StreamLabel": stream.state.label,
                "TableName": stream.state.table_name,
            }
            for stream in page
        ]
    }
    if len(page) < len(rest):
        result["LastEvaluatedStreamArn"] = page[-1].arn
    return result
