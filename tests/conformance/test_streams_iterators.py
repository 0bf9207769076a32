"""Where iterators begin, how long they live, and what is refused. Source: streams.md section 4."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from faradisc.clock import ManualClock
from fixtures.schemas import invalid, item, refused
from fixtures.streamed import Streamed

MINUTE_S = 60
DAY_S = 86_400


def written(streamed: Streamed, count: int = 3) -> tuple[str, str, list[dict[str, Any]]]:
    """A stream, the one of its shards that has records, and those records."""
    name = streamed.table()
    for n in range(count):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=n))
    arn = streamed.arn(name)
    for shard in streamed.shards(arn):
        records, _ = streamed.read_shard(arn, shard["ShardId"])
        if records:
            return arn, shard["ShardId"], records
    raise AssertionError("no shard has records")


def number(record: dict[str, Any]) -> str:
    text: str = record["dynamodb"]["SequenceNumber"]
    return text


def test_the_trim_horizon_is_the_oldest_record(streamed: Streamed) -> None:
    arn, shard, records = written(streamed)
    page = streamed.streams.get_records(ShardIterator=streamed.iterator(arn, shard, "TRIM_HORIZON"))
    assert page["Records"] == records


def test_latest_is_behind_the_newest_record(streamed: Streamed) -> None:
    arn, shard, _ = written(streamed)
    iterator = streamed.iterator(arn, shard, "LATEST")
    page = streamed.streams.get_records(ShardIterator=iterator)
    assert page["Records"] == []
    name = arn.split("/")[1]
    streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=99))
    page = streamed.streams.get_records(ShardIterator=page["NextShardIterator"])
    assert [record["dynamodb"]["NewImage"]["n"] for record in page["Records"]] == [{"N": "99"}]


def test_at_and_after_a_sequence_number(streamed: Streamed) -> None:
    arn, shard, records = written(streamed)
    for position, record in enumerate(records):
        at = streamed.iterator(arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=number(record))
        assert streamed.streams.get_records(ShardIterator=at)["Records"] == records[position:]
        after = streamed.iterator(arn, shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number(record))
        assert streamed.streams.get_records(ShardIterator=after)["Records"] == records[position + 1 :]


def test_the_starting_number_of_a_shard_is_a_position(streamed: Streamed) -> None:
    arn = streamed.arn(streamed.table())
    shard = streamed.shards(arn)[0]
    start = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    iterator = streamed.iterator(arn, shard["ShardId"], "AT_SEQUENCE_NUMBER", SequenceNumber=start)
    assert streamed.streams.get_records(ShardIterator=iterator)["Records"] == []


def test_the_ending_number_of_a_shard_is_a_position(
    streamed: Streamed, in_process_only: None, clock: ManualClock
) -> None:
    arn, shard_id, _ = written(streamed)
    clock.advance(4 * 3600)
    (shard,) = [each for each in streamed.shards(arn) if each["ShardId"] == shard_id]
    end = shard["SequenceNumberRange"]["EndingSequenceNumber"]
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        iterator = streamed.iterator(arn, shard_id, kind, SequenceNumber=end)
        page = streamed.streams.get_records(ShardIterator=iterator)
        assert page["Records"] == []
        assert "NextShardIterator" not in page


def test_at_a_timestamp(streamed: Streamed, in_process_only: None, clock: ManualClock) -> None:
    """Source: new-features.md section 15."""
    name = streamed.table()
    arn = streamed.arn(name)
    start = datetime.fromtimestamp(clock.now_ns() // 10**9, UTC)
    for n in range(20):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=n))
        clock.advance(0.5)
    (shard,) = [each for each in streamed.shards(arn) if streamed.read_shard(arn, each["ShardId"])[0]]

    def first_at(moment: datetime) -> str | None:
        iterator = streamed.iterator(arn, shard["ShardId"], "AT_TIMESTAMP", Timestamp=moment)
        records = streamed.streams.get_records(ShardIterator=iterator)["Records"]
        return records[0]["dynamodb"]["NewImage"]["n"]["N"] if records else None

    assert first_at(start) == "0"
    assert first_at(start - timedelta(days=100)) == "0"
    assert first_at(start + timedelta(seconds=3)) == "6"
    assert first_at(start + timedelta(seconds=3.2)) == "7"
    assert first_at(start + timedelta(seconds=9.5)) == "19"
    assert first_at(start + timedelta(seconds=10)) is None
    with invalid():
        first_at(start + timedelta(seconds=11))


FOREIGN = "Invalid SequenceNumber for the shard"


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("TRIM_HORIZON", {"SequenceNumber": "1" * 25}),
        ("LATEST", {"SequenceNumber": "1" * 25}),
        ("LATEST", {"Timestamp": datetime(2020, 1, 1, tzinfo=UTC)}),
        ("AT_SEQUENCE_NUMBER", {}),
        ("AFTER_SEQUENCE_NUMBER", {}),
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": "x" * 25}),
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": "9" * 40}),
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": "0" * 21}),
        ("AFTER_SEQUENCE_NUMBER", {"SequenceNumber": "1" + "0" * 24}),
        ("AT_TIMESTAMP", {}),
        ("AT_TIMESTAMP", {"SequenceNumber": "1" * 25}),
        ("SOMEWHERE", {}),
    ],
)
def test_members_that_do_not_fit_the_type_are_rejected(
    streamed: Streamed, kind: str, members: dict[str, Any]
) -> None:
    arn, shard, _ = written(streamed, 1)
    with invalid():
        streamed.iterator(arn, shard, kind, **members)


def test_a_number_beyond_the_end_or_of_another_shard_is_rejected(streamed: Streamed) -> None:
    arn, shard, records = written(streamed)
    beyond = str(int(number(records[-1])) + 2000)
    others = [each["ShardId"] for each in streamed.shards(arn) if each["ShardId"] != shard]
    with invalid(FOREIGN):
        streamed.iterator(arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=beyond)
    with invalid(FOREIGN):
        streamed.iterator(arn, others[0], "AT_SEQUENCE_NUMBER", SequenceNumber=number(records[0]))


def test_texts_of_sequence_numbers_of_october_2026(streamed: Streamed) -> None:
    """streams.md section 4: a short number, one of other signs, one with a plus, a needless one."""
    arn, shard, records = written(streamed)
    first = number(records[0])
    short = (
        "1 validation error detected: Value at 'sequenceNumber' failed to satisfy constraint: Member must "
    )
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        with invalid(f"{short}have length greater than or equal to 21"):
            streamed.iterator(arn, shard, kind, SequenceNumber="5")
        for other in ("x" * 25, f"-{first}"):
            with invalid(FOREIGN):
                streamed.iterator(arn, shard, kind, SequenceNumber=other)
    read = streamed.streams.get_records(
        ShardIterator=streamed.iterator(arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=f"+{first}")
    )
    assert read["Records"] == records
    for kind in ("TRIM_HORIZON", "LATEST"):
        with invalid(
            "One or more parameter values were invalid: "
            "SequenceNumber should not be passed for this iterator type"
        ):
            streamed.iterator(arn, shard, kind, SequenceNumber=first)


def test_an_unknown_shard_is_not_found(streamed: Streamed) -> None:
    arn = streamed.arn(streamed.table())
    with refused("ResourceNotFoundException"):
        streamed.iterator(arn, "shardId-00000000000000000000-00000000")


def test_an_iterator_has_the_form_of_the_services(streamed: Streamed) -> None:
    arn, shard, _ = written(streamed)
    text = streamed.iterator(arn, shard)
    assert text.startswith(f"{arn}|1|")
    assert len(text) <= 2048


def test_an_altered_or_moved_iterator_is_invalid(streamed: Streamed) -> None:
    arn, shard, _ = written(streamed)
    other, other_shard, _ = written(streamed)
    text = streamed.iterator(arn, shard)
    body = text.rpartition("|")[2]
    flipped = ("B" if body[20] != "B" else "C").join((body[:20], body[21:]))
    for forged in (
        "nonsense",
        f"{arn}|1|",
        f"{arn}|1|!!!",
        f"{arn}|1|{body[:-4]}",
        f"{arn}|1|{flipped}",
        f"{other}|1|{body}",
        f"x{text}",
        f"{arn}|2|{body}",
    ):
        with invalid():
            streamed.streams.get_records(ShardIterator=forged)
    assert streamed.streams.get_records(ShardIterator=streamed.iterator(other, other_shard))["Records"]


def test_an_iterator_lives_for_fifteen_minutes(
    streamed: Streamed, in_process_only: None, clock: ManualClock
) -> None:
    arn, shard, records = written(streamed)
    iterator = streamed.iterator(arn, shard)
    clock.advance(15 * MINUTE_S)
    assert streamed.streams.get_records(ShardIterator=iterator)["Records"] == records
    clock.advance(1)
    with refused("ExpiredIteratorException"):
        streamed.streams.get_records(ShardIterator=iterator)


def test_reading_trimmed_records_raises_trimmed_data_access(
    streamed: Streamed, in_process_only: None, clock: ManualClock
) -> None:
    name = streamed.table()
    arn = streamed.arn(name)
    clock.advance(3 * 3600)
    for n in range(2):
        streamed.dynamodb.put_item(TableName=name, Item=item(p="a", n=n))
        clock.advance(30 * MINUTE_S)
    (shard,) = [each for each in streamed.shards(arn) if streamed.read_shard(arn, each["ShardId"])[0]]
    records, _ = streamed.read_shard(arn, shard["ShardId"])
    clock.advance(DAY_S - 65 * MINUTE_S)
    iterator = streamed.iterator(arn, shard["ShardId"])
    clock.advance(6 * MINUTE_S)
    with refused("TrimmedDataAccessException"):
        streamed.streams.get_records(ShardIterator=iterator)
    with refused("TrimmedDataAccessException"):
        streamed.iterator(arn, shard["ShardId"], "AT_SEQUENCE_NUMBER", SequenceNumber=number(records[0]))
    iterator = streamed.iterator(arn, shard["ShardId"], "TRIM_HORIZON")
    assert streamed.streams.get_records(ShardIterator=iterator)["Records"] == records[1:]
    clock.advance(DAY_S)
    with refused("ResourceNotFoundException"):
        streamed.iterator(arn, shard["ShardId"], "AFTER_SEQUENCE_NUMBER", SequenceNumber=number(records[1]))


@pytest.mark.parametrize("limit", [0, 1001])
def test_a_limit_out_of_range_is_rejected(streamed: Streamed, limit: int) -> None:
    arn, shard, _ = written(streamed)
    with invalid():
        streamed.streams.get_records(ShardIterator=streamed.iterator(arn, shard), Limit=limit)
