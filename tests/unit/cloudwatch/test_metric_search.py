"""SEARCH: which metrics match terms, and their labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.errors import ValidationException
from faradisc.services.cloudwatch.search import condition_of, labels_of
from faradisc.services.cloudwatch.sources import MetricName

SPACE = "AWS/DynamoDB"


def metric(name: str, space: str = SPACE, **dimensions: str) -> MetricName:
    return MetricName("", space, name, tuple(sorted(dimensions.items())))


READS = metric("ConsumedReadCapacityUnits", TableName="Orders")
OLD_READS = metric("ConsumedReadCapacityUnits", TableName="orders-2019")
OF_INDEX = metric("ConsumedReadCapacityUnits", TableName="Orders", GlobalSecondaryIndexName="by-date")
THROTTLES = metric("WriteThrottleEvents", TableName="Orders")
ACCOUNT = metric("AccountMaxReads")
OWN = metric("SDBFailure", "Shop", Till="Till7")
ALL = {
    "reads": READS,
    "old": OLD_READS,
    "index": OF_INDEX,
    "throttles": THROTTLES,
    "account": ACCOUNT,
    "own": OWN,
}


def found(terms: str) -> str:
    condition = condition_of(terms)
    return " ".join(name for name, each in ALL.items() if condition(each))


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ("{AWS/DynamoDB,TableName}", "reads old throttles"),
        ("{AWS/DynamoDB, GlobalSecondaryIndexName, TableName}", "index"),
        ("{AWS/DynamoDB}", "account"),
        ('{AWS/DynamoDB,TableName} MetricName="ConsumedReadCapacityUnits"', "reads old"),
        ('{AWS/DynamoDB,TableName} TableName="Orders"', "reads throttles"),
        ("{AWS/DynamoDB,TableName} TableName=Orders", "reads old throttles"),
        ('{AWS/DynamoDB,TableName} TableName=("Orders" OR 2019) consumed', "reads old"),
        ('Namespace="AWS/DynamoDB" NOT consumed', "throttles account"),
        ("consumed OR failure AND till7", "reads old index own"),
        ("(consumed OR failure) AND 7", "own"),
        ("capacity units 2019", "old"),
        ("CapacityUnits", "reads old index"),
        ("UnitsCapacity", ""),
        ("sdb", "own"),
        ("SDBFailure", "own"),
        ("Fail", ""),
        ('"Till"', "own"),
        ('"till"', ""),
        ("NOT NOT throttle", "throttles"),
        ("by-date", "index"),
    ],
)
def test_what_terms_mean(terms: str, names: str) -> None:
    assert found(terms) == names


@pytest.mark.parametrize(
    "terms",
    [
        *("", "  ", "{", "{AWS/DynamoDB", "{,}", "{a,}", "(a", "a)", "a OR", "NOT", "a AND OR b", '"open'),
        *("MetricName=", "MetricName=(a=b)", "Orders*", "-", "x" * 1025, "(" * 41 + "a" + ")" * 41),
    ],
)
def test_what_is_no_search(terms: str) -> None:
    with pytest.raises(ValidationException, match=r"^Error in search "):
        condition_of(terms)


def test_labels_distinguish_found_metrics() -> None:
    assert labels_of([READS]) == ["ConsumedReadCapacityUnits"]
    assert labels_of([READS, OLD_READS]) == ["Orders", "orders-2019"]
    assert labels_of([READS, THROTTLES]) == ["ConsumedReadCapacityUnits", "WriteThrottleEvents"]
    assert labels_of([OLD_READS, THROTTLES]) == [
        "ConsumedReadCapacityUnits orders-2019",
        "WriteThrottleEvents Orders",
    ]
    assert labels_of([ACCOUNT, READS]) == [
        "AWS/DynamoDB AccountMaxReads",
        "AWS/DynamoDB ConsumedReadCapacityUnits Orders",
    ]
    assert labels_of([]) == []


@given(st.text(alphabet='aB7{}(),="- ORNTAD', max_size=40))
def test_any_text_is_a_search_or_refused(terms: str) -> None:
    try:
        condition = condition_of(terms)
    except ValidationException:
        return
    assert all(condition(each) in (True, False) for each in ALL.values())
