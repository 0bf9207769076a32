"""Answers to throttled requests: V90, V108, V112 to V114 and the table of capacity.md section 2.10."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from faradisc.capacity import throttle
from faradisc.capacity.admission import Charge, admit, spread, take_all
from faradisc.capacity.config import SECOND_NS, UNIT, Direction, profile
from faradisc.capacity.resource import Resource
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.capacity.throttle import Cause, ResourceKind, Throttle, batch_error, reason, transaction_answer
from faradisc.errors import ApiError
from unit.capacity.worlds import INDEX, START, TABLE, inside, place, read, table


def refused(kind: str, direction: str, cause: Cause, *, on_demand: bool) -> Throttle:
    return Throttle(TABLE if kind == "Table" else INDEX, kind, direction, cause, on_demand)  # type: ignore[arg-type]


def name(error: ApiError) -> str:
    return type(error).__name__


def test_sixteen_reasons() -> None:
    reasons = {
        reason(kind, direction, cause)
        for kind in get_args(ResourceKind)
        for direction in get_args(Direction)
        for cause in Cause
    }
    assert len(reasons) == 16
    assert {
        "TableReadProvisionedThroughputExceeded",
        "IndexWriteMaxOnDemandThroughputExceeded",
    } <= reasons


def test_v90_a_provisioned_table_out_of_units() -> None:
    """V90, S3, M1."""
    resource = table(read_units=5)
    resource.reads.table_bucket.set_balance(START, 0)  # type: ignore[union-attr]
    assert resource.reads.admit(place("k"), START) is None
    error = resource.reads.refuse(place("k"), START).as_api_error()
    assert error.status == 400
    assert error.body() == {
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
        "message": throttle.TABLE_PROVISIONED,
        "ThrottlingReasons": [{"reason": "TableReadProvisionedThroughputExceeded", "resource": TABLE}],
    }


PTEE, THROTTLING, LIMIT = (
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
)


@pytest.mark.parametrize(
    ("kind", "direction", "cause", "on_demand", "exception", "text"),
    [
        ("Table", "W", Cause.PROVISIONED, False, PTEE, throttle.TABLE_PROVISIONED),
        ("Table", "R", Cause.KEY_RANGE, False, PTEE, throttle.TABLE_PROVISIONED),
        ("Table", "R", Cause.KEY_RANGE, True, THROTTLING, throttle.TABLE_ON_DEMAND),
        ("Index", "W", Cause.PROVISIONED, False, PTEE, throttle.INDEX_WRITE_PROVISIONED),
        ("Index", "R", Cause.PROVISIONED, False, PTEE, throttle.INDEX_READ_PROVISIONED),
        ("Index", "W", Cause.KEY_RANGE, False, PTEE, throttle.INDEX_WRITE_PROVISIONED),
        ("Index", "W", Cause.KEY_RANGE, True, THROTTLING, throttle.INDEX_ON_DEMAND),
        ("Table", "R", Cause.MAX_ON_DEMAND, True, THROTTLING, throttle.MAX_ON_DEMAND),
        ("Table", "W", Cause.MAX_ON_DEMAND, True, THROTTLING, throttle.MAX_ON_DEMAND),
        ("Index", "R", Cause.MAX_ON_DEMAND, True, THROTTLING, throttle.MAX_ON_DEMAND),
        ("Index", "W", Cause.MAX_ON_DEMAND, True, PTEE, throttle.MAX_ON_DEMAND),
        ("Table", "R", Cause.ACCOUNT, True, LIMIT, throttle.ACCOUNT),
        ("Index", "R", Cause.ACCOUNT, True, THROTTLING, throttle.ACCOUNT),
    ],
)
def test_the_table_of_exceptions(
    kind: str, direction: str, cause: Cause, *, on_demand: bool, exception: str, text: str
) -> None:
    """Section 2.10, row by row; the member is spelled with a small t in ThrottlingException only."""
    case = refused(kind, direction, cause, on_demand=on_demand)
    error = case.as_api_error()
    assert name(error) == exception
    assert error.message == text
    member = "throttlingReasons" if exception == THROTTLING else "ThrottlingReasons"
    assert error.extra == {member: [{"reason": case.reason, "resource": case.arn}]}


def test_v108_an_index_at_its_on_demand_maximum() -> None:
    """V108, M1: UpdateItem, TransactWriteItems and BatchExecuteStatement answer differently."""
    case = refused("Index", "W", Cause.MAX_ON_DEMAND, on_demand=True)
    assert name(case.as_api_error()) == PTEE
    assert list(case.as_api_error().extra) == ["ThrottlingReasons"]
    transaction = transaction_answer([None, case], "auto")
    assert isinstance(transaction, ApiError)
    assert (name(transaction), list(transaction.extra)) == (THROTTLING, ["throttlingReasons"])
    assert case.member_code == "ThrottlingError"


def test_v112_a_batch_goes_as_far_as_the_table_does() -> None:
    """V112, D, M1: 25 puts with balance for a few: a processed prefix, the rest unprocessed."""
    resource = table(read_units=1, write_units=1)
    resource.writes.table_bucket.set_balance(START, 3 * UNIT)  # type: ignore[union-attr]
    throttles = []
    for item in range(25):
        charges = [Charge(resource.writes, place(f"item{item}"), 2)]
        throttle = admit(charges, START)
        throttles.append(throttle)
        if throttle is None:
            take_all(charges, START)
    assert [t is None for t in throttles] == [True] * 3 + [False] * 22


def test_v112_nothing_processed() -> None:
    """V112, D: the exception is that of single requests, of a table's mode."""
    short = refused("Table", "W", Cause.PROVISIONED, on_demand=False)
    hot = refused("Table", "W", Cause.KEY_RANGE, on_demand=True)
    for writes in (False, True):
        assert name(batch_error([hot, short], writes=writes)) == PTEE
        assert name(batch_error([hot, hot], writes=writes)) == THROTTLING
    hot = refused("Table", "W", Cause.KEY_RANGE, on_demand=False)
    for writes in (False, True):
        assert name(batch_error([hot, short], writes=writes)) == PTEE
        assert name(batch_error([hot, hot], writes=writes)) == PTEE
    index = refused("Index", "W", Cause.MAX_ON_DEMAND, on_demand=True)
    assert name(batch_error([index], writes=True)) == THROTTLING


