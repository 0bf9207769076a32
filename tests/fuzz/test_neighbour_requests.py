"""Requests for the other services on the port, made from their models without much sense.

What it proves: whatever fits the JSON of the model is answered or refused, never a traceback, and every
answer has its operation's shape; and nothing that was accepted breaks a background job later.
"""

from __future__ import annotations

from random import Random
from typing import Any

import orjson
import pytest

from faradisc.monitoring.registry import OPERATIONS as MONITORING
from faradisc.protocol.http import HttpRequest
from faradisc.protocol.neighbours.services import CLOUDWATCH, SCALING, Service
from faradisc.protocol.service_model import Shape, load
from faradisc.scaling.registry import OPERATIONS as SCALED
from faradisc.testing.shape_check import check_output
from fixtures.neighbours import MIDNIGHT_S, Town

SEEDS = range(4)
REQUESTS = 4000

_STRINGS: dict[str, tuple[str, ...]] = {
    "ServiceNamespace": ("dynamodb",) * 9 + ("ecs",),
    "ResourceId": ("table/Orders",) * 9 + ("table/Orders/index/x", "table/", "service/a/b"),
    "ScalableDimension": ("dynamodb:table:ReadCapacityUnits",) * 9 + ("dynamodb:index:WriteCapacityUnits",),
    "ResourceARN": ("arn:aws:cloudwatch:us-east-1:000000000000:alarm:alarm",) * 3 + ("arn:aws:x", "x"),
    "ScheduledActionName": ("x", "y", "x:y"),
    "PolicyName": ("x", "x", "y"),
    "PolicyType": ("TargetTrackingScaling",) * 4 + ("StepScaling",),
    "PredefinedMetricType": ("DynamoDBReadCapacityUtilization",) * 3 + ("DynamoDBWriteCapacityUtilization",),
    "Schedule": (
        "rate(1 minute)",
        "rate(1 minutes)",
        "cron(0 8 * * ? *)",
        "cron(0 8 31 2 ? *)",
        "at(2023-11-15T00:05:00)",
    ),
    "Timezone": ("UTC", "Europe/Oslo", "Mars/Base", "\x00", "posixrules", "Europe"),
    "Namespace": ("AWS/DynamoDB", "Mine", "Mine"),
    "MetricName": ("ConsumedReadCapacityUnits", "m"),
    "Stat": ("Sum", "p99", "Average", "tm90", "p101"),
    "Id": ("a", "b", "c", "A"),
    "Expression": ("a + b", "SUM(METRICS())", "a / 0", "IF(a > 1, b)", "((((a", "FILL(a, REPEAT)", "b"),
    "TreatMissingData": ("missing", "ignore", "breaching", "notBreaching", "guess"),
    "AlarmName": ("alarm", "alarm2", "ü\x00"),
    "ExtendedStatistic": ("p50", "p0", "p100", "p"),
    "ExtendedStatistics": ("p50", "p0", "p100", "p"),
    "NextToken": ("W10=", "WzFd", "WyJhIl0=", "MQ==", "x"),
    "ComparisonOperator": ("GreaterThanThreshold", "LessThanOrEqualToThreshold", "GreaterThanUpperThreshold"),
}
_USEFUL = frozenset(
    {"EvaluationPeriods", "ComparisonOperator", "Threshold", "MetricName", "Namespace", "Period", "Statistic"}
    | {"PolicyType", "TargetTrackingScalingPolicyConfiguration", "PredefinedMetricSpecification", "Schedule"}
    | {
        "ScalableTargetAction",
        "MinCapacity",
        "MaxCapacity",
        "MetricData",
        "Value",
        "Statistics",
        "MetricStat",
    }
)
"""Members without which little is accepted, though the models do not require them."""
_INTEGERS = (0, 1, 2, 3, 5, 50, 60, 60, 60, 300, 3600, 86_400, -1, 2**31 - 1, 2**31, 2**63 - 1, 2**63)
_DOUBLES = (0, 1, 0.5, 70, 70.0, -1.5, 1e300, 1e-300, 25)
_TIMES = (MIDNIGHT_S, MIDNIGHT_S - 3600, MIDNIGHT_S + 3600, MIDNIGHT_S + 0.25, 0, -1, 1e15, 1e300)


