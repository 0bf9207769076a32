"""Tools that read: tables, items, queries, PartiQL, streams."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from faradisc.tools.console.endpoint import ServerEndpoint
from faradisc.tools.mcp.answers import Item, ask, page, units

READS = ToolAnnotations(read_only_hint=True)
SHARDS_MAX = 100
Limit = Annotated[int, Field(ge=1, le=200, description="Most items or records of the answer.")]
Names = Annotated[dict[str, str] | None, Field(description='Names for #placeholders: {"#s": "status"}.')]
Values = Annotated[Item | None, Field(description='Values for :placeholders: {":s": {"S": "OPEN"}}.')]
Start = Annotated[Item | None, Field(description="`next` of the page before.")]


def add_reading(server: MCPServer, endpoint: ServerEndpoint) -> None:
    @server.tool(annotations=READS)
    async def list_tables() -> dict[str, Any]:
        """Names of all tables."""
        names: list[str] = []
        start: str | None = None
        while True:
            answer = await ask(endpoint, "ListTables", ExclusiveStartTableName=start)
            names += answer["TableNames"]
            start = answer.get("LastEvaluatedTableName")
            if start is None:
                return {"tables": names}

    @server.tool(annotations=READS)
    async def describe_table(table: str) -> dict[str, Any]:
        """Keys, indexes, capacity mode, stream and size of a table; its time to live and backups."""
        described = (await ask(endpoint, "DescribeTable", TableName=table))["Table"]
        ttl = await ask(endpoint, "DescribeTimeToLive", TableName=table)
        backups = await ask(endpoint, "DescribeContinuousBackups", TableName=table)
        return {
            "table": _plain(described),
            "time_to_live": ttl["TimeToLiveDescription"],
            "continuous_backups": _plain(backups["ContinuousBackupsDescription"]),
        }

    @server.tool(annotations=READS)
    async def get_item(table: str, key: Item, consistent: bool = False) -> dict[str, Any]:
        """One item by its whole key, in DynamoDB JSON such as {"pk": {"S": "a"}}, with the units it cost."""
        answer = await ask(
            *(endpoint, "GetItem"),
            TableName=table,
            Key=key,
            ConsistentRead=consistent,
            ReturnConsumedCapacity="TOTAL",
        )
        return {"item": answer.get("Item"), "units": units(answer)}

    @server.tool(annotations=READS)
    async def query(
        table: str,
        key_condition: Annotated[str, Field(description="KeyConditionExpression: pk = :p AND sk > :s")],
        *,
        values: Values = None,
        names: Names = None,
        index: str = "",
        filter: str = "",
        projection: str = "",
        limit: Limit = 25,
        descending: bool = False,
        consistent: bool = False,
        start: Start = None,
    ) -> dict[str, Any]:
        """Items of one partition key of a table or index, ordered by sort key, with the units they cost.
        `examined` counts the items that were read before the filter; they are paid for."""
        answer = await ask(
            *(endpoint, "Query"),
            TableName=table,
            IndexName=index,
            KeyConditionExpression=key_condition,
            FilterExpression=filter,
            ProjectionExpression=projection,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            Limit=limit,
            ScanIndexForward=not descending,
            ConsistentRead=consistent,
            ExclusiveStartKey=start,
            ReturnConsumedCapacity="TOTAL",
        )
        return page(answer)

    @server.tool(annotations=READS)
    async def scan(
        table: str,
        *,
        filter: str = "",
        values: Values = None,
        names: Names = None,
        index: str = "",
        projection: str = "",
        limit: Limit = 25,
        start: Start = None,
    ) -> dict[str, Any]:
        """Items of a table or index in no order: reads and charges everything. Prefer query where a partition
        key is known."""
        answer = await ask(
            *(endpoint, "Scan"),
            TableName=table,
            IndexName=index,
            FilterExpression=filter,
            ProjectionExpression=projection,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            Limit=limit,
            ExclusiveStartKey=start,
            ReturnConsumedCapacity="TOTAL",
        )
        warning = f"This was a Scan: it read {answer['ScannedCount']} items for {answer['Count']}."
        return page(answer, warning)

    @server.tool(annotations=READS)
    async def partiql_select(
        statement: str,
        parameters: Annotated[list[dict[str, Any]] | None, Field(description='For ?: [{"S": "a"}].')] = None,
        limit: Limit = 25,
        next: str = "",
    ) -> dict[str, Any]:
        """Runs a SELECT in PartiQL. One whose WHERE does not fix the partition key is a Scan of the table."""
        if not statement.lstrip()[:6].upper() == "SELECT":
            raise ToolError("Only SELECT is run by this tool.")
        answer = await ask(
            *(endpoint, "ExecuteStatement"),
            Statement=statement,
            Parameters=parameters,
            Limit=limit,
            NextToken=next,
            ReturnConsumedCapacity="TOTAL",
        )
        found = {"items": answer["Items"], "units": units(answer)}
        return {**found, "next": answer["NextToken"]} if "NextToken" in answer else found

    @server.tool(annotations=READS)
    async def read_stream(
        table: str,
        begin: Annotated[
            Literal["oldest", "newest"], Field(description="Which records are read.")
        ] = "newest",
        limit: Limit = 25,
    ) -> dict[str, Any]:
        """Changes of a table from its stream, at most of the last 24 hours, in order of time."""
        arn = (await ask(endpoint, "DescribeTable", TableName=table))["Table"].get("LatestStreamArn")
        if arn is None:
            raise ToolError(f"{table} has no stream. Enable one with a StreamSpecification.")
        shards = (await ask(endpoint, "DescribeStream", StreamArn=arn))["StreamDescription"]["Shards"]
        records: list[dict[str, Any]] = []
        for shard in shards[:SHARDS_MAX]:
            records += await _records(endpoint, arn, shard["ShardId"], limit if begin == "oldest" else None)
        records.sort(key=_order)
        shown = records[:limit] if begin == "oldest" else records[-limit:]
        return {"shards": len(shards), "records": [_plain(record) for record in shown]}


RECORDS_PER_SHARD_MAX = 5_000


async def _records(endpoint: ServerEndpoint, arn: str, shard: str, limit: int | None) -> list[dict[str, Any]]:
    """Returns the records of a shard, from its oldest: the first `limit`, or at most the allowed number."""
    asked = await ask(
        *(endpoint, "GetShardIterator"), StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
    )
    iterator: str | None = asked.get("ShardIterator")
    found: list[dict[str, Any]] = []
    while iterator and len(found) < (limit or RECORDS_PER_SHARD_MAX):
        answer = await ask(endpoint, "GetRecords", ShardIterator=iterator)
        found += answer["Records"]
        iterator = answer.get("NextShardIterator") if answer["Records"] else None
    return found


def _order(record: dict[str, Any]) -> tuple[str, str]:
    change = record["dynamodb"]
    return str(change.get("ApproximateCreationDateTime", "")), str(change.get("SequenceNumber", "")).zfill(40)


def _plain(value: Any) -> Any:
    """Returns a value with moments as text."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
