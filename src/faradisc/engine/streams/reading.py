"""Reads a stream: the initial position of an iterator, and the records of one answer.

A position in a shard is the log sequence after which reading continues. Entries that end a shard are skipped,
and those of other shards in the same log.

Sources: streams.md sections 1 and 4; errors.md section 9. Texts that are not captured there are assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from faradisc.engine.streams.records import created_ms, row_key_of, show
from faradisc.engine.streams.registry import Streams
from faradisc.engine.streams.shards import Shard, position_of, sequence_number
from faradisc.engine.streams.stream import Stream
from faradisc.errors import ResourceNotFoundException, TrimmedDataAccessException, ValidationException
from faradisc.limits import STREAM_PAGE_BYTES_MAX
from faradisc.records import dataclass
from faradisc.storage.api import Part

_ARN = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]+)/stream/([0-9T:.-]+)"
)
_FIRST_READ_ENTRIES = 16
"""Entries of the first read, before their mean size is known; each can have two images of 400 KB."""
_ROLL_MS = 10_000
"""The two commits of a roll are made within this time."""
_COST_BYTES_MAX = 4 * STREAM_PAGE_BYTES_MAX
_ENTRY_COST_BYTES = 1000
"""What one answer reads at most, where an entry costs this much besides its size. A page of the shard's own
records costs less; entries of other shards may end it early."""


def parse_arn(arn: str) -> tuple[str, str, str, str]:
    """Returns region, account, table name and label. Raises ValidationException."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise ValidationException(f"Invalid StreamArn: {arn}")
    region, account, table_name, label = match.groups()
    return region, account, table_name, label


def not_found(arn: str) -> ResourceNotFoundException:
    return ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")


def shard_named(shards: Sequence[Shard], shard_id: str, arn: str) -> Shard:
    """Returns the shard of an id. Raises ResourceNotFoundException."""
    for shard in shards:
        if shard.id == shard_id:
            return shard
    raise ResourceNotFoundException(
        f"Requested resource not found: Shard: {shard_id} in Stream: {arn} not found"
    )


# --- Initial positions ---------------------------------------------------------------------------

FOREIGN_NUMBER = "Invalid SequenceNumber for the shard"
NEEDLESS_NUMBER = (
    "One or more parameter values were invalid: SequenceNumber should not be passed for this iterator type"
)


async def starting_position(
    streams: Streams, stream: Stream, shard: Shard, request: Mapping[str, Any]
) -> int:
    """Returns the position of a GetShardIterator request. Requires: the stream's lock held.

    Raises: ValidationException, TrimmedDataAccessException.
    """
    kind = request["ShardIteratorType"]
    _check_members(kind, request)
    part = stream.parts[shard.slot]
    last = shard.last if shard.last is not None else (await streams.last_sequences((part,)))[0]
    if kind == "LATEST":
        return last
    oldest = max(shard.first, await streams.oldest_sequence(part))
    if kind == "TRIM_HORIZON":
        return min(oldest - 1, last)
    if kind == "AT_TIMESTAMP":
        seconds = request["Timestamp"]  # of any size
        now_ms = streams.clock.now_ns() // 1_000_000
        if seconds > now_ms / 1000:
            raise ValidationException("Timestamp must not be in the future")
        at_ms = round(max(seconds, 0) * 1000)
        return await streams.first_created_from(part, at_ms, min(oldest, last + 1), last) - 1
    position = position_of(request["SequenceNumber"])
    if position is None or position[0] != shard.slot:
        raise ValidationException(FOREIGN_NUMBER)
    if not shard.first <= position[1] <= last + (shard.last is None):
        raise ValidationException(FOREIGN_NUMBER)
    after = position[1] - 1 if kind == "AT_SEQUENCE_NUMBER" else position[1]
    if after + 1 < oldest:
        raise TrimmedDataAccessException
    return after


def _check_members(kind: str, request: Mapping[str, Any]) -> None:
    """Raises ValidationException unless the request has exactly the member of its iterator type."""
    wanted = {
        "AT_SEQUENCE_NUMBER": "SequenceNumber",
        "AFTER_SEQUENCE_NUMBER": "SequenceNumber",
        "AT_TIMESTAMP": "Timestamp",
    }.get(kind)
    for member in ("SequenceNumber", "Timestamp"):
        if member == wanted and member not in request:
            raise ValidationException(f"{member} must be specified when ShardIteratorType is {kind}")
        if member != wanted and member in request:
            if member == "SequenceNumber":
                raise ValidationException(NEEDLESS_NUMBER)
            raise ValidationException(f"{member} must not be specified when ShardIteratorType is {kind}")


