"""Reads one shard from a checkpoint on, with new iterators when one is lost."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from faradisc.tools.consumers.events import Record, record_of
from faradisc.tools.consumers.leases import LATEST, TRIM_HORIZON, ShardLease
from faradisc.tools.consumers.statistics import Statistics
from faradisc.tools.consumers.tables import error_code

PAGE_RECORDS_MAX = 1000
_ITERATORS_MAX = 3

_RETRYABLE = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "InternalServerError",
        "ServiceUnavailable",
    }
)


class StreamUnavailable(Exception):
    """The stream cannot be read at the moment."""


class ShardReader:
    """The records after a checkpoint, page by page.

    The first reader of an open shard in a new group starts at LATEST, which has no sequence number until a
    record was read. A reader that has to restart before that uses the time of the group's start instead. Only
    this case depends on synchronous clocks; it may repeat records of the same millisecond.
    """

    def __init__(
        self,
        client: Any,
        stream_arn: str,
        lease: ShardLease,
        statistics: Statistics,
        *,
        latest_is_ms: int | None = None,
    ) -> None:
        """latest_is_ms: the time that LATEST means; None: the present time."""
        self._client = client
        self._stream_arn = stream_arn
        self._shard_id = lease.shard_id
        self._position = lease.checkpoint
        self._statistics = statistics
        self._latest_is_ms = latest_is_ms
        self._iterator: str | None = None
        self.ended = False
        """The shard is closed, and all its records were read."""

    def begin(self, now_ms: int) -> None:
        """Gets an iterator. Raises Unavailable, ClientError."""
        if self._iterator is None and not self.ended:
            self._iterator = self._new_iterator(now_ms)

    def read(self, now_ms: int) -> list[Record]:
        """Returns the next page, empty without new records. Raises Unavailable, ClientError."""
        for _ in range(_ITERATORS_MAX):
            self.begin(now_ms)
            if self._iterator is None:
                return []
            page = self._get(self._iterator)
            if page is not None:
                break
        else:
            raise StreamUnavailable(f"{self._shard_id} does not accept its own iterators")
        records = [record_of(raw, self._stream_arn) for raw in page["Records"]]
        if records:
            self._position = records[-1].sequence_number
            self._statistics.add("records_read", len(records))
        self._iterator = page.get("NextShardIterator")
        self.ended = self._iterator is None
        return records

    def _get(self, iterator: str) -> dict[str, Any] | None:
        """Returns a page; None when the iterator has become invalid. Raises Unavailable, ClientError."""
        try:
            page: dict[str, Any] = self._client.get_records(ShardIterator=iterator, Limit=PAGE_RECORDS_MAX)
            return page
        except ClientError as error:
            self._recover(error)
            return None
        except BotoCoreError as error:
            raise StreamUnavailable(str(error)) from error

    def _recover(self, error: ClientError) -> None:
        """Drops the iterator, so that the next read gets a new one. Raises Unavailable, ClientError."""
        code = error_code(error)
        if code in _RETRYABLE:
            self._statistics.add("throttled")
            raise StreamUnavailable(code) from error
        self._iterator = None
        if code == "TrimmedDataAccessException":
            self._skip_gap()
        elif code == "ResourceNotFoundException":
            self._end_early()
        elif code != "ExpiredIteratorException":
            raise error

    def _new_iterator(self, now_ms: int) -> str | None:
        """Returns None when the shard no longer exists. Raises Unavailable, ClientError."""
        position = self._position_parameters()
        if self._latest_is_ms is None:
            # If this iterator is lost before it has returned a record, reading restarts at this time.
            self._latest_is_ms = now_ms
        try:
            return self._request_iterator(**position)
        except ClientError as error:
            code = error_code(error)
            if code in _RETRYABLE:
                self._statistics.add("throttled")
                raise StreamUnavailable(code) from error
            if code == "TrimmedDataAccessException":
                self._skip_gap()
                return self._request_iterator(ShardIteratorType=TRIM_HORIZON)
            if code == "ResourceNotFoundException":
                self._end_early()
                return None
            if code == "ValidationException" and position["ShardIteratorType"] == "AT_TIMESTAMP":
                # AT_TIMESTAMP is new, and the clock of the stream may be behind.
                return self._request_iterator(ShardIteratorType=LATEST)
            raise
        except BotoCoreError as error:
            raise StreamUnavailable(str(error)) from error

    def _position_parameters(self) -> dict[str, Any]:
        if self._position == LATEST and self._latest_is_ms is not None:
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": self._latest_is_ms / 1000}
        if self._position in (TRIM_HORIZON, LATEST):
            return {"ShardIteratorType": self._position}
        return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._position}

    def _request_iterator(self, **position: Any) -> str:
        answer = self._client.get_shard_iterator(
            StreamArn=self._stream_arn, ShardId=self._shard_id, **position
        )
        iterator: str = answer["ShardIterator"]
        return iterator

    def _skip_gap(self) -> None:
        """Continues at the oldest record: the position was trimmed, and records may be lost. Counts the
        gap."""
        self._statistics.add("gaps")
        self._position = TRIM_HORIZON

    def _end_early(self) -> None:
        self._statistics.add("gaps")
        self.ended = True
