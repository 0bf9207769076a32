"""CloudWatch through boto3 in each protocol that its model lists; signatures of the other services; HTTP.

boto3 itself chooses JSON. SDKs for Go, Java, JavaScript and Rust take CBOR, those of before 2024 forms.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import boto3
import orjson
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from faradisc.auth.keys import AccessKey, FixedKeyring
from faradisc.auth.strict import StrictAuthenticator
from faradisc.clock import SystemClock
from faradisc.errors import StorageError
from faradisc.local.transport import ENDPOINT_URL, attach
from faradisc.operations.call import Call
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.services.cloudwatch import registry
from fixtures.direct_client import CONFIG
from fixtures.other_services import MONITORING, Services, client_speaking
from fixtures.served import Server

TABLE = [{"Name": "TableName", "Value": "Orders"}]
READS = {"Namespace": MONITORING, "MetricName": "ConsumedReadCapacityUnits", "Dimensions": TABLE}
PROTOCOLS = ("json", "smithy-rpc-v2-cbor", "query")


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


@pytest.fixture
def read(services: Services) -> Services:
    services.create()
    services.minutes(2, 5)
    return services


def tour(services: Services, client: Any) -> list[Any]:
    """Every type there is, there and back."""
    client.put_metric_alarm(
        AlarmName='quo"ted <&> ü',
        **READS,
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        DatapointsToAlarm=1,
        Threshold=-0.5,
        ComparisonOperator="LessThanThreshold",
        ActionsEnabled=False,
        Tags=[{"Key": "k", "Value": "v"}],
    )
    span = {"StartTime": services.now(-600), "EndTime": services.now(60)}
    stat = {"Metric": READS, "Period": 60, "Stat": "Sum"}
    queries = [{"Id": "m", "MetricStat": stat, "ReturnData": True}, {"Id": "e", "Expression": "m/2"}]
    reported = [
        client.describe_alarms(AlarmTypes=["MetricAlarm"], MaxRecords=10),
        client.get_metric_data(MetricDataQueries=queries, **span),
        client.get_metric_statistics(**READS, **span, Period=60, Statistics=["Sum", "Average"]),
        client.list_metrics(Dimensions=[{"Name": "TableName"}]),
        client.describe_alarm_history(),
        client.delete_alarms(AlarmNames=['quo"ted <&> ü']),
        client.describe_alarms(),
    ]
    return [_plain(answer) for answer in reported]


def test_every_protocol_reports_the_same(read: Services) -> None:
    first, *others = [tour(read, client_speaking(protocol, read.process)) for protocol in PROTOCOLS]
    alarms, data, statistics, listed, *_ = first
    (alarm,) = alarms["MetricAlarms"]
    assert (alarm["AlarmName"], alarm["Threshold"], alarm["ActionsEnabled"]) == ('quo"ted <&> ü', -0.5, False)
    assert data["MetricDataResults"][1]["Values"] == [150.0, 150.0]
    assert [point["Sum"] for point in statistics["Datapoints"]] == [300.0, 300.0]
    assert READS in listed["Metrics"]
    for other in others:
        assert other[:4] == first[:4]
        assert other[5:] == first[5:]
        count = len(first[4]["AlarmHistoryItems"])
        assert len(other[4]["AlarmHistoryItems"]) > count, "the history has grown by this client's alarm"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_errors_have_one_code_in_every_protocol(services: Services, protocol: str) -> None:
    client = client_speaking(protocol, services.process)
    for operation, request, code, status in (
        (
            "set_alarm_state",
            {"AlarmName": "x", "StateValue": "OK", "StateReason": ""},
            "ResourceNotFound",
            404,
        ),
        ("get_metric_statistics", {}, "ValidationError", 400),
        ("describe_alarms", {"NextToken": "foreign"}, "InvalidNextToken", 400),
        ("put_metric_data", {"Namespace": "a"}, "MissingParameter", 400),
        ("get_dashboard", {"DashboardName": "d"}, "ValidationError", 400),
    ):
        with pytest.raises(ClientError) as caught:
            getattr(client, operation)(**request)
        response = caught.value.response
        assert response["Error"]["Code"] == code
        assert response["Error"]["Message"]
        assert response["ResponseMetadata"]["HTTPStatusCode"] == status
        assert len(response["ResponseMetadata"]["RequestId"]) == 52


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_failing_disk_is_a_line_in_the_log_here_too(
    services: Services, protocol: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(executor: Any, call: Call) -> dict[str, Any]:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(registry, "OPERATIONS", {"ListMetrics": failing})
    with pytest.raises(ClientError) as caught, caplog.at_level(logging.ERROR, logger="faradisc.protocol"):
        client_speaking(protocol, services.process).list_metrics()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    (record,) = caplog.records
    assert record.getMessage().endswith("failed: StorageError: the disk is gone")
    assert record.exc_info is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_large_metric_data_comes_compressed(services: Services, protocol: str) -> None:
    """boto3 compresses PutMetricData beyond 10 KB."""
    data = [
        {"MetricName": f"metric-{number}", "Value": number, "Timestamp": services.now()}
        for number in range(500)
    ]
    client = client_speaking(protocol, services.process)
    client.put_metric_data(Namespace="Mine", MetricData=data)
    (point,) = client.get_metric_statistics(
        Namespace="Mine",
        MetricName="metric-499",
        StartTime=services.now(),
        EndTime=services.now() + timedelta(minutes=1),
        Period=60,
        Statistics=["Sum"],
    )["Datapoints"]
    assert point["Sum"] == 499.0


def _raw(services: Services, headers: dict[str, str], body: bytes, path: str = "/") -> HttpResponse:
    scope = "Credential=AKID/20261120/us-east-1/monitoring/aws4_request, SignedHeaders=host, Signature=00"
    sent = {"x-amz-date": "20261120T000000Z", "authorization": f"AWS4-HMAC-SHA256 {scope}", **headers}
    encoded = {name.encode(): value.encode() for name, value in sent.items()}
    return services.process.local.answer(HttpRequest("POST", path.encode(), encoded, body))


FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": "GraniteServiceVersion20100801.ListMetrics",
}


@pytest.mark.parametrize(
    ("headers", "body", "reported"),
    [
        (FORM, b"Action=Nonsense&Version=2010-08-01", b"<Code>InvalidAction</Code>"),
        (FORM, b"Action=ListMetrics&Version=2010-08-01&Dimensions=x", b"<Code>MalformedInput</Code>"),
        (
            {**FORM, "authorization": ""},
            b"Action=ListMetrics&Version=2010-08-01",
            b"<Code>MissingAuthenticationToken",
        ),
        (JSON, b"{", b"#SerializationException"),
        (JSON, b'{"Namespace": 5}', b"NUMBER_VALUE cannot be converted to String"),
        (JSON, b'{"Dimensions": [[]]}', b'"Unrecognized collection type class DimensionFilter"'),
        (
            {**JSON, "x-amz-target": "GraniteServiceVersion20100801.Nonsense"},
            b"{}",
            b"#UnknownOperationException",
        ),
        ({**JSON, "x-amz-target": "AnyScaleFrontendService.Nonsense"}, b"{}", b"#UnknownOperationException"),
    ],
)
def test_bad_requests(services: Services, headers: dict[str, str], body: bytes, reported: bytes) -> None:
    response = _raw(services, headers, body)
    assert response.status == 400
    assert reported in response.body


def test_names_of_errors_for_clients_of_the_query_days(services: Services) -> None:
    """`x-amzn-query-error` is only in answers to `x-amzn-query-mode`."""
    body = orjson.dumps({"Namespace": ":"})
    plain, asked = _raw(services, JSON, body), _raw(services, {**JSON, "x-amzn-query-mode": "true"}, body)
    assert dict(plain.extra) == {}
    assert dict(asked.extra) == {b"x-amzn-query-error": b"ValidationError;Sender"}
    path = "/service/GraniteServiceVersion20100801/operation/ListMetrics"
    cbor = _raw(services, {"content-type": "application/cbor"}, b"\xa0", path)
    assert (cbor.status, dict(cbor.extra)) == (200, {b"smithy-protocol": b"rpc-v2-cbor"})


# --- Signatures -----------------------------------------------------------------------------------


@pytest.fixture
def strict_client(services: Services) -> Callable[..., Any]:
    """strict_client(service) -> a client whose signatures are verified."""
    keyring = FixedKeyring((AccessKey("AKID", "secret"),))
    authenticate = StrictAuthenticator(keyring, SystemClock(), region="us-east-1")
    session = boto3.Session(aws_access_key_id="AKID", aws_secret_access_key="secret", region_name="us-east-1")

    def verify(request: HttpRequest) -> HttpResponse:
        return services.process.run(answer(services.process.database, request, authenticate))

    def strict_client(service: str) -> Any:
        client = session.client(service, endpoint_url=ENDPOINT_URL, config=CONFIG)
        attach(client, verify)
        return client

    return strict_client


def test_strict_signatures_name_their_service(strict_client: Callable[..., Any]) -> None:
    for _ in range(2):  # the second time a header is known
        assert strict_client("cloudwatch").list_metrics()["Metrics"] == []
        targets = strict_client("application-autoscaling").describe_scalable_targets(
            ServiceNamespace="dynamodb"
        )
        assert targets["ScalableTargets"] == []
        assert strict_client("dynamodb").list_tables()["TableNames"] == []


def test_over_http(memory_server: Server) -> None:
    options = {
        "endpoint_url": memory_server.url,
        "region_name": "us-east-1",
        "aws_access_key_id": "any",
        "aws_secret_access_key": "any",
        "config": Config(retries={"total_max_attempts": 1}),
    }
    cloudwatch = boto3.client("cloudwatch", **options)
    cloudwatch.put_metric_data(Namespace="Mine", MetricData=[{"MetricName": "m", "Value": 2}])
    assert cloudwatch.list_metrics(Namespace="Mine")["Metrics"][0]["MetricName"] == "m"
    scaling = boto3.client("application-autoscaling", **options)
    with pytest.raises(ClientError, match="DynamoDB table does not exist: table/nowhere"):
        scaling.register_scalable_target(
            ServiceNamespace="dynamodb",
            ResourceId="table/nowhere",
            ScalableDimension="dynamodb:table:ReadCapacityUnits",
            MinCapacity=1,
            MaxCapacity=2,
        )
    cloudwatch.close()
    scaling.close()
