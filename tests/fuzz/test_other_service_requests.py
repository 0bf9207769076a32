"""Altered requests to the other AWS services: none is answered with a 500, nor makes a later one a 500.

Each is an accepted request of which members are removed or replaced. Accepted requests have effects, and the
clock moves on, so the background jobs process them.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from faradisc.protocol.http import HttpRequest
from faradisc.protocol.other_services.services import CLOUDWATCH, SCALING, Service
from fixtures.other_services import MIDNIGHT_S, MONITORING, Services, target_of

REQUESTS = 1500
NOW = MIDNIGHT_S
METRIC = {
    "Namespace": MONITORING,
    "MetricName": "ConsumedReadCapacityUnits",
    "Dimensions": [{"Name": "TableName", "Value": "Orders"}],
}
CUSTOM = {"Namespace": "Custom", "MetricName": "own"}
QUERIES = [
    {"Id": "m1", "MetricStat": {"Metric": METRIC, "Period": 60, "Stat": "Sum"}, "ReturnData": False},
    {"Id": "m2", "MetricStat": {"Metric": CUSTOM, "Period": 60, "Stat": "p99"}, "ReturnData": False},
    {"Id": "e1", "Expression": "m1 / m2"},
]
ALARM = {"EvaluationPeriods": 2, "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold"}
LIMITS = {"MinCapacity": 5, "MaxCapacity": 100}
MEETS_TARGET = {
    "TargetValue": 70.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
    "ScaleInCooldown": 10,
}
POLICY = {"PolicyType": "TargetTrackingScaling", "TargetTrackingScalingPolicyConfiguration": MEETS_TARGET}
DATA = [{"MetricName": "own", "Values": [1.0, 2.0], "Counts": [1, 2], "Timestamp": NOW, "Unit": "Count"}]
SPAN = {"StartTime": NOW - 3600, "EndTime": NOW + 7200}
SEEDS: tuple[tuple[Service, str, dict[str, Any]], ...] = (
    (CLOUDWATCH, "GetMetricData", {**SPAN, "MetricDataQueries": QUERIES, "MaxDatapoints": 100}),
    (CLOUDWATCH, "GetMetricStatistics", {**METRIC, **SPAN, "Period": 60, "Statistics": ["Sum"]}),
    (CLOUDWATCH, "PutMetricData", {"Namespace": "Custom", "MetricData": DATA}),
    (CLOUDWATCH, "PutMetricAlarm", {"AlarmName": "a", **METRIC, **ALARM, "Statistic": "Sum", "Period": 60}),
    (CLOUDWATCH, "PutMetricAlarm", {"AlarmName": "b", **ALARM, "Metrics": QUERIES}),
    (CLOUDWATCH, "SetAlarmState", {"AlarmName": "a", "StateValue": "OK", "StateReason": "so"}),
    (CLOUDWATCH, "DescribeAlarmHistory", {"AlarmName": "a", "StartDate": NOW, "MaxRecords": 10}),
    (CLOUDWATCH, "DescribeAlarms", {"AlarmNamePrefix": "a", "MaxRecords": 2}),
    (CLOUDWATCH, "ListMetrics", {"Namespace": MONITORING, "Dimensions": METRIC["Dimensions"]}),
    (CLOUDWATCH, "DeleteAlarms", {"AlarmNames": ["a"]}),
    (SCALING, "RegisterScalableTarget", {**target_of(), **LIMITS}),
    (SCALING, "RegisterScalableTarget", {**target_of(direction="Write"), **LIMITS}),
    (
        SCALING,
        "PutScheduledAction",
        {**target_of(), **SPAN, "ScheduledActionName": "s", "Schedule": "rate(1 minute)"}
        | {"ScalableTargetAction": LIMITS, "Timezone": "Europe/Berlin"},
    ),
    (SCALING, "PutScalingPolicy", {**target_of(), "PolicyName": "p", **POLICY}),
    (SCALING, "DescribeScheduledActions", {"ServiceNamespace": "dynamodb", "MaxResults": 5}),
    (SCALING, "DescribeScalingActivities", {"ServiceNamespace": "dynamodb", "MaxResults": 5}),
    (SCALING, "DeregisterScalableTarget", target_of(direction="Write")),
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    60,
    3600,
    0.5,
    1e-300,
    1e308,
    -1e308,
    2**53,
    2**63 - 1,
    NOW,
    NOW + 9e6,
    253_402_300_799,
)
EXPRESSIONS = (
    *("m1^1000", "m1/0", "-m1^0.5", "SUM([m1,m2])", "FILL(m1,REPEAT)", "RATE(m2)", "IF(m1>0,m2,0)", "e1"),
    *(
        "STDDEV(m1)",
        "LOG(m1-5)",
        "m1*1e308*1e308",
        "TIME_SERIES(5)",
        "METRICS()",
        "[m1,m2]",
        "((((",
    ),
)
SCHEDULES = (
    *("cron(0 0 31 2 ? *)", "cron(* * * * ? 2199)", "at(9999-12-31T23:59:59)", "at(0001-01-01T00:00:00)"),
    *("rate(99999999999999999999 days)", "rate(0 minutes)", "cron()"),
)
TEXTS = (
    "",
    "\x00",
    "ü" * 300,
    "x" * 3000,
    "own",
    "e30=",
    "table/Orders",
    "Nowhere/City",
    "p99.9",
    "OK",
    "None",
)


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document that something can be put into: what holds it, and its name or number."""
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in list(members):
        yield document, name
        if isinstance(value, dict | list):
            yield from places(value)


def altered(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    document = copy.deepcopy(document)
    for _ in range(chance.randrange(4)):
        holder, name = chance.choice([*places(document), (document, None)])
        if name is None:
            continue
        if isinstance(holder, dict) and chance.random() < 0.1:
            del holder[name]
        elif name == "Expression":
            holder[name] = chance.choice(EXPRESSIONS)
        elif name == "Schedule":
            holder[name] = chance.choice(SCHEDULES)
        elif isinstance(holder[name], int | float):
            holder[name] = chance.choice(NUMBERS)
        elif isinstance(holder[name], str):
            holder[name] = chance.choice(TEXTS)
        elif isinstance(holder[name], list):
            holder[name] = holder[name] * chance.choice((0, 2, 3))
    return document


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_altered_requests(bugs_surface: None, seed: int) -> None:
    chance = random.Random(seed)
    services = Services()
    services.create()
    accepted = set()
    for number in range(REQUESTS):
        service, operation, members = chance.choice(SEEDS)
        request = altered(members, chance)
        headers = {
            b"content-type": b"application/x-amz-json-1.1",
            b"x-amz-target": f"{service.target_prefix}.{operation}".encode(),
            b"authorization": b"AWS4-HMAC-SHA256 Credential=a/20231115/us-east-1/x/aws4_request, "
            b"SignedHeaders=host, Signature=0",
            b"x-amz-date": b"20231115T000000Z",
        }
        answer = services.process.local.answer(HttpRequest("POST", b"/", headers, orjson.dumps(request)))
        assert answer.status < 500, (number, operation, request, answer.body)
        if answer.status == 200:
            accepted.add(operation)
        if chance.random() < 0.05:
            services.clock.advance(chance.choice((1, 60, 600, 600, 3600, 3600, 3600, 86_400)))
    assert accepted == {operation for _, operation, _ in SEEDS}, "every operation is accepted at least once"
    services.close()
