"""What the Kinesis Client Library asks of a stream, asked by our own consumers (streams.md section 6).

Proves that no record is lost and that every key's records come in order, over thousands of shards, while
workers stop, stall, come back and take leases from each other. Time is a ManualClock, so that a shard's four
hours pass in a call; chance is seeded and printed with a failure.

"In order" with at-least-once delivery: whenever a key's record n is handed over, all before n have been.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from consumers.worlds import World, pair_of
from faradisc.limits import SHARD_LIFETIME_S
from faradisc.tools.consumers import Consumer

KEYS = 12


class Ledger:
    """What was written, and what each key's records must look like when they arrive."""

    def __init__(self) -> None:
        self.written: dict[str, int] = {}
        self.seen: dict[str, int] = {}
        self.repeated = 0
        self.delivered_by: dict[str, int] = {}

    def handler(self, worker: str) -> Callable[[dict[str, Any]], None]:
        def handle(event: dict[str, Any]) -> None:
            for record in event["Records"]:
                key, number = pair_of(record)
                last = self.seen.get(key, 0)
                assert number <= last + 1, f"{key}: {number} came, and {last + 1} has not"
                self.repeated += number <= last
                self.seen[key] = max(last, number)
                self.delivered_by[worker] = self.delivered_by.get(worker, 0) + 1

        return handle

    def write(self, world: World, table: str, key: str) -> None:
        number = self.written[key] = self.written.get(key, 0) + 1
        world.put(table, key, number)


def _write_some(world: World, table: str, ledger: Ledger, random_: random.Random, count: int) -> None:
    for _ in range(count):
        ledger.write(world, table, f"key-{random_.randrange(KEYS)}")


def _settle(world: World, workers: list[Consumer], ledger: Ledger) -> None:
    """Let the workers go on, with time passing, until all there is was delivered."""
    for _ in range(200):
        for worker in workers:
            while worker.step():
                pass
        if ledger.seen == ledger.written:
            return
        world.clock.advance(3)
    raise AssertionError(f"{ledger.seen} of {ledger.written}")


@pytest.mark.parametrize("rolls", [40, pytest.param(800, marks=pytest.mark.slow)])
def test_no_record_is_lost_over_thousands_of_shards(world: World, rolls: int) -> None:
    """One worker, a roll each time, four shards per roll; old shards are trimmed behind it."""
    table, ledger, random_ = world.streamed.table(), Ledger(), random.Random(1)
    consumer = world.consumer(table, ledger.handler("a"))
    for _ in range(rolls):
        _write_some(world, table, ledger, random_, random_.randrange(8))
        if random_.random() < 0.7:  # sometimes two generations are waiting
            consumer.drain()
        world.clock.advance(SHARD_LIFETIME_S)
    consumer.drain()
    assert ledger.seen == ledger.written
    assert ledger.repeated == 0
    counts = consumer.statistics()
    assert counts["shards_ended"] >= 3 * rolls
    assert (counts["gaps"], counts["errors"], counts["failures"]) == (0, 0, 0)
    leases = world.dynamodb.query(
        TableName="faradisc-consumers",
        KeyConditionExpression="consumerGroup = :g",
        ExpressionAttributeValues={":g": {"S": f"group-1 {world.streamed.arn(table)}"}},
    )
    assert leases["Count"] <= 4 * 9 + 1, "the leases of trimmed shards are forgotten"


@pytest.mark.parametrize(
    "seed, rounds",
    [(1, 60), (2, 60), (3, 60), *[pytest.param(s, 500, marks=pytest.mark.slow) for s in (4, 5)]],
)
def test_workers_that_stop_stall_and_take_leases(world: World, seed: int, rounds: int) -> None:
    table, ledger, random_ = world.streamed.table(), Ledger(), random.Random(seed)
    started = 0
    workers: list[Consumer] = []

    def start() -> None:
        nonlocal started
        started += 1
        name = f"worker-{started}"
        workers.append(world.consumer(table, ledger.handler(name), worker=name, batch_size=3, lease_s=9))

    start()
    start()
    stalled: list[Consumer] = []
    for _ in range(rounds):
        _write_some(world, table, ledger, random_, random_.randrange(10))
        match random_.choice(["go", "go", "go", "roll", "kill", "stall", "wake", "leave", "join"]):
            case "roll":
                world.clock.advance(SHARD_LIFETIME_S)
            case "kill" if len(workers) > 1:
                workers.pop(random_.randrange(len(workers)))  # nothing is given back
            case "stall" if len(workers) > 1:
                stalled.append(workers.pop(random_.randrange(len(workers))))
            case "wake" if stalled:
                workers.append(stalled.pop())
            case "leave" if len(workers) > 1:
                workers.pop(random_.randrange(len(workers))).close()
            case "join" if len(workers) < 4:
                start()
        for worker in random_.sample(workers, len(workers)):
            for _ in range(random_.randrange(4)):
                worker.step()
        world.clock.advance(random_.choice([0.1, 1, 4, 20]))
    _settle(world, workers + stalled, ledger)
    assert len(ledger.delivered_by) > 2, "several workers had their part"


def test_two_workers_share_the_shards(world: World) -> None:
    """The newcomer asks for its half and gets it between two batches: nothing is delivered twice."""
    table, ledger, random_ = world.streamed.table(), Ledger(), random.Random(7)
    first = world.consumer(table, ledger.handler("first"), worker="first")
    first.step()
    assert len(first.shards) == 4
    second = world.consumer(table, ledger.handler("second"), worker="second")
    for _ in range(20):
        _write_some(world, table, ledger, random_, 5)
        first.step()
        second.step()
        world.clock.advance(2)
    _settle(world, [first, second], ledger)
    assert (len(first.shards), len(second.shards)) == (2, 2)
    assert set(first.shards) & set(second.shards) == set()
    assert ledger.repeated == 0
    assert first.statistics()["leases_lost"] == 0, "they were given, not taken"
    assert set(ledger.delivered_by) == {"first", "second"}


