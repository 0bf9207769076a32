"""All servers end at one step of a commit over two places; one that starts ends what they have left.

What it proves: for every step, whether its statement did not reach PostgreSQL or its answer did not come:
one round of the recovery ends all prepared transactions, as was decided, and what they had locked can be
written. The rounds come so often, and see a prepared transaction as left so early, that this takes less than
five seconds. The switch of a move is such a commit too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from faradisc.storage.api import Batch
from faradisc.storage.postgres import recovery
from faradisc.storage.postgres.joining import open_places
from faradisc.storage.postgres.moving import Mover, ask
from faradisc.storage.postgres.routed import RoutedStore
from faradisc.storage.postgres.store import COMMIT, NEW_CALLER
from faradisc.storage.testing.contract import applied
from fixtures.places import Hooked, hooked, new_places, opened

STEPS = ("caller", "begin", "share", "prepare", "decide", "end")
SWITCH_STEPS = ("prepare", "decide", "end")
PREFIXES = (b"tblA", b"tblB", b"tblC", b"tblD")
"""Of tables at places 0, 1, 0 and 1; each of two servers writes two of them."""
SETTLED_MS = 5_000


def step_of(statement: str, arguments: Sequence[Any]) -> str:
    """Returns the name of a commit's step; "" of any other statement."""
    if statement == NEW_CALLER:
        return "caller"
    if statement == COMMIT:
        return "share" if arguments[0] is None else "decide"
    first, _, rest = statement.partition(" ")
    if first == "COMMIT":
        return "end" if rest else "decide"
    return {"BEGIN;": "begin", "PREPARE": "prepare"}.get(first, "")


class Machine:
    """Where all servers run. They end together, when each has come to the chosen step."""

    def __init__(self, servers: int) -> None:
        self.steps: list[str] = []
        """Of the commit, as they came."""
        self.chosen: str | None = None
        self.is_answered = False
        """Whether the chosen step reaches PostgreSQL, and only the answer is lost."""
        self.stopped = asyncio.Event()
        self._connections: set[Hooked] = set()
        self._running = servers

    async def do(
        self, connection: Hooked, statement: str, arguments: Sequence[Any], call: Callable[[], Awaitable[Any]]
    ) -> Any:
        self._connections.add(connection)
        if self.stopped.is_set():
            await asyncio.Future()
        step = step_of(statement, arguments)
        if step == "decide" and "prepare" not in self.steps:
            step = ""  # a transaction at one place
        if step:
            self.steps.append(step)
        if not step or step != self.chosen:
            return await call()
        if self.is_answered:
            await call()
        self._running -= 1
        if not self._running:
            self.stopped.set()
            for each in self._connections:
                each.terminate()
        await asyncio.Future()

    async def open(self, dsns: Sequence[str]) -> RoutedStore:
        """Starts a server."""
        return await open_places([hooked(dsn, self.do) for dsn in dsns], size=2)


def batches(server: int, payload: bytes) -> list[Batch]:
    """Returns a commit of a server, over both places."""
    return [Batch(prefix + b"\x00", puts=[(b"k", payload)]) for prefix in PREFIXES[2 * server :][:2]]


async def payloads(store: RoutedStore) -> list[bytes | None]:
    rows = await store.read_many([(prefix + b"\x00", b"k") for prefix in PREFIXES])
    return [row and row[1] for row in rows]


async def prepared(store: RoutedStore) -> int:
    return sum(map(len, (await store.recovery.callers()).values()))


@pytest.fixture
def rounds_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores do nothing by themselves, and every prepared transaction is old."""
    assert recovery.OLD_MS + 2_000 * recovery.EVERY_S < SETTLED_MS
    monkeypatch.setattr(recovery, "OLD_MS", 0)
    monkeypatch.setattr("faradisc.storage.postgres.routed.EVERY_S", 1_000.0)


async def tables(dsns: Sequence[str]) -> None:
    """Creates the tables."""
    store = await opened(dsns)
    for number, prefix in enumerate(PREFIXES):
        store.map.candidates = [number % 2]
        await applied(store, Batch(prefix + b"\x00", puts=[(b"k", b"0")]))
    assert [store.map.find(prefix + b"\x00") for prefix in PREFIXES] == [0, 1, 0, 1]
    await store.close()


async def stop_at(
    dsns: Sequence[str],
    servers: int,
    step: str,
    work: Callable[[RoutedStore, int], Awaitable[Any]],
    *,
    late: bool,
) -> None:
    """Runs `work` of all servers, which end at a step of it."""
    machine = Machine(servers)
    stores = [await machine.open(dsns) for _ in range(servers)]
    machine.chosen, machine.is_answered = step, late
    tasks = [asyncio.ensure_future(work(store, number)) for number, store in enumerate(stores)]
    await machine.stopped.wait()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for store in stores:
        await store.close()


@pytest.mark.parametrize("late", [False, True], ids=["not sent", "not answered"])
def test_one_round_ends_what_all_servers_have_left(
    postgres: str, rounds_by_hand: None, *, late: bool
) -> None:
    dsns = new_places(postgres)

    async def play() -> None:
        await tables(dsns)
        machine = Machine(0)
        store = await machine.open(dsns)
        machine.steps.clear()
        await applied(store, *batches(0, b"0"))
        assert tuple(machine.steps) == STEPS
        await store.close()
        before = b"0"
        for number, step in enumerate(STEPS):
            payload = b"%d" % (number + 1)
            await stop_at(
                dsns,
                2,
                step,
                lambda store, server, own=payload: applied(store, *batches(server, own)),
                late=late,
            )
            one = await opened(dsns)
            reached = STEPS[: number + late]
            assert await prepared(one) == (2 if "prepare" in reached and "end" not in reached else 0), step
            await one.recovery.step()
            assert await prepared(one) == 0, step
            assert one.recovery.problems() == []
            before = payload if "decide" in reached else before
            assert await payloads(one) == [before] * 4, step
            for server in range(2):
                before = b"after " + step.encode()
                await applied(one, *batches(server, before))
            assert await payloads(one) == [before] * 4
            await one.close()

    asyncio.run(play())


@pytest.mark.parametrize("late", [False, True], ids=["not sent", "not answered"])
def test_one_round_ends_a_switch_that_its_server_has_left(
    postgres: str, rounds_by_hand: None, *, late: bool
) -> None:
    dsns = new_places(postgres)

    async def move(store: RoutedStore, _: int = 0) -> None:
        mover = Mover(store)
        while await mover.step():
            pass

    async def play() -> None:
        await tables(dsns)
        target = 1
        for number, step in enumerate(SWITCH_STEPS):
            one = await opened(dsns)
            await ask(one, [PREFIXES[0]], bytes([target]))
            await one.close()
            await stop_at(dsns, 1, step, move, late=late)
            one = await opened(dsns)
            reached = SWITCH_STEPS[: number + late]
            assert await prepared(one) == ("prepare" in reached and "end" not in reached), step
            await one.recovery.step()
            assert await prepared(one) == 0, step
            await one.refresh()
            assert (one.map.find(PREFIXES[0] + b"\x00") == target) == ("decide" in reached), step
            await applied(one, *batches(0, step.encode()))
            await move(one)
            assert one.map.find(PREFIXES[0] + b"\x00") == target
            assert (await payloads(one))[:2] == [step.encode()] * 2
            await one.close()
            target = 1 - target

    asyncio.run(play())
