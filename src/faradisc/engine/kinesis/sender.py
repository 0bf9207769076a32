"""Asks a Kinesis endpoint for streams, and sends PutRecords requests to it.

A server sends from separate threads, so the database's thread never waits for the network. The in-process
client, which has no background threads, sends in the caller's thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol, TypeVar

from faradisc.engine.jobs.threads import WaitingThreads

T = TypeVar("T")

TIMEOUT_S = 5
"""Timeout of a connection and of each read; also the longest wait for a request when the database is
closed."""
_THREADS = 4
_REJECTIONS = frozenset({"ValidationException", "InvalidArgumentException"})


class Outgoing(NamedTuple):
    partition_key: str
    data: bytes


class Rejected(Exception):
    """The endpoint rejects a request; a retry does not help."""


class Sender(Protocol):
    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        """Returns the positions of records that were not accepted. Fails with Rejected, or with any other
        exception when a retry may help."""
        ...

    def exists(self, region: str, stream: str) -> Future[bool]:
        """Returns whether there is such a stream. Fails with any exception if that cannot be known."""
        ...

    def close(self) -> None: ...


class InlineSender:
    """Sends in the caller's thread."""

    def __init__(self, endpoint_url: str) -> None:
        self._endpoint_url = endpoint_url
        self._clients: dict[str, Any] = {}

    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        return self._done(lambda: self.put(region, stream, records))

    def exists(self, region: str, stream: str) -> Future[bool]:
        return self._done(lambda: self.find(region, stream))

    @staticmethod
    def _done(work: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(work())
        except Exception as error:
            # The job that reads the future handles it.
            done.set_exception(error)
        return done

    def find(self, region: str, stream: str) -> bool:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - only databases with a destination

        try:
            self._client(region).describe_stream_summary(StreamName=stream)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return False
            raise
        return True

    def put(self, region: str, stream: str, records: Sequence[Outgoing]) -> list[int]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - only databases with a destination

        try:
            answer = self._client(region).put_records(
                StreamName=stream,
                Records=[{"Data": each.data, "PartitionKey": each.partition_key} for each in records],
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in _REJECTIONS:
                raise Rejected(str(error)) from error
            raise
        return [at for at, result in enumerate(answer["Records"]) if result.get("ErrorCode")]

    def _client(self, region: str) -> Any:
        if region not in self._clients:
            import botocore.session  # noqa: PLC0415 - slow to import
            from botocore.config import Config  # noqa: PLC0415

            made_up = None if os.environ.get("AWS_ACCESS_KEY_ID") else "faradisc"
            self._clients[region] = botocore.session.get_session().create_client(
                "kinesis",
                region_name=region,
                endpoint_url=self._endpoint_url,
                aws_access_key_id=made_up,
                aws_secret_access_key=made_up,
                # The job retries by the database's clock.
                config=Config(
                    retries={"total_max_attempts": 1},
                    connect_timeout=TIMEOUT_S,
                    read_timeout=TIMEOUT_S,
                ),
            )
        return self._clients[region]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()


class ThreadedSender:
    """Sends from threads of its own."""

    def __init__(self, endpoint_url: str) -> None:
        self.inline = InlineSender(endpoint_url)
        self._threads = WaitingThreads("faradisc-kinesis", _THREADS)

    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        return self._threads.run(lambda: self.inline.put(region, stream, records))

    def exists(self, region: str, stream: str) -> Future[bool]:
        return self._threads.run(lambda: self.inline.find(region, stream))

    def close(self) -> None:
        """Waits up to `TIMEOUT_S` for running requests, whose records would otherwise be delivered again."""
        if self._threads.close(TIMEOUT_S):
            self.inline.close()
