"""The health of all tables in the last hour: throttles, traffic, alarms, consumers that lag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from faradisc.clock import SystemClock
from faradisc.records import dataclass
from faradisc.tools.console.consumers import LEASE_TABLE, ConsumerPosition, positions
from faradisc.tools.console.drawing import TableReads
from faradisc.tools.console.endpoint import Failure, ServerEndpoint

TABLES_MAX: Final = 100
"""More are not asked for: each costs four metrics."""
SHOWN_MAX: Final = 8
_METRICS: Final = (
    "ReadThrottleEvents",
    "WriteThrottleEvents",
    "ConsumedReadCapacityUnits",
    "ConsumedWriteCapacityUnits",
)
_QUERIES_MAX: Final = 400
"""GetMetricData takes 500."""


@dataclass(slots=True)
class TableHealth:
    """Sums of one table in the last hour."""

    table: str
    throttles: float = 0
    read_units: float = 0
    write_units: float = 0

    @property
    def units(self) -> float:
        return self.read_units + self.write_units


@dataclass(frozen=True, slots=True)
class HealthAlarm:
    name: str
    state: str
    reason: str
    table: str


async def table_health(endpoint: ServerEndpoint, names: list[str]) -> list[TableHealth]:
    """Returns the tables with traffic or throttles, the worst first. Raises Failure."""
    found = {name: TableHealth(name) for name in names[:TABLES_MAX]}
    end = _end()
    begin = end - timedelta(hours=1)
    queries = [
        {
            "Id": f"m{at}_{number}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/DynamoDB",
                    "MetricName": metric,
                    "Dimensions": [{"Name": "TableName", "Value": name}],
                },
                "Period": 3600,
                "Stat": "Sum",
            },
        }
        for at, name in enumerate(found)
        for number, metric in enumerate(_METRICS)
    ]
    tables = list(found.values())
    for at in range(0, len(queries), _QUERIES_MAX):
        request = {"StartTime": begin, "EndTime": end, "MetricDataQueries": queries[at : at + _QUERIES_MAX]}
        for result in (await endpoint.service("cloudwatch", "GetMetricData", request))["MetricDataResults"]:
            place, _, number = str(result["Id"])[1:].partition("_")
            table, value = tables[int(place)], sum(result["Values"])
            match int(number):
                case 0 | 1:
                    table.throttles += value
                case 2:
                    table.read_units += value
                case _:
                    table.write_units += value
    return worst_first(tables)


READS: Final = ("GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan")


async def table_reads(endpoint: ServerEndpoint, described: dict[str, Any], hours: int) -> TableReads:
    """Returns what other clients have read of a table. Raises Failure."""
    table = {"Name": "TableName", "Value": described["TableName"]}
    indexes = [each["IndexName"] for each in described.get("GlobalSecondaryIndexes", ())]
    asked = [
        *(("SuccessfulRequestLatency", "Operation", name, "SampleCount") for name in READS),
        *(("ConsumedReadCapacityUnits", "GlobalSecondaryIndexName", name, "Sum") for name in indexes),
    ]
    end = _end()
    queries = [
        {
            "Id": f"m{at}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/DynamoDB",
                    "MetricName": metric,
                    "Dimensions": [table, {"Name": dimension, "Value": value}],
                },
                "Period": 3600,
                "Stat": statistic,
            },
        }
        for at, (metric, dimension, value, statistic) in enumerate(asked)
    ]
    request = {"StartTime": end - timedelta(hours=hours), "EndTime": end, "MetricDataQueries": queries}
    answer = await endpoint.service("cloudwatch", "GetMetricData", request)
    sums = {asked[int(each["Id"][1:])][2]: sum(each["Values"]) for each in answer["MetricDataResults"]}
    own = {name: endpoint.reads_since(name, described["TableName"], hours) for name in READS}
    return TableReads(
        hours,
        {name: max(0.0, sums.get(name, 0) - own[name]) for name in READS},
        {name: sums.get(name, 0) for name in indexes},
    )


def _end() -> datetime:
    """Returns the end of the minute that runs: a metric of a minute is there while it grows."""
    now = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


def worst_first(tables: list[TableHealth]) -> list[TableHealth]:
    """Returns the tables that were used: throttled ones first, then by units."""
    used = [each for each in tables if each.throttles or each.units]
    return sorted(used, key=lambda each: (-each.throttles, -each.units, each.table))


async def alarms(endpoint: ServerEndpoint) -> list[HealthAlarm]:
    """Returns the alarms that are on. Raises Failure."""
    found = (await endpoint.service("cloudwatch", "DescribeAlarms", {"StateValue": "ALARM"}))["MetricAlarms"]
    return [
        HealthAlarm(each["AlarmName"], each["StateValue"], str(each.get("StateReason", "")), _table_of(each))
        for each in found
    ]


def _table_of(alarm: dict[str, Any]) -> str:
    for dimension in alarm.get("Dimensions", ()):
        if dimension["Name"] == "TableName":
            return str(dimension["Value"])
    return ""


async def lagging(endpoint: ServerEndpoint, names: list[str]) -> list[tuple[str, ConsumerPosition]]:
    """Returns the positions of consumer groups that have records to read, each with its table."""
    found: list[tuple[str, ConsumerPosition]] = []
    if LEASE_TABLE not in names:
        return found
    try:
        streams = (await endpoint.call("ListStreams", {"Limit": 100}))["Streams"]
        for stream in streams:
            for each in await positions(endpoint, stream["StreamArn"]):
                if each.behind not in ("up to date", "finished"):
                    found.append((stream["TableName"], each))
    except Failure:
        return found
    return found
