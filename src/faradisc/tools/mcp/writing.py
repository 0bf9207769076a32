"""Tools that write; they exist with --write only."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from faradisc.tools.console.endpoint import ServerEndpoint
from faradisc.tools.mcp.answers import Item, ask, units
from faradisc.tools.mcp.reading import Names, Values

WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)
Condition = Annotated[str, Field(description="ConditionExpression that must hold, else nothing is written.")]


def add_writing(server: MCPServer, endpoint: ServerEndpoint) -> None:
    @server.tool(annotations=WRITES)
    async def put_item(
        table: str, item: Item, condition: Condition = "", values: Values = None, names: Names = None
    ) -> dict[str, Any]:
        """Writes an item, in place of one with the same key, and returns the replaced one."""
        return await write("PutItem", TableName=table, Item=item, **conditional(condition, values, names))

    @server.tool(annotations=WRITES)
    async def update_item(
        table: str,
        key: Item,
        update: Annotated[str, Field(description="UpdateExpression: SET seen = :now REMOVE draft")],
        *,
        condition: Condition = "",
        values: Values = None,
        names: Names = None,
    ) -> dict[str, Any]:
        """Changes attributes of an item, or creates it, and returns the item as it was."""
        more = conditional(condition, values, names)
        return await write("UpdateItem", TableName=table, Key=key, UpdateExpression=update, **more)

    @server.tool(annotations=WRITES)
    async def delete_item(
        table: str, key: Item, condition: Condition = "", values: Values = None, names: Names = None
    ) -> dict[str, Any]:
        """Deletes an item and returns it."""
        return await write("DeleteItem", TableName=table, Key=key, **conditional(condition, values, names))

    @server.tool(annotations=WRITES)
    async def partiql_write(
        statement: str,
        parameters: Annotated[list[dict[str, Any]] | None, Field(description='For ?: [{"S": "a"}].')] = None,
    ) -> dict[str, Any]:
        """Runs an INSERT, UPDATE or DELETE in PartiQL."""
        answer = await ask(
            *(endpoint, "ExecuteStatement"),
            Statement=statement,
            Parameters=parameters,
            ReturnConsumedCapacity="TOTAL",
        )
        return {"items": answer.get("Items", []), "units": units(answer)}

    @server.tool(annotations=WRITES)
    async def create_table(
        request: Annotated[dict[str, Any], Field(description="The members of a CreateTable request.")],
    ) -> dict[str, Any]:
        """Creates a table."""
        answer = await ask(endpoint, "CreateTable", **request)
        return {"status": answer["TableDescription"]["TableStatus"]}

    @server.tool(annotations=WRITES)
    async def delete_table(table: str) -> dict[str, Any]:
        """Deletes a table with all of its items."""
        answer = await ask(endpoint, "DeleteTable", TableName=table)
        return {"status": answer["TableDescription"]["TableStatus"]}

    def conditional(condition: str, values: Item | None, names: dict[str, str] | None) -> dict[str, Any]:
        return {
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ExpressionAttributeNames": names,
        }

    async def write(operation: str, **request: Any) -> dict[str, Any]:
        more = {"ReturnValues": "ALL_OLD", "ReturnConsumedCapacity": "TOTAL"}
        answer = await ask(endpoint, operation, **request, **more)
        return {"before": answer.get("Attributes"), "units": units(answer)}
