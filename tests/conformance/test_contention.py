"""Requests that overlap on one event loop, on a store whose commits wait for the disk.

What it proves: nothing is lost between a read and the commit that rests on it, however requests are mixed;
of several that exclude each other exactly one wins, the others get the service's own errors. Why not
through HTTP: here all of them are certain to be under way at once. Source: engine-requirements.md, class 4
and the stress scenarios; issue 2, "Two creators racing".
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.database import Database, Settings
from faradisc.protocol import front
from faradisc.protocol.http import HttpRequest
from faradisc.storage.rocks import open_rocks
from fixtures.answers import check_answer
from fixtures.in_process import InProcess, headers_of
from fixtures.schemas import schema

DONE = "done"
Call = Callable[..., Awaitable[str]]
Scene = Callable[[Call], Coroutine[Any, Any, None]]
Play = Callable[[Scene], InProcess]


@pytest.fixture
def play(tmp_path: Path, bugs_surface: None, in_process_only: None) -> Iterator[Play]:
    """play(scene) runs it on an event loop, then opens what it left on the disk and checks it."""

    def call_of(choose: Callable[[], Database]) -> Call:
        async def call(operation: str, **request: Any) -> str:
            """DONE, or the code of the error."""
            body = orjson.dumps(request)
            answer = await front.answer(choose(), HttpRequest("POST", b"/", headers_of(operation), body))
            check_answer(operation, answer.status, answer.body)
            if answer.status == 200:
                return DONE
            return orjson.loads(answer.body)["__type"].rpartition("#")[2]

        return call

    async def on_loop(scene: Scene) -> None:
        store = open_rocks(tmp_path / "data", durability="grouped")
        database = await Database.open(store, settings=Settings(transition_ms=0))
        await scene(call_of(lambda: database))
        await database.close()

    opened: list[InProcess] = []

    def play(scene: Scene) -> InProcess:
        if InProcess.open_nodes is not None:
            opened.append(InProcess())
            opened[-1].run(scene(call_of(lambda: opened[-1].database)))
            opened[-1].check()
            return opened[-1]
        asyncio.run(on_loop(scene))
        opened.append(InProcess(tmp_path / "data"))
        opened[-1].check()
        return opened[-1]

    yield play
    for process in opened:
        process.close()


KEY = {"p": {"S": "1"}}
INDEXED = schema("p:S", gsi={"by-n": ("n:N", "", "ALL")})
COUNT = {
    "TableName": "table",
    "Key": KEY,
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}


async def create(call: Call) -> None:
    assert await call("CreateTable", TableName="table", **INDEXED) == DONE


def test_fifty_clients_on_one_counter(play: Play) -> None:
    async def scene(call: Call) -> None:
        await create(call)
        for _ in range(4):
            assert set(await asyncio.gather(*(call("UpdateItem", **COUNT) for _ in range(50)))) == {DONE}

    found = play(scene).call("Query", TableName="table", IndexName="by-n", **by_n(200))
    assert found["Items"] == [{**KEY, "n": {"N": "200"}}]


def by_n(n: int) -> dict[str, Any]:
    return {"KeyConditionExpression": "n = :n", "ExpressionAttributeValues": {":n": {"N": str(n)}}}


def test_of_many_first_puts_one_wins(play: Play) -> None:
    async def scene(call: Call) -> None:
        await create(call)
        puts = (
            call(
                "PutItem",
                TableName="table",
                Item={**KEY, "n": {"N": str(n)}},
                ConditionExpression="attribute_not_exists(p)",
            )
            for n in range(20)
        )
        verdicts = Counter(await asyncio.gather(*puts))
        assert verdicts == {DONE: 1, "ConditionalCheckFailedException": 19}

    assert play(scene).call("Scan", TableName="table", IndexName="by-n")["Count"] == 1


def test_of_many_updates_of_one_version_one_wins(play: Play) -> None:
    async def scene(call: Call) -> None:
        await create(call)
        await call("PutItem", TableName="table", Item={**KEY, "n": {"N": "0"}})
        for version in range(5):
            updates = (
                call(
                    "UpdateItem",
                    TableName="table",
                    Key=KEY,
                    UpdateExpression="SET n = :new",
                    ConditionExpression="n = :old",
                    ExpressionAttributeValues={":old": {"N": str(version)}, ":new": {"N": str(version + 1)}},
                )
                for _ in range(10)
            )
            assert Counter(await asyncio.gather(*updates))[DONE] == 1

    assert play(scene).call("GetItem", TableName="table", Key=KEY)["Item"]["n"] == {"N": "5"}


def test_unconditional_puts_all_succeed(play: Play) -> None:
    async def scene(call: Call) -> None:
        await create(call)
        puts = (call("PutItem", TableName="table", Item={**KEY, "n": {"N": str(n)}}) for n in range(30))
        assert set(await asyncio.gather(*puts)) == {DONE}

    assert play(scene).call("Scan", TableName="table", IndexName="by-n")["Count"] == 1


def test_batches_puts_and_deletes_of_the_same_items(play: Play) -> None:
    """Whichever write comes last, table, index and counters agree (checked by `play`)."""

    async def scene(call: Call) -> None:
        await create(call)

        def batch(n: int) -> Awaitable[str]:
            puts = [{"PutRequest": {"Item": {"p": {"S": str(p)}, "n": {"N": str(n)}}}} for p in range(25)]
            return call("BatchWriteItem", RequestItems={"table": puts})

        for n in range(5):
            requests = [batch(n), batch(-n - 1)]
            for p in range(0, 25, 3):
                requests.append(call("DeleteItem", TableName="table", Key={"p": {"S": str(p)}}))
                requests.append(call("UpdateItem", **{**COUNT, "Key": {"p": {"S": str(p + 1)}}}))
            assert set(await asyncio.gather(*requests)) == {DONE}

    assert play(scene).call("Scan", TableName="table")["Count"] >= 16


def test_of_two_creators_one_wins(play: Play) -> None:
    async def scene(call: Call) -> None:
        creators = (call("CreateTable", TableName="table", **INDEXED) for _ in range(5))
        assert Counter(await asyncio.gather(*creators)) == {DONE: 1, "ResourceInUseException": 4}
        others = (call("CreateTable", TableName=f"table{n}", **INDEXED) for n in range(5))
        assert set(await asyncio.gather(*others)) == {DONE}

    assert len(play(scene).call("ListTables")["TableNames"]) == 6


def test_updates_of_one_table_wait_for_each_other(play: Play) -> None:
    async def scene(call: Call) -> None:
        await create(call)
        tags = (
            call("UpdateTable", TableName="table", DeletionProtectionEnabled=bool(n % 2)) for n in range(6)
        )
        assert set(await asyncio.gather(*tags)) <= {DONE, "ResourceInUseException"}

    assert play(scene).call("DescribeTable", TableName="table")["Table"]["TableStatus"] == "ACTIVE"


def test_writes_to_a_table_that_is_being_deleted(play: Play) -> None:
    """Each succeeds or reports a missing table; the next table of that name is empty."""

    async def scene(call: Call) -> None:
        for _ in range(3):
            await create(call)
            requests = [call("UpdateItem", **COUNT) for _ in range(10)]
            requests.insert(5, call("DeleteTable", TableName="table"))
            verdicts = await asyncio.gather(*requests)
            assert set(verdicts) <= {DONE, "ResourceNotFoundException"}
        await create(call)

    assert play(scene).call("DescribeTable", TableName="table")["Table"]["ItemCount"] == 0


def test_readers_never_see_a_counter_go_back(play: Play) -> None:
    async def scene(call: Call) -> None:
        await create(call)
        await call("UpdateItem", **COUNT)

        async def count_and_look() -> None:
            # A condition that fails would mean that less is seen than was acknowledged.
            for least in range(1, 6):
                await call("UpdateItem", **COUNT)
                verdict = await call(
                    "UpdateItem",
                    TableName="table",
                    Key=KEY,
                    ConditionExpression="n >= :least",
                    ExpressionAttributeValues={":least": {"N": str(least)}},
                )
                assert verdict == DONE

        await asyncio.gather(*(count_and_look() for _ in range(8)))

    assert play(scene).call("GetItem", TableName="table", Key=KEY)["Item"]["n"] == {"N": "41"}
