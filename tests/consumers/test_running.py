"""`run` with threads until `stop`, several shards and queues in parallel; arguments of consume()."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import faradisc.streams
from consumers.worlds import Seen, World, pair_of
from faradisc.clock import SystemClock
from faradisc.tools.consumers import Consumer, NoStream, consume
from faradisc.tools.consumers.tail import tail
from fixtures.in_process import InProcess
from fixtures.schemas import schema


def test_run_works_until_stop(bugs_surface: None) -> None:
    """With the system clock: every record is delivered once, in order per item, and the leases are
    released."""
    world = World.__new__(World)
    process = InProcess(clock=SystemClock())
    world.__dict__.update(_clients(process))
    table = world.streamed.table()
    lock = threading.Lock()
    seen: dict[str, list[int]] = {}
    consumer: Consumer

    def handle(event: dict[str, Any]) -> None:
        with lock:
            for record in event["Records"]:
                key, number = pair_of(record)
                seen.setdefault(key, []).append(number)
            if sum(map(len, seen.values())) == 200:
                consumer.stop()

    for number in range(10):
        for key in range(20):
            world.put(table, f"key-{key}", number)
    consumer = consume(
        table, handle, group="g", dynamodb=world.dynamodb, streams=world.streams, parallel=3, batch_size=7
    )
    runner = threading.Thread(target=consumer.run)
    runner.start()
    runner.join(60)
    assert not runner.is_alive()
    assert seen == {f"key-{key}": list(range(10)) for key in range(20)}
    leases = world.dynamodb.scan(TableName="faradisc-consumers")["Items"]
    assert len(leases) == 5
    assert not any("leaseOwner" in lease for lease in leases)
    process.close()


def _clients(process: InProcess) -> dict[str, Any]:
    from fixtures.streamed import streamed_in  # noqa: PLC0415

    streamed = streamed_in(process)
    return {"streamed": streamed, "dynamodb": streamed.dynamodb, "streams": streamed.streams}


def test_run_raises_when_the_group_cannot_start(world: World) -> None:
    table = world.streamed.table()
    arn = world.streamed.arn(table).replace(table, "other")
    consumer = world.consumer(arn, Seen())
    with pytest.raises(world.streams.exceptions.ResourceNotFoundException):
        consumer.run()


def test_tail_shows_every_record_once(world: World) -> None:
    table, shown = world.streamed.table(), []
    world.put(table, "a", 1)
    world.clock.advance(1)
    look = tail(
        world.streams,
        world.streamed.arn(table),
        lambda record: shown.append(pair_of(record)),
        clock=world.clock,
        sleep=world.sleep,
    )
    look.drain()
    assert shown == []
    world.put(table, "a", 2)
    world.clock.advance(5 * 3600)
    world.put(table, "a", 3)
    look.drain()
    assert shown == [("a", 2), ("a", 3)]
    assert world.dynamodb.list_tables()["TableNames"] == [table]


def test_streams_module_imports_consume_lazily() -> None:
    assert faradisc.streams.consume is consume
    assert faradisc.streams.Consumer is Consumer
    with pytest.raises(AttributeError):
        _ = faradisc.streams.nothing
    program = "import sys, faradisc.database; sys.exit('faradisc.tools.consumers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_invalid_arguments_of_consume(world: World) -> None:
    table = world.streamed.table()
    world.dynamodb.create_table(TableName="plain", **schema("p:S"))
    with pytest.raises(NoStream):
        world.consumer("plain", Seen())
    with pytest.raises(ValueError, match="endpoint_url"):
        consume(table, Seen(), group="g")
    for handler in ("nothing", "faradisc.nothing:f", "json:nothing", "json:__name__", 7):
        with pytest.raises(ValueError):
            world.consumer(table, handler)  # type: ignore[arg-type]
    for settings in (
        {"start": "middle"},
        {"batch_size": 0},
        {"batch_size": 10_001},
        {"parallel": 11},
        {"retries": -1},
        {"lease_s": 0},
        {"group": ""},
        {"dead_letters": "nowhere"},
        {"dead_letters": "file:"},
    ):
        with pytest.raises(ValueError):
            world.consumer(table, Seen(), **settings)
    with pytest.raises(TypeError):
        world.consumer(table, Seen(), unheard_of=1)
