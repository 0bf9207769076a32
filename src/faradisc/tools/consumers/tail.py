"""Shows the records of a stream: a consumer without a group, checkpoints and a lease table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faradisc.clock import Clock, SystemClock
from faradisc.tools.consumers.consumer import Consumer
from faradisc.tools.consumers.events import Event
from faradisc.tools.consumers.handlers import Context
from faradisc.tools.consumers.leases import MemoryLeases
from faradisc.tools.consumers.settings import ConsumerSettings


def tail(
    streams: Any,
    stream_arn: str,
    show: Callable[[dict[str, Any]], None],
    *,
    start: str = "latest",
    clock: Clock | None = None,
    sleep: Callable[[float], Any] | None = None,
) -> Consumer:
    """Returns a consumer of all shards that calls `show` with every record once.

    start: `trim-horizon` or `latest`.
    """

    def invoke(event: Event, context: Context) -> None:
        for record in event["Records"]:
            show(record)

    return Consumer(
        streams,
        stream_arn,
        group="tail",
        worker="tail",
        invoke=invoke,
        leases=MemoryLeases(),
        settings=ConsumerSettings(start=start, batch_size=1000, retries=0, threads=1),
        clock=clock or SystemClock(),
        sleep=sleep,
    )
