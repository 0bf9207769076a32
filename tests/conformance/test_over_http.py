"""A tour of one real server over HTTP: what runs in the process elsewhere, here comes through sockets.

What it proves: the rim adds nothing and loses nothing (headers, checksums, compression, connections).
The whole conformance set runs over HTTP with `pytest tests/conformance --endpoint URL`.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from fixtures.answers import check_answer
from fixtures.clients import http_client
from fixtures.in_process import AUTHORIZATION
from fixtures.schemas import everything, invalid, item, new_name, refused, schema
from fixtures.served import Server


@pytest.fixture
def client(memory_server: Server) -> Iterator[Any]:
    client = http_client(memory_server.url)
    yield client
    client.close()


@pytest.fixture
def table(client: Any) -> str:
    name = new_name()
    client.create_table(
        TableName=name,
        **schema("p:S", "r:N", lsi={"local": ("n:N", "ALL")}, gsi={"global": ("g:S", "", "ALL")}),
    )
    return name


def test_items_indexes_and_pages(client: Any, table: str) -> None:
    for start in range(0, 100, 25):
        puts = [
            {"PutRequest": {"Item": item(p="1", r=r, n=-r, g=f"g{r % 3}", v="x" * 20_000)}}
            for r in range(start, start + 25)
        ]
        assert client.batch_write_item(RequestItems={table: puts})["UnprocessedItems"] == {}
    query = {
        "TableName": table,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
    }
    assert [int(i["r"]["N"]) for i in everything(client.query, **query)] == list(range(100))
    assert [int(i["r"]["N"]) for i in everything(client.query, IndexName="local", **query)] == list(
        range(99, -1, -1)
    )
    assert len(everything(client.scan, TableName=table, IndexName="global", Limit=7)) == 100
    halves = [everything(client.scan, TableName=table, Segment=n, TotalSegments=2) for n in (0, 1)]
    assert sum(map(len, halves)) == 100


def test_conditions_and_their_failures(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=item(p="1", r=1, n=1))
    with refused("ConditionalCheckFailedException", "The conditional request failed") as failure:
        client.update_item(
            TableName=table,
            Key=item(p="1", r=1),
            UpdateExpression="ADD n :one",
            ConditionExpression="n > :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failure.value.response["Item"] == item(p="1", r=1, n=1)


def test_errors_over_http(client: Any, table: str) -> None:
    with invalid("One or more parameter values were invalid: Missing the key r in the item"):
        client.put_item(TableName=table, Item=item(p="1"))
    with refused("ResourceNotFoundException"):
        client.describe_table(TableName="no-such-table")


def test_waiters_and_paginators(client: Any) -> None:
    names = [new_name() for _ in range(3)]
    for name in names:
        client.create_table(TableName=name, **schema("p:S"))
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    listed = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
    assert set(names) <= {name for page in listed for name in page["TableNames"]}


def post(server: Server, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """A request as raw as HTTP allows."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
    try:
        sent = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20261120T000000Z",
            "Authorization": AUTHORIZATION,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection.request("POST", "/", body, sent)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


RAW: dict[str, tuple[bytes, dict[str, str], str]] = {
    "no json": (b"{", {}, "com.amazon.coral.service#SerializationException"),
    "invalid UTF-8": (b'{"TableName": "\xff"}', {}, "com.amazon.coral.service#SerializationException"),
    "unknown operation": (
        b"{}",
        {"X_Amz_Target": "DynamoDB_20120810.Nonsense"},
        "com.amazon.coral.service#UnknownOperationException",
    ),
    "wrong type": (b'{"TableName": 1}', {}, "com.amazon.coral.service#SerializationException"),
    "no credentials": (
        b"{}",
        {"Authorization": ""},
        "com.amazon.coral.service#MissingAuthenticationTokenException",
    ),
}


@pytest.mark.parametrize(("body", "headers", "type_"), RAW.values(), ids=RAW)
def test_malformed_http_requests_are_rejected(
    memory_server: Server, body: bytes, headers: dict[str, str], type_: str
) -> None:
    target = {"X_Amz_Target": "DynamoDB_20120810.DescribeTable"}
    status, answered, document = post(memory_server, body, **{**target, **headers})
    assert (status, orjson.loads(document)["__type"]) == (400, type_)
    check_answer("DescribeTable", status, document)
    assert len(answered["x-amzn-RequestId"]) == 52


def test_the_server_is_healthy(memory_server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(memory_server.url).netloc)
    try:
        for path, text in (
            ("/", b"healthy: dynamodb.us-east-1.amazonaws.com "),
            ("/health/live", None),
            ("/health/ready", None),
        ):
            connection.request("GET", path)
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == 200
            assert text is None or said == text
    finally:
        connection.close()