def test_shards_of_a_dead_worker_are_taken(world: World) -> None:
    table, ledger = world.streamed.table(), Ledger()
    dead = world.consumer(table, ledger.handler("dead"), worker="dead")
    dead.step()
    heir = world.consumer(table, ledger.handler("heir"), worker="heir")
    for key in range(KEYS):
        ledger.write(world, table, f"key-{key}")
    heir.step()
    assert heir.shards == [], "the leases are fresh"
    world.clock.advance(6)
    heir.step()
    assert heir.shards == []
    world.clock.advance(6)
    heir.step()
    assert len(heir.shards) == 4
    _settle(world, [heir], ledger)
    # Back from its pause, the other one finds out before it has delivered anything.
    assert not dead.step()
    assert dead.shards == []
    assert ledger.delivered_by == {"heir": KEYS}
    assert dead.statistics()["leases_lost"] == 4


def test_worker_without_its_lease_does_not_move_the_checkpoint(world: World) -> None:
    """Fenced: its update is refused, and the new owner delivers from the old checkpoint."""
    table, ledger = world.streamed.table(), Ledger()
    thief = world.consumer(table, ledger.handler("thief"), worker="thief")
    slow_handler = ledger.handler("slow")

    def handle(event: dict[str, Any]) -> None:
        slow_handler(event)
        thief.step()
        world.clock.advance(30)
        thief.step()

    slow = world.consumer(table, handle, worker="slow")
    ledger.write(world, table, "key")
    slow.step()
    assert slow.statistics()["checkpoints"] == 0
    assert slow.statistics()["leases_lost"] >= 1
    _settle(world, [thief], ledger)
    thief.drain()
    assert ledger.delivered_by == {"slow": 1, "thief": 1}


def test_groups_are_independent(world: World) -> None:
    table = world.streamed.table()
    ledgers = [Ledger(), Ledger()]
    for number, ledger in enumerate(ledgers):
        for key in range(KEYS):
            ledger.written[f"key-{key}"] = 1
        if number == 0:
            for key in range(KEYS):
                world.put(table, f"key-{key}", 1)
        world.consumer(table, ledger.handler("a"), group=f"group-{number}").drain()
    assert [ledger.seen == ledger.written for ledger in ledgers] == [True, True]


def test_group_continues_after_its_checkpoint(world: World) -> None:
    table, ledger, random_ = world.streamed.table(), Ledger(), random.Random(3)
    for turn in range(6):
        _write_some(world, table, ledger, random_, 10)
        if turn % 2:
            world.clock.advance(SHARD_LIFETIME_S)
        with world.consumer(table, ledger.handler(f"turn-{turn}"), worker=f"turn-{turn}") as consumer:
            consumer.drain()
        assert ledger.seen == ledger.written
    assert ledger.repeated == 0


def test_latest_starts_now_and_loses_no_later_record(world: World) -> None:
    table, ledger = world.streamed.table(), Ledger()
    for key in range(KEYS):
        world.put(table, f"key-{key}", 99)  # history
    world.clock.advance(SHARD_LIFETIME_S)
    world.put(table, "key-0", 99)
    with world.consumer(table, ledger.handler("a"), start="latest") as first:
        first.drain()
    assert ledger.seen == {}
    # Nothing was read yet, so no number says where the group is. These come while no worker is there.
    world.clock.advance(1)
    for key in range(KEYS):
        ledger.write(world, table, f"key-{key}")
    world.clock.advance(SHARD_LIFETIME_S)
    for key in range(KEYS):
        ledger.write(world, table, f"key-{key}")
    with world.consumer(table, ledger.handler("b"), start="latest", worker="b") as second:
        second.drain()
    assert ledger.seen == ledger.written
    assert ledger.repeated == 0


def test_latest_keeps_its_position_when_iterators_expire(world: World) -> None:
    table, ledger = world.streamed.table(), Ledger()
    consumer = world.consumer(table, ledger.handler("a"), start="latest")
    consumer.step()
    world.clock.advance(1)
    ledger.write(world, table, "key")
    world.clock.advance(3600)
    consumer.drain()
    assert ledger.seen == ledger.written


def test_trimmed_records_are_counted_as_gaps(world: World) -> None:
    """Away for more than a day: reading goes on with what is there, and a count says that some is not."""
    table, seen = world.streamed.table(), []
    consumer = world.consumer(table, lambda event: seen.extend(map(pair_of, event["Records"])))
    world.put(table, "key", 0)
    consumer.drain()
    world.put(table, "key", 1)
    world.clock.advance(25 * 3600)
    world.put(table, "key", 2)
    consumer.drain()
    assert seen == [("key", 0), ("key", 2)]
    assert consumer.statistics()["gaps"] > 0


def test_disabled_stream_is_read_to_its_end(world: World) -> None:
    table, ledger = world.streamed.table(), Ledger()
    consumer = world.consumer(table, ledger.handler("a"))
    ledger.write(world, table, "key")
    world.dynamodb.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})
    consumer.drain()
    assert ledger.seen == ledger.written
    assert consumer.shards == []
    assert consumer.statistics()["shards_ended"] == 4
