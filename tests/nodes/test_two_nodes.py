"""Two nodes of one store: what one changes, the other uses, whatever it is doing at that moment.

What it proves: no write leaves out an index, a stream or an expiry index that another node has added; no
write reaches a table that another node has deleted; nothing is applied twice. The stores let other coroutines
run around each call, in many orders. At the end the whole store is compared with itself.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fixtures.many_nodes import Node, Nodes, Place, Play, Rejected
from fixtures.schemas import item, schema
from fixtures.searching import seeds

TABLE = schema("p:S")
GSI = {
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "g", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "index",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}
WITHOUT_GSI = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "index"}}]}
PLACES = pytest.mark.parametrize("place", [*seeds(6, 3), "postgres"])
"""Seeds of a memory whose calls overlap, and PostgreSQL."""
HERE_AND_THERE = pytest.mark.parametrize("place", [0, "postgres"])


async def put_many(node: Node, count: int, *, first: int = 0) -> None:
    for number in range(first, first + count):
        await node.on("t", "PutItem", Item=item(p=f"k{number}", g=f"g{number % 3}", exp=10**9 + number))


async def all_items(node: Node, table: str = "t", **more: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        page = await node.on(table, "Scan", ConsistentRead="IndexName" not in more, **start, **more)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return sorted(items, key=lambda each: each["p"]["S"])
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


async def wait_for_index(nodes: Nodes, *, active: bool) -> None:
    while True:
        shown = (await nodes.any().on("t", "DescribeTable"))["Table"].get("GlobalSecondaryIndexes", [])
        if all(index["IndexStatus"] == "ACTIVE" for index in shown) and bool(shown) == active:
            return
        await asyncio.sleep(0)


@HERE_AND_THERE
def test_a_table_of_one_node_is_used_by_the_other_at_once(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await one.on("t", "CreateTable", **TABLE)
        with pytest.raises(Rejected, match="ResourceInUseException: Table already exists: t"):
            await other.on("t", "CreateTable", **TABLE)
        await other.on("t", "PutItem", Item=item(p="a"))
        assert (await one.on("t", "GetItem", Key=item(p="a")))["Item"] == item(p="a")
        assert (await other("ListTables"))["TableNames"] == ["t"]
        await other.on("t", "DeleteTable")
        with pytest.raises(Rejected, match="ResourceNotFoundException"):
            await one.on("t", "GetItem", Key=item(p="a"))
        await one.on("t", "CreateTable", **schema("q:N"))
        await other.on("t", "PutItem", Item=item(q=1))
        assert (await one.on("t", "Scan"))["Items"] == [item(q=1)]

    play(scenario, place)


@HERE_AND_THERE
def test_a_table_that_the_other_node_made_is_found_by_every_operation(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        key = {"TableName": "{}", "Key": item(p="a")}
        statement = {"Statement": "UPDATE \"{}\" SET n = 1 WHERE p = 'a'"}
        read = {"Statement": "SELECT * FROM \"{}\" WHERE p = 'a'"}
        requests: list[tuple[str, dict[str, Any]]] = [
            ("GetItem", key),
            ("PutItem", {"TableName": "{}", "Item": item(p="a")}),
            ("UpdateItem", key),
            ("DeleteItem", key),
            ("Scan", {"TableName": "{}"}),
            ("BatchGetItem", {"RequestItems": {"{}": {"Keys": [item(p="a")]}}}),
            ("BatchWriteItem", {"RequestItems": {"{}": [{"PutRequest": {"Item": item(p="a")}}]}}),
            ("TransactGetItems", {"TransactItems": [{"Get": key}]}),
            ("TransactWriteItems", {"TransactItems": [{"Delete": key}]}),
            ("ExecuteStatement", read),
            ("BatchExecuteStatement", {"Statements": [read]}),
            ("ExecuteTransaction", {"TransactStatements": [read]}),
            ("DescribeTable", {"TableName": "{}"}),
            ("DescribeTimeToLive", {"TableName": "{}"}),
        ]
        for operation, request in requests:
            await one.on(operation, "CreateTable", **TABLE)
            answer = await other(operation, **_with_name(request, operation))
            assert "Error" not in str(answer), operation
        await one.on("u", "CreateTable", **TABLE)
        await one.on("u", "PutItem", Item=item(p="a"))
        changed = await other("BatchExecuteStatement", Statements=[_with_name(statement, "u")])
        assert changed == {"Responses": [{"TableName": "u"}]}

    play(scenario, place)


def _with_name(request: Any, name: str) -> Any:
    """Returns the request with a table's name in place of "{}"."""
    if isinstance(request, dict):
        return {_with_name(key, name): _with_name(value, name) for key, value in request.items()}
    if isinstance(request, list):
        return [_with_name(each, name) for each in request]
    return request.replace("{}", name) if isinstance(request, str) else request


