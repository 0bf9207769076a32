"""Batches of records, and failures of handlers."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import Binary
from botocore.exceptions import ClientError

from consumers.endpoint import endpoint
from consumers.worlds import Seen, World, pair_of
from fixtures.schemas import item


def _put_many(world: World, table: str, count: int, key: str = "key") -> None:
    for number in range(1, count + 1):
        world.put(table, key, number)


class Failing:
    """A handler that fails a number of times for batches with one of these numbers."""

    def __init__(self, *numbers: int, times: int = 1 << 30) -> None:
        self.numbers = set(numbers)
        self.times = times
        self.tried: list[list[int]] = []
        self.done: list[int] = []

    def __call__(self, event: dict[str, Any]) -> None:
        numbers = [pair_of(record)[1] for record in event["Records"]]
        self.tried.append(numbers)
        if self.times and self.numbers & set(numbers):
            self.times -= 1
            raise RuntimeError("no")
        self.done += numbers


# --- Batches -------------------------------------------------------------------------------------


def test_batches_have_at_most_batch_size_records(world: World) -> None:
    table, seen = world.streamed.table(), Seen()
    _put_many(world, table, 25)
    world.consumer(table, seen, batch_size=10).drain()
    assert seen.batches == [10, 10, 5]
    assert seen.of("key") == list(range(1, 26))


def test_drain_delivers_what_handlers_write_to_other_shards(world: World) -> None:
    table, seen = world.streamed.table(), Seen()
    assert len(world.streamed.shards(world.streamed.arn(table))) > 1

    def chain(event: dict[str, Any]) -> None:
        seen(event)
        for record in event["Records"]:
            number = pair_of(record)[1]
            if number < 20:
                world.put(table, f"next {number}", number + 1)

    world.put(table, "first", 0)
    world.consumer(table, chain).drain()
    assert sorted(pair_of(record)[1] for record in seen.records) == list(range(21))


def test_age_and_dead_letters_are_published_and_alarm(world: World) -> None:
    """A handler that fails lets IteratorAge grow until the record is a dead letter; then it is well again."""
    cloudwatch = world.process.local.client("cloudwatch")  # type: ignore[union-attr]
    table = world.streamed.table()
    dimensions = [{"Name": "ConsumerGroup", "Value": "group-1"}, {"Name": "TableName", "Value": table}]
    metric = {"Namespace": "Faradisc/Consumers", "Dimensions": dimensions}
    cloudwatch.put_metric_alarm(
        **metric,
        AlarmName="behind",
        MetricName="IteratorAge",
        Statistic="Maximum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=30_000,
        ComparisonOperator="GreaterThanThreshold",
    )

    def state() -> str:
        return str(cloudwatch.describe_alarms()["MetricAlarms"][0]["StateValue"])

    def latest(name: str) -> float:
        found = cloudwatch.get_metric_statistics(
            **metric,
            MetricName=name,
            Period=60,
            Statistics=["Maximum"],
            StartTime=1_700_000_000,
            EndTime=world.clock.now_ns() / 1e9 + 60,
        )["Datapoints"]
        return float(max(found, key=lambda point: point["Timestamp"])["Maximum"])

    handler = Failing(1, times=12)
    consumer = world.consumer(
        table, handler, cloudwatch=cloudwatch, dead_letters="table:letters", retries=9, backoff_s=20
    )
    world.put(table, "key", 1)
    seen, ages = [], []
    for _ in range(48):
        consumer.step()
        ages.append(consumer.statistics()["iterator_age_ms"])
        world.clock.advance(15)
        seen.append(state())
    assert "ALARM" in seen and max(ages) > 60_000
    assert (seen[-1], latest("IteratorAge")) == ("OK", 0.0)  # without a later record
    assert consumer.statistics()["dead_letters"] == latest("DeadLetterDepth") == 1
    world.put(table, "key", 2)
    for _ in range(12):
        consumer.step()
        world.clock.advance(15)
    assert latest("IteratorAge") < 30_000 and state() == "OK"
    assert latest("DeadLetterDepth") == 1


def test_a_share_of_records_is_delivered_twice(world: World) -> None:
    """From a chosen record on the rest of its batch comes again, in order; the same ones for one seed."""
    table = world.streamed.table()
    _put_many(world, table, 200)

    def delivered(group: str, **settings: Any) -> list[int]:
        seen = Seen()
        consumer = world.consumer(table, seen, batch_size=10, group=group, **settings)
        consumer.drain()
        counts = consumer.statistics()
        assert (counts["records_done"], counts["redelivered"]) == (200, len(seen.pairs) - 200)
        return seen.of("key")

    assert delivered("none") == list(range(1, 201))
    twice = delivered("some", redeliver=0.05)
    assert sorted(set(twice)) == list(range(1, 201)) and 205 < len(twice) < 400
    begins = [now for before, now in pairwise(twice) if now <= before]
    for begin in begins:
        at = twice.index(begin, twice.index(begin) + 1)
        rest = list(range(begin, (begin + 9) // 10 * 10 + 1))
        assert twice[at : at + len(rest)] == rest
    assert delivered("again", redeliver=0.05) == twice
    assert delivered("other", redeliver=0.05, redeliver_seed=1) != twice
    assert delivered("all", redeliver=1.0).count(7) == 2
    with pytest.raises(ValueError, match="not between 0 and 1"):
        world.consumer(table, Seen(), redeliver=1.5)


def test_batch_window_waits_for_a_full_batch(world: World) -> None:
    table, seen = world.streamed.table(), Seen()
    consumer = world.consumer(table, seen, batch_size=10, batch_window_s=20)
    consumer.step()
    _put_many(world, table, 4)
    world.clock.advance(1)
    consumer.step()
    world.clock.advance(18)
    consumer.step()
    assert seen.batches == []
    _put_many(world, table, 3)
    world.clock.advance(2)
    consumer.step()
    assert seen.batches == [7], "the window has ended"
    _put_many(world, table, 10)
    world.clock.advance(1)
    consumer.step()
    assert seen.batches == [7, 10], "a full batch does not wait"


def test_event_has_the_form_of_lambda(world: World) -> None:
    table, seen = world.streamed.table(), Seen()
    world.put(table, "a", 1, data=b"\x00\xff", many={Binary(b"x")}, deep={"list": [b"y", None, True]})
    world.dynamodb.delete_item(TableName=table, Key=item(p="a"))
    consumer = world.consumer(table, seen)
    consumer.drain()
    first, second = seen.records
    assert json.loads(json.dumps(first)) == first
    assert first["eventSourceARN"] == world.streamed.arn(table)
    assert (first["eventName"], second["eventName"]) == ("INSERT", "REMOVE")
    assert first["dynamodb"]["ApproximateCreationDateTime"] == 1_700_000_000
    assert first["dynamodb"]["NewImage"] == {
        "p": {"S": "a"},
        "n": {"N": "1"},
        "data": {"B": "AP8="},
        "many": {"BS": ["eA=="]},
        "deep": {"M": {"list": {"L": [{"B": "eQ=="}, {"NULL": True}, {"BOOL": True}]}}},
    }
    assert second["dynamodb"]["OldImage"] == first["dynamodb"]["NewImage"]


def test_time_to_live_deletion_has_lambdas_user_identity(world: World) -> None:
    table, seen = world.streamed.table(), Seen()
    world.dynamodb.update_time_to_live(
        TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
    )
    world.put(table, "a", 1, until=1_700_000_100)
    world.clock.advance(200)
    world.consumer(table, seen).drain()
    assert seen.records[-1]["userIdentity"] == {
        "principalId": "dynamodb.amazonaws.com",
        "type": "Service",
    }


def test_records_of_one_item_stay_in_order_with_parallel_invocations(world: World) -> None:
    table, seen = world.streamed.table(), Seen()
    for number in range(1, 6):
        for key in "abcdefghijkl":
            world.put(table, key, number)
    world.consumer(table, seen, parallel=4).drain()
    assert len(seen.batches) > 4
    assert all(seen.of(key) == [1, 2, 3, 4, 5] for key in "abcdefghijkl")


# --- Failures ------------------------------------------------------------------------------------


def test_failed_batch_is_retried_after_increasing_pauses(world: World) -> None:
    table, handler = world.streamed.table(), Failing(2, times=3)
    _put_many(world, table, 3)
    ages: list[int] = []

    def handle(event: dict[str, Any]) -> None:
        ages.append(consumer.statistics()["iterator_age_ms"])
        handler(event)

    consumer = world.consumer(table, handle, backoff_s=2, lease_s=1000, sync_s=1000)
    consumer.drain()
    assert handler.tried == [[1, 2, 3]] * 4
    assert world.slept_s == 2 + 4 + 8
    counts = consumer.statistics()
    assert (counts["invocations"], counts["failures"], counts["retries"]) == (4, 3, 3)
    assert ages == [0, 2_000, 6_000, 14_000]
    assert counts["iterator_age_ms"] == 0


def test_failures_of_one_shard_do_not_delay_others(world: World) -> None:
    table = world.streamed.table()
    poison = "key-0"
    done: list[str] = []

    def handle(event: dict[str, Any]) -> None:
        keys = [pair_of(record)[0] for record in event["Records"]]
        if poison in keys:
            raise RuntimeError("no")
        done.extend(keys)

    consumer = world.consumer(table, handle)
    for key in range(30):
        world.put(table, f"key-{key}", 1)
    for _ in range(5):
        consumer.step()
        world.clock.advance(1)
    assert 10 < len(done) < 30, "the other records of the shard wait, so that none is skipped"


def test_bisection_finds_the_failing_record(world: World, tmp_path: Path) -> None:
    table, handler = world.streamed.table(), Failing(6)
    _put_many(world, table, 8)
    letters = tmp_path / "letters"
    consumer = world.consumer(table, handler, bisect=True, retries=1, dead_letters=f"file:{letters}")
    consumer.drain()
    assert handler.done == [1, 2, 3, 4, 5, 7, 8]
    assert handler.tried == [
        [1, 2, 3, 4, 5, 6, 7, 8],
        [1, 2, 3, 4],
        [5, 6, 7, 8],
        [5, 6],
        [5],
        [6],
        [6],
        [7, 8],
    ]
    (letter,) = map(json.loads, letters.read_text().splitlines())
    assert [pair_of(record)[1] for record in letter["payload"]["Records"]] == [6]
    assert letter["requestContext"] == {
        "consumerGroup": "group-1",
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 5,
    }
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    assert letter["responseContext"] == {"functionError": "RuntimeError: no"}
    counts = consumer.statistics()
    assert (counts["dead_letters"], counts["records_done"], counts["bisections"]) == (1, 8, 3)


def test_partial_failure_is_retried_from_the_first_failed_record(world: World) -> None:
    table = world.streamed.table()
    tried: list[list[int]] = []

    def handle(event: dict[str, Any]) -> Any:
        numbers = {pair_of(record)[1]: record["dynamodb"]["SequenceNumber"] for record in event["Records"]}
        tried.append(list(numbers))
        failed = [numbers[n] for n in (5, 3) if n in numbers and len(tried) < 3]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}

    _put_many(world, table, 6)
    consumer = world.consumer(table, handle, retries=3)
    consumer.drain()
    assert tried == [[1, 2, 3, 4, 5, 6], [3, 4, 5, 6], [3, 4, 5, 6]]
    assert consumer.statistics()["records_done"] == 6


@pytest.mark.parametrize(
    "answer", [{"batchItemFailures": [{"itemIdentifier": "7"}]}, {"batchItemFailures": [{}]}]
)
def test_unknown_failed_record_fails_the_whole_batch(world: World, answer: dict[str, Any]) -> None:
    table = world.streamed.table()
    _put_many(world, table, 2)
    consumer = world.consumer(table, lambda event: answer, retries=2)
    consumer.drain()
    counts = consumer.statistics()
    assert (counts["invocations"], counts["dropped"]) == (3, 2)


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": []}, "fine", ["fine"]])
def test_other_answers_are_success(world: World, answer: Any) -> None:
    table = world.streamed.table()
    _put_many(world, table, 2)
    consumer = world.consumer(table, lambda event: answer)
    consumer.drain()
    assert consumer.statistics()["records_done"] == 2


def test_too_old_records_are_not_delivered(world: World, tmp_path: Path) -> None:
    table, seen, letters = world.streamed.table(), Seen(), tmp_path / "letters"
    _put_many(world, table, 2)
    world.clock.advance(100)
    world.put(table, "key", 3)
    consumer = world.consumer(table, seen, max_record_age_s=60, dead_letters=f"file:{letters}")
    consumer.drain()
    assert seen.of("key") == [3]
    (letter,) = map(json.loads, letters.read_text().splitlines())
    assert letter["requestContext"]["condition"] == "RecordAgeExceeded"
    assert [pair_of(record)[1] for record in letter["payload"]["Records"]] == [1, 2]
    assert consumer.statistics()["too_old"] == 2


def test_unlimited_retries_end_when_records_are_too_old(world: World) -> None:
    table, handler = world.streamed.table(), Failing(1)
    _put_many(world, table, 1)
    consumer = world.consumer(table, handler, max_record_age_s=60)
    consumer.drain()
    assert 5 < len(handler.tried) < 12
    assert consumer.statistics()["dropped"] == 1


# --- Dead letters --------------------------------------------------------------------------------


def test_dead_letters_in_a_table(world: World) -> None:
    table = world.streamed.table()
    _put_many(world, table, 2)
    world.consumer(table, Failing(1, 2), retries=0, dead_letters="table:letters").drain()
    letters = sorted(
        world.dynamodb.scan(TableName="letters")["Items"], key=lambda letter: letter["sequenceNumber"]["S"]
    )
    assert [pair_of(json.loads(letter["record"]["S"])) for letter in letters] == [("key", 1), ("key", 2)]
    assert letters[0]["error"] == {"S": "RuntimeError: no"}
    assert letters[0]["invocations"] == {"N": "1"}


def test_record_with_two_large_images_fits_into_the_dead_letter_table(world: World) -> None:
    table = world.streamed.table()
    world.put(table, "key", 1, text="x" * 300_000)
    world.put(table, "key", 2, text="y" * 300_000)
    world.consumer(table, Failing(1, 2), retries=0, dead_letters="table:letters").drain()
    letters = world.dynamodb.scan(TableName="letters")["Items"]
    assert sorted(json.dumps(letter.get("left_out")) for letter in letters) == [
        "null",
        '{"L": [{"S": "OldImage"}]}',
    ]


def test_checkpoint_waits_for_the_dead_letter(world: World) -> None:
    table, statuses = world.streamed.table(), [503, 500, 200]
    _put_many(world, table, 1)
    with endpoint(lambda document: (statuses.pop(0), b"")) as there:
        consumer = world.consumer(table, Failing(1), retries=0, dead_letters=there.url)
        consumer.drain()
    assert len(there.received) == 3
    assert there.received[0] == there.received[2]
    counts = consumer.statistics()
    assert (counts["dead_letters"], counts["dead_letter_failures"], counts["checkpoints"]) == (1, 2, 1)


# --- Endpoints -----------------------------------------------------------------------------------


def test_http_handler(world: World) -> None:
    table = world.streamed.table()
    _put_many(world, table, 3)
    turns: list[Callable[[Any], tuple[int, bytes]]] = [
        lambda event: (500, b"oops"),
        lambda event: (200, b"not json"),
        lambda event: (
            200,
            json.dumps(
                {
                    "batchItemFailures": [
                        {"itemIdentifier": event["Records"][1]["dynamodb"]["SequenceNumber"]},
                    ]
                }
            ).encode(),
        ),
        lambda event: (204, b""),
    ]

    def respond(event: Any) -> tuple[int, bytes]:
        return turns.pop(0)(event)

    with endpoint(respond) as there:
        consumer = world.consumer(table, there.url)
        consumer.drain()
    assert [len(event["Records"]) for event in there.received] == [3, 3, 3, 2]
    assert consumer.statistics()["records_done"] == 3


def test_unreachable_http_handler_is_a_failure(world: World) -> None:
    table = world.streamed.table()
    _put_many(world, table, 1)
    consumer = world.consumer(table, "http://127.0.0.1:1/", retries=1)
    consumer.drain()
    assert consumer.statistics()["dropped"] == 1


def test_handler_with_two_parameters_receives_a_context(world: World) -> None:
    table, contexts = world.streamed.table(), []
    _put_many(world, table, 1)
    world.consumer(table, lambda event, context: contexts.append(context)).drain()
    assert (contexts[0].group, contexts[0].worker) == ("group-1", "worker-1")
    assert contexts[0].shard_id.startswith("shardId-")


# --- Failures of the database --------------------------------------------------------------------


def test_throttled_reads_are_retried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    table, seen = world.streamed.table(), Seen()
    _put_many(world, table, 3)
    errors = ["LimitExceededException", "ThrottlingException", "InternalServerError"]
    original = world.streams.get_records

    def failing(**request: Any) -> Any:
        if errors:
            raise ClientError({"Error": {"Code": errors.pop(), "Message": "later"}}, "GetRecords")
        return original(**request)

    monkeypatch.setattr(world.streams, "get_records", failing)
    consumer = world.consumer(table, seen)
    consumer.drain()
    assert seen.of("key") == [1, 2, 3]
    assert (consumer.statistics()["throttled"], consumer.statistics()["errors"]) == (3, 3)


def test_missing_lease_table_does_not_lose_progress(world: World) -> None:
    """The next worker creates the table again; this one stops because it cannot store checkpoints."""
    table, seen = world.streamed.table(), Seen()
    consumer = world.consumer(table, seen)
    consumer.step()
    world.dynamodb.delete_table(TableName="faradisc-consumers")
    _put_many(world, table, 2)
    world.clock.advance(1)
    consumer.step()
    assert consumer.statistics()["errors"] > 0
    assert consumer.statistics()["checkpoints"] == 0
    world.consumer(table, seen, worker="next").drain()
    assert seen.of("key") == [1, 2, 1, 2]
