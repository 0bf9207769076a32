"""`faradisc mcp` with the client of the protocol's own package, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import boto3
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from faradisc.tools.mcp.server import made
from fixtures.served import Server

READS = {
    *("list_tables", "describe_table", "get_item", "query", "scan", "partiql_select", "read_stream"),
    *("throttles", "advice", "plan"),
}
WRITES = {"put_item", "update_item", "delete_item", "partiql_write", "create_table", "delete_table"}
PLAN = """
duration: 1m
tables: {Orders: {mode: provisioned, read: 5, write: 5}}
traffic: [{table: Orders, operation: PutItem, rate: 50, keys: {uniform: 100}}]
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server with a table of three orders, two of them open."""
    with Server("--memory") as server:
        client: Any = boto3.client(
            "dynamodb",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        client.create_table(
            TableName="Orders",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        for number, status in enumerate(("OPEN", "OPEN", "DONE")):
            item = {"pk": {"S": "u1"}, "sk": {"S": str(number)}, "status": {"S": status}, "b": {"B": b"\xff"}}
            client.put_item(TableName="Orders", Item=item)
        yield server.url
        assert server.stop() == 0


Call = Callable[..., Awaitable[Any]]


def using(url: str, work: Callable[[Call], Awaitable[None]], *, write: bool = False) -> None:
    """Runs work with a function that calls a tool and returns its answer, or the text of its error."""

    async def run() -> None:
        async with Client(made(url, "us-east-1", write=write)) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                return result.content[0].text if result.is_error else result.structured_content

            await work(call)

    asyncio.run(run())


def test_only_tools_that_read_exist_without_write(url: str) -> None:
    async def names(write: bool) -> set[str]:
        async with Client(made(url, "us-east-1", write=write)) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.description for tool in tools)
            assert {tool.name for tool in tools if tool.annotations.read_only_hint} == READS
            return {tool.name for tool in tools}

    assert asyncio.run(names(False)) == READS
    assert asyncio.run(names(True)) == READS | WRITES


def test_reading_tools_answer_with_their_cost(url: str) -> None:
    async def work(call: Call) -> None:
        assert await call("list_tables") == {"tables": ["Orders"]}
        described = await call("describe_table", table="Orders")
        assert described["table"]["KeySchema"][0]["AttributeName"] == "pk"
        key = {"pk": {"S": "u1"}, "sk": {"S": "0"}}
        found = await call("get_item", table="Orders", key=key, consistent=True)
        assert (found["units"], found["item"]["b"]) == (1, {"B": "/w=="})
        queried = await call(
            "query",
            table="Orders",
            key_condition="pk = :p",
            filter="#s = :s",
            names={"#s": "status"},
            values={":p": {"S": "u1"}, ":s": {"S": "OPEN"}},
            descending=True,
        )
        assert (queried["count"], queried["examined"], queried["units"]) == (2, 3, 0.5)
        assert [item["sk"]["S"] for item in queried["items"]] == ["1", "0"]
        scanned = await call("scan", table="Orders", limit=2)
        assert scanned["warning"].startswith("This was a Scan") and scanned["next"] == {
            "pk": {"S": "u1"},
            "sk": {"S": "1"},
        }
        rest = await call("scan", table="Orders", start=scanned["next"])
        assert rest["count"] == 1 and "next" not in rest
        selected = await call(
            "partiql_select", statement="SELECT sk FROM Orders WHERE pk = ?", parameters=[{"S": "u1"}]
        )
        assert (len(selected["items"]), selected["units"]) == (3, 0.5)

    using(url, work)


def test_stream_throttles_advice_and_plans_are_judged(url: str) -> None:
    async def work(call: Call) -> None:
        oldest = await call("read_stream", table="Orders", begin="oldest", limit=2)
        newest = await call("read_stream", table="Orders", limit=1)
        assert [each["dynamodb"]["Keys"]["sk"]["S"] for each in oldest["records"]] == ["0", "1"]
        assert [each["dynamodb"]["Keys"]["sk"]["S"] for each in newest["records"]] == ["2"]
        assert (await call("throttles"))["hours"] == 3
        findings = (await call("advice", hours=1))["findings"]
        assert [each["rule"] for each in findings] == ["recovery"]
        (planned,) = (await call("plan", plan=PLAN))["plans"]
        assert planned["headline"]["holds"] is False and planned["costs"]["cheapest"]

    using(url, work)


def test_errors_are_sentences(url: str) -> None:
    async def work(call: Call) -> None:
        assert "ResourceNotFoundException" in await call("describe_table", table="Missing")
        assert "ValidationException" in await call("query", table="Orders", key_condition="nonsense")
        assert "less than or equal to 200" in await call("scan", table="Orders", limit=100_000)
        assert "Only SELECT" in await call("partiql_select", statement="DELETE FROM Orders WHERE pk = 'u1'")
        assert "plan:1" in await call("plan", plan="nonsense")
        assert "files" in await call("plan", plan=PLAN.replace("{uniform: 100}", "{file: /etc/passwd}"))

    using(url, work)


def test_writing_tools_write_and_return_what_was_before(url: str) -> None:
    async def work(call: Call) -> None:
        key = {"pk": {"S": "w"}, "sk": {"S": "1"}}
        assert await call("put_item", table="Orders", item=key) == {"before": None, "units": 1}
        refused = await call("put_item", table="Orders", item=key, condition="attribute_not_exists(pk)")
        assert "ConditionalCheckFailedException" in refused
        changed = await call(
            "update_item", table="Orders", key=key, update="SET n = :n", values={":n": {"N": "7"}}
        )
        assert changed["before"] == key
        await call("partiql_write", statement="UPDATE Orders SET n = 8 WHERE pk = 'w' AND sk = '1'")
        assert (await call("delete_item", table="Orders", key=key))["before"] == {**key, "n": {"N": "8"}}
        request = {
            "TableName": "Made",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        await call("create_table", request=request)
        assert (await call("delete_table", table="Made"))["status"] == "DELETING"

    using(url, work, write=True)


def test_endpoint_that_does_not_answer_is_an_error() -> None:
    async def work(call: Call) -> None:
        assert "Could not connect" in await call("list_tables")

    using("http://127.0.0.1:1", work)


@pytest.mark.slow
def test_command_serves_over_standard_input_and_output(url: str) -> None:
    async def run() -> None:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "faradisc", "mcp", "--url", url], env=dict(os.environ)
        )
        async with Client(stdio_client(command)) as client:
            result = await client.call_tool("list_tables", {})
            assert json.loads(result.content[0].text) == {"tables": ["Orders"]}

    asyncio.run(run())


@pytest.mark.slow
def test_line_that_is_no_message_gets_an_error(url: str) -> None:
    def message(number: int, method: str, **params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    client = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    sent = [
        message(1, "initialize", protocolVersion="2025-06-18", **client),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        message(2, "tools/call", name="scan", arguments={"table": "Orders", "filter": "?"}).replace(
            "?", "\\ud800"
        ),
        "no json",
        message(3, "tools/call", name="list_tables", arguments={}),
    ]
    command = [sys.executable, "-m", "faradisc", "mcp", "--url", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = []
        for line in sent:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            if "notifications" not in line:
                answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(60) == 0
    assert [each["id"] for each in answers] == [1, 2, None, 3]
    assert [each["error"]["code"] for each in answers[1:3]] == [-32700, -32700]
    assert "result" in answers[3]
