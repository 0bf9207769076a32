"""Throughput of a table from inside: the heat map, burst capacity, partitions, splits, keys that are too hot.

What only Faradisc knows comes from its admin API; metrics, scaling activities and alarms from the services
every endpoint may have.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nicegui import ui

from faradisc.clock import SystemClock
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.frame import Session, complain, console_page, guarded
from faradisc.tools.console.parts import facts, plain_table, size_text
from faradisc.tools.console.values import visible

POLL_S: Final = 2.0
PARTITIONS_MAX: Final = 64
HEAT_COLOURS: Final = ("#e7f5ff", "#ffec99", "#ff922b", "#e03131", "#a61e1e")
THROTTLES: Final = ("ProvisionedThroughput", "KeyRangeThroughput", "AccountLimit", "MaxOnDemandThroughput")


@console_page("/tables/{table}/throughput", "Throughput")
async def throughput_page(session: Session, table: str) -> None:
    if await session.has_admin():
        live = Live(session, table)
        await live.refresh()
        live.draw()
        ui.timer(POLL_S, guarded(live.update))
    else:
        ui.label(
            "Partitions and heat are shown for a Faradisc server whose admin API this key may use."
        ).classes("soft")
    await _metrics(session, table)
    await _activities(session, table)
    await _alarms(session, table)


class Live:
    """The parts of the page that follow the admin API."""

    def __init__(self, session: Session, table: str) -> None:
        self._session = session
        self._table = table
        self._shown: dict[str, Any] = {}
        self._heat: dict[str, Any] = {}
        self._resource = ""
        self._picked: str | None = None

    async def refresh(self) -> None:
        self._shown = await self._session.endpoint.admin(f"capacity/{self._table}")
        self._heat = await self._session.endpoint.admin(f"heat/{self._table}")

    async def update(self) -> None:
        await self.refresh()
        self._chart.options.update(self._options())
        self._chart.update()
        self._details.refresh()

    @property
    def _now(self) -> dict[str, Any]:
        found: dict[str, Any] = self._shown["resources"][self._resource]
        return found

    def draw(self) -> None:
        names = {name: f"index {name}" if name else "the table itself" for name in self._shown["resources"]}
        with ui.row().classes("w-full items-end"):
            ui.select(names, label="Throughput of").bind_value(self, "_resource").on(
                "update:model-value", guarded(self.update)
            ).classes("min-w-[220px]")
            ui.button("Levers", icon="tune", on_click=self._levers).props("outline")
            if not self._shown["enforced"]:
                ui.label("Metered only: nothing is throttled. A profile (Levers) turns limits on.").classes(
                    "soft"
                )
        with ui.card().classes("w-full"):
            ui.label("Heat of the partitions").classes("text-lg")
            ui.label(
                "Each row is a partition in order of keys; red uses its whole limit. Click one for its keys."
            ).classes("soft")
            self._chart = (
                ui.echart(self._options(), on_point_click=lambda event: self._pick(event.data[1]))
                .classes("w-full")
                .style("height: 300px")
            )
        self._dialogs = ui.element()  # outlives the parts that are drawn again
        self._details = ui.refreshable(self._draw_details)
        self._details()

    def _rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._heat.get(self._resource, {}).get("partitions", [])
        return found[:PARTITIONS_MAX]

    def _options(self) -> dict[str, Any]:
        """Returns the heat map's options: time to the right, partitions upwards."""
        rows, slots = self._rows(), self._heat.get(self._resource, {}).get("slots", 0)
        seconds = self._heat.get(self._resource, {}).get("slot_s", 10)
        cells = [
            [row["first"] + at, y, percent]
            for y, row in enumerate(rows)
            for at, percent in enumerate(row["used"])
            if percent >= 0
        ]
        times = [f"-{(slots - 1 - at) * seconds} s" for at in range(slots)]
        names = [visible(row["name"])[-8:] for row in rows]
        text = {"color": "#868e96"}
        return {
            "animation": False,
            "grid": {"left": 70, "right": 20, "top": 10, "bottom": 60},
            "xAxis": {"type": "category", "data": times, "axisLabel": text},
            "yAxis": {"type": "category", "data": names, "axisLabel": text},
            "visualMap": {
                "min": 0, "max": 100, "orient": "horizontal", "left": "center", "bottom": 0,
                "text": ["limit", "idle"], "inRange": {"color": HEAT_COLOURS}, "textStyle": text,
            },
            "tooltip": {"position": "top"},
            "series": [{"type": "heatmap", "name": "percent of the limit", "data": cells}],
        }  # fmt: skip

    def _pick(self, row: int) -> None:
        rows = self._rows()
        self._picked = rows[int(row)]["name"] if int(row) < len(rows) else None
        self._details.refresh()

    def _draw_details(self) -> None:
        now = self._now
        self._draw_capacity(now)
        self._draw_hot_keys(now)
        self._draw_partitions(now)
        self._draw_splits(now)

    def _draw_capacity(self, now: dict[str, Any]) -> None:
        with ui.card().classes("w-full"):
            ui.label("Capacity").classes("text-lg")
            for at, (name, title) in enumerate((("read", "Reads"), ("write", "Writes"))):
                direction = now[name]
                limit = now["capacity"][at] if now["capacity"] else direction["rate"]
                used = sum(part[name]["heat"] for part in now["partitions"])
                burst = (
                    "none"
                    if direction["burst"] is None
                    else f"{direction['burst']:,.0f} of {direction['burst_max']:,.0f} units"
                )
                throttled = sum(part[name]["throttled"] for part in now["partitions"])
                facts(
                    {
                        title: f"{used:,.1f} of {limit:,.0f} units/s",
                        "Burst balance": burst,
                        "Configured maximum": "none"
                        if direction["maximum"] is None
                        else f"{direction['maximum']:,} units/s",
                        "Throttled by partitions": f"{throttled:,}",
                    }
                )
                ui.linear_progress(
                    min(1, used / limit) if limit else 0,
                    show_value=False,
                    color="red" if limit and used >= limit else None,
                ).props(f"aria-label='{title} of the capacity'")

    def _draw_hot_keys(self, now: dict[str, Any]) -> None:
        found = [
            (part, key)
            for part in now["partitions"]
            if self._picked in (None, part["id"])
            for key in part.get("hot_keys", ())
        ]
        if self._picked is not None:
            with ui.row().classes("items-center"):
                ui.label(f"Partition {visible(self._picked)[-8:]} is picked.").classes("soft")
                ui.button("Show all", on_click=self._show_all).props("flat dense")
        if not found:
            ui.label("No key makes a partition hot.").classes("soft")
            return
        with ui.card().classes("w-full"):
            ui.label("Hot keys").classes("text-lg hot")
            for part, key in sorted(found, key=lambda pair: -float(pair[1]["percent"]))[:20]:
                side = part[key["direction"]]
                with ui.row().classes("w-full items-center"):
                    ui.label(
                        visible(
                            " / ".join(
                                str(each) for each in (key["key"], key["sort_key"]) if each is not None
                            )
                        )[:120]
                    ).classes("hot")
                    ui.label(
                        f"{key['percent']:g} % of the {key['direction']}s of a partition that uses "
                        f"{side['heat_percent']:,.0f} % of its limit"
                    ).classes("soft")
                    ui.button("What now?", on_click=lambda key=key, side=side: self._advise(key, side)).props(
                        "outline dense"
                    )

    def _show_all(self) -> None:
        self._picked = None
        self._details.refresh()

    def _advise(self, key: dict[str, Any], side: dict[str, Any]) -> None:
        """Shows what relieves a hot key: how many shards, as the planner counts them."""
        rate = side["heat"] * key["percent"] / 100
        ways = max(2, math.ceil(rate / side["limit"] * 1.25)) if side["limit"] else 2
        name = visible(str(key["key"]))[:80]
        with self._dialogs, ui.dialog() as dialog, ui.card().classes("wide"):
            ui.label(f"What now, for {name}?").classes("text-lg")
            ui.label(
                f"It takes about {rate:,.0f} {key['direction']} units a second; one partition serves "
                f"{side['limit']:,} for one key, whatever the table has. More capacity does not help, and "
                "neither does a split of the partition when it is one item."
            )
            if key["direction"] == "write":
                ui.label(
                    f"Write to {ways} keys in turn, {name}#0 to {name}#{ways - 1}, and read them together:"
                )
                ui.label(
                    f"shard = random.randrange({ways})\n"
                    f"table.update_item(Key={{...: f'{name}#{{shard}}'}}, ...)\n"
                    f"total = sum(read(f'{name}#{{shard}}') for shard in range({ways}))"
                ).classes("code")
            else:
                ui.label(
                    "Cache it for a second in the application, read it eventually consistent "
                    f"(half the units), or keep {ways} copies and read one at random."
                )
            ui.label(
                "`faradisc plan` with this rate shows whether that holds at 2, 4 and 10 times the load."
            ).classes("soft")
            ui.button("Close", on_click=dialog.close).props("flat")
        dialog.open()

    def _draw_partitions(self, now: dict[str, Any]) -> None:
        shown = sorted(
            now["partitions"],
            key=lambda part: -max(part["read"]["heat_percent"], part["write"]["heat_percent"]),
        )
        rows = [
            {
                "id": visible(part["id"])[-8:],
                "reads": f"{part['read']['heat']:,.1f} ({part['read']['heat_percent']:,.0f} %)",
                "writes": f"{part['write']['heat']:,.1f} ({part['write']['heat_percent']:,.0f} %)",
                "throttled": part["read"]["throttled"] + part["write"]["throttled"],
                "items": f"{part['items']:,}",
                "size": size_text(part["bytes"]),
                "state": part["state"] + (f", not split: {part['refused']}" if part["refused"] else ""),
            }
            for part in shown[:PARTITIONS_MAX]
        ]
        titles = {"id": "Partition", "reads": "Reads/s (of limit)", "writes": "Writes/s (of limit)"}
        with ui.expansion(f"Partitions ({len(now['partitions'])})", value=True).classes("w-full"):
            plain_table(rows, titles)

    def _draw_splits(self, now: dict[str, Any]) -> None:
        if not now["splits"]:
            return
        rows = [
            {
                "at": f"{datetime.fromtimestamp(event['at_ns'] / 1e9, UTC):%H:%M:%S}",
                "event": event["event"],
                "cause": event.get("reason") or event.get("cause") or "",
                "partition": visible(str(event.get("parent") or event.get("partition") or ""))[-8:],
            }
            for event in reversed(now["splits"][-40:])
        ]
        with ui.expansion(f"Splits ({len(now['splits'])})").classes("w-full"):
            plain_table(rows)

    def _levers(self) -> None:
        """Opens the dialog of what the admin API changes."""
        now = self._now
        with ui.dialog() as dialog, ui.card().classes("wide"):
            ui.label("Levers: for experiments, beyond what DynamoDB offers").classes("text-lg")
            profile = ui.input(
                "Profile, such as aws:30/10; empty for the server's own", value=self._shown["profile"]
            ).classes("w-full")
            partitions = ui.number(
                "Partitions, at least", value=len(now["partitions"]), min=len(now["partitions"]), format="%d"
            )

            async def change() -> None:
                body: dict[str, Any] = {}
                if profile.value != self._shown["profile"]:
                    body["profile"] = profile.value or None
                if int(partitions.value) != len(now["partitions"]):
                    body["partitions"] = int(partitions.value)
                if body:
                    index = {"index": self._resource} if self._resource else {}
                    await self._session.endpoint.admin(f"capacity/{self._table}", {**body, **index})
                dialog.close()
                await self.update()

            with ui.row():
                ui.button("Cancel", on_click=dialog.close).props("flat")
                ui.button("Change", on_click=guarded(change))
        dialog.open()


