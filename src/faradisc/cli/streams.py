"""`faradisc streams tail|run|redrive`: prints the records of a stream, or passes them to a handler."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from typing import Any

import click

from faradisc.cli.databases import endpoint
from faradisc.cli.failing import fail


def _start(default: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns a decorator that adds the option `--from`."""
    kinds = click.Choice(["trim-horizon", "latest"])
    return click.option("--from", "start", type=kinds, default=default, show_default=True, help=text)


@click.group()
def streams() -> None:
    """Read a table's stream."""


@streams.command()
@click.argument("table")
@endpoint
@_start("latest", "Start with the oldest record, or with records written from now on.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document per record.")
@click.option("--once", is_flag=True, help="Exit when all present records are printed.")
def tail(table: str, *, url: str, region: str | None, start: str, as_json: bool, once: bool) -> None:
    """Print the records of TABLE's stream as they arrive. TABLE is a table's name or a stream's ARN.

    Stores no position: each call starts at --from.
    """
    from faradisc.tools.consumers.tail import tail as make_tail  # noqa: PLC0415 - botocore is slow to import

    def show(record: dict[str, Any]) -> None:
        try:
            click.echo(json.dumps(record) if as_json else text_of(record))
        except BrokenPipeError:
            consumer.stop()

    with _ErrorsAsSentences():
        arn, client = _stream(table, url, region)
        consumer = make_tail(client, arn, show, start=start)
        _on_signals(consumer.stop)
        if once:
            consumer.drain()
        else:
            consumer.run()


def text_of(record: dict[str, Any]) -> str:
    """Returns a line with the time, event, key and new image of a record."""
    change = record["dynamodb"]
    image = change.get("NewImage")
    line = (
        f"{change['ApproximateCreationDateTime']} {record['eventName']:6} {json.dumps(change['Keys'])}"
        f"{' by time to live' if 'userIdentity' in record else ''}"
    )
    return f"{line} -> {json.dumps(image)}" if image is not None else line


@streams.command()
@click.argument("table")
@endpoint
@click.option("--handler", required=True, help="module:function, or an http:// address for events.")
@click.option("--group", required=True, help="Consumer group; its workers share the stream.")
@click.option("--worker", help="This worker's name in the group; random by default.")
@click.option("--dead-letter", help="table:NAME, file:PATH or an http:// address.")
@_start("trim-horizon", "Start of a new group.")
@click.option(
    "--batch-size", type=int, default=100, show_default=True, help="Records per invocation at most."
)
@click.option(
    "--batch-window", type=float, default=0.0, show_default=True, help="Seconds to wait for a full batch."
)
@click.option("--parallel", type=int, default=1, show_default=True, help="Concurrent invocations per shard.")
@click.option("--retries", type=int, help="Retries of a failed batch; unlimited by default.")
@click.option("--max-age", type=float, help="Skip records older than this, in seconds.")
@click.option("--bisect", is_flag=True, help="Halve a failed batch until only the failing record is left.")
@click.option("--publish", is_flag=True, help="Publish IteratorAge and dead letters to CloudWatch at --url.")
@click.option("--redeliver", type=float, default=0.0, help="Share of records to deliver twice, 0 to 1.")
@click.option("--redeliver-seed", type=int, default=0, help="The same number repeats the same records.")
@click.option(
    "--lease-table",
    default="faradisc-consumers",
    show_default=True,
    help="Table of leases and checkpoints.",
)
@click.option("--once", is_flag=True, help="Exit when all present records are handled.")
def run(
    table: str,
    *,
    url: str,
    region: str | None,
    handler: str,
    group: str,
    worker: str | None,
    dead_letter: str | None,
    batch_window: float,
    max_age: float | None,
    once: bool,
    **settings: Any,
) -> None:
    """Pass the records of TABLE's stream to a handler in batches, until SIGTERM or Ctrl-C.

    Checkpoints are stored in the lease table: the next call continues after the handled records.
    """
    from faradisc.tools.consumers import consume  # noqa: PLC0415 - botocore is slow to import

    sys.path.insert(0, "")  # finds handlers in the current directory, like `python -m`
    with _ErrorsAsSentences():
        consumer = consume(
            table,
            handler,
            group=group,
            worker=worker,
            endpoint_url=url,
            region_name=region,
            dead_letters=dead_letter,
            batch_window_s=batch_window,
            max_record_age_s=max_age,
            **settings,
        )
        _on_signals(consumer.stop)
        if once:
            with consumer:
                consumer.drain()
        else:
            consumer.run()
    click.echo(json.dumps(consumer.statistics()), err=True)


@streams.command()
@click.argument("table")
@endpoint
@click.option("--handler", required=True, help="module:function, or an http:// address for events.")
@click.option("--group", help="Letters of this consumer group only.")
def redrive(table: str, *, url: str, region: str | None, handler: str, group: str | None) -> None:
    """Deliver the dead letters in TABLE again, and delete those that the handler accepts.

    After a failure the later letters of the same item wait. Exit code 3: some letters are left.
    """
    from faradisc.tools.consumers.handlers import invoker  # noqa: PLC0415 - botocore is slow to import
    from faradisc.tools.consumers.redrive import Redriven, letters  # noqa: PLC0415
    from faradisc.tools.consumers.redrive import redrive as deliver  # noqa: PLC0415
    from faradisc.tools.consumers.starting import make_client  # noqa: PLC0415

    sys.path.insert(0, "")
    with _ErrorsAsSentences():
        client = make_client("dynamodb", url, region)
        invoke = invoker(handler)
        chosen = [letter for letter in letters(client, table) if group in (None, letter.group)]
        outcome = Redriven()
        deliver(client, table, chosen, invoke, outcome)
    for number, reason in {**outcome.failed, **outcome.not_tried}.items():
        click.echo(f"{number}: {reason}", err=True)
    left = len(outcome.failed) + len(outcome.not_tried)
    click.echo(f"{len(outcome.delivered):,} delivered, {left:,} left")
    if left:
        sys.exit(3)


def _stream(table: str, url: str, region: str | None) -> tuple[str, Any]:
    """Returns the ARN of a table's stream, and a client for it."""
    from faradisc.tools.consumers.starting import latest_stream_arn, make_client  # noqa: PLC0415

    arn = table if "/stream/" in table else latest_stream_arn(make_client("dynamodb", url, region), table)
    return arn, make_client("dynamodbstreams", url, region)


def _on_signals(stop: Callable[[], None]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop())


class _ErrorsAsSentences:
    """Ends the program with one sentence for an error of the database or of an option."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError  # noqa: PLC0415

        if isinstance(error, ClientError):
            fail("{Code}: {Message}".format_map(error.response["Error"]))
        if isinstance(error, EndpointConnectionError):
            reason: Exception = error.kwargs["error"]
            fail(f"{error.kwargs['endpoint_url']} does not answer: {reason.__cause__ or reason}")
        if isinstance(error, BotoCoreError | ValueError | TimeoutError):
            fail(str(error))
