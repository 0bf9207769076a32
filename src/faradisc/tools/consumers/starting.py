"""consume(): creates a consumer from a table's name and a handler."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

from faradisc.clock import Clock, Entropy, SystemClock, SystemEntropy
from faradisc.tools.consumers.consumer import Consumer
from faradisc.tools.consumers.dead_letters import DeadLetters, destination
from faradisc.tools.consumers.handlers import Handler, invoker
from faradisc.tools.consumers.leases import TableLeases
from faradisc.tools.consumers.publishing import ConsumerMetrics
from faradisc.tools.consumers.settings import ConsumerSettings


class NoStream(ValueError):
    """The table has no stream; a StreamSpecification enables it."""


def consume(
    table: str,
    handler: Handler | str,
    *,
    group: str,
    dynamodb: Any = None,
    streams: Any = None,
    cloudwatch: Any = None,
    publish: bool = False,
    endpoint_url: str | None = None,
    region_name: str | None = None,
    dead_letters: DeadLetters | str | None = None,
    worker: str | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    sleep: Callable[[float], Any] | None = None,
    **settings: Any,
) -> Consumer:
    """Returns a consumer of a table's stream, to be used by `run`, or by `step` and `drain` without threads.

    table: the table's name, or the ARN of a stream.
    handler: a callable of an event, or of an event and a context; `module:function`; or an http:// address.
    group: the group's name. Its workers share the stream; every group receives all records.
    dynamodb, streams: boto3 clients, for leases and for the stream; by default clients of `endpoint_url`.
    cloudwatch: a boto3 client to which metrics are published every minute (publishing.py); `publish` makes
    one of `endpoint_url`.
    dead_letters: `table:NAME`, `file:PATH`, an http:// address, or an object with `keep`; without a
    destination skipped records are only counted and logged.
    worker: this worker's name, unique in the group; random by default.
    settings: see ConsumerSettings.

    Raises ValueError, NoStream, and exceptions of boto3.
    """
    clock = clock or SystemClock()
    chosen = ConsumerSettings(**settings)
    if not group:
        raise ValueError("the group needs a name")
    if dynamodb is None or streams is None:
        if endpoint_url is None:
            raise ValueError("give clients (dynamodb and streams) or an endpoint_url")
        dynamodb = dynamodb or make_client("dynamodb", endpoint_url, region_name)
        streams = streams or make_client("dynamodbstreams", endpoint_url, region_name)
    arn = table if "/stream/" in table else latest_stream_arn(dynamodb, table)
    pause = sleep or _sleep
    metrics = None
    if publish and cloudwatch is None:
        if endpoint_url is None:
            raise ValueError("give a client (cloudwatch) or an endpoint_url to publish to")
        cloudwatch = make_client("cloudwatch", endpoint_url, region_name)
    if cloudwatch is not None:
        metrics = ConsumerMetrics(cloudwatch, group, arn, _depth(dynamodb, dead_letters))
    if isinstance(dead_letters, str):
        dead_letters = destination(dead_letters, dynamodb, sleep=pause)
    return Consumer(
        streams,
        arn,
        group=group,
        worker=worker or _new_name(entropy or SystemEntropy()),
        invoke=invoker(handler),
        leases=TableLeases(dynamodb, chosen.lease_table, group, arn, sleep=pause),
        settings=chosen,
        clock=clock,
        dead_letters=dead_letters,
        metrics=metrics,
        sleep=sleep,
    )


def _depth(dynamodb: Any, dead_letters: DeadLetters | str | None) -> Callable[[], int] | None:
    """Returns what counts the items of a table of dead letters, which the first letter creates; None for
    other destinations."""
    if not isinstance(dead_letters, str) or not dead_letters.startswith("table:"):
        return None
    name = dead_letters.removeprefix("table:")

    def depth() -> int:
        try:
            return int(dynamodb.describe_table(TableName=name)["Table"]["ItemCount"])
        except dynamodb.exceptions.ResourceNotFoundException:
            return 0

    return depth


def latest_stream_arn(dynamodb: Any, table: str) -> str:
    """Raises NoStream, and exceptions of boto3."""
    described = dynamodb.describe_table(TableName=table)["Table"]
    arn: str | None = described.get("LatestStreamArn")
    if arn is None:
        raise NoStream(f"the table {table} has no stream")
    return arn


def make_client(service: str, endpoint_url: str, region_name: str | None = None) -> Any:
    """Returns a client of botocore. Without credentials in the environment it has made-up ones, which a local
    endpoint accepts."""
    import botocore.session  # noqa: PLC0415 - slow to import, and not needed with given clients
    from botocore.config import Config  # noqa: PLC0415

    session = botocore.session.get_session()
    found = session.get_credentials() if os.environ.get("AWS_ACCESS_KEY_ID") else None
    made_up = None if found else "faradisc"
    return session.create_client(
        service,
        endpoint_url=endpoint_url,
        region_name=region_name or session.get_config_variable("region") or "us-east-1",
        config=Config(retries={"mode": "standard"}, max_pool_connections=50),
        aws_access_key_id=made_up,
        aws_secret_access_key=made_up,
    )


def _sleep(seconds: float) -> None:
    import time  # noqa: PLC0415 - used only without an injected sleep

    time.sleep(seconds)


def _new_name(entropy: Entropy) -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{entropy.token_bytes(4).hex()}"
