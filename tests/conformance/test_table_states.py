"""States of a table on the clock: CREATING, UPDATING and DELETING last as long as they are set to.

Sources: errors.md sections 2 and 6.1; docs/decisions/0006-short-transitions.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.in_process import InProcess
from fixtures.schemas import item, refused, schema

IN_USE = "Attempt to change a resource which is still in use: "
PROVISIONED = {
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
}
TEN = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}
OpenProcess = Callable[..., InProcess]


@pytest.fixture
def slow(open_process: OpenProcess) -> Any:
    """A client of a database whose transitions take ten seconds."""
    return open_process(transition_ms=10_000).client()


def status(client: Any, name: str = "table") -> str:
    return client.describe_table(TableName=name)["Table"]["TableStatus"]


def test_a_table_is_creating_until_its_time_has_passed(slow: Any, clock: ManualClock) -> None:
    slow.create_table(TableName="table", **schema("p:S", gsi={"index": ("g:S", "", "ALL")}))
    clock.advance(9.999)
    table = slow.describe_table(TableName="table")["Table"]
    assert table["TableStatus"] == "CREATING"
    assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    clock.advance(0.001)
    table = slow.describe_table(TableName="table")["Table"]
    assert table["TableStatus"] == "ACTIVE"
    assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"


def test_a_new_table_is_described_later(open_process: OpenProcess, clock: ManualClock) -> None:
    """Its metadata may not be there yet: what a program meets that describes right after it creates."""
    client = open_process(describe_lag_ms=3_000).client()
    for _ in range(2):
        client.create_table(TableName="table", **schema("p:S"))
        clock.advance(2.999)
        with refused("ResourceNotFoundException", "Requested resource not found: Table: table not found"):
            client.describe_table(TableName="table")
        client.put_item(TableName="table", Item=item(p="1"))
        assert client.list_tables()["TableNames"] == ["table"]
        clock.advance(0.001)
        assert status(client) == "ACTIVE"
        client.delete_table(TableName="table")


def test_a_table_still_creating_serves_no_data(slow: Any, clock: ManualClock) -> None:
    slow.create_table(TableName="table", **schema("p:S"))
    with refused("ResourceNotFoundException", "Requested resource not found"):
        slow.put_item(TableName="table", Item=item(p="1"))
    clock.advance(10)
    slow.put_item(TableName="table", Item=item(p="1"))


@pytest.mark.parametrize("call", ["put_item", "describe_table"])
def test_a_short_creation_ends_with_the_first_request(open_process: OpenProcess, call: str) -> None:
    """Waiters do not sleep for 5 ms (docs/decisions/0006-short-transitions.md)."""
    client = open_process(transition_ms=5).client()
    created = client.create_table(TableName="table", **schema("p:S"))
    assert created["TableDescription"]["TableStatus"] == "CREATING"
    getattr(client, call)(TableName="table", **({"Item": item(p="1")} if call == "put_item" else {}))
    assert status(client) == "ACTIVE"


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [("delete_table", {}), ("update_table", {"DeletionProtectionEnabled": True})],
    ids=["delete", "update"],
)
def test_a_table_still_creating_cannot_be_changed(
    slow: Any, operation: str, parameters: dict[str, Any]
) -> None:
    slow.create_table(TableName="table", **schema("p:S"))
    with refused("ResourceInUseException", IN_USE + "Table is being created: table"):
        getattr(slow, operation)(TableName="table", **parameters)


def test_of_two_creators_the_second_is_rejected(slow: Any) -> None:
    slow.create_table(TableName="table", **schema("p:S"))
    with refused("ResourceInUseException", "Table already exists: table"):
        slow.create_table(TableName="table", **schema("p:S"))


def test_new_throughput_holds_when_the_update_has_ended(slow: Any, clock: ManualClock) -> None:
    """The answer still shows the old units (capacity.md section 2.12; V110 without throttling)."""
    slow.create_table(TableName="table", **{**schema("p:S"), **PROVISIONED})
    clock.advance(10)
    answer = slow.update_table(TableName="table", ProvisionedThroughput=TEN)["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert answer["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    slow.put_item(TableName="table", Item=item(p="1"))
    clock.advance(10)
    table = slow.describe_table(TableName="table")["Table"]
    assert table["TableStatus"] == "ACTIVE"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 10
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 10


@pytest.mark.parametrize(
    ("billing", "update"),
    [
        (PROVISIONED, {"ProvisionedThroughput": TEN}),
        ({}, {"OnDemandThroughput": {"MaxReadRequestUnits": 100}}),
    ],
    ids=["units", "maximum"],
)
def test_an_index_whose_throughput_changes_is_updating(
    slow: Any, clock: ManualClock, billing: dict[str, Any], update: dict[str, Any]
) -> None:
    """IndexStatus of the service model: "UPDATING - The index is being updated"; and no other index is."""
    members = schema("p:S", gsi=dict.fromkeys(("changed", "other"), ("g:S", "", "ALL")))
    for index in members["GlobalSecondaryIndexes"] if billing else ():
        index["ProvisionedThroughput"] = PROVISIONED["ProvisionedThroughput"]
    slow.create_table(TableName="table", **{**members, **billing})
    clock.advance(10)

    def statuses(table: dict[str, Any]) -> dict[str, str]:
        return {index["IndexName"]: index["IndexStatus"] for index in table["GlobalSecondaryIndexes"]}

    answer = slow.update_table(
        TableName="table", GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "changed", **update}}]
    )
    assert statuses(answer["TableDescription"]) == {"changed": "UPDATING", "other": "ACTIVE"}
    assert statuses(slow.describe_table(TableName="table")["Table"])["changed"] == "UPDATING"
    clock.advance(10)
    assert set(statuses(slow.describe_table(TableName="table")["Table"]).values()) == {"ACTIVE"}


def test_a_second_update_waits_for_the_first(slow: Any, clock: ManualClock) -> None:
    slow.create_table(TableName="table", **{**schema("p:S"), **PROVISIONED})
    clock.advance(10)
    slow.update_table(TableName="table", ProvisionedThroughput=TEN)
    with refused("ResourceInUseException", IN_USE + "Table IOPS are currently being updated. Table: table"):
        slow.update_table(
            TableName="table", ProvisionedThroughput={"ReadCapacityUnits": 20, "WriteCapacityUnits": 20}
        )
    with refused("ResourceInUseException", IN_USE + "Table: table is in the process of being updated."):
        slow.delete_table(TableName="table")
    clock.advance(10)
    slow.delete_table(TableName="table")


def test_a_table_is_deleting_until_its_time_has_passed(slow: Any, clock: ManualClock) -> None:
    slow.create_table(TableName="table", **schema("p:S"))
    clock.advance(10)
    slow.put_item(TableName="table", Item=item(p="1"))
    slow.delete_table(TableName="table")
    assert status(slow) == "DELETING"
    assert slow.list_tables()["TableNames"] == ["table"]
    with refused("ResourceNotFoundException", "Requested resource not found"):
        slow.get_item(TableName="table", Key=item(p="1"))
    with refused("ResourceInUseException", IN_USE + "Table is being deleted: table"):
        slow.delete_table(TableName="table")
    with refused("ResourceInUseException", "Table already exists: table"):
        slow.create_table(TableName="table", **schema("p:S"))
    clock.advance(10)
    assert slow.list_tables()["TableNames"] == []
    with refused("ResourceNotFoundException"):
        slow.describe_table(TableName="table")
    slow.create_table(TableName="table", **schema("p:S"))
    clock.advance(10)
    assert slow.scan(TableName="table")["Items"] == []


def test_deletion_protection_changes_at_once(slow: Any, clock: ManualClock) -> None:
    slow.create_table(TableName="table", **schema("p:S"))
    clock.advance(10)
    answer = slow.update_table(TableName="table", DeletionProtectionEnabled=True)["TableDescription"]
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["DeletionProtectionEnabled"] is True


def test_creation_time_comes_from_the_clock(slow: Any, clock: ManualClock) -> None:
    clock.advance(1.5)
    slow.create_table(TableName="table", **schema("p:S"))
    created = slow.describe_table(TableName="table")["Table"]["CreationDateTime"]
    assert created.timestamp() == 1_700_000_001.5


def test_unfinished_transitions_survive_reopening(
    open_process: OpenProcess, clock: ManualClock, tmp_path: Path
) -> None:
    """A restart continues a transition; it ends at the moment it was to end."""
    process = open_process(tmp_path, transition_ms=10_000)
    client = process.client()
    client.create_table(TableName="older", **schema("p:S"))
    clock.advance(10)
    client.create_table(TableName="newer", **schema("p:S"))
    client.delete_table(TableName="older")
    process.close()
    client = open_process(tmp_path, transition_ms=10_000).client()
    assert status(client, "newer") == "CREATING"
    clock.advance(10)
    assert status(client, "newer") == "ACTIVE"
    assert client.list_tables()["TableNames"] == ["newer"]
