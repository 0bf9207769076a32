"""Metrics of a table over the last hours, and below them auto scaling and alarms on the same time line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.clock import SystemClock
from faradisc.tools.console.endpoint import Failure, ServerEndpoint
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.parts import CHART_TEXT, heading, note

POLL_S: Final = 30.0
THROTTLES: Final = {
    f"{way}{reason}ThrottleEvents": f"{way.lower()} throttles: {words}"
    for way in ("Read", "Write")
    for reason, words in (
        ("ProvisionedThroughput", "provisioned"),
        ("KeyRangeThroughput", "key range"),
        ("AccountLimit", "account"),
        ("MaxOnDemandThroughput", "on-demand maximum"),
    )
}
"""Metrics in events a minute, with their names in the chart."""
RATES: Final = {
    "ConsumedReadCapacityUnits": "reads",
    "ConsumedWriteCapacityUnits": "writes",
    "ProvisionedReadCapacityUnits": "read capacity",
    "ProvisionedWriteCapacityUnits": "write capacity",
}
"""Metrics in units a second, with their names in the chart."""
STATES: Final = {"OK": "#2f9e44", "ALARM": "#e03131", "INSUFFICIENT_DATA": "#868e96"}
LINE_PX: Final = 34
"""Height of one row of the time line."""


class MetricHistory:
    """Both charts of a table; they follow while the page is open."""

    def __init__(self, endpoint: ServerEndpoint, table: str) -> None:
        self._endpoint = endpoint
        self._table = table

    async def draw(self) -> None:
        heading("Metrics")
        self._hours = ui.toggle({1: "1 hour", 3: "3 hours", 12: "12 hours"}, value=1)
        self._said = note()
        self._metrics = ui.echart({}).classes("w-full").style("height: 280px")
        self._title = heading("Auto scaling and alarms")
        self._events = ui.echart({}).classes("w-full")
        self._states = note().classes("whitespace-pre-line")
        update = guarded(self._update)
        self._hours.on_value_change(update)
        ui.timer(POLL_S, update)
        await self._update()

    async def _update(self) -> None:
        end = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
        begin = end - timedelta(hours=self._hours.value)
        axis = {"type": "time", "min": _ms(begin), "max": _ms(end), "axisLabel": CHART_TEXT}
        self._said.text = ""
        series: list[dict[str, Any]] = []
        try:
            series = await self._series(begin, end)
        except Failure as failure:
            self._said.text = f"No metrics: {failure.message}"
        else:
            self._said.text = "" if series else "No requests in this time."
        _show(self._metrics, series, {"xAxis": axis, **_METRICS})
        rows, bands = await self._bands(begin, end)
        self._title.set_visibility(bool(rows))
        self._events.style(f"height: {70 + LINE_PX * len(rows)}px")
        category = {"type": "category", "data": rows, "axisLabel": _ROW}
        _show(self._events, bands, {"xAxis": axis, "yAxis": {**category, "inverse": True}, **_EVENTS})

    async def _series(self, begin: datetime, end: datetime) -> list[dict[str, Any]]:
        """Returns the metrics that have values. Raises Failure."""
        names = [*RATES, *THROTTLES]
        dimension = {"Name": "TableName", "Value": self._table}
        queries = [
            {
                "Id": f"m{at}",
                "MetricStat": {
                    "Metric": {"Namespace": "AWS/DynamoDB", "MetricName": name, "Dimensions": [dimension]},
                    "Period": 300 if name.startswith("Provisioned") else 60,
                    "Stat": "Average" if name.startswith("Provisioned") else "Sum",
                },
            }
            for at, name in enumerate(names)
        ]
        request = {"StartTime": begin, "EndTime": end, "MetricDataQueries": queries}
        results = (await self._endpoint.service("cloudwatch", "GetMetricData", request))["MetricDataResults"]
        return [
            _line(names[int(found["Id"][1:])], found["Timestamps"], found["Values"])
            for found in results
            if found["Values"]
        ]

    async def _bands(self, begin: datetime, end: datetime) -> tuple[list[str], list[dict[str, Any]]]:
        """Returns the rows of the time line and what is drawn in them: states as bands, scaling as points."""
        alarms = await self._listed("cloudwatch", "DescribeAlarms", {}, "MetricAlarms")
        mine = [a for a in alarms if any(d["Value"] == self._table for d in a.get("Dimensions", ()))]
        bands: list[dict[str, Any]] = []
        for alarm in mine:
            request = {"AlarmName": alarm["AlarmName"], "HistoryItemType": "StateUpdate", "StartDate": begin}
            items = await self._listed("cloudwatch", "DescribeAlarmHistory", request, "AlarmHistoryItems")
            changes = sorted((each["Timestamp"], orjson.loads(each["HistoryData"])) for each in items)
            state = changes[0][1]["oldState"]["stateValue"] if changes else alarm["StateValue"]
            since = begin
            row = self._row(alarm["AlarmName"])
            for at, change in changes:
                bands.append(_band(row, state, since, at))
                since, state = at, change["newState"]["stateValue"]
            bands.append(_band(row, state, since, end))
        request = {"ServiceNamespace": "dynamodb"}
        found = await self._listed(
            "application-autoscaling", "DescribeScalingActivities", request, "ScalingActivities"
        )
        points: dict[str, list[dict[str, Any]]] = {}
        for each in found:
            resource, _, index = str(each["ResourceId"]).removeprefix("table/").partition("/index/")
            if resource == self._table and each["StartTime"] >= begin:
                text = f"{each['StatusCode']}: {each['Description']}"
                points.setdefault(f"scaling {index}".strip(), []).append(
                    {"name": text, "value": [_ms(each["StartTime"]), f"scaling {index}".strip()]}
                )
        scaled = [
            {"type": "scatter", "symbol": "diamond", "symbolSize": 16, "color": "#4263eb", "data": data}
            for data in points.values()
        ]
        self._states.text = "\n".join(
            f"{self._row(each['AlarmName'])}: {each.get('StateReason', '')}"
            for each in mine
            if each["StateValue"] == "ALARM"
        )
        return [*points, *(self._row(each["AlarmName"]) for each in mine)], [*scaled, *bands]

    def _row(self, alarm: str) -> str:
        """Returns an alarm's name without what all alarms of auto scaling begin with."""
        return alarm.removeprefix(f"TargetTracking-table/{self._table}-")

    async def _listed(self, service: str, operation: str, request: dict[str, Any], member: str) -> list[Any]:
        """Returns a list that a service answers; nothing where the endpoint has no such service."""
        try:
            return list((await self._endpoint.service(service, operation, request))[member])
        except Failure:
            return []


