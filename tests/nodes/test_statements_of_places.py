"""How many statements a request costs over one PostgreSQL and over two places, counted: no time is measured.

What it proves: at one place everything costs what it costs over one PostgreSQL, and nothing is asked of home;
docs/guide/places.md has the numbers. And what a transaction over both places says is of one moment.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from faradisc.clock import SeededEntropy, SystemClock
from faradisc.database import Database, Settings
from faradisc.errors import TransactionCanceledException
from faradisc.operations.call import Call
from faradisc.storage.postgres.joining import open_places
from faradisc.storage.postgres.routed import RoutedStore
from faradisc.storage.postgres.store import PostgresStore, open_postgres
from fixtures.places import Hooked, hooked, new_places, opened
from fixtures.schemas import schema

TABLES = ("one", "two")
ROUNDS = 5
AT_HOME, ELSEWHERE = 0, 1


class World:
    """A database whose statements are counted, by place."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.numbers = itertools.count()
        self.database: Database

    def place(self, dsn: str, number: int) -> Any:
        async def do(_: Hooked, statement: str, __: object, call: Callable[[], Awaitable[Any]]) -> Any:
            self.counts[number] += 1
            return await call()

        return hooked(dsn, do)

    async def call(self, operation: str, **request: Any) -> Any:
        return await self.database.execute(Call(operation, request, True, "us-east-1", "000000000000"))

    async def cost(self, request: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
        """Returns the statements of a request at home and elsewhere."""
        for _ in range(2):
            await request()  # rows of parts and of callers are made
        self.counts.clear()
        for _ in range(ROUNDS):
            await request()
        return self.counts[AT_HOME] / ROUNDS, self.counts[ELSEWHERE] / ROUNDS

    def items(self, tables: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        return [(name, {"p": {"S": f"{number}"}}) for number, name in enumerate(tables)]

    async def write(self, *tables: str) -> None:
        await self.call(
            "TransactWriteItems",
            TransactItems=[{"Put": {"TableName": name, "Item": key}} for name, key in self.items(tables)],
            ClientRequestToken=f"{next(self.numbers):036}",
        )

    async def read(self, *tables: str) -> None:
        await self.call(
            "TransactGetItems",
            TransactItems=[{"Get": {"TableName": name, "Key": key}} for name, key in self.items(tables)],
        )

    async def put(self, table: str) -> None:
        await self.call("PutItem", TableName=table, Item={"p": {"S": "0"}})

    async def get(self, table: str) -> None:
        await self.call("GetItem", TableName=table, Key={"p": {"S": "0"}}, ConsistentRead=True)

    async def numbered(self, number: int) -> None:
        """Puts an item with a number in each table, in one transaction."""
        puts = [
            {"Put": {"TableName": name, "Item": {**key, "n": {"N": str(number)}}}}
            for name, key in self.items(TABLES)
        ]
        await self.call("TransactWriteItems", TransactItems=puts)

    async def open(self, store: PostgresStore | RoutedStore) -> None:
        self.database = await Database.open(
            store,
            settings=Settings(transition_ms=0),
            clock=SystemClock(),
            entropy=SeededEntropy(1),
            places=store if isinstance(store, RoutedStore) else None,
        )

    async def create_tables(self) -> None:
        """At different places."""
        for name in TABLES:
            await self.call("CreateTable", TableName=name, **schema("p:S"))
            while (await self.call("DescribeTable", TableName=name))["Table"]["TableStatus"] != "ACTIVE":
                await self.database.work()

    async def costs(self, store: PostgresStore | RoutedStore) -> dict[str, tuple[float, float]]:
        """Returns the cost of each request."""
        await self.open(store)
        await self.create_tables()
        found = {}
        for name in TABLES:
            found[f"put {name}"] = await self.cost(lambda name=name: self.put(name))
            found[f"get {name}"] = await self.cost(lambda name=name: self.get(name))
            found[f"write {name}"] = await self.cost(lambda name=name: self.write(*[name] * 4))
            found[f"read {name}"] = await self.cost(lambda name=name: self.read(*[name] * 4))
        found["write both"] = await self.cost(lambda: self.write(*TABLES * 2))
        found["read both"] = await self.cost(lambda: self.read(*TABLES * 2))
        await self.database.close()
        return found


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores do nothing by themselves."""
    monkeypatch.setattr("faradisc.storage.postgres.routed.EVERY_S", 1_000.0)


def test_statements_at_one_place_are_those_of_one_postgresql(postgres: str, quiet: None) -> None:
    async def one() -> dict[str, tuple[float, float]]:
        world, [dsn] = World(), new_places(postgres, 1)
        await (await open_postgres(dsn, size=1)).close()
        store = PostgresStore(world.place(dsn, AT_HOME).connect, 4)
        costs = await world.costs(store)
        await store.close()
        return costs

    async def two() -> dict[str, tuple[float, float]]:
        world = World()
        store = await open_places([world.place(dsn, n) for n, dsn in enumerate(new_places(postgres))], size=4)
        costs = await world.costs(store)
        await store.close()
        return costs

    alone, costs = asyncio.run(one()), asyncio.run(two())
    both = {name: (alone.pop(name), costs.pop(name)) for name in ("write both", "read both")}
    assert {name: sorted(cost) for name, cost in costs.items()} == {
        name: sorted(cost) for name, cost in alone.items()
    }
    assert {cost[ELSEWHERE] > 0 for cost in costs.values()} == {True, False}
    assert alone["write one"] == (4, 0)
    # Tokens at both places and again before the commit, items, three statements of one share, the decision
    # and the end.
    assert both["write both"] == ((4, 0), (4, 6))
    # Everything is looked at twice.
    assert both["read both"] == ((1, 0), (2, 2))


def test_what_a_refused_transaction_returns_was_there_at_one_moment(postgres: str, quiet: None) -> None:
    """Its first reads are not of one moment: here a commit over both places comes between them."""

    async def play() -> None:
        dsns = new_places(postgres)
        writer = await opened(dsns)
        between = asyncio.Event()
        waits = False

        async def at_home(_: Hooked, __: str, ___: object, call: Callable[[], Awaitable[Any]]) -> Any:
            if waits:
                await between.wait()
            return await call()

        world, other = World(), World()

        async def elsewhere(_: Hooked, statement: str, __: object, call: Callable[[], Awaitable[Any]]) -> Any:
            found = await call()
            if waits and not between.is_set() and statement.startswith("SELECT u.n"):
                await other.numbered(2)
                between.set()
            return found

        store = await open_places([hooked(dsns[0], at_home), hooked(dsns[1], elsewhere)], size=4)
        for each, its in ((world, store), (other, writer)):
            await each.open(its)
        await world.create_tables()
        await other.numbered(1)
        refused = [
            {
                "Put": {
                    "TableName": name,
                    "Item": key,
                    "ConditionExpression": "attribute_not_exists(p)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
            for name, key in world.items(TABLES)
        ]
        waits = True
        with pytest.raises(TransactionCanceledException) as raised:
            await world.call("TransactWriteItems", TransactItems=refused)
        assert between.is_set()
        assert [reason["Item"]["n"] for reason in raised.value.extra["CancellationReasons"]] == [
            {"N": "2"}
        ] * 2
        for each, its in ((world, store), (other, writer)):
            await each.database.close()
            await its.close()

    asyncio.run(play())
