"""Requests to the endpoint, and what every answer says of its cost."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from faradisc.tools.console.endpoint import Failure, ServerEndpoint

Item = dict[str, dict[str, Any]]
"""DynamoDB JSON: {"pk": {"S": "a"}, "n": {"N": "1"}}; binary is base64."""


async def ask(endpoint: ServerEndpoint, operation: str, **request: Any) -> dict[str, Any]:
    """Returns the answer. Members of the request that are None or empty are left out. Raises ToolError."""
    wanted = {
        name: value for name, value in request.items() if value is not None and value not in ("", {}, [])
    }
    try:
        return await endpoint.call(operation, wanted)
    except Failure as failure:
        raise ToolError(str(failure)) from None


def units(answer: dict[str, Any]) -> float:
    """Returns the capacity units that an answer says it consumed."""
    consumed = answer.get("ConsumedCapacity") or []
    listed = consumed if isinstance(consumed, list) else [consumed]
    return float(sum(each["CapacityUnits"] for each in listed))


def page(answer: dict[str, Any], warning: str = "") -> dict[str, Any]:
    """Returns the items of a Query or Scan with their cost, a warning, and where the next page begins."""
    found: dict[str, Any] = {
        "items": answer.get("Items", []),
        "count": answer["Count"],
        "examined": answer["ScannedCount"],
        "units": units(answer),
    }
    if warning:
        found["warning"] = warning
    if "LastEvaluatedKey" in answer:
        found["next"] = answer["LastEvaluatedKey"]
    return found