# --- Records -------------------------------------------------------------------------------------


@dataclass(slots=True)
class RecordsPage:
    records: list[dict[str, Any]]
    after: int
    """The position after the last entry that was read."""
    at_end: bool
    """Whether the shard is closed and was read to its end."""
    size_bytes: int
    """Sum of the records' sizes, with their images."""


async def read_records(
    streams: Streams, stream: Stream, shard: Shard, after: int, limit: int, *, lag_ns: int = 0
) -> RecordsPage:
    """Returns up to `limit` records and 1 MB after a position. Requires: the stream's lock held.

    lag_ns: records are shown when they are this old.
    Raises: TrimmedDataAccessException.
    """
    part = stream.parts[shard.slot]
    state = stream.state
    records: list[dict[str, Any]] = []
    size = read = cost = 0
    wanted = min(limit, _FIRST_READ_ENTRIES)
    while len(records) < limit and cost < _COST_BYTES_MAX and not _at_end(shard, after):
        entries = await _entries(streams, part, after, wanted)
        if streams.store.shared:
            entries = _before_roll(streams, stream, shard, entries)
        if lag_ns:
            entries = _older(entries, streams.clock.now_ns() - lag_ns)
        for sequence, entry in entries:
            if len(records) == limit or (shard.last is not None and sequence > shard.last):
                break
            shown = None
            if shard.holds(row_key_of(entry)):
                shown = show(
                    entry,
                    sequence_number(shard.slot, sequence),
                    stream=stream.arn,
                    view_type=state.view_type,
                    region=state.region,
                    key=stream.key,
                )
            if shown is not None:
                if records and size + shown.size_bytes > STREAM_PAGE_BYTES_MAX:
                    return RecordsPage(records, after, False, size)
                records.append(shown.record)
                size += shown.size_bytes
            read += 1
            cost += len(entry) + _ENTRY_COST_BYTES
            after = sequence
        if len(entries) < wanted:
            break
        # As many as fit into the rest of the page at the mean cost so far.
        fitting = (STREAM_PAGE_BYTES_MAX - size) * read // cost + 1
        wanted = min(max(limit - len(records), _FIRST_READ_ENTRIES), fitting)
    return RecordsPage(records, after, _at_end(shard, after), size)


def _at_end(shard: Shard, after: int) -> bool:
    """Returns whether a position is at the end of a closed shard."""
    return shard.last is not None and after >= shard.last


def _older(entries: list[tuple[int, bytes]], until_ns: int) -> list[tuple[int, bytes]]:
    """Returns the entries before the first that was made after a moment."""
    until_ms = until_ns // 1_000_000
    return list(takewhile(lambda each: created_ms(each[1]) <= until_ms, entries))


def _before_roll(
    streams: Streams, stream: Stream, shard: Shard, entries: list[tuple[int, bytes]]
) -> list[tuple[int, bytes]]:
    """Returns the entries before an end of shards that is not known: another node may be between the two
    commits of a roll. After a while it is what a crash has left."""
    known = {each.last for each in stream.state.shards if each.slot == shard.slot}
    since_ms = streams.clock.now_ns() // 1_000_000 - _ROLL_MS
    for at, (sequence, entry) in enumerate(entries):
        if not row_key_of(entry) and sequence not in known and created_ms(entry) > since_ms:
            return entries[:at]
    return entries


async def _entries(streams: Streams, part: Part, after: int, limit: int) -> list[tuple[int, bytes]]:
    """Returns the next entries after a position. Raises TrimmedDataAccessException when some are trimmed."""
    entries = await streams.store.log(part, after, limit)
    if not entries:
        (last,) = await streams.last_sequences((part,))
        if last <= after:
            return []
        entries = await streams.store.log(part, after, limit)  # written meanwhile, or trimmed
    if not entries or entries[0][0] != after + 1:
        raise TrimmedDataAccessException
    return entries