@PLACES
def test_an_index_added_while_the_other_node_writes_has_every_item(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await one.on("t", "CreateTable", **TABLE)
        await put_many(other, 10)
        writing = asyncio.ensure_future(put_many(other, 40, first=5))
        await one.on("t", "UpdateTable", **GSI)
        await wait_for_index(nodes, active=True)
        await writing
        await put_many(one, 5, first=100)
        expected = await all_items(one)
        assert len(expected) == 50
        assert await all_items(other, IndexName="index") == expected

    play(scenario, place)


@PLACES
def test_an_index_that_comes_and_goes_under_writes_agrees_with_the_table(play: Play, place: Place) -> None:
    """The comparison of the whole store at the end is the test."""

    async def scenario(nodes: Nodes) -> None:
        await nodes.call("CreateTable", TableName="t", **TABLE)
        done = False

        async def write() -> None:
            while not done:
                key = item(p=f"k{nodes.chance.randrange(8)}")
                group = {":g": {"S": nodes.chance.choice("ab")}, ":one": {"N": "1"}}
                update = "SET g = :g ADD n :one"
                await nodes.any().on(
                    "t", "UpdateItem", Key=key, UpdateExpression=update, ExpressionAttributeValues=group
                )
                if nodes.chance.random() < 0.3:
                    await nodes.any().on("t", "DeleteItem", Key=key)

        writers = [asyncio.ensure_future(write()) for _ in range(3)]
        for _ in range(3):
            await nodes.any().on("t", "UpdateTable", **GSI)
            await wait_for_index(nodes, active=True)
            await nodes.any().on("t", "UpdateTable", **WITHOUT_GSI)
            await wait_for_index(nodes, active=False)
        await nodes.any().on("t", "UpdateTable", **GSI)
        await wait_for_index(nodes, active=True)
        done = True
        await asyncio.gather(*writers)

    play(scenario, place)


@PLACES
def test_a_stream_switched_on_while_the_other_node_writes_has_every_later_change(
    play: Play, place: Place
) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await one.on("t", "CreateTable", **TABLE)
        on = False
        late: list[int] = []

        async def write() -> None:
            for number in range(40):
                if on:
                    late.append(number)
                await other.on("t", "PutItem", Item=item(p=f"k{number}"))

        writing = asyncio.ensure_future(write())
        await asyncio.sleep(0)
        specification = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        shown = await one.on("t", "UpdateTable", StreamSpecification=specification)
        on = True
        await writing
        arn = shown["TableDescription"]["LatestStreamArn"]
        records = await _records(nodes, arn)
        keys = [record["dynamodb"]["Keys"]["p"]["S"] for record in records]
        assert late
        assert set(keys) >= {f"k{number}" for number in late}
        assert len(set(keys)) == len(keys)

    play(scenario, place)


async def _records(nodes: Nodes, arn: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    described = await nodes.call("DescribeStream", StreamArn=arn)
    for shard in described["StreamDescription"]["Shards"]:
        begun = await nodes.call(
            "GetShardIterator",
            StreamArn=arn,
            ShardId=shard["ShardId"],
            ShardIteratorType="TRIM_HORIZON",
        )
        iterator = begun["ShardIterator"]
        while page := await nodes.call("GetRecords", ShardIterator=iterator):
            records += page["Records"]
            iterator = page.get("NextShardIterator")
            if not page["Records"] or iterator is None:
                break
    return records


@PLACES
def test_time_to_live_switched_on_while_the_other_node_writes_covers_every_item(
    play: Play, place: Place
) -> None:
    """The items expire; those without the attribute stay."""

    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await one.on("t", "CreateTable", **TABLE)

        async def write() -> None:
            for number in range(30):
                expiry = {"exp": nodes.clock.now_ns() // 10**9 + 1} if number % 3 else {}
                await other.on("t", "PutItem", Item=item(p=f"k{number}", **expiry))

        writing = asyncio.ensure_future(write())
        specification = {"Enabled": True, "AttributeName": "exp"}
        await one.on("t", "UpdateTimeToLive", TimeToLiveSpecification=specification)
        await writing
        while len(await all_items(nodes.any())) > 10:
            nodes.clock.advance(1)
            await asyncio.sleep(0)

    play(scenario, place)


@PLACES
def test_a_table_made_anew_has_the_items_written_since_and_no_others(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await one.on("t", "CreateTable", **TABLE)
        answered: list[tuple[str, bool, bool]] = []
        made = False
        done = False

        async def write(name: str) -> None:
            number = 0
            while not done:
                number += 1
                key, before = f"{name}{number}", made
                try:
                    await other.on("t", "PutItem", Item=item(p=key))
                except Rejected as rejected:
                    assert rejected.code == "ResourceNotFoundException"
                    continue
                answered.append((key, before, made))

        writers = [asyncio.ensure_future(write(name)) for name in "abc"]
        for _ in range(20):
            await asyncio.sleep(0)
        await one.on("t", "DeleteTable")
        deleted = len(answered)
        while True:
            try:
                await one.on("t", "CreateTable", **TABLE)
                break
            except Rejected as rejected:
                assert rejected.code == "ResourceInUseException"
                await asyncio.sleep(0)
        made = True
        for _ in range(50):
            await asyncio.sleep(0)
        done = True
        await asyncio.gather(*writers)
        there = {each["p"]["S"] for each in await all_items(one)}
        assert there >= {key for key, begun_after, _ in answered if begun_after}
        assert not there & {key for key, _, _ in answered[:deleted]}

    play(scenario, place)


@PLACES
def test_counters_on_both_nodes_add_up(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        await nodes.call("CreateTable", TableName="t", **TABLE)
        one = {":one": {"N": "1"}}

        async def add(number: int) -> None:
            for turn in range(20):
                node, key = nodes.any(), item(p=f"k{turn % 2}")
                if (number + turn) % 3 == 0:
                    statement = f"UPDATE t SET n = n + 1 WHERE p = 'k{turn % 2}'"
                    answer = await node("BatchExecuteStatement", Statements=[{"Statement": statement}])
                    assert answer == {"Responses": [{"TableName": "t"}]}
                elif (number + turn) % 3 == 1:
                    update = {
                        "TableName": "t",
                        "Key": key,
                        "UpdateExpression": "ADD n :one",
                        "ExpressionAttributeValues": one,
                    }
                    await node("TransactWriteItems", TransactItems=[{"Update": update}])
                else:
                    await node.on(
                        "t",
                        "UpdateItem",
                        Key=key,
                        UpdateExpression="ADD n :one",
                        ExpressionAttributeValues=one,
                    )

        for key in ("k0", "k1"):
            await nodes.call("PutItem", TableName="t", Item=item(p=key, n=0))
        adding = asyncio.gather(*map(add, range(8)))
        for tags in ("a", "b", "c"):
            arn = (await nodes.any().on("t", "DescribeTable"))["Table"]["TableArn"]
            await nodes.call("TagResource", ResourceArn=arn, Tags=[{"Key": tags, "Value": "1"}])
        await adding
        assert await all_items(nodes.any()) == [item(p="k0", n=80), item(p="k1", n=80)]

    play(scenario, place)


@HERE_AND_THERE
def test_one_token_on_both_nodes_at_once_is_applied_once(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        await nodes.call("CreateTable", TableName="t", **TABLE)
        update = {
            "TableName": "t",
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }

        async def send(node: Node, number: int) -> bool:
            request = {"TransactItems": [{"Update": {**update, "Key": item(p=f"k{number}")}}]}
            try:
                await node("TransactWriteItems", ClientRequestToken=f"token {number}", **request)
                return True
            except Rejected as rejected:
                assert rejected.code == "TransactionInProgressException"
                return False

        for number in range(200):
            assert any(await asyncio.gather(*(send(node, number) for node in nodes.nodes)))
        expected = sorted(
            (item(p=f"k{number}", n=1) for number in range(200)), key=lambda each: each["p"]["S"]
        )
        assert await all_items(nodes.any()) == expected

    play(scenario, place)


@PLACES
def test_transactions_on_both_nodes_are_not_cancelled_by_each_other(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        await nodes.call("CreateTable", TableName="t", **TABLE)

        async def add() -> None:
            for _ in range(10):
                keys = nodes.chance.sample(["a", "b", "c"], 2)
                updates = [
                    {
                        "TableName": "t",
                        "Key": item(p=key),
                        "UpdateExpression": "ADD n :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                    for key in keys
                ]
                await nodes.call("TransactWriteItems", TransactItems=[{"Update": each} for each in updates])

        await asyncio.gather(*(add() for _ in range(6)))
        assert sum(int(each["n"]["N"]) for each in await all_items(nodes.any())) == 120

    play(scenario, place)


@PLACES
def test_a_cancelled_transaction_returns_items_of_one_moment(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await one.on("t", "CreateTable", **TABLE)
        written = False

        async def write() -> None:
            nonlocal written
            for number in range(40):
                puts = [{"Put": {"TableName": "t", "Item": item(p=key, n=number)}} for key in "abc"]
                await one("TransactWriteItems", TransactItems=puts)
            written = True

        writing = asyncio.ensure_future(write())
        checks = [
            {
                "ConditionCheck": {
                    "TableName": "t",
                    "Key": item(p=key),
                    "ConditionExpression": "n < :none",
                    "ExpressionAttributeValues": {":none": {"N": "0"}},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
            for key in "abc"
        ]
        while not written:
            with pytest.raises(Rejected, match="TransactionCanceledException") as rejected:
                await other("TransactWriteItems", TransactItems=checks)
            seen = [reason.get("Item", {}).get("n") for reason in rejected.value.extra["CancellationReasons"]]
            assert len(set(map(str, seen))) == 1, seen
        await writing

    play(scenario, place)


@HERE_AND_THERE
def test_settings_changed_on_one_node_are_shown_by_the_other(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        made = await one.on("t", "CreateTable", **TABLE)
        arn = made["TableDescription"]["TableArn"]
        await other("TagResource", ResourceArn=arn, Tags=[{"Key": "a", "Value": "1"}])
        assert (await one("ListTagsOfResource", ResourceArn=arn))["Tags"] == [{"Key": "a", "Value": "1"}]
        await one("UntagResource", ResourceArn=arn, TagKeys=["a"])
        assert (await other("ListTagsOfResource", ResourceArn=arn))["Tags"] == []
        await other.on("t", "UpdateTable", DeletionProtectionEnabled=True)
        with pytest.raises(Rejected, match="deletion protection"):
            await one.on("t", "DeleteTable")
        units = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}
        await one.on("t", "UpdateTable", BillingMode="PROVISIONED", ProvisionedThroughput=units)
        shown = (await other.on("t", "DescribeTable"))["Table"]["ProvisionedThroughput"]
        assert {name: shown[name] for name in units} == units
        recovery = {"PointInTimeRecoveryEnabled": True}
        await other.on("t", "UpdateContinuousBackups", PointInTimeRecoverySpecification=recovery)
        shown = (await one.on("t", "DescribeContinuousBackups"))["ContinuousBackupsDescription"]
        assert shown["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
        specification = {"Enabled": True, "AttributeName": "exp"}
        await one.on("t", "UpdateTimeToLive", TimeToLiveSpecification=specification)
        shown = (await other.on("t", "DescribeTimeToLive"))["TimeToLiveDescription"]
        assert shown["AttributeName"] == "exp"

    play(scenario, place)


@PLACES
def test_changes_of_the_catalog_on_both_nodes_at_once_are_all_made(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        names = [f"t{number}" for number in range(6)]

        async def make(node: Node, name: str) -> bool:
            try:
                await node.on(name, "CreateTable", **TABLE)
                return True
            except Rejected as rejected:
                assert rejected.code == "ResourceInUseException"
                return False

        made = await asyncio.gather(*(make(node, name) for name in names for node in nodes.nodes))
        assert sum(made) == len(names)
        described = [(await nodes.any().on(name, "DescribeTable"))["Table"] for name in names]
        arns = [each["TableArn"] for each in described]

        async def tag(number: int) -> None:
            await nodes.call(
                "TagResource", ResourceArn=arns[number % 2], Tags=[{"Key": str(number), "Value": ""}]
            )

        await asyncio.gather(*map(tag, range(10)))
        for which in range(2):
            tags = (await nodes.call("ListTagsOfResource", ResourceArn=arns[which]))["Tags"]
            assert {each["Key"] for each in tags} == {str(number) for number in range(which, 10, 2)}

        async def fill(name: str) -> None:
            for number in range(5):
                await nodes.any().on(name, "PutItem", Item=item(p=f"{name} {number}"))

        await asyncio.gather(*map(fill, names))
        for name in names:
            assert [each["p"]["S"][:2] for each in await all_items(nodes.any(), name)] == [name] * 5

    play(scenario, place)


def test_a_restore_divides_no_transaction_of_nodes_whose_clocks_differ(play: Play) -> None:
    """The node whose clock is a second ahead changes an item first; a transaction of the other follows."""

    async def scenario(nodes: Nodes) -> None:
        one, other = nodes.nodes
        await other.on("t", "CreateTable", **TABLE)
        await other.on("t", "PutItem", Item=item(p="a", n=0))
        recovery = {"PointInTimeRecoveryEnabled": True}
        await other.on("t", "UpdateContinuousBackups", PointInTimeRecoverySpecification=recovery)
        nodes.clock.advance(10)
        began_ns = nodes.clock.now_ns()
        await one.on("t", "PutItem", Item=item(p="a", n=1))
        puts = [{"Put": {"TableName": "t", "Item": item(p=key, n=2)}} for key in ("a", "b")]
        await other("TransactWriteItems", TransactItems=puts)
        nodes.clock.advance(10)
        seen = set()
        for number, after_ms in enumerate((-1, 1, 500, 999, 1001, 3000)):
            moment = (began_ns // 1_000_000 + after_ms) / 1000
            name = f"restored{number}"
            await nodes.call(
                "RestoreTableToPointInTime", SourceTableName="t", TargetTableName=name, RestoreDateTime=moment
            )
            while True:
                shown = (await one.on(name, "DescribeTable"))["Table"]
                if shown["TableStatus"] == "ACTIVE":
                    break
                await asyncio.sleep(0)
            found = {each["p"]["S"]: int(each["n"]["N"]) for each in await all_items(other, name)}
            seen.add(tuple(found.items()))
        assert seen == {(("a", 0),), (("a", 2), ("b", 2))}  # the two changes are a nanosecond apart

    play(scenario, 0, ahead_s=1)


@HERE_AND_THERE
def test_vector_indexes_are_rejected(play: Play, place: Place) -> None:
    async def scenario(nodes: Nodes) -> None:
        index = {
            "IndexName": "v",
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": 2,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "ALL"},
        }
        with pytest.raises(Rejected, match="Vector indexes are not supported by servers with --store"):
            await nodes.call("CreateTable", TableName="t", **TABLE, VectorIndexes=[index])
        assert (await nodes.call("ListTables"))["TableNames"] == []

    play(scenario, place)


@HERE_AND_THERE
def test_nodes_share_the_expiry_of_tables_and_take_over_that_of_a_node_that_stands(
    play: Play, place: Place
) -> None:
    """Every item is deleted once, whether or not one node takes part."""
    names = [f"things{number}" for number in range(3)]
    specification = {"AttributeName": "exp", "Enabled": True}
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}

    async def scenario(nodes: Nodes) -> None:
        one = nodes.nodes[0]
        clusters = [node.database.cluster for node in nodes.nodes]
        while not all(each is not None and len(each.nodes.alive) == 2 for each in clusters):
            nodes.clock.advance(0.02)  # until each has met the other
            await asyncio.sleep(0)
        for name in names:
            await one.on(name, "CreateTable", **TABLE, StreamSpecification=stream)
            await one.on(name, "UpdateTimeToLive", TimeToLiveSpecification=specification)

        async def put(first: int) -> None:
            exp = nodes.clock.now_ns() // 1_000_000_000 - 10
            for name in names:
                for number in range(first, first + 8):
                    await nodes.any().on(name, "PutItem", Item=item(p=f"k{number}", exp=exp))

        async def expired() -> dict[str, int]:
            """Returns which node had the lease of each table, when all items are deleted."""
            holders: dict[str, int] = {}
            while any([await all_items(nodes.any(), name) for name in names]):
                for number, each in enumerate(clusters):
                    assert each is not None
                    holders |= {name: number for name in each.nodes.held if name.startswith("expiry: ")}
                await asyncio.sleep(0)
            return holders

        await put(0)
        assert set((await expired()).values()) == {0, 1}
        work = one.database.work
        one.database.work = _nothing_to_do  # type: ignore[method-assign]
        await put(8)
        nodes.clock.advance(11)
        await expired()
        one.database.work = work  # type: ignore[method-assign]
        for name in names:
            (table,) = [each for each in one.database.backend.catalog.tables.all() if each.name == name]
            assert table.state.stream is not None
            found = one.database.backend.catalog.streams.stream(table.state.stream.resource)
            entries = [len(await one.database.store.log(part, 0, 1000)) for part in found.parts]
            assert sum(entries) == 32, "a record of each put and of each deletion"

    play(scenario, place)


async def _nothing_to_do() -> bool:
    return False
