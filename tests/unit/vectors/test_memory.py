"""Vector indexes in memory: memory limit, outdated rows, writes while a block is loaded.

The searches use the store as the operation does; entries are written without the write path, so that each
test decides which rows are marked, and when.
"""

from __future__ import annotations

import asyncio
import random
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("numpy")

from faradisc.engine.vectors import numbers, searching
from faradisc.engine.vectors.memory import CHANGED_ROWS_MAX, WHOLE, VectorMemory
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.engine.vectors.searching import Searched, Wanted
from faradisc.model.codec import item_record
from faradisc.model.codec.keyspace import Placement
from faradisc.model.values.schema import IndexProjection, KeySchema
from faradisc.model.values.size import item_size
from faradisc.operations.backend import no_yield
from faradisc.storage.api import Batch, Row
from faradisc.storage.immediate import run
from faradisc.storage.memory import MemoryStore

KEY = KeySchema(("p",), (), {"p": "S"})
HASH = KeySchema(("h",), (), {"h": "S"})
RESOURCE = 7


class World:
    """One index of vectors with two elements, and a store."""

    def __init__(self, *, by_hash: bool = False, memory_bytes_max: int = 1 << 30) -> None:
        self.store = MemoryStore()
        self.memory = VectorMemory(memory_bytes_max)
        hash_name = "h" if by_hash else None
        key = HASH if by_hash else KEY
        self.schema = VectorSchema(
            "vec", True, key, IndexProjection("ALL"), KEY, "e", 2, "EUCLIDEAN", hash_name, ("f",)
        )
        self.placement = Placement(RESOURCE, 4, key, KEY if by_hash else None)

    def write(self, p: str, elements: Sequence[float] | None, *, h: str = "x", mark: bool = True) -> None:
        entry: dict[str, Any] = {"p": {"S": p}, "h": {"S": h}}
        row_key = self.placement.row_key(entry)
        batch = Batch(self.placement.part_of(row_key))
        if elements is None:
            batch.deletes.append(row_key)
        else:
            packed = numbers.packed([{"N": str(element)} for element in elements])
            assert packed is not None
            entry["e"] = {"B": b64encode(packed).decode()}
            batch.puts.append((row_key, item_record.encode(entry, item_size(entry))))
        run(self.store.commit([batch]))
        if mark:
            self.memory.of(RESOURCE).written(row_key)

    def searched(
        self, store: Any = None, yield_control: Callable[[], Awaitable[None]] = no_yield
    ) -> Searched:
        vectors = self.memory.of(RESOURCE)
        return Searched(store or self.store, self.memory, vectors, self.schema, self.placement, yield_control)

    def wanted(self, h: str = "x", top_k: int = 100) -> Wanted:
        value = {"S": h} if self.schema.hash_name is not None else None
        return Wanted((0.0, 0.0), top_k, value, ())

    def found(self, h: str = "x", top_k: int = 100) -> list[str]:
        results = run(self.searched().search(self.wanted(h, top_k)))
        return [found.entry["p"]["S"] for found in results]


@pytest.fixture
def world() -> Iterator[World]:
    yield World()


def test_marked_rows_are_read_again(world: World) -> None:
    for n in range(5):
        world.write(str(n), (n, 0))
    assert world.found() == ["0", "1", "2", "3", "4"]
    world.write("0", (9, 0))
    world.write("2", None)
    world.write("6", (1.5, 0))
    assert world.found() == ["1", "6", "3", "4", "0"]
    world.write("6", None)
    world.write("6", (8, 0))
    world.write("1", None)
    assert world.found() == ["3", "4", "6", "0"]


def test_an_index_without_searches_uses_no_memory() -> None:
    world = World(by_hash=True)
    for n in range(20):
        world.write(str(n), (n, 0), h=str(n % 2))
    world.found("0")
    slots = world.memory.of(RESOURCE).slots
    assert len(slots) == 1
    world.write("21", (0, 0), h="1")
    assert [len(slot.changed) for slot in slots.values()] == [0]


