"""PutRecords to a Kinesis endpoint.

The database's thread never waits for the network: a server sends from a thread of its own. In the
in-process client, where nothing runs behind the caller's back, sending is done in place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

_TIMEOUT_S = 5
"""For one request; also the longest that the end of the database waits."""
_THREADS = 4
_REFUSALS = frozenset({"ValidationException", "InvalidArgumentException"})


class Outgoing(NamedTuple):
    partition_key: str
    data: bytes


class Refused(Exception):
    """The endpoint will never take this request, however often it is sent."""


class Sender(Protocol):
    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        """Positions of the records that were not taken. Fails with Refused, or with any other exception
        when a retry may help."""
        ...

    def close(self) -> None: ...


class InlineSender:
    """Sends in the caller's thread."""

    def __init__(self, endpoint_url: str) -> None:
        self._endpoint_url = endpoint_url
        self._clients: dict[str, Any] = {}

    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        sent: Future[list[int]] = Future()
        try:
            sent.set_result(self.put(region, stream, records))
        except Exception as error:
            # The job that reads the future deals with it.
            sent.set_exception(error)
        return sent

    def put(self, region: str, stream: str, records: Sequence[Outgoing]) -> list[int]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - only databases with a destination

        try:
            answer = self._client(region).put_records(
                StreamName=stream,
                Records=[{"Data": each.data, "PartitionKey": each.partition_key} for each in records],
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in _REFUSALS:
                raise Refused(str(error)) from error
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
                # The job tries again by the database's clock.
                config=Config(
                    retries={"total_max_attempts": 1},
                    connect_timeout=_TIMEOUT_S,
                    read_timeout=_TIMEOUT_S,
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
        self._inline = InlineSender(endpoint_url)
        self._pool = ThreadPoolExecutor(_THREADS, "faradisc-kinesis")

    def send(self, region: str, stream: str, records: Sequence[Outgoing]) -> Future[list[int]]:
        return self._pool.submit(self._inline.put, region, stream, records)

    def close(self) -> None:
        """Waits for what is under way: what was delivered and not trimmed would be delivered again."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._inline.close()
