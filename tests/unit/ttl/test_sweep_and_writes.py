"""The sweep, and writes between its reads and its deletions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.database import Database, Settings
from faradisc.operations.call import Call
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore
from fixtures.schemas import schema

Hook = Callable[[], Awaitable[None]]


class Interrupted(MemoryStore):
    """A memory store that runs a callback after a read of the expiry index."""

    def __init__(self) -> None:
        super().__init__()
        self.when_found: Hook | None = None
        """Called after the next read that finds rows."""
        self.when_done: Hook | None = None
        """Called after the next read of the last slot."""

    async def range(self, part: Any, lo: Any, hi: Any, **options: Any) -> Any:
        rows = await super().range(part, lo, hi, **options)
        if part[:4] == EXPIRY and rows and self.when_found is not None:
            hook, self.when_found = self.when_found, None
            await hook()
        if part == EXPIRY + b"\x03" and self.when_done is not None:
            hook, self.when_done = self.when_done, None
            await hook()
        return rows


EXPIRY = (2).to_bytes(4, "big")
"""Resource number of the expiry index: the table has the first number."""


class Scene:
    def __init__(self, **settings: Any) -> None:
        self.clock = ManualClock(1_700_000_000)
        self.store = Interrupted()
        self.database = run(
            Database.open(
                self.store,
                settings=Settings(transition_ms=0, **settings),
                clock=self.clock,
                entropy=SeededEntropy(1),
            )
        )
        run(self.call("CreateTable", **schema("p:S")))
        specification = {"Enabled": True, "AttributeName": "exp"}
        run(self.call("UpdateTimeToLive", TimeToLiveSpecification=specification))
        self.work()

    async def call(self, operation: str, **request: Any) -> dict[str, Any]:
        call = Call(operation, {"TableName": "table", **request}, True, "us-east-1", "000000000000")
        return await self.database.execute(call)

    async def put(self, key: str, seconds: int) -> None:
        """Returns an item that expires in so many seconds."""
        expires = str(self.clock.now_ns() // 10**9 + seconds)
        await self.call("PutItem", Item={"p": {"S": key}, "exp": {"N": expires}})

    def work(self) -> None:
        while run(self.database.work()):
            pass

    def left(self) -> int:
        count: int = run(self.call("Scan", Select="COUNT"))["Count"]
        return count


def test_an_item_rewritten_during_the_sweep_stays() -> None:
    scene = Scene()
    run(scene.put("a", 5))
    scene.clock.advance(5)
    scene.store.when_found = lambda: scene.put("a", 100)
    scene.work()
    assert scene.left() == 1
    scene.clock.advance(100)
    scene.work()
    assert scene.left() == 0


def test_an_item_deleted_during_the_sweep_is_no_error() -> None:
    scene = Scene()
    run(scene.put("a", 5))
    scene.clock.advance(5)

    async def delete() -> None:
        await scene.call("DeleteItem", Key={"p": {"S": "a"}})

    scene.store.when_found = delete
    scene.work()
    assert scene.left() == 0
    assert not run(scene.database.work())


def test_an_earlier_expiry_added_during_a_sweep_is_found_by_the_next() -> None:
    """In every slot: the keys differ in their hashes only."""
    for key in map(str, range(16)):
        scene = Scene()
        run(scene.put("a", 5))
        scene.clock.advance(5)
        scene.store.when_found = lambda scene=scene, key=key: scene.put(key, -3)  # type: ignore[misc]
        scene.work()
        assert scene.left() == 0


def test_an_expiry_added_during_an_empty_sweep_is_found_by_the_next() -> None:
    scene = Scene()
    run(scene.put("a", 50))
    run(scene.put("b", 3))
    scene.clock.advance(2)
    scene.work()
    scene.clock.advance(1)
    run(scene.call("UpdateItem", Key={"p": {"S": "b"}}, UpdateExpression="REMOVE #e", **NAMES))
    scene.store.when_done = lambda: scene.put("c", 0)
    scene.work()
    assert scene.store.when_done is None, "there was a sweep"
    scene.work()
    assert scene.left() == 2


NAMES = {"ExpressionAttributeNames": {"#e": "exp"}}


def test_a_delay_keeps_expired_items_until_it_ends_or_expire_now() -> None:
    scene = Scene(ttl_delay_s=600)
    for n in range(120):
        run(scene.put(str(n), 5))
    run(scene.put("later", 300))
    scene.clock.advance(100)
    scene.work()
    assert scene.left() == 121
    assert run(scene.database.expire_now()) == 120
    assert scene.left() == 1
    scene.clock.advance(799)
    scene.work()
    assert scene.left() == 1
    scene.clock.advance(1)
    scene.work()
    assert scene.left() == 0
    assert run(scene.database.expire_now()) == 0


def test_a_step_deletes_a_bounded_number_of_items() -> None:
    scene = Scene()
    for n in range(1000):
        run(scene.put(str(n), 1))
    scene.clock.advance(1)
    steps, before = 0, 1000
    while run(scene.database.work()):
        steps += 1
        assert before - scene.left() <= 50
        before = scene.left()
    assert (before, steps >= 20) == (0, True)


def test_nothing_is_read_while_nothing_expires() -> None:
    scene = Scene()
    run(scene.put("a", 500))
    scene.work()
    reads = 0

    async def count() -> None:
        nonlocal reads
        reads += 1

    scene.clock.advance(400)
    scene.store.when_found = count
    scene.work()
    assert reads == 0


def test_an_expiry_index_is_filled_while_the_table_is_written() -> None:
    """Items that are written between the steps expire by their last value."""
    scene = Scene(ttl_change_interval_s=0)
    specification = {"Enabled": False, "AttributeName": "exp"}
    run(scene.call("UpdateTimeToLive", TimeToLiveSpecification=specification))
    for n in range(300):
        run(scene.put(str(n), 10))
    specification = {"Enabled": True, "AttributeName": "exp"}
    run(scene.call("UpdateTimeToLive", TimeToLiveSpecification=specification))
    n = 0
    while run(scene.database.work()):
        run(scene.put(str(n % 300), 1000))
        n += 1
    assert n >= 4
    scene.clock.advance(10)
    scene.work()
    assert scene.left() == n
    scene.clock.advance(1000)
    scene.work()
    assert scene.left() == 0
