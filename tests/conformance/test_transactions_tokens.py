"""ClientRequestToken: a transaction sent again within ten minutes is not done again.

Sources: limits.md section 8; errors.md section 6.8; capacity-consumption.md section 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_transactions import ABSENT, FAILED, put, reasons, stored, update

from faradisc.clock import ManualClock
from faradisc.database import Database, Settings
from faradisc.engine.transactions.tokens import RequestToken
from faradisc.errors import ApiError, IdempotentParameterMismatchException
from faradisc.model.codec.keyspace import TOKENS_PART
from faradisc.operations.call import Call
from faradisc.storage.rocks import open_rocks
from fixtures.in_process import InProcess
from fixtures.schemas import item, refused, schema

WINDOW_S = 600
OpenProcess = Callable[..., InProcess]


@pytest.fixture
def table(create: Callable[..., str]) -> str:
    return create("p:S")


def add(dynamodb: Any, table: str, token: str, amount: int = 1, **more: Any) -> Any:
    """Add to a counter: what is done twice is seen."""
    action = update(table, item(p="counter"), "ADD n :n", {":n": amount})
    return dynamodb.transact_write_items(TransactItems=[action], ClientRequestToken=token, **more)


def count(dynamodb: Any, table: str) -> int:
    return int(stored(dynamodb, table)["counter"]["n"])


def test_the_same_token_executes_once(dynamodb: Any, table: str) -> None:
    for _ in range(3):
        add(dynamodb, table, "token")
    assert count(dynamodb, table) == 1


def test_another_token_executes_again(dynamodb: Any, table: str) -> None:
    for token in ("one", "two", "x" * 36):
        add(dynamodb, table, token)
    assert count(dynamodb, table) == 3


def test_a_token_outlives_its_table(open_process: OpenProcess) -> None:
    """Assumed (docs/reference/assumptions.md): the request after the table was made again is a replay."""
    client = on_the_clock(open_process())
    add(client, "table", "token")
    client.delete_table(TableName="table")
    client.create_table(TableName="table", **schema("p:S"))
    add(client, "table", "token")
    assert stored(client, "table") == {}


def test_clients_generate_a_token(dynamodb: Any, table: str) -> None:
    """botocore fills in a new token for every call; each is work of its own."""
    for _ in range(2):
        dynamodb.transact_write_items(TransactItems=[update(table, item(p="counter"), "ADD n :n", {":n": 1})])
    assert count(dynamodb, table) == 2


def test_a_replay_succeeds_although_the_condition_would_fail_now(dynamodb: Any, table: str) -> None:
    once = {
        "TransactItems": [put(table, item(p="1"), ConditionExpression=ABSENT)],
        "ClientRequestToken": "token",
    }
    dynamodb.transact_write_items(**once)
    dynamodb.transact_write_items(**once)


def test_a_replay_leaves_later_changes(dynamodb: Any, table: str) -> None:
    once = {"TransactItems": [put(table, item(p="1", n=1))], "ClientRequestToken": "token"}
    dynamodb.transact_write_items(**once)
    dynamodb.put_item(TableName=table, Item=item(p="1", n=2))
    dynamodb.transact_write_items(**once)
    assert stored(dynamodb, table) == {"1": {"p": "1", "n": 2}}


OTHER_PARAMETERS: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "another item": lambda table: [put(table, item(p="1", n=2))],
    "another action": lambda table: [update(table, item(p="1"), "SET n = :n", {":n": 1})],
    "one action more": lambda table: [put(table, item(p="1", n=1)), put(table, item(p="2"))],
    "a condition": lambda table: [put(table, item(p="1", n=1), ConditionExpression=ABSENT)],
}


@pytest.mark.parametrize("case", OTHER_PARAMETERS)
def test_the_same_token_with_other_parameters_is_rejected(dynamodb: Any, table: str, case: str) -> None:
    dynamodb.transact_write_items(TransactItems=[put(table, item(p="1", n=1))], ClientRequestToken="token")
    with refused("IdempotentParameterMismatchException"):
        dynamodb.transact_write_items(TransactItems=OTHER_PARAMETERS[case](table), ClientRequestToken="token")
    assert stored(dynamodb, table) == {"1": {"p": "1", "n": 1}}


def test_return_consumed_capacity_may_differ_in_a_replay(dynamodb: Any, table: str) -> None:
    """What is reported is not what is done (API reference, ClientRequestToken)."""
    add(dynamodb, table, "token")
    answer = add(dynamodb, table, "token", ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2
    assert count(dynamodb, table) == 1


def test_the_order_of_members_may_differ_in_a_replay(raw: InProcess) -> None:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    for members in (("p", "n", "a"), ("a", "n", "p")):
        whole = item(p="1", n=1, a=2)
        attributes = {name: whole[name] for name in members}
        raw.call("TransactWriteItems", TransactItems=[put("table", attributes)], ClientRequestToken="t")


def test_a_cancelled_transaction_releases_its_token(dynamodb: Any, table: str) -> None:
    action = put(table, item(p="1", n=1), ConditionExpression="attribute_exists(p)")
    assert reasons(dynamodb, action, ClientRequestToken="token") == [FAILED]
    dynamodb.put_item(TableName=table, Item=item(p="1", n=0))
    dynamodb.transact_write_items(TransactItems=[action], ClientRequestToken="token")
    assert stored(dynamodb, table) == {"1": {"p": "1", "n": 1}}


def test_a_replay_that_is_invalid_by_itself_is_rejected(dynamodb: Any, table: str) -> None:
    """The token is looked up last: what needs no item is checked before."""
    dynamodb.transact_write_items(TransactItems=[put(table, item(p="1"))], ClientRequestToken="token")
    with refused("ResourceNotFoundException"):
        dynamodb.transact_write_items(
            TransactItems=[put("missing.table", item(p="1"))], ClientRequestToken="token"
        )


# --- On the clock --------------------------------------------------------------------------------


def on_the_clock(process: InProcess) -> Any:
    client = process.client()
    client.create_table(TableName="table", **schema("p:S"))
    return client


def test_a_token_is_valid_for_ten_minutes(open_process: OpenProcess, clock: ManualClock) -> None:
    client = on_the_clock(open_process())
    add(client, "table", "token")
    clock.advance(WINDOW_S - 0.001)
    add(client, "table", "token")
    assert count(client, "table") == 1
    clock.advance(0.001)
    add(client, "table", "token")
    assert count(client, "table") == 2


def test_a_replay_does_not_make_the_window_longer(open_process: OpenProcess, clock: ManualClock) -> None:
    client = on_the_clock(open_process())
    for _ in range(3):
        add(client, "table", "token")
        clock.advance(WINDOW_S / 2)
    assert count(client, "table") == 2


def test_an_expired_token_may_be_reused_with_other_parameters(
    open_process: OpenProcess, clock: ManualClock
) -> None:
    client = on_the_clock(open_process())
    add(client, "table", "token", 1)
    clock.advance(WINDOW_S)
    add(client, "table", "token", 5)
    with refused("IdempotentParameterMismatchException"):
        add(client, "table", "token", 1)
    assert count(client, "table") == 6


def test_a_token_survives_reopening(open_process: OpenProcess, clock: ManualClock, tmp_path: Path) -> None:
    process = open_process(tmp_path)
    add(on_the_clock(process), "table", "token")
    process.close()
    client = open_process(tmp_path).client()
    add(client, "table", "token")
    assert count(client, "table") == 1


def test_expired_tokens_are_removed(open_process: OpenProcess, clock: ManualClock) -> None:
    """More than one step of the job removes them, and what is not expired stays."""
    process = open_process()
    client = on_the_clock(process)
    for number in range(250):
        add(client, "table", f"old.{number}")
    clock.advance(WINDOW_S / 2)
    add(client, "table", "young")
    clock.advance(WINDOW_S / 2)
    client.list_tables()
    rows = process.run(process.store.range(TOKENS_PART, None, None, limit=1000))
    assert len(rows) == 2
    assert all(b"young" in key for key, _ in rows)
    add(client, "table", "young")
    assert count(client, "table") == 251
    clock.advance(WINDOW_S)
    client.list_tables()
    assert process.run(process.store.range(TOKENS_PART, None, None, limit=1000)) == []


# --- At the same time ----------------------------------------------------------------------------


def test_a_token_in_use_is_in_progress(open_process: OpenProcess) -> None:
    process = open_process()
    client = on_the_clock(process)
    tokens = process.backend.tokens
    running = RequestToken.of("000000000000", "token", {})
    tokens.begin(running)
    with refused("TransactionInProgressException"):
        add(client, "table", "token")
    tokens.end(running)
    add(client, "table", "token")
    assert count(client, "table") == 1


def test_of_many_concurrent_replays_one_is_executed(in_process_only: None, tmp_path: Path) -> None:
    """Requests overlap while they wait for the disk; the second one reports that, and a later
    retry finds the work done."""

    async def main() -> tuple[list[str], Any]:
        database = await Database.open(open_rocks(tmp_path), settings=Settings(transition_ms=0))

        async def call(operation: str, **request: Any) -> Any:
            return await database.execute(Call(operation, request, True, "us-east-1", "000000000000"))

        async def transact() -> str:
            action = update("table", item(p="counter"), "ADD n :n", {":n": 1})
            try:
                await call("TransactWriteItems", TransactItems=[action], ClientRequestToken="token")
            except ApiError as error:
                return type(error).__name__
            return "done"

        await call("CreateTable", TableName="table", **schema("p:S"))
        noise = [
            asyncio.create_task(call("PutItem", TableName="table", Item=item(p=str(n)))) for n in range(20)
        ]
        await asyncio.sleep(0)
        got = list(await asyncio.gather(*(transact() for _ in range(5))))
        await asyncio.gather(*noise)
        got.append(await transact())
        found = await call(
            "Query",
            TableName="table",
            KeyConditionExpression="p = :p",
            FilterExpression="n = :one",
            ExpressionAttributeValues=item(**{":p": "counter", ":one": 1}),
        )
        await database.close()
        return got, found["Count"]

    got, found = asyncio.run(main())
    assert got == ["done", *["TransactionInProgressException"] * 4, "done"]
    assert found == 1


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_token_of_encrypted_tables_is_stored_as_a_hash_and_found_by_both(
    raw: InProcess, monkeypatch: pytest.MonkeyPatch, first: bool, second: bool
) -> None:
    tokens, now_ns = raw.backend.tokens, raw.clock.now_ns()
    before = RequestToken.of("000000000000", "PATIENT-4711", {"a": 1}, hashed=first)
    raw.run(raw.store.commit([raw.run(tokens.batch(before, [("tab", 5)], now_ns))]))
    rows = raw.run(raw.store.range(TOKENS_PART, None, None, limit=10))
    assert any(b"PATIENT" in key for key, _ in rows) == (not first)
    again = RequestToken.of("000000000000", "PATIENT-4711", {"a": 1}, hashed=second)
    assert raw.run(tokens.find(again, now_ns)) == [("tab", 5)]
    other = RequestToken.of("000000000000", "PATIENT-4711", {"a": 2}, hashed=second)
    with pytest.raises(IdempotentParameterMismatchException):
        raw.run(tokens.find(other, now_ns))