def scan_once(resource: Resource, now: int) -> tuple[int, Throttle | None]:
    """Returns how many partitions a scan page reads before one throttles (section 2.11), and the throttle."""
    done = 0
    for part in resource.partitions.between(None, None):
        charge = Charge(resource.reads, part.low, 2)
        throttle = admit([charge], now)
        if throttle is not None:
            return done, throttle
        take_all([charge], now)
        done += 1
    return done, None


def test_v113_a_scan_ends_where_a_partition_is_out_of_tokens() -> None:
    """V113, A: three partitions, the second out of tokens: the page ends there with what it has; begun
    again behind the first partition, it is refused."""
    resource = table(read_units=3000, partitions=3)
    second = resource.partitions.partitions[1]
    second.reads.set_balance(START, 0)
    assert scan_once(resource, START)[0] == 1
    again = admit([Charge(resource.reads, inside(second))], START)
    assert again is not None and again.reason == "TableReadKeyRangeThroughputExceeded"
    assert read(resource, inside(second), START + SECOND_NS) is None


def test_v114_transactions() -> None:
    """V114, M1, D: shortage of a table is one exception, of a partition a cancellation in item order."""
    short = refused("Table", "W", Cause.PROVISIONED, on_demand=False)
    hot = refused("Table", "W", Cause.KEY_RANGE, on_demand=True)
    hot_provisioned = refused("Table", "W", Cause.KEY_RANGE, on_demand=False)
    whole = transaction_answer([short, None], "auto")
    assert isinstance(whole, ApiError) and name(whole) == PTEE
    assert transaction_answer([None, hot], "auto") == ["None", "ThrottlingError"]
    assert transaction_answer([None, hot_provisioned], "auto") == ["None", "ProvisionedThroughputExceeded"]
    assert transaction_answer([short, None], "cancel") == ["ProvisionedThroughputExceeded", "None"]
    top = transaction_answer([None, hot], "toplevel")
    assert isinstance(top, ApiError) and name(top) == THROTTLING


@pytest.mark.parametrize(
    ("half_units", "sizes", "parts"),
    [(5, [1, 1], [2, 3]), (4, [0, 8, 0], [0, 4, 0]), (1, [0, 0], [1, 0]), (7, [10], [7])],
)
def test_a_page_over_several_partitions(half_units: int, sizes: list[int], parts: list[int]) -> None:
    """A page is rounded once; its parts add up to it."""
    assert spread(half_units, sizes) == parts


def test_an_index_asked_at_two_places_is_one_event() -> None:
    """Section 2.9: a changed index key asks the old and the new partition; the event is the item's."""
    resource = table(read_units=1, write_units=1)
    resource.writes.table_bucket.set_balance(START, 0)  # type: ignore[union-attr]
    assert admit([Charge(resource.writes, place("old"), 2), Charge(resource.writes, place("new"), 2)], START)
    assert dict(resource.writes.events) == {Cause.PROVISIONED: 1}


def test_account_quotas_come_first() -> None:
    """Section 2.5.1: the first check that fails is the cause."""
    config = replace(profile("aws"), account_quota=True, account_write_units=5, initial_burst_s=0)
    registry = ResourceRegistry(config, START)
    resource = registry.add("T", None, TABLE, START, on_demand=True, max_write=2)
    causes = []
    for request in range(8):
        now = START + request + 1
        bucket = resource.writes.admit(place("k"), now)
        if bucket is None:
            causes.append(resource.writes.refuse(place("k"), now).cause)
        else:
            resource.writes.take(bucket, place("k"), 20, now)
    assert causes[0] is Cause.ACCOUNT, "ten units leave both the account and the maximum in debt"
    later = START + 3 * SECOND_NS
    assert resource.writes.admit(place("k"), later) is None
    assert resource.writes.refuse(place("k"), later).cause is Cause.MAX_ON_DEMAND
    body = resource.writes.blame(resource.writes.buckets[0], Cause.ACCOUNT).as_api_error().body()
    assert body["__type"].endswith("#RequestLimitExceeded")