# --- Metrics, scaling, alarms --------------------------------------------------------------------


async def _metrics(session: Session, table: str) -> None:
    """Draws consumed units and throttles by reason over the last hours."""
    ui.label("Metrics").classes("text-lg")
    hours = ui.toggle({1: "1 hour", 3: "3 hours", 12: "12 hours"}, value=1)
    box = ui.column().classes("w-full")
    names = ["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"]
    names += [f"{way}{reason}ThrottleEvents" for way in ("Read", "Write") for reason in THROTTLES]

    async def draw() -> None:
        end = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
        request = {
            "StartTime": end - timedelta(hours=hours.value),
            "EndTime": end,
            "MetricDataQueries": [
                {
                    "Id": f"m{at}",
                    "MetricStat": {
                        "Metric": {
                            "Namespace": "AWS/DynamoDB",
                            "MetricName": name,
                            "Dimensions": [{"Name": "TableName", "Value": table}],
                        },
                        "Period": 60,
                        "Stat": "Sum",
                    },
                }
                for at, name in enumerate(names)
            ],
        }
        try:
            results = (await session.endpoint.service("cloudwatch", "GetMetricData", request))[
                "MetricDataResults"
            ]
        except Failure as failure:
            box.clear()
            with box:
                ui.label(f"No metrics: {failure.message}").classes("soft")
            return
        series = [
            {
                "name": names[int(found["Id"][1:])],
                "type": "line",
                "showSymbol": False,
                "data": sorted(
                    [int(at.timestamp() * 1000), value]
                    for at, value in zip(found["Timestamps"], found["Values"], strict=True)
                ),
            }
            for found in results
            if found["Values"]
        ]
        box.clear()
        with box:
            if not series:
                ui.label("No requests in this time.").classes("soft")
                return
            text = {"color": "#868e96"}
            ui.echart(
                {
                    "animation": False, "tooltip": {"trigger": "axis"},
                    "legend": {"textStyle": text, "type": "scroll"},
                    "xAxis": {"type": "time", "axisLabel": text},
                    "yAxis": {"type": "value", "axisLabel": text, "name": "a minute"},
                    "grid": {"left": 60, "right": 20, "top": 40, "bottom": 30}, "series": series,
                }
            ).classes("w-full").style("height: 260px")  # fmt: skip

    hours.on_value_change(draw)
    await draw()


async def _activities(session: Session, table: str) -> None:
    request = {"ServiceNamespace": "dynamodb", "ResourceId": f"table/{table}"}
    try:
        found = (
            await session.endpoint.service("application-autoscaling", "DescribeScalingActivities", request)
        )["ScalingActivities"]
    except Failure:
        return
    if found:
        ui.label("Auto scaling").classes("text-lg")
        rows = [
            {"at": f"{each['StartTime']:%H:%M:%S}", "what": each["Description"], "status": each["StatusCode"]}
            for each in found[:50]
        ]
        plain_table(rows)


async def _alarms(session: Session, table: str) -> None:
    try:
        found = (await session.endpoint.service("cloudwatch", "DescribeAlarms", {}))["MetricAlarms"]
    except Failure as failure:
        if failure.code:
            complain(failure)
        return
    mine = [each for each in found if any(d["Value"] == table for d in each.get("Dimensions", ()))]
    if mine:
        ui.label("Alarms").classes("text-lg")
        rows = [
            {"alarm": each["AlarmName"], "state": each["StateValue"], "reason": each.get("StateReason", "")}
            for each in mine
        ]
        plain_table(rows)
