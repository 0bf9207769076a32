"""A database that was written with a clock in the future."""

from __future__ import annotations

import signal
from http.client import HTTPConnection
from typing import Any

import pytest

from fixtures.clients import client_at


def advance(port: int, seconds: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    body = f'{{"advance_s": {seconds}}}'
    connection.request("POST", "/_faradisc/clock", body, {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


def change(dynamodb: Any, write_units: int) -> None:
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": write_units}
    dynamodb.update_table(TableName="Orders", ProvisionedThroughput=units)


@pytest.mark.parametrize("clock", ["--virtual-clock", "--time-scale=1"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_data_written_with_a_clock_in_the_future_is_read(
    start_server: Any, clock: str, end: signal.Signals
) -> None:
    options = ("--data-dir", "data", "--throughput", "aws")
    server = start_server(*options, "--virtual-clock")
    dynamodb = client_at(server.port)
    dynamodb.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": 10},
    )
    advance(server.port, 3600)
    change(dynamodb, 50)
    advance(server.port, 60)
    server.stop(end)
    server = start_server(*options, clock)
    dynamodb = client_at(server.port)
    table = dynamodb.describe_table(TableName="Orders")["Table"]
    assert (table["TableStatus"], table["ProvisionedThroughput"]["WriteCapacityUnits"]) == ("ACTIVE", 50)
    change(dynamodb, 60)
    server.stop()
