"""Reading one shard from a checkpoint on, whatever happens to iterators on the way."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from faradisc.tools.consumers.events import Record, record_of
from faradisc.tools.consumers.leases import LATEST, TRIM_HORIZON, Lease
from faradisc.tools.consumers.statistics import Statistics
from faradisc.tools.consumers.tables import error_code

PAGE_RECORDS_MAX = 1000
_ITERATORS_MAX = 3

_FOR_NOW = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "InternalServerError",
        "ServiceUnavailable",
    }
)


class Unavailable(Exception):
    """The stream cannot be read for now."""


class ShardReader:
    """The records behind a checkpoint, page by page.

    A new group's first reading of an open shard begins at LATEST, which no number stands for until a record
    was read. Whoever has to begin again before that asks by time instead, from when the group began: this
    one case rests on clocks that agree, and may show what came in the same millisecond once more.
    """

    def __init__(
        self,
        client: Any,
        stream_arn: str,
        lease: Lease,
        statistics: Statistics,
        *,
        latest_is_ms: int | None = None,
    ) -> None:
        """latest_is_ms: what LATEST means by now, as a time; None: what it says."""
        self._client = client
        self._stream_arn = stream_arn
        self._shard_id = lease.shard_id
        self._position = lease.checkpoint
        self._statistics = statistics
        self._latest_is_ms = latest_is_ms
        self._iterator: str | None = None
        self.ended = False
        """The shard is closed, and everything in it was read."""

    def begin(self, now_ms: int) -> None:
        """Get an iterator. Raises: Unavailable, ClientError."""
        if self._iterator is None and not self.ended:
            self._iterator = self._new_iterator(now_ms)

    def read(self, now_ms: int) -> list[Record]:
        """The next page, empty when there is nothing new. Raises: Unavailable, ClientError."""
        for _ in range(_ITERATORS_MAX):
            self.begin(now_ms)
            if self._iterator is None:
                return []
            page = self._get(self._iterator)
            if page is not None:
                break
        else:
            raise Unavailable(f"{self._shard_id} gives out iterators that it does not take")
        records = [record_of(raw, self._stream_arn) for raw in page["Records"]]
        if records:
            self._position = records[-1].sequence_number
            self._statistics.add("records_read", len(records))
        self._iterator = page.get("NextShardIterator")
        self.ended = self._iterator is None
        return records

    def _get(self, iterator: str) -> dict[str, Any] | None:
        """A page; None when the iterator is of no use any more. Raises: Unavailable, ClientError."""
        try:
            page: dict[str, Any] = self._client.get_records(ShardIterator=iterator, Limit=PAGE_RECORDS_MAX)
            return page
        except ClientError as error:
            self._recover(error)
            return None
        except BotoCoreError as error:
            raise Unavailable(str(error)) from error

    def _recover(self, error: ClientError) -> None:
        """Forget the iterator, so that the next read gets another one. Raises: Unavailable, ClientError."""
        code = error_code(error)
        if code in _FOR_NOW:
            self._statistics.add("throttled")
            raise Unavailable(code) from error
        self._iterator = None
        if code == "TrimmedDataAccessException":
            self._skip_gap()
        elif code == "ResourceNotFoundException":
            self._end_early()
        elif code != "ExpiredIteratorException":
            raise error

    def _new_iterator(self, now_ms: int) -> str | None:
        """None when the shard is gone. Raises: Unavailable, ClientError."""
        place = self._place()
        if self._latest_is_ms is None:
            # Should this iterator be lost before it has shown a record, then everything since is wanted.
            self._latest_is_ms = now_ms
        try:
            return self._ask(**place)
        except ClientError as error:
            code = error_code(error)
            if code in _FOR_NOW:
                self._statistics.add("throttled")
                raise Unavailable(code) from error
            if code == "TrimmedDataAccessException":
                self._skip_gap()
                return self._ask(ShardIteratorType=TRIM_HORIZON)
            if code == "ResourceNotFoundException":
                self._end_early()
                return None
            if code == "ValidationException" and place["ShardIteratorType"] == "AT_TIMESTAMP":
                # Asking by time is new, and the other side's clock may be behind.
                return self._ask(ShardIteratorType=LATEST)
            raise
        except BotoCoreError as error:
            raise Unavailable(str(error)) from error

    def _place(self) -> dict[str, Any]:
        if self._position == LATEST and self._latest_is_ms is not None:
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": self._latest_is_ms / 1000}
        if self._position in (TRIM_HORIZON, LATEST):
            return {"ShardIteratorType": self._position}
        return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._position}

    def _ask(self, **place: Any) -> str:
        answer = self._client.get_shard_iterator(StreamArn=self._stream_arn, ShardId=self._shard_id, **place)
        iterator: str = answer["ShardIterator"]
        return iterator

    def _skip_gap(self) -> None:
        """The place read up to was trimmed: records may be lost to this group, which the count tells."""
        self._statistics.add("gaps")
        self._position = TRIM_HORIZON

    def _end_early(self) -> None:
        self._statistics.add("gaps")
        self.ended = True
