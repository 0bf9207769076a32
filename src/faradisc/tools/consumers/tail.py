"""Records as they come, for whoever only looks: a consumer without a group, a table or a memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faradisc.clock import Clock, SystemClock
from faradisc.tools.consumers.consumer import Consumer
from faradisc.tools.consumers.events import Event
from faradisc.tools.consumers.handlers import Context
from faradisc.tools.consumers.leases import OwnLeases
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
    """A consumer that calls `show` with every record once. It holds all shards, and shows
    one record at a time.

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
        leases=OwnLeases(),
        settings=ConsumerSettings(start=start, batch_size=1000, retries=0, threads=1),
        clock=clock or SystemClock(),
        sleep=sleep,
    )