def test_a_block_with_too_many_changes_is_loaded_again(world: World) -> None:
    world.write("a", (5, 0))
    assert world.found() == ["a"]
    for n in range(CHANGED_ROWS_MAX + 1):
        world.write(f"b{n:04}", (6 + n, 0))
    assert world.memory.of(RESOURCE).slots == {}
    assert world.found(top_k=3) == ["a", "b0000", "b0001"]
    assert WHOLE in world.memory.of(RESOURCE).slots


def test_the_block_searched_longest_ago_is_dropped_first() -> None:
    world = World(by_hash=True, memory_bytes_max=8000)
    for n in range(40):
        world.write(str(n), (n, 0), h=str(n % 4))
    for h in "0123012":
        assert world.found(h, top_k=2) == [h, str(int(h) + 4)]
        assert world.memory.memory_bytes <= 8000
    assert 1 <= len(world.memory.of(RESOURCE).slots) < 4


def test_a_block_larger_than_memory_is_searched_in_pieces() -> None:
    world = World(memory_bytes_max=100_000)
    order = random.Random(1).sample(range(10_000), 10_000)
    for n in order:
        world.write(str(n), (n, 0), mark=False)
    for _ in range(2):
        assert world.found(top_k=3) == ["0", "1", "2"]
        assert world.memory.of(RESOURCE).slots == {}
        assert world.memory.memory_bytes == 0


def test_a_deleted_index_uses_no_memory(world: World) -> None:
    world.write("a", (1, 1))
    assert world.found() == ["a"]
    assert world.memory.memory_bytes > 0
    world.memory.forget(RESOURCE)
    assert world.memory.memory_bytes == 0


class Slow:
    """A store whose reads wait until the test releases them, one by one."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.waiting: list[asyncio.Future[None]] = []
        self.asked = asyncio.Event()

    async def _wait(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        self.asked.set()
        await future

    async def range(self, *args: Any, **options: Any) -> list[tuple[bytes, Row]]:
        rows = await self._store.range(*args, **options)
        await self._wait()
        return rows

    async def get(self, *args: Any, **options: Any) -> list[Row | None]:
        rows = await self._store.get(*args, **options)
        await self._wait()
        return rows

    async def let_all_go(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            for future in self.waiting:
                if not future.done():
                    future.set_result(None)
            self.waiting.clear()


def test_a_write_while_a_block_is_loaded_is_not_lost(world: World) -> None:
    """The rows are read before the write and added after it."""
    world.write("a", (1, 0))
    world.write("b", (2, 0))

    async def story() -> None:
        slow = Slow(world.store)
        first = asyncio.create_task(world.searched(slow).search(world.wanted()))
        second = asyncio.create_task(world.searched(slow).search(world.wanted()))
        await slow.asked.wait()
        world.write("a", None)
        world.write("c", (3, 0))
        await slow.let_all_go([first, second])
        for task in (first, second):
            assert [found.entry["p"]["S"] for found in task.result()] == ["b", "c"]

    asyncio.run(story())
    assert world.found() == ["b", "c"]


def test_other_requests_run_while_a_block_is_loaded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search finds rows written between two steps of the loading."""
    monkeypatch.setattr(searching, "ROWS_PER_READ", 4)
    for n in range(20):
        world.write(str(n), (n + 1, 0))
    pauses = 0

    async def yield_control() -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            world.write("late", (0.5, 0))
            world.write("0", None)

    found = run(world.searched(yield_control=yield_control).search(world.wanted(top_k=3)))
    assert [each.entry["p"]["S"] for each in found] == ["late", "1", "2"]
    assert pauses >= 20 // 4


def test_a_cancelled_search_does_not_affect_the_next_one(world: World) -> None:
    world.write("a", (1, 0))

    async def story() -> None:
        slow = Slow(world.store)
        for step in ("while it loads", "while it renews"):
            task = asyncio.create_task(world.searched(slow).search(world.wanted()))
            await slow.asked.wait()
            slow.asked.clear()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            slow.waiting.clear()
            assert world.found() == (["a"] if step == "while it loads" else ["b"])
            world.write("a", None)
            world.write("b", (1, 0))

    asyncio.run(story())
