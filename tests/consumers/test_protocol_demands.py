"""The requirements of the Kinesis Client Library for streams, tested with Faradisc's consumers (streams.md
section 6).

What it proves: no record is lost and the records of every key are in order, over thousands of shards, while
workers stop, stall, return and take leases from each other. The clock is manual, so the four hours of a shard
pass in one call; random numbers are seeded, and the seed is printed with a failure.

In order, with at-least-once delivery, means: when record n of a key is delivered, all records before n have
been."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from consumers.worlds import World, pair_of
from faradisc.limits import SHARD_LIFETIME_S
from faradisc.tools.consumers import Consumer

KEYS = 12


class DeliveryLog:
    """The written records, and a check of the order in which they are delivered."""

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
                assert number <= last + 1, f"{key}: {number} was delivered before {last + 1}"
                self.repeated += number <= last
                self.seen[key] = max(last, number)
                self.delivered_by[worker] = self.delivered_by.get(worker, 0) + 1

        return handle

    def write(self, world: World, table: str, key: str) -> None:
        number = self.written[key] = self.written.get(key, 0) + 1
        world.put(table, key, number)


def _write_some(world: World, table: str, log: DeliveryLog, random_: random.Random, count: int) -> None:
    for _ in range(count):
        log.write(world, table, f"key-{random_.randrange(KEYS)}")


def _deliver_all(world: World, workers: list[Consumer], log: DeliveryLog) -> None:
    """Runs the workers and advances the clock until all records are delivered."""
    for _ in range(200):
        for worker in workers:
            while worker.step():
                pass
        if log.seen == log.written:
            return
        world.clock.advance(3)
    raise AssertionError(f"{log.seen} of {log.written}")


@pytest.mark.parametrize("rolls", [40, pytest.param(800, marks=pytest.mark.slow)])
def test_no_record_is_lost_over_thousands_of_shards(world: World, rolls: int) -> None:
    """One worker, and four new shards in each round; old shards are trimmed."""
    table, log, random_ = world.streamed.table(), DeliveryLog(), random.Random(1)
    consumer = world.consumer(table, log.handler("a"))
    for _ in range(rolls):
        _write_some(world, table, log, random_, random_.randrange(8))
        if random_.random() < 0.7:  # sometimes two generations of shards wait
            consumer.drain()
        world.clock.advance(SHARD_LIFETIME_S)
    consumer.drain()
    assert log.seen == log.written
    assert log.repeated == 0
    counts = consumer.statistics()
    assert counts["shards_ended"] >= 3 * rolls
    assert (counts["gaps"], counts["errors"], counts["failures"]) == (0, 0, 0)
    leases = world.dynamodb.query(
        TableName="faradisc-consumers",
        KeyConditionExpression="consumerGroup = :g",
        ExpressionAttributeValues={":g": {"S": f"group-1 {world.streamed.arn(table)}"}},
    )
    assert leases["Count"] <= 4 * 9 + 1, "the leases of trimmed shards are deleted"


@pytest.mark.parametrize(
    "seed, rounds",
    [(1, 60), (2, 60), (3, 60), *[pytest.param(s, 500, marks=pytest.mark.slow) for s in (4, 5)]],
)
def test_workers_that_stop_stall_and_take_leases(world: World, seed: int, rounds: int) -> None:
    table, log, random_ = world.streamed.table(), DeliveryLog(), random.Random(seed)
    started = 0
    workers: list[Consumer] = []

    def start() -> None:
        nonlocal started
        started += 1
        name = f"worker-{started}"
        workers.append(world.consumer(table, log.handler(name), worker=name, batch_size=3, lease_s=9))

    start()
    start()
    stalled: list[Consumer] = []
    for _ in range(rounds):
        _write_some(world, table, log, random_, random_.randrange(10))
        match random_.choice(["go", "go", "go", "roll", "kill", "stall", "wake", "leave", "join"]):
            case "roll":
                world.clock.advance(SHARD_LIFETIME_S)
            case "kill" if len(workers) > 1:
                workers.pop(random_.randrange(len(workers)))  # the leases are not released
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
    _deliver_all(world, workers + stalled, log)
    assert len(log.delivered_by) > 2, "several workers have delivered records"


def test_two_workers_share_the_shards(world: World) -> None:
    """The new worker requests its half and receives it between two batches: no record is delivered twice."""
    table, log, random_ = world.streamed.table(), DeliveryLog(), random.Random(7)
    first = world.consumer(table, log.handler("first"), worker="first")
    first.step()
    assert len(first.shards) == 4
    second = world.consumer(table, log.handler("second"), worker="second")
    for _ in range(20):
        _write_some(world, table, log, random_, 5)
        first.step()
        second.step()
        world.clock.advance(2)
    _deliver_all(world, [first, second], log)
    assert (len(first.shards), len(second.shards)) == (2, 2)
    assert set(first.shards) & set(second.shards) == set()
    assert log.repeated == 0
    assert first.statistics()["leases_lost"] == 0, "the leases were handed over"
    assert set(log.delivered_by) == {"first", "second"}


def test_shards_of_a_dead_worker_are_taken(world: World) -> None:
    table, log = world.streamed.table(), DeliveryLog()
    dead = world.consumer(table, log.handler("dead"), worker="dead")
    dead.step()
    successor = world.consumer(table, log.handler("successor"), worker="successor")
    for key in range(KEYS):
        log.write(world, table, f"key-{key}")
    successor.step()
    assert successor.shards == [], "the leases are fresh"
    world.clock.advance(6)
    successor.step()
    assert successor.shards == []
    world.clock.advance(6)
    successor.step()
    assert len(successor.shards) == 4
    _deliver_all(world, [successor], log)
    # After its pause the other worker detects the loss before it delivers a record.
    assert not dead.step()
    assert dead.shards == []
    assert log.delivered_by == {"successor": KEYS}
    assert dead.statistics()["leases_lost"] == 4


def test_worker_without_its_lease_does_not_move_the_checkpoint(world: World) -> None:
    """The update of the old owner is rejected, and the new owner delivers from the old checkpoint."""
    table, log = world.streamed.table(), DeliveryLog()
    thief = world.consumer(table, log.handler("thief"), worker="thief")
    slow_handler = log.handler("slow")

    def handle(event: dict[str, Any]) -> None:
        slow_handler(event)
        thief.step()
        world.clock.advance(30)
        thief.step()

    slow = world.consumer(table, handle, worker="slow")
    log.write(world, table, "key")
    slow.step()
    assert slow.statistics()["checkpoints"] == 0
    assert slow.statistics()["leases_lost"] >= 1
    _deliver_all(world, [thief], log)
    thief.drain()
    assert log.delivered_by == {"slow": 1, "thief": 1}


def test_groups_are_independent(world: World) -> None:
    table = world.streamed.table()
    logs = [DeliveryLog(), DeliveryLog()]
    for number, log in enumerate(logs):
        for key in range(KEYS):
            log.written[f"key-{key}"] = 1
        if number == 0:
            for key in range(KEYS):
                world.put(table, f"key-{key}", 1)
        world.consumer(table, log.handler("a"), group=f"group-{number}").drain()
    assert [log.seen == log.written for log in logs] == [True, True]


def test_group_continues_after_its_checkpoint(world: World) -> None:
    table, log, random_ = world.streamed.table(), DeliveryLog(), random.Random(3)
    for turn in range(6):
        _write_some(world, table, log, random_, 10)
        if turn % 2:
            world.clock.advance(SHARD_LIFETIME_S)
        with world.consumer(table, log.handler(f"turn-{turn}"), worker=f"turn-{turn}") as consumer:
            consumer.drain()
        assert log.seen == log.written
    assert log.repeated == 0


def test_latest_starts_now_and_loses_no_later_record(world: World) -> None:
    table, log = world.streamed.table(), DeliveryLog()
    for key in range(KEYS):
        world.put(table, f"key-{key}", 99)  # older than the start
    world.clock.advance(SHARD_LIFETIME_S)
    world.put(table, "key-0", 99)
    with world.consumer(table, log.handler("a"), start="latest") as first:
        first.drain()
    assert log.seen == {}
    # No record was read, so there is no sequence number. These records are written while no worker runs.
    world.clock.advance(1)
    for key in range(KEYS):
        log.write(world, table, f"key-{key}")
    world.clock.advance(SHARD_LIFETIME_S)
    for key in range(KEYS):
        log.write(world, table, f"key-{key}")
    with world.consumer(table, log.handler("b"), start="latest", worker="b") as second:
        second.drain()
    assert log.seen == log.written
    assert log.repeated == 0


def test_latest_keeps_its_position_when_iterators_expire(world: World) -> None:
    table, log = world.streamed.table(), DeliveryLog()
    consumer = world.consumer(table, log.handler("a"), start="latest")
    consumer.step()
    world.clock.advance(1)
    log.write(world, table, "key")
    world.clock.advance(3600)
    consumer.drain()
    assert log.seen == log.written


def test_trimmed_records_are_counted_as_gaps(world: World) -> None:
    """After more than a day reading continues with the present records, and the gap is counted."""
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
    table, log = world.streamed.table(), DeliveryLog()
    consumer = world.consumer(table, log.handler("a"))
    log.write(world, table, "key")
    world.dynamodb.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})
    consumer.drain()
    assert log.seen == log.written
    assert consumer.shards == []
    assert consumer.statistics()["shards_ended"] == 4
