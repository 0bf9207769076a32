"""A database with a manual clock, and consumers of one of its streams that do not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faradisc.clock import ManualClock, SeededEntropy
from faradisc.tools.consumers import Consumer, consume
from fixtures.in_process import InProcess
from fixtures.schemas import item
from fixtures.streamed import Streamed, streamed_in


class World:
    """A database whose consumers advance the clock when they sleep."""

    def __init__(self, process: InProcess) -> None:
        assert isinstance(process.clock, ManualClock)
        self.process = process
        self.clock = process.clock
        self.streamed: Streamed = streamed_in(process)
        self.dynamodb = self.streamed.dynamodb
        self.streams = self.streamed.streams
        self.slept_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self.clock.advance(seconds)

    def put(self, table: str, key: str, number: int = 0, **more: Any) -> None:
        self.dynamodb.put_item(TableName=table, Item=item(p=key, n=number, **more))

    def consumer(
        self, table: str, handler: Callable[..., Any] | str, *, worker: str = "worker-1", **settings: Any
    ) -> Consumer:
        return consume(
            table,
            handler,
            dynamodb=self.dynamodb,
            streams=self.streams,
            worker=worker,
            clock=self.clock,
            entropy=SeededEntropy(1),
            sleep=self.sleep,
            **{"group": "group-1", **settings},
        )


class Seen:
    """A handler that records (key, number) of every record, and the sizes of the batches."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, int]] = []
        self.batches: list[int] = []
        self.records: list[dict[str, Any]] = []

    def __call__(self, event: dict[str, Any]) -> None:
        self.batches.append(len(event["Records"]))
        self.records += event["Records"]
        self.pairs += [pair_of(record) for record in event["Records"]]

    def of(self, key: str) -> list[int]:
        return [number for each, number in self.pairs if each == key]


def pair_of(record: dict[str, Any]) -> tuple[str, int]:
    image = record["dynamodb"].get("NewImage") or record["dynamodb"].get("OldImage")
    return image["p"]["S"], int(image["n"]["N"])