def _line(name: str, times: list[datetime], values: list[float]) -> dict[str, Any]:
    share = 60 if name.startswith("Consumed") else 1
    points = sorted([_ms(at), value / share] for at, value in zip(times, values, strict=True))
    line = {"name": (RATES | THROTTLES)[name], "data": points}
    if name in THROTTLES:
        bars = {"color": "#d55e00"} if "KeyRange" in name else {}
        return {**line, **bars, "type": "bar", "yAxisIndex": 1, "barMaxWidth": 8}
    step = {"step": "end", "lineStyle": {"type": "dashed"}} if name.startswith("Provisioned") else {}
    return {**line, "type": "line", "symbolSize": 5, **step}


def _band(row: str, state: str, begin: datetime, end: datetime) -> dict[str, Any]:
    colour = STATES.get(state, "#868e96")
    return {
        "type": "line", "name": state, "color": colour, "symbol": "none", "silent": False,
        "lineStyle": {"width": 12, "cap": "butt", "color": colour},
        "triggerLineEvent": True,
        "data": [[_ms(begin), row], [_ms(end), row]],
    }  # fmt: skip


def _show(chart: ui.echart, series: list[dict[str, Any]], options: dict[str, Any]) -> None:
    chart.set_visibility(bool(series))
    chart.options.clear()
    chart.options.update({"animation": False, "series": series, **options})
    chart.update()


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


_SIDES: Final = {"left": 110, "right": 60}
_ROW: Final = {**CHART_TEXT, "width": 96, "overflow": "truncate", "fontSize": 11}
_LINES: Final = {"lineStyle": {"color": "rgba(134, 142, 150, .25)"}}
_METRICS: Final[dict[str, Any]] = {
    "tooltip": {"trigger": "axis"},
    "legend": {"textStyle": CHART_TEXT, "type": "scroll", "top": 0},
    "yAxis": [
        {
            "type": "value",
            "axisLabel": CHART_TEXT,
            "name": "units/s",
            "nameTextStyle": CHART_TEXT,
            "splitLine": _LINES,
        },
        {
            "type": "value",
            "axisLabel": CHART_TEXT,
            "name": "throttles/min",
            "nameTextStyle": CHART_TEXT,
            "splitLine": {"show": False},
            "minInterval": 1,
        },
    ],
    "grid": {**_SIDES, "top": 60, "bottom": 30},
}
_EVENTS: Final[dict[str, Any]] = {
    "tooltip": {"trigger": "item"},
    "grid": {**_SIDES, "top": 10, "bottom": 30},
}