class Maker:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def request(self) -> tuple[Service, str, dict[str, Any]]:
        service, offered = self._random.choice(((SCALING, SCALED), (CLOUDWATCH, MONITORING)))
        operation = self._random.choice(sorted(offered))
        if operation == "DeregisterScalableTarget" and self._random.random() < 0.9:
            operation = "RegisterScalableTarget"  # or there would seldom be a target to do something with
        return service, operation, self._structure(load(service.name).operations[operation].input, 7)

    def _structure(self, shape: Shape, levels: int) -> dict[str, Any]:
        likely = self._random.choice((0, 0, 0.1, 0.5))
        wanted = self._random.choice((0.7, 0.97))
        return {
            name: self._any(member, levels - 1, name)
            for name, member in shape.members.items()
            if self._random.random() < (wanted if name in shape.required or name in _USEFUL else likely)
        }

    def _any(self, shape: Shape, levels: int, name: str) -> Any:
        choose = self._random.choice
        match shape.type:
            case "structure":
                return self._structure(shape, levels) if levels > 0 else {}
            case "list":
                assert shape.element is not None
                inner = shape.element.name if shape.element.name in _STRINGS else name
                return [self._any(shape.element, levels - 1, inner) for _ in range(choose((0, 1, 1, 2, 4)))]
            case "map":
                assert shape.element is not None
                return {
                    choose(("a", "aws:b", "")): self._any(shape.element, levels - 1, name) for _ in range(2)
                }
            case "boolean":
                return choose((True, False))
            case "integer" | "long":
                return choose(_INTEGERS)
            case "timestamp":
                earlier, later = MIDNIGHT_S - 3600, MIDNIGHT_S + 3600
                return choose((earlier if name.startswith("Start") else later,) * 9 + _TIMES)
            case "string":
                return self._string(shape, name)
        return choose(_DOUBLES)

    def _string(self, shape: Shape, name: str) -> str:
        pool = _STRINGS.get(name) or _STRINGS.get(shape.name)
        if pool is not None:
            return self._random.choice(pool)
        if shape.enum and self._random.random() < 0.95:
            return self._random.choice(shape.enum)
        return self._random.choice(("x", "Orders", "TableName", "", "ü", "a" * 300, "{}", "arn:aws:x"))


@pytest.mark.parametrize("seed", SEEDS)
def test_requests_without_sense(town: Town, seed: int) -> None:
    town.create()
    town.register()
    maker = Maker(seed)
    accepted = set()
    for number in range(REQUESTS):
        service, operation, request = maker.request()
        answer = _send(
            town, service, operation, orjson.dumps(request, option=orjson.OPT_PASSTHROUGH_DATETIME)
        )
        assert answer[0] in (200, 400, 404), (seed, operation, request)
        if answer[0] == 200:
            accepted.add(operation)
            found = check_output(operation, answer[1], service.name)
            assert not found, (seed, operation, request, found)
        if number % 10 == 0:
            town.clock.advance(60)
    assert len(accepted) > 20, "most operations were reached with something they accept"


def _send(town: Town, service: Service, operation: str, body: bytes) -> tuple[int, Any]:
    headers = {
        b"content-type": b"application/x-amz-json-1.1",
        b"x-amz-target": f"{service.target_prefix}.{operation}".encode(),
        b"x-amz-date": b"20231115T000000Z",
        b"authorization": b"AWS4-HMAC-SHA256 Credential=A/20231115/us-east-1/x/aws4_request, "
        b"SignedHeaders=host, Signature=00",
    }
    answer = town.process.local.answer(HttpRequest("POST", b"/", headers, body))
    return answer.status, orjson.loads(answer.body)
