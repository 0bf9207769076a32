"""The summary of a running endpoint: table descriptions, the metrics of the last hours, hot keys.

Metrics are sums of minutes, so busiest seconds, single requests and sizes are not known. Hot keys come from
the admin API, which only this project's server has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from faradisc.capacity.config import Direction
from faradisc.records import dataclass, replace
from faradisc.tools.advisor.definitions import SAMPLES, Definition, IndexDefinition, KeySample, of_document
from faradisc.tools.advisor.traffic import KeyLoad, ObservedDemand, Scans, TableTraffic, Traffic

PERIOD_S = 60
TABLES_MAX = 200
"""More are not read; the summary says so."""
_DIRECTIONS: tuple[tuple[Direction, str], ...] = (("R", "Read"), ("W", "Write"))


class Asks(Protocol):
    """An endpoint, such as that of the console."""

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer of DynamoDB."""
        ...

    async def service(self, service: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer of another service."""
        ...

    async def admin(self, path: str) -> Any:
        """Returns a document of the admin API."""
        ...


Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def definitions_of(
    call: Call, failure: type[Exception], *, sample: bool = False
) -> dict[str, Definition]:
    """Returns the definitions of all tables, at most `TABLES_MAX`. Raises what `call` raises.

    failure: the error after which settings of backups and expiry, and samples, are taken as not known.
    sample: whether to read partition keys, by `SAMPLES` Scans of an item of each table and global index.
    """
    names: list[str] = []
    page: dict[str, Any] = {}
    while len(names) < TABLES_MAX:
        answer = await call("ListTables", page)
        names += answer["TableNames"]
        if "LastEvaluatedTableName" not in answer:
            break
        page = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}
    found = {}
    for name in names[:TABLES_MAX]:
        described = (await call("DescribeTable", {"TableName": name}))["Table"]
        recovery = expiry = None
        try:
            backups = await call("DescribeContinuousBackups", {"TableName": name})
            status = backups["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
            recovery = status.get("PointInTimeRecoveryStatus") == "ENABLED"
            ttl = await call("DescribeTimeToLive", {"TableName": name})
            expiry = ttl["TimeToLiveDescription"].get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
        except failure:  # a policy may forbid either
            pass
        found[name] = of_document(described, recovery=recovery, expiry=expiry)
        if sample:
            with suppress(failure):
                found[name] = await _sampled(call, found[name])
    return found


async def _sampled(call: Call, definition: Definition) -> Definition:
    """Returns a definition with samples of its partition keys. Raises what `call` raises."""

    async def of_keys(place: Definition | IndexDefinition, index: dict[str, str]) -> KeySample:
        read = []
        for segment in range(SAMPLES):
            page = await call(
                "Scan",
                {
                    "TableName": definition.name,
                    **index,
                    "Segment": segment,
                    "TotalSegments": SAMPLES,
                    "Limit": 1,
                    "ProjectionExpression": "#k",
                    "ExpressionAttributeNames": {"#k": place.keys[0]},
                },
            )
            read += [str(next(iter(item[place.keys[0]].values()))) for item in page["Items"]]
        return KeySample(len(read), frozenset(read))

    indexes = [
        replace(each, sample=await of_keys(each, {"IndexName": each.name})) if each.is_global else each
        for each in definition.indexes
    ]
    return replace(definition, sample=await of_keys(definition, {}), indexes=tuple(indexes))


async def of_endpoint(
    asked: Asks,
    failure: type[Exception],
    *,
    now: datetime,
    source: str,
    hours: int,
    times: int = 1,
    sample: bool = False,
) -> Traffic:
    """Returns the summary of the last hours. Raises what `asked` raises for descriptions and metrics.

    now: the moment, unless the admin API of the endpoint has its own. sample: as in `definitions_of`.
    """
    definitions = await definitions_of(asked.call, failure, sample=sample)
    try:
        now = datetime.fromtimestamp((await asked.admin("clock"))["now_ns"] / 1e9, UTC)
        administered = True
    except failure:
        administered = False
    end = now.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
    traffic = Traffic(source, hours * 3600, {}, times)
    for name, definition in definitions.items():
        table = TableTraffic(definition)
        await _metrics(_Period(asked, end - timedelta(hours=hours), end), table)
        if administered:
            _hot_keys(table, await asked.admin(f"capacity/{name}"))
        traffic.tables[name] = table
    if not administered:
        traffic.notes.append("Hot keys are not known: the endpoint has no admin API for this key.")
    if administered:
        with suppress(failure):  # an older server
            for repeat in (await asked.admin("faults"))["repeats"]:
                if repeat["table"] in traffic.tables:
                    traffic.tables[repeat["table"]].repeats.append(
                        (repeat["operation"], repeat["danger"], repeat["count"])
                    )
    if len(definitions) == TABLES_MAX:
        traffic.notes.append(f"Only the first {TABLES_MAX} tables were read.")
    return traffic


@dataclass(frozen=True, slots=True)
class _Period:
    """Asks for the values of metrics by minute, counted from the start."""

    asked: Asks
    start: datetime
    end: datetime

    async def values(self, metric: str, dimensions: Mapping[str, str], statistic: str) -> dict[int, float]:
        request = {
            "Namespace": "AWS/DynamoDB",
            "MetricName": metric,
            "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
            "StartTime": self.start,
            "EndTime": self.end,
            "Period": PERIOD_S,
            "Statistics": [statistic],
        }
        answer = await self.asked.service("cloudwatch", "GetMetricStatistics", request)
        return {
            int((point["Timestamp"] - self.start).total_seconds()) // PERIOD_S: float(point[statistic])
            for point in answer.get("Datapoints", ())
        }


async def _metrics(period: _Period, table: TableTraffic) -> None:
    definition = table.definition
    for index in (None, *(each.name for each in definition.indexes if each.is_global)):
        dimensions = {"TableName": definition.name}
        if index is not None:
            dimensions["GlobalSecondaryIndexName"] = index
        for direction, word in _DIRECTIONS:
            consumed = f"Consumed{word}CapacityUnits"
            requests = await period.values(consumed, dimensions, "SampleCount")
            throttled = await period.values(f"{word}ThrottleEvents", dimensions, "Sum")
            demand = ObservedDemand(round(sum(requests.values())), throttled=round(sum(throttled.values())))
            sums = await period.values(consumed, dimensions, "Sum")
            demand.minutes = {minute: round(2 * value) for minute, value in sums.items()}
            demand.half_units = sum(demand.minutes.values())
            demand.peak_half = -(-max(demand.minutes.values(), default=0) // PERIOD_S)
            table.demands[index, direction] = demand
    dimensions = {"TableName": definition.name, "Operation": "Scan"}
    pages = await period.values("SuccessfulRequestLatency", dimensions, "SampleCount")
    if pages:
        table.scans[None] = Scans(round(sum(pages.values())), half_units=None, runs=None)


def _hot_keys(table: TableTraffic, document: dict[str, Any]) -> None:
    """Adds the heaviest keys of hot partitions, with the heat that the partition has now."""
    for name, resource in document["resources"].items():
        for direction, word in _DIRECTIONS:
            loads = [
                KeyLoad(
                    hot["key"],
                    hot["percent"],
                    max(part[word.lower()]["heat"], part[word.lower()]["latest"]) * hot["percent"] / 100,
                    part[word.lower()]["limit"],
                    round(part[word.lower()]["throttled"] * hot["percent"] / 100),
                )
                for part in resource["partitions"]
                for hot in part["hot_keys"]
                if hot["direction"] == word.lower() and hot["key"] is not None
            ]
            loads.sort(key=lambda load: -load.peak_units)
            table.demands.setdefault((name or None, direction), ObservedDemand()).keys = tuple(loads[:5])
