"""GetMetricStatistics, GetMetricData, ListMetrics, PutMetricData: what was consumed is found, exactly.

The metrics themselves (V130 to V133) are tested where they are counted; here they are read on the wire.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import orjson
import pytest

from faradisc.tools.planner.plan_file.plan_of_rates import plan_of_rates
from faradisc.tools.planner.run import run
from faradisc.tools.traces.cloudwatch import read_export
from fixtures.other_services import MONITORING, Services
from fixtures.schemas import refused

TABLE = [{"Name": "TableName", "Value": "Orders"}]
READS = {"Namespace": MONITORING, "MetricName": "ConsumedReadCapacityUnits", "Dimensions": TABLE}


@pytest.fixture
def read(services: Services) -> Services:
    """Three minutes: 120, 300 and no units."""
    services.create()
    services.minutes(3, lambda minute: (2, 5, 0)[minute])
    return services


def query(id_: str, stat: str = "Sum", period: int = 60, **more: Any) -> dict[str, Any]:
    metric = {**READS, **more.pop("metric", {})}
    return {"Id": id_, "MetricStat": {"Metric": metric, "Period": period, "Stat": stat}, **more}


def data(services: Services, *queries: dict[str, Any], **more: Any) -> Any:
    request = {
        "StartTime": services.now(-3600),
        "EndTime": services.now(60),
        "ScanBy": "TimestampAscending",
        **more,
    }
    return services.cloudwatch.get_metric_data(MetricDataQueries=list(queries), **request)


def values(services: Services, *queries: dict[str, Any], **more: Any) -> dict[str, list[float]]:
    found = data(services, *queries, **more)["MetricDataResults"]
    return {result["Id"]: result["Values"] for result in found}


def test_statistics(read: Services) -> None:
    answer = read.cloudwatch.get_metric_statistics(
        **READS,
        StartTime=read.now(-180),
        EndTime=read.now(),
        Period=60,
        Statistics=["Sum", "SampleCount", "Average", "Minimum", "Maximum"],
    )
    assert answer["Label"] == "ConsumedReadCapacityUnits"
    points = answer["Datapoints"]
    assert [point["Timestamp"] for point in points] == [read.now(-180), read.now(-120), read.now(-60)]
    # 120 units: one read of 100 and twenty of 1.
    first = {"Sum": 120.0, "SampleCount": 21.0, "Average": 120 / 21, "Minimum": 1.0, "Maximum": 100.0}
    assert points[0] == {**first, "Timestamp": read.now(-180), "Unit": "Count"}
    assert [point["Sum"] for point in points] == [120.0, 300.0, 0.0], "zeros are published"


def test_an_answer_is_a_trace_for_plans(read: Services) -> None:
    """docs/formats/rates.md: what GetMetricData answers is traffic for `faradisc plan --trace`."""
    answer = data(read, query("r", Label="Orders ConsumedReadCapacityUnits"))
    text = orjson.dumps({"MetricDataResults": answer["MetricDataResults"]})
    trace = read_export("metrics.json", text, peak_factor=Fraction(2))
    assert (trace.skipped, trace.lines_read) == (0, 3)
    assert trace.start_s == int(read.now(-180).timestamp())
    assert run(plan_of_rates(trace)).totals.read_units == 420


def test_periods_sum_up(read: Services) -> None:
    (point,) = read.cloudwatch.get_metric_statistics(
        **READS, StartTime=read.now(-180), EndTime=read.now(), Period=300, Statistics=["Sum", "Maximum"]
    )["Datapoints"]
    assert (point["Sum"], point["Maximum"], point["Timestamp"]) == (420.0, 100.0, read.now(-180))


def test_percentiles_where_values_are_known(read: Services) -> None:
    span = {"StartTime": read.now(-180), "EndTime": read.now(), "Period": 60}
    latency = {
        "Namespace": MONITORING,
        "MetricName": "SuccessfulRequestLatency",
        "Dimensions": [*TABLE, {"Name": "Operation", "Value": "GetItem"}],
    }
    points = read.cloudwatch.get_metric_statistics(**latency, **span, ExtendedStatistics=["p50", "p99.9"])
    for point in points["Datapoints"]:
        assert point["ExtendedStatistics"].keys() == {"p50", "p99.9"}
        assert point["Unit"] == "Milliseconds"
    none = read.cloudwatch.get_metric_statistics(**READS, **span, ExtendedStatistics=["p50"])
    assert none["Datapoints"] == [], "units are not kept one by one"


def test_gauges_come_every_five_minutes(read: Services) -> None:
    read.minutes(9, 0)
    gauge = {**READS, "MetricName": "ProvisionedReadCapacityUnits"}
    found = read.cloudwatch.get_metric_statistics(
        **gauge, StartTime=read.now(-720), EndTime=read.now(60), Period=60, Statistics=["Average"]
    )["Datapoints"]
    assert [(point["Timestamp"].minute, point["Average"]) for point in found] == [(5, 100.0), (10, 100.0)]


def test_an_exact_set_of_dimensions_or_nothing(read: Services) -> None:
    assert values(read, query("m"))["m"] == [120.0, 300.0, 0.0]
    for dimensions in (
        [],
        [{"Name": "TableName", "Value": "Other"}],
        [*TABLE, {"Name": "Source", "Value": "x"}],
    ):
        assert values(read, query("m", metric={"Dimensions": dimensions}))["m"] == []
    assert values(read, query("m", metric={"Namespace": "AWS/EC2"}))["m"] == []


def test_queries_labels_order_and_hidden_ones(read: Services) -> None:
    answer = data(
        read,
        query("hidden", ReturnData=False),
        query("named", Label="read units"),
        {"Id": "rate", "Expression": "hidden / PERIOD(hidden)"},
        ScanBy="TimestampDescending",
    )
    first, second = answer["MetricDataResults"]
    assert (first["Id"], first["Label"], first["StatusCode"]) == ("named", "read units", "Complete")
    assert first["Timestamps"] == [read.now(-60), read.now(-120), read.now(-180)]
    assert (second["Label"], second["Values"]) == ("rate", [0.0, 5.0, 2.0])


def test_units_are_a_filter(read: Services) -> None:
    stat = query("m")["MetricStat"]
    bytes_ = {"Id": "bytes", "MetricStat": {**stat, "Unit": "Bytes"}}
    count = {"Id": "count", "MetricStat": {**stat, "Unit": "Count"}}
    assert {name: len(points) for name, points in values(read, bytes_, count).items()} == {
        "bytes": 0,
        "count": 3,
    }


def test_pages_of_values(read: Services) -> None:
    queries = [query("a"), query("b", "SampleCount")]
    found: dict[str, list[float]] = {"a": [], "b": []}
    statuses, token = [], {}
    while True:
        answer = data(read, *queries, MaxDatapoints=2, **token)
        for result in answer["MetricDataResults"]:
            found[result["Id"]] += result["Values"]
        statuses.append([result["StatusCode"] for result in answer["MetricDataResults"]])
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    assert found == {"a": [120.0, 300.0, 0.0], "b": values(read, queries[1])["b"]}
    assert statuses == [["PartialData", "PartialData"], ["Complete", "PartialData"], ["Complete", "Complete"]]
    paginated = read.cloudwatch.get_paginator("get_metric_data").paginate(
        MetricDataQueries=queries, StartTime=read.now(-3600), EndTime=read.now(60), MaxDatapoints=1
    )
    assert sum(len(result["Values"]) for page in paginated for result in page["MetricDataResults"]) == 6


def test_list_metrics(read: Services) -> None:
    listed = read.cloudwatch.list_metrics(Namespace=MONITORING, Dimensions=[{"Name": "TableName"}])["Metrics"]
    assert READS in listed
    names = {metric["MetricName"] for metric in listed}
    assert {"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"} <= names
    (only,) = read.cloudwatch.list_metrics(MetricName="ConsumedReadCapacityUnits", Dimensions=TABLE)[
        "Metrics"
    ]
    assert only == READS
    nowhere = read.cloudwatch.list_metrics(Dimensions=[{"Name": "TableName", "Value": "Nowhere"}])
    assert nowhere["Metrics"] == []
    assert len(read.cloudwatch.list_metrics(RecentlyActive="PT3H")["Metrics"]) >= len(listed)


def test_list_metrics_has_pages(services: Services) -> None:
    for start in range(0, 1100, 100):
        services.cloudwatch.put_metric_data(
            Namespace="Mine",
            MetricData=[{"MetricName": f"m{number:04}", "Value": 1} for number in range(start, start + 100)],
        )
    pages = list(services.cloudwatch.get_paginator("list_metrics").paginate(Namespace="Mine"))
    assert [len(page["Metrics"]) for page in pages] == [500, 500, 100]
    names = [metric["MetricName"] for page in pages for metric in page["Metrics"]]
    assert names == sorted(set(names))


# --- Metrics of clients ---------------------------------------------------------------------------


def test_metrics_that_clients_put(services: Services) -> None:
    mine = {"Namespace": "Shop", "MetricName": "Basket", "Dimensions": [{"Name": "Country", "Value": "NO"}]}
    at = services.now()
    services.cloudwatch.put_metric_data(
        Namespace="Shop",
        MetricData=[
            {**{k: mine[k] for k in ("MetricName", "Dimensions")}, "Timestamp": at, **each, "Unit": "Count"}
            for each in (
                {"Value": 4.0},
                {"Values": [1.0, 10.0], "Counts": [2.0, 1.0]},
                {"Timestamp": at - timedelta(minutes=5), "Value": 7.5},
            )
        ],
    )
    points = services.cloudwatch.get_metric_statistics(
        **mine,
        StartTime=at - timedelta(minutes=10),
        EndTime=services.now(60),
        Period=60,
        Statistics=["Sum", "SampleCount"],
    )["Datapoints"]
    assert [(point["Sum"], point["SampleCount"], point["Unit"]) for point in points] == [
        (7.5, 1.0, "Count"),
        (16.0, 4.0, "Count"),
    ]
    p50 = {"StartTime": at, "EndTime": services.now(60), "Period": 60, "ExtendedStatistics": ["p50"]}
    (point,) = services.cloudwatch.get_metric_statistics(**mine, **p50)["Datapoints"]
    assert point["ExtendedStatistics"] == {"p50": 1.0}
    statistics = {"SampleCount": 3, "Sum": 9, "Minimum": 2, "Maximum": 5}
    services.cloudwatch.put_metric_data(
        Namespace="Shop",
        MetricData=[{**{k: mine[k] for k in ("MetricName", "Dimensions")}, "StatisticValues": statistics}],
    )
    assert services.cloudwatch.get_metric_statistics(**mine, **p50)["Datapoints"] == []
    assert services.cloudwatch.list_metrics(Namespace="Shop")["Metrics"] == [mine]


PUT_REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "the service's namespace": (
        {"Namespace": "AWS/DynamoDB", "MetricData": [{"MetricName": "m", "Value": 1}]},
        "InvalidParameterValue",
        "The value AWS/ for parameter Namespace is invalid.",
    ),
    "nothing": ({"Namespace": "a"}, "MissingParameter", "The parameter MetricData is required."),
    "no value": (
        {"Namespace": "a", "MetricData": [{"MetricName": "m"}]},
        "InvalidParameterCombination",
        "Exactly one of the parameters Value, Values and StatisticValues must be specified.",
    ),
    "long ago": (
        {
            "Namespace": "a",
            "MetricData": [{"MetricName": "m", "Value": 1, "Timestamp": datetime(2020, 1, 1, tzinfo=UTC)}],
        },
        "InvalidParameterValue",
        "The parameter Timestamp must specify a time no more than two weeks in the past and no more than two "
        "hours in the future.",
    ),
    "huge": (
        {"Namespace": "a", "MetricData": [{"MetricName": "m", "Value": 1e300}]},
        "InvalidParameterValue",
        "The value 1e+300 for parameter Value is invalid.",
    ),
    "half a sample": (
        {"Namespace": "a", "MetricData": [{"MetricName": "m", "Values": [1.0], "Counts": [0.5]}]},
        "InvalidParameterValue",
        "A count of 0.5 samples is not offered by this version of Faradisc.",
    ),
    "seconds": (
        {"Namespace": "a", "MetricData": [{"MetricName": "m", "Value": 1, "StorageResolution": 1}]},
        "InvalidParameterValue",
        "A StorageResolution other than 60 is not offered by this version of Faradisc.",
    ),
}


@pytest.mark.parametrize(("request_", "code", "text"), PUT_REFUSED.values(), ids=PUT_REFUSED)
def test_refused_metric_data(services: Services, request_: dict[str, Any], code: str, text: str) -> None:
    with refused(code, text):
        services.cloudwatch.put_metric_data(**request_)
    assert services.cloudwatch.list_metrics()["Metrics"] == []


# --- Rejections -------------------------------------------------------------------------------------

SPAN = {"StartTime": datetime(2026, 1, 1, tzinfo=UTC), "EndTime": datetime(2026, 1, 2, tzinfo=UTC)}
BACKWARDS = {"StartTime": SPAN["EndTime"], "EndTime": SPAN["StartTime"]}

STATISTICS_REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "too many points": (
        {
            **READS,
            "StartTime": SPAN["StartTime"],
            "EndTime": datetime(2026, 1, 3, tzinfo=UTC),
            "Period": 60,
            "Statistics": ["Sum"],
        },
        "InvalidParameterCombination",
        "You have requested up to 2,880 datapoints, which exceeds the limit of 1,440. You may reduce the "
        "datapoints requested by increasing Period, or decreasing the time range.",
    ),
    "backwards": (
        {**READS, **BACKWARDS, "Period": 60, "Statistics": ["Sum"]},
        "InvalidParameterValue",
        "The parameter StartTime must be less than the parameter EndTime.",
    ),
    "no statistics": (
        {**READS, **SPAN, "Period": 60},
        "MissingParameter",
        "Must specify either Statistics or ExtendedStatistics",
    ),
    "both kinds": (
        {**READS, **SPAN, "Period": 60, "Statistics": ["Sum"], "ExtendedStatistics": ["p50"]},
        "InvalidParameterCombination",
        "Statistics and ExtendedStatistics cannot be specified together",
    ),
    "an odd period": (
        {**READS, **SPAN, "Period": 61, "Statistics": ["Sum"]},
        "InvalidParameterValue",
        "The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60.",
    ),
    "a trimmed mean": (
        {**READS, **SPAN, "Period": 60, "ExtendedStatistics": ["tm90"]},
        "InvalidParameterValue",
        "The statistic tm90 is not offered by this version of Faradisc.",
    ),
    "an unknown statistic": (
        {**READS, **SPAN, "Period": 60, "Statistics": ["Median"]},
        "ValidationError",
        "1 validation error detected: Value 'Median' at 'statistics.1.member' failed to satisfy constraint: "
        "Member must satisfy enum value set: [SampleCount, Average, Sum, Minimum, Maximum]",
    ),
    "nothing": (
        {},
        "ValidationError",
        "5 validation errors detected: "
        + "; ".join(
            f"Value null at '{member}' failed to satisfy constraint: Member must not be null"
            for member in ("namespace", "metricName", "startTime", "endTime", "period")
        ),
    ),
}


@pytest.mark.parametrize(("request_", "code", "text"), STATISTICS_REFUSED.values(), ids=STATISTICS_REFUSED)
def test_refused_statistics(services: Services, request_: dict[str, Any], code: str, text: str) -> None:
    with refused(code, text):
        services.cloudwatch.get_metric_statistics(**request_)


DATA_REFUSED: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "no queries": ([], {}, "The collection MetricDataQueries must have between 1 and 500 elements"),
    "backwards": ([query("m")], BACKWARDS, "The parameter EndTime must be greater than StartTime"),
    "one id twice": (
        [query("m"), query("m")],
        {},
        "The values of parameter Id in MetricDataQueries must be unique",
    ),
    "an id that is none": (
        [query("M")],
        {},
        "The value M for parameter Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$",
    ),
    "neither": ([{"Id": "m"}], {}, "Exactly one of MetricStat and Expression must be specified for Id m"),
    "an unknown statistic": (
        [query("m", "Median")],
        {},
        "The statistic Median is not offered by this version of Faradisc.",
    ),
    "a label that moves": (
        [query("m", Label="${MAX}")],
        {},
        "Dynamic labels are not offered by this version of Faradisc.",
    ),
    "another account": (
        [query("m", AccountId="1" * 12)],
        {},
        "AccountId is not offered by this version of Faradisc.",
    ),
    "a circle": (
        [{"Id": "a", "Expression": "b + 1"}, {"Id": "b", "Expression": "a + 1"}],
        {},
        "The expressions of MetricDataQueries depend on each other",
    ),
    "itself": (
        [{"Id": "a", "Expression": "a + 1"}],
        {},
        "The expressions of MetricDataQueries depend on each other",
    ),
    "a number": (
        [query("m"), {"Id": "a", "Expression": "SUM(m)"}],
        {},
        "Id a is a number, not a time series",
    ),
    "a search": (
        [{"Id": "a", "Expression": "SEARCH('reads', 'Sum', 300)"}],
        {},
        "Error in expression \"SEARCH('reads', 'Sum', 300)\": the function SEARCH is not offered by this "
        "version of Faradisc",
    ),
    "too much": (
        [query(f"m{number}") for number in range(100)],
        {"StartTime": datetime(2000, 1, 1, tzinfo=UTC), "EndTime": datetime(2100, 1, 1, tzinfo=UTC)},
        "You have requested up to 2,304,000 datapoints, which exceeds the limit of 1,000,000.",
    ),
    "no such page": ([query("m")], {"MaxDatapoints": 0}, "MaxDatapoints must be between 1 and 100800, not 0"),
}


@pytest.mark.parametrize(("queries", "more", "text"), DATA_REFUSED.values(), ids=DATA_REFUSED)
def test_refused_metric_queries(
    services: Services, queries: list[dict[str, Any]], more: dict[str, Any], text: str
) -> None:
    with refused("ValidationError", text):
        data(services, *queries, **more)


def test_an_array_is_as_many_results(read: Services) -> None:
    queries = [query("m", ReturnData=False), query("n", ReturnData=False)]
    found = data(read, *queries, {"Id": "e", "Expression": "[m, n]"})["MetricDataResults"]
    assert [(result["Id"], result["Label"], result["Values"]) for result in found] == [
        ("e", "m", [120, 300, 0]),
        ("e", "n", [120, 300, 0]),
    ]


def test_foreign_tokens(services: Services) -> None:
    with refused("InvalidNextToken"):
        data(services, query("m"), NextToken="foreign")
    with refused("InvalidParameterValue"):
        services.cloudwatch.list_metrics(NextToken="foreign")


def test_operations_that_are_not_offered(services: Services) -> None:
    with refused("ValidationError", "PutDashboard is not offered by this version of Faradisc."):
        services.cloudwatch.put_dashboard(DashboardName="d", DashboardBody="{}")
