"""Injected conflicts: errors as during an ongoing transaction, to test retries with.

Sources: service.md section 4; errors.md section 6.8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_transactions import NONE, check, get, put, reasons, reasons_of, stored, update

from faradisc.local import LocalDatabase
from fixtures.in_process import InProcess
from fixtures.schemas import invalid, item, refused, schema

CONFLICT = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
OpenProcess = Callable[..., InProcess]


def opened(open_process: OpenProcess, rate: float, seed: int = 0) -> Any:
    client = open_process(conflict_rate=rate, conflict_seed=seed).client()
    client.create_table(TableName="table", **schema("p:S"))
    return client


SINGLE: dict[str, dict[str, Any]] = {
    "put_item": {"Item": item(p="1")},
    "delete_item": {"Key": item(p="1")},
    "update_item": {
        "Key": item(p="1"),
        "UpdateExpression": "SET a = :a",
        "ExpressionAttributeValues": item(**{":a": 1}),
    },
}


@pytest.mark.parametrize("operation", SINGLE)
def test_a_single_write_is_rejected_with_a_conflict(open_process: OpenProcess, operation: str) -> None:
    client = opened(open_process, 1.0)
    with refused("TransactionConflictException", "Transaction is ongoing for the item"):
        getattr(client, operation)(TableName="table", **SINGLE[operation])
    assert stored(client, "table") == {}


def test_a_transaction_is_cancelled_by_one_of_its_actions(open_process: OpenProcess) -> None:
    client = opened(open_process, 1.0)
    actions = [put("table", item(p=str(n))) for n in range(4)]
    seen = set()
    for _ in range(40):
        got = reasons(client, *actions)
        assert sorted(got, key=len) == [NONE, NONE, NONE, CONFLICT]
        seen.add(got.index(CONFLICT))
    assert seen == {0, 1, 2, 3}
    assert stored(client, "table") == {}


def test_a_read_transaction_is_cancelled_too(open_process: OpenProcess) -> None:
    client = opened(open_process, 1.0)
    assert reasons_of(client.transact_get_items, [get("table", item(p="1"))], {}) == [CONFLICT]


def test_reads_and_batches_have_no_conflicts(open_process: OpenProcess) -> None:
    client = opened(open_process, 1.0)
    client.batch_write_item(RequestItems={"table": [{"PutRequest": {"Item": item(p="1")}}]})
    assert client.get_item(TableName="table", Key=item(p="1"))["Item"] == item(p="1")
    assert client.query(
        TableName="table", KeyConditionExpression="p = :p", ExpressionAttributeValues=item(**{":p": "1"})
    )["Items"]


def test_other_errors_are_reported_before_conflicts(open_process: OpenProcess) -> None:
    client = opened(open_process, 1.0)
    with invalid():
        client.put_item(TableName="table", Item=item(q="1"))
    with refused("ResourceNotFoundException"):
        client.transact_write_items(TransactItems=[put("missing.table", item(p="1"))])
    got = reasons(client, check("table", item(p=1), "attribute_exists(p)"))
    assert [reason["Code"] for reason in got] == ["ValidationError"]


def outcomes(client: Any, count: int = 200) -> list[bool]:
    """Which of so many writes were refused."""
    rejected = []
    for n in range(count):
        try:
            client.put_item(TableName="table", Item=item(p=str(n)))
            rejected.append(False)
        except client.exceptions.TransactionConflictException:
            rejected.append(True)
    return rejected


def test_the_rate_is_a_share_and_the_seed_gives_a_sequence(open_process: OpenProcess) -> None:
    first = outcomes(opened(open_process, 0.25, seed=7))
    assert 30 <= sum(first) <= 70
    assert outcomes(opened(open_process, 0.25, seed=7)) == first
    assert outcomes(opened(open_process, 0.25, seed=8)) != first


def test_without_injection_nothing_is_rejected(open_process: OpenProcess) -> None:
    assert not any(outcomes(opened(open_process, 0.0)))


def test_a_conflicting_transaction_may_be_retried_with_its_token(open_process: OpenProcess) -> None:
    client = opened(open_process, 0.5, seed=3)
    tries = 0
    for number in range(20):
        action = update("table", item(p="counter"), "ADD n :n", {":n": 1})
        while True:
            tries += 1
            try:
                client.transact_write_items(TransactItems=[action], ClientRequestToken=f"token.{number}")
                break
            except client.exceptions.TransactionCanceledException:
                continue
    assert tries > 20
    while True:
        try:
            found = client.transact_get_items(TransactItems=[get("table", item(p="counter"))])
            break
        except client.exceptions.TransactionCanceledException:
            continue
    assert found["Responses"][0]["Item"]["n"] == {"N": "20"}


def test_a_rate_is_between_0_and_1() -> None:
    for rate in (-0.1, 1.1):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            LocalDatabase(conflict_rate=rate)
